package credits

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"atlas/internal/fault"
)

// operations are as many, and as long, as those of the API that cost credits.
var operations = []string{
	"search_accounts", "search_contacts", "search_projects", "search_signals",
	"get_account", "get_contact", "get_project", "get_signal",
	"search_workspace_accounts", "search_workspace_contacts", "search_workspace_projects",
	"get_workspace_account", "get_workspace_contact", "get_workspace_project",
	"search_view_records",
}

// busyDay charges the first n operations in each minute of a window, to users.
func busyDay(t testing.TB, c *clocks, l *Ledger, ws string, n int) {
	t.Helper()
	busyDayBy(t, c, l, ws, n, Key{})
}

func busyDayBy(t testing.TB, c *clocks, l *Ledger, ws string, n int, by Key) {
	t.Helper()
	for minute := range 1441 {
		if minute > 0 {
			c.advance(time.Minute)
		}
		for _, op := range operations[:n] {
			r, _, err := l.Reserve(context.Background(), ws, MaxCeiling, op, 1000, by)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Settle(context.Background(), 173); err != nil { // 250,000 a day
				t.Fatal(err)
			}
		}
	}
}

func memory(t testing.TB, l *Ledger, ws string) int64 {
	t.Helper()
	key, _ := l.key(ws, 0)
	n, err := l.client.MemoryUsage(t.Context(), key, 0).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The memory limits in doc.go.
func TestMemoryOfABusyDay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		operations int
		bound      int64 // bytes
	}{{1, 95_000}, {len(operations), 255_000}} {
		t.Run(fmt.Sprint(c.operations), func(t *testing.T) {
			t.Parallel()
			clock := newClocks()
			l := ledger(t, clock.options())
			ws := workspace(t, l)
			busyDay(t, clock, l, ws, c.operations)
			full := memory(t, l, ws)
			t.Logf("%d operations in each minute: %d bytes", c.operations, full)
			if full > c.bound {
				t.Errorf("%d bytes, want at most %d", full, c.bound)
			}
			key, _ := l.key(ws, 0)
			if n := l.client.HLen(t.Context(), key).Val(); n != 1441+2 {
				t.Errorf("%d fields, want 1443", n)
			}

			const open = 500
			for range open {
				reserve(t, l, ws, MaxCeiling, 25)
			}
			each := (memory(t, l, ws) - full) / open
			t.Logf("%d bytes per open reservation", each)
			if each > 300 {
				t.Errorf("%d bytes per open reservation", each)
			}
			// After a day only the names of operations and the time remain.
			clock.advance(24*time.Hour + time.Minute)
			used(t, l, ws)
			if n := l.client.HLen(t.Context(), key).Val(); n > 3 {
				t.Errorf("%d fields left", n)
			}
		})
	}
}

func TestMemoryOfAKey(t *testing.T) {
	t.Parallel()
	clock := newClocks()
	l := ledger(t, clock.options())
	ws := workspace(t, l)
	busyDayBy(t, clock, l, ws, 1, newKey(0))
	full := memory(t, l, ws)
	t.Logf("a key in each minute: %d bytes", full)
	if full > 190_000 {
		t.Errorf("%d bytes", full)
	}
}

// When the ceiling is far below what is used, or close to it, the minute in which credits
// return is near an end of the window.
func TestRefusalsReadFewBuckets(t *testing.T) {
	t.Parallel()
	clock := newClocks()
	l := ledgerOn(t, client(t, ownRedis(t).url()), clock.options())
	ws := workspace(t, l)
	busyDay(t, clock, l, ws, 1)
	all := used(t, l, ws)
	for _, ceiling := range []int64{1, 1000, all / 2, all - 1000, all} {
		l.client.ConfigResetStat(t.Context())
		w, err := l.Check(t.Context(), ws, ceiling, Key{})
		wantFault(t, err, fault.RateLimited, 24*time.Hour)
		if w.NextAt.IsZero() {
			t.Error("credits never return")
		}
		var calls int
		stats := l.client.Info(t.Context(), "commandstats").Val()
		_, hmget, _ := strings.Cut(stats, "cmdstat_hmget:calls=")
		fmt.Sscan(hmget, &calls)
		most := 2
		if ceiling == all/2 {
			most = 8
		}
		if calls < 2 || calls > most {
			t.Errorf("of a ceiling of %d beside %d used: %d reads", ceiling, all, calls)
		}
	}
}
