package credits

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"atlas/internal/fault"
)

func newKey(budget int64) Key { return Key{ID: uuid.NewString(), Budget: budget} }

// spendBy reserves and settles an amount for a key.
func spendBy(t testing.TB, l *Ledger, ws string, by Key, amount int64) Window {
	t.Helper()
	r, _, err := l.Reserve(t.Context(), ws, MaxCeiling, "search_accounts", amount, by)
	if err != nil {
		t.Fatal(err)
	}
	return settle(t, r, amount)
}

func byKey(t testing.TB, l *Ledger, ws string) map[string]int64 {
	t.Helper()
	u, err := l.Usage(t.Context(), ws, MaxCeiling)
	if err != nil {
		t.Fatal(err)
	}
	return u.ByKey
}

func TestBudgetOfAKey(t *testing.T) {
	t.Parallel()
	c := newClocks()
	l := ledger(t, c.options())
	ws, other := workspace(t, l), workspace(t, l)
	key, sibling := newKey(100), newKey(0)
	at := time.UnixMilli(c.redis.Load()).UTC()

	spend(t, l, ws, MaxCeiling, 500) // a user's
	spendBy(t, l, ws, sibling, 300)
	if w := spendBy(t, l, ws, key, 90); w.Key != (KeyWindow{Used: 90, Budget: 100}) || w.Used != 890 {
		t.Errorf("%+v", w)
	}
	c.advance(time.Hour)
	if w := spendBy(t, l, ws, key, 25); w.Key.Used != 115 || w.Key.Remaining() != 0 {
		t.Errorf("the last page: %+v", w)
	}
	for range 2 {
		_, w, err := l.Reserve(t.Context(), ws, MaxCeiling, "search_accounts", 25, key)
		back := at.Add(24*time.Hour + time.Minute)
		wantFault(t, err, fault.KeyBudgetUsed, 23*time.Hour+time.Minute)
		if w.Key != (KeyWindow{115, 100, back}) || w.Used != 915 || !w.NextAt.IsZero() {
			t.Errorf("%+v", w)
		}
		checked, err := l.Check(t.Context(), ws, MaxCeiling, key)
		wantFault(t, err, fault.KeyBudgetUsed, 23*time.Hour+time.Minute)
		if checked != w {
			t.Errorf("Check: %+v, Reserve: %+v", checked, w)
		}
	}
	// An exhausted ceiling is reported first, because it affects everybody.
	_, err := l.Check(t.Context(), ws, 100, key)
	wantFault(t, err, fault.RateLimited, 24*time.Hour)

	// Neither another key, nor a user, nor the key in another workspace is refused.
	spendBy(t, l, ws, sibling, 25)
	spend(t, l, ws, MaxCeiling, 25)
	spendBy(t, l, other, key, 25)
	if diff := cmp.Diff(map[string]int64{key.ID: 115, sibling.ID: 325}, byKey(t, l, ws)); diff != "" {
		t.Errorf("by key (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{key.ID: 25}, byKey(t, l, other)); diff != "" {
		t.Errorf("by key elsewhere (-want +got):\n%s", diff)
	}

	// A higher budget holds at once, and so does none.
	spendBy(t, l, ws, Key{key.ID, 116}, 1)
	_, err = l.Check(t.Context(), ws, MaxCeiling, Key{key.ID, 116})
	wantFault(t, err, fault.KeyBudgetUsed, 23*time.Hour+time.Minute)
	spendBy(t, l, ws, Key{key.ID, 0}, 1)

	c.set(at.Add(24*time.Hour + time.Minute))
	if w := spendBy(t, l, ws, key, 1); w.Key.Used != 28 {
		t.Errorf("when credits came back: %+v", w)
	}
	c.advance(25 * time.Hour)
	if got := byKey(t, l, ws); len(got) != 0 {
		t.Errorf("after a day: %v", got)
	}
}

// Fifty concurrent requests of a key, by two servers, beside those of another one.
func TestParallelReservationsPassTheBudgetOnce(t *testing.T) {
	t.Parallel()
	const budget, page = 310, 25
	first := ledger(t, Options{})
	second := ledgerOn(t, first.client, Options{Prefix: first.prefix})
	ws, key, sibling := workspace(t, first), newKey(budget), newKey(0)
	var delivered, others atomic.Int64
	var wg sync.WaitGroup
	for i := range 50 {
		l := first
		if i%2 == 1 {
			l = second
		}
		wg.Go(func() {
			for {
				r, _, err := l.Reserve(t.Context(), ws, MaxCeiling, "search_accounts", page, key)
				switch fault.CodeOf(err) {
				case "":
					if _, err := r.Settle(t.Context(), page); err != nil {
						t.Error(err)
					}
					delivered.Add(page)
				case fault.Unavailable: // others hold the rest
				case fault.KeyBudgetUsed:
					return
				default:
					t.Error(err)
					return
				}
			}
		})
		wg.Go(func() {
			r, _, err := l.Reserve(t.Context(), ws, MaxCeiling, "search_accounts", page, sibling)
			if err == nil {
				_, err = r.Settle(t.Context(), page)
			}
			if err != nil {
				t.Error("another key:", err)
			}
			others.Add(page)
		})
	}
	wg.Wait()
	if n := delivered.Load(); n < budget || n >= budget+page {
		t.Errorf("delivered %d for a budget of %d", n, budget)
	}
	if diff := cmp.Diff(map[string]int64{key.ID: delivered.Load(), sibling.ID: others.Load()}, byKey(t, second, ws)); diff != "" {
		t.Errorf("by key (-want +got):\n%s", diff)
	}
}

// before-keys.lua is the script of the version before keys were introduced.
//
//go:embed testdata/before-keys.lua
var beforeKeys string

// A server of the version before works on the same window: it lets reservations lapse,
// charges, and drops buckets, without the keys.
func TestKeysBesideTheVersionBefore(t *testing.T) {
	t.Parallel()
	c := newClocks()
	l := ledger(t, c.options())
	ws, key, second := workspace(t, l), newKey(100), newKey(0)
	hash, _ := l.key(ws, 0)
	script := redis.NewScript(beforeKeys)
	before := func(args ...any) []any {
		t.Helper()
		now := c.redis.Load()
		answer, err := script.Run(t.Context(), l.client, []string{hash}, append([]any{now, now, 1}, args...)...).Slice()
		if err != nil {
			t.Fatal(err)
		}
		return answer[1].([]any)
	}
	read := func() int64 { return before("read", "", "", MaxCeiling, "")[1].(int64) }

	// A hash of the version before.
	id := uuid.NewString()
	granted := before("reserve", id, 25, MaxCeiling, "get_account")
	before("settle", id, 20, granted[2], granted[3])
	spendBy(t, l, ws, key, 40)
	spendBy(t, l, ws, second, 7)
	if n := read(); n != 67 {
		t.Errorf("the version before counts %d", n)
	}

	// A server crashed with these, and the one before lets them lapse.
	for range 2 {
		if _, _, err := l.Reserve(t.Context(), ws, MaxCeiling, "search_accounts", 30, key); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := l.Reserve(t.Context(), ws, MaxCeiling, "search_accounts", 30, key)
	wantFault(t, err, fault.Unavailable, time.Second)
	c.advance(time.Minute)
	read()
	spendBy(t, l, ws, key, 30)
	if w := spendBy(t, l, ws, key, 25); w.Key.Used != 95 {
		t.Errorf("after the crash: %+v", w)
	}
	_, err = l.Check(t.Context(), ws, MaxCeiling, Key{key.ID, 95})
	wantFault(t, err, fault.KeyBudgetUsed, 24*time.Hour)

	// The one before drops the buckets of the window.
	c.advance(24*time.Hour - time.Minute)
	if n := read(); n != 122 {
		t.Errorf("the version before counts %d", n)
	}
	c.advance(time.Minute)
	if n := read(); n != 55 {
		t.Errorf("the version before counts %d", n)
	}
	if diff := cmp.Diff(map[string]int64{key.ID: 55}, byKey(t, l, ws)); diff != "" {
		t.Errorf("by key (-want +got):\n%s", diff)
	}
	c.advance(time.Minute)
	read()
	spendBy(t, l, ws, second, 1)
	if diff := cmp.Diff(map[string]int64{second.ID: 1}, byKey(t, l, ws)); diff != "" {
		t.Errorf("by key (-want +got):\n%s", diff)
	}
	// It deletes everything after a day without a call.
	c.advance(25 * time.Hour)
	read()
	spendBy(t, l, ws, key, 5)
	if diff := cmp.Diff(map[string]int64{key.ID: 5}, byKey(t, l, ws)); diff != "" {
		t.Errorf("by key (-want +got):\n%s", diff)
	}
}

// Keys are deleted after their window, however many there are; doc.go has the cost of each.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	const keys = 5000
	c := newClocks()
	l := ledger(t, Options{Now: c.options().Now, LocalClock: c.options().LocalClock, Timeout: 10 * time.Second})
	ws := workspace(t, l)
	spend(t, l, ws, MaxCeiling, 1)
	empty := memory(t, l, ws)
	want := map[string]int64{}
	var wg sync.WaitGroup
	for i := range keys {
		by := newKey(10)
		want[by.ID] = 2
		wg.Go(func() {
			r, _, err := l.Reserve(context.Background(), ws, MaxCeiling, "get_account", 2, by)
			if err == nil {
				_, err = r.Settle(context.Background(), 2)
			}
			if err != nil {
				t.Error(err)
			}
		})
		if i%500 == 499 {
			wg.Wait()
			c.advance(time.Minute)
		}
	}
	if got := byKey(t, l, ws); !maps.Equal(want, got) {
		t.Fatalf("%d keys, want %d", len(got), len(want))
	}
	each := (memory(t, l, ws) - empty) / keys
	t.Logf("%d bytes a key", each)
	if each > 220 {
		t.Errorf("%d bytes a key", each)
	}
	// All but those of the last minute leave the window at once.
	c.advance(24*time.Hour - time.Minute)
	if got := len(byKey(t, l, ws)); got != 500 {
		t.Errorf("%d keys are left", got)
	}
	c.advance(time.Minute)
	if got := len(byKey(t, l, ws)); got != 0 {
		t.Errorf("%d keys are left", got)
	}
	hash, _ := l.key(ws, 0)
	if n := l.client.HLen(t.Context(), hash).Val(); n > 4 {
		t.Errorf("%d fields are left", n)
	}
}

// A key at its budget does not block Redis: finding when its credits return may scan the
// whole day, and the refusals of one call share that scan.
func TestRefusalsShareAWalk(t *testing.T) {
	t.Parallel()
	server := ownRedis(t)
	c := newClocks()
	o := c.options()
	o.Timeout = 30 * time.Second
	redis := client(t, server.url())
	l := ledgerOn(t, redis, o)
	ws, key := workspace(t, l), newKey(10)
	spendBy(t, l, ws, newKey(0), 1)
	c.advance(23 * time.Hour)
	spendBy(t, l, ws, key, 10)

	walks := func(refusals int) int64 {
		t.Helper()
		if err := redis.ConfigResetStat(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		hash, err := l.key(ws, MaxCeiling)
		if err != nil {
			t.Fatal(err)
		}
		batch := make([]*operation, refusals)
		for i := range batch {
			batch[i] = &operation{
				ctx: t.Context(), key: hash, kind: "reserve",
				args:     []any{uuid.NewString(), 1, MaxCeiling, "search_accounts", key.ID, key.Budget},
				queuedAt: time.Now(), done: make(chan struct{}),
			}
		}
		l.batcher.call(t.Context(), batch)
		for _, o := range batch {
			if status := o.reply.text(0); o.err != nil || status != "key_used_up" {
				t.Fatal(status, o.err)
			}
		}
		stats, err := redis.Info(t.Context(), "commandstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		var calls int64
		for line := range strings.Lines(stats) {
			_, _ = fmt.Sscanf(line, "cmdstat_hmget:calls=%d", &calls)
		}
		return calls
	}
	if one, many := walks(1), walks(maxBatch); one < 10 || many != one {
		t.Errorf("one refusal reads %d times, %d of one call %d times", one, maxBatch, many)
	}
}
