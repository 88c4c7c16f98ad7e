package credits

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/internal/fault"
)

// clocks are the two clocks of a ledger under test.
type clocks struct{ redis, local atomic.Int64 } // unix ms

func newClocks() *clocks {
	c := &clocks{}
	c.set(time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC))
	return c
}

func (c *clocks) set(t time.Time) { c.redis.Store(t.UnixMilli()); c.local.Store(t.UnixMilli()) }

func (c *clocks) advance(d time.Duration) {
	c.redis.Add(d.Milliseconds())
	c.local.Add(d.Milliseconds())
}

func (c *clocks) options() Options {
	return Options{
		Now:        func() time.Time { return time.UnixMilli(c.redis.Load()) },
		LocalClock: func() time.Time { return time.UnixMilli(c.local.Load()) },
		Wait:       time.Nanosecond,
	}
}

func reserve(t testing.TB, l *Ledger, ws string, ceiling, amount int64) *Reservation {
	t.Helper()
	r, _, err := l.Reserve(t.Context(), ws, ceiling, "search_accounts", amount, Key{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func settle(t testing.TB, r *Reservation, delivered int64) Window {
	t.Helper()
	w, err := r.Settle(t.Context(), delivered)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// spend reserves and settles an amount.
func spend(t testing.TB, l *Ledger, ws string, ceiling, amount int64) Window {
	t.Helper()
	return settle(t, reserve(t, l, ws, ceiling, amount), amount)
}

func used(t testing.TB, l *Ledger, ws string) int64 {
	t.Helper()
	u, err := l.Usage(t.Context(), ws, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return u.Used
}

func wantFault(t testing.TB, err error, code fault.Code, retry time.Duration) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != code || f.RetryAfter != retry {
		t.Fatalf("got %v, want %s with retry after %v", err, code, retry)
	}
}

// unsettledCopy returns the same reservation as an unsettled one.
func unsettledCopy(r *Reservation) *Reservation {
	return &Reservation{ledger: r.ledger, key: r.key, workspace: r.workspace, operation: r.operation,
		id: r.id, amount: r.amount, ceiling: r.ceiling, by: r.by, createdAt: r.createdAt, seq: r.seq, epoch: r.epoch, stored: r.stored}
}

func TestReserveAndSettle(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	ws, other := workspace(t, l), workspace(t, l)

	r, w, err := l.Reserve(t.Context(), ws, 100, "search_accounts", 25, Key{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Window{Used: 0, Remaining: 100, Ceiling: 100, Hours: 24}); w != want {
		t.Errorf("an open reservation changed the window: %+v", w)
	}
	if w, want := settle(t, r, 7), (Window{Used: 7, Remaining: 93, Ceiling: 100, Hours: 24}); w != want {
		t.Errorf("settled: %+v, want %+v", w, want)
	}
	if w := settle(t, r, 0); w.Used != 7 {
		t.Errorf("a second Settle answered %+v", w)
	}
	g, _, err := l.Reserve(t.Context(), strings.ToUpper(ws), 100, "get_contact", 1, Key{})
	if err != nil {
		t.Fatal(err)
	}
	settle(t, g, 1)
	settle(t, reserve(t, l, ws, 100, 25), 0) // a search that found nothing

	got, err := l.Usage(t.Context(), ws, 100)
	if err != nil {
		t.Fatal(err)
	}
	want := Usage{
		Window: Window{Used: 8, Remaining: 92, Ceiling: 100, Hours: 24},
		ByTool: map[string]int64{"search_accounts": 7, "get_contact": 1},
		ByKey:  map[string]int64{},
		ByHour: got.ByHour,
	}
	if h := got.ByHour; len(h) == 0 || h[0].Credits+h[len(h)-1].Credits*int64(len(h)-1) != 8 || time.Since(h[0].From) > time.Hour+time.Minute {
		t.Errorf("by hour: %+v", h)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	got, err = l.Usage(t.Context(), other, 100)
	if err != nil {
		t.Fatal(err)
	}
	want = Usage{Window: Window{Remaining: 100, Ceiling: 100, Hours: 24}, ByTool: map[string]int64{}, ByKey: map[string]int64{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("usage of another workspace (-want +got):\n%s", diff)
	}
}

func TestPrefixesAreApart(t *testing.T) {
	t.Parallel()
	l, m := ledger(t, Options{}), ledger(t, Options{Prefix: testPrefix + "b:"})
	ws := workspace(t, l)
	spend(t, l, ws, 100, 5)
	if n := used(t, m, ws); n != 0 {
		t.Errorf("another installation sees %d credits", n)
	}
}

func TestCeiling(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{Wait: 30 * time.Millisecond})
	ws := workspace(t, l)
	spend(t, l, ws, 50, 30)

	// 30 settled and 25 open fill 50, but nothing is used up.
	r := reserve(t, l, ws, 50, 25)
	_, w, err := l.Reserve(t.Context(), ws, 50, "search_accounts", 1, Key{})
	wantFault(t, err, fault.Unavailable, time.Second)
	if w.Used != 30 || w.Remaining != 20 {
		t.Errorf("the window beside the error: %+v", w)
	}
	if _, err := l.Check(t.Context(), ws, 50, Key{}); err != nil {
		t.Errorf("Check with credits left: %v", err)
	}

	settle(t, r, 25) // passes the ceiling by less than its page
	_, w, err = l.Reserve(t.Context(), ws, 50, "search_accounts", 1, Key{})
	wantFault(t, err, fault.RateLimited, 24*time.Hour)
	// The minute of the charges leaves the window after 24 hours.
	if back := time.Until(w.NextAt); back < 24*time.Hour-time.Minute || back > 24*time.Hour+2*time.Minute ||
		!strings.Contains(err.Error(), w.NextAt.Format("15:04Z")) {
		t.Errorf("credits return in %v: %v", back, err)
	}
	want := Window{Used: 55, Remaining: 0, Ceiling: 50, Hours: 24, NextAt: w.NextAt}
	if w != want {
		t.Errorf("the window beside 429: %+v, want %+v", w, want)
	}
	w, err = l.Check(t.Context(), ws, 50, Key{})
	wantFault(t, err, fault.RateLimited, 24*time.Hour)
	if w != want {
		t.Errorf("the window beside Check's 429: %+v, want %+v", w, want)
	}
	if u, err := l.Usage(t.Context(), ws, 50); err != nil || u.Window != want {
		t.Errorf("Usage is never throttled: %+v, %v", u, err)
	}

	// A ceiling of 0 grants nothing, and no credits return.
	for _, in := range []string{ws, workspace(t, l)} {
		_, _, reserveErr := l.Reserve(t.Context(), in, 0, "search_accounts", 1, Key{})
		w, err := l.Check(t.Context(), in, 0, Key{})
		for _, err := range []error{reserveErr, err} {
			wantFault(t, err, fault.RateLimited, 24*time.Hour)
			if !w.NextAt.IsZero() || strings.Contains(err.Error(), "return") {
				t.Errorf("%+v, %v", w, err)
			}
		}
	}
}

func TestReserveWaitsForOpenReservations(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{Wait: 10 * time.Second})
	ws := workspace(t, l)
	r := reserve(t, l, ws, 25, 25)
	done := make(chan error, 1)
	go func() {
		second, _, err := l.Reserve(context.Background(), ws, 25, "search_accounts", 25, Key{})
		if err == nil {
			_, err = second.Settle(context.Background(), 25)
		}
		done <- err
	}()
	settle(t, r, 3)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := used(t, l, ws); n != 28 {
		t.Errorf("used %d, want 28", n)
	}
}

func TestReserveStopsWaitingWithItsContext(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{Wait: time.Hour})
	ws := workspace(t, l)
	reserve(t, l, ws, 25, 25)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, _, err := l.Reserve(ctx, ws, 25, "search_accounts", 25, Key{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	// A caller that gave up says nothing about Redis.
	if l.breaker.failures != 0 {
		t.Errorf("the breaker counted %d failures", l.breaker.failures)
	}
}

// 200 concurrent searches, 50 credits below the ceiling.
func TestParallelReservationsPassTheCeilingOnce(t *testing.T) {
	t.Parallel()
	const ceiling, page, searches = 1000, 25, 200
	for _, delivers := range []string{"full pages", "what there is"} {
		t.Run(delivers, func(t *testing.T) {
			l := ledger(t, Options{})
			ws := workspace(t, l)
			spend(t, l, ws, ceiling, ceiling-50)

			var delivered, passed, granted atomic.Int64
			var wg sync.WaitGroup
			start := make(chan struct{})
			for range searches {
				wg.Go(func() {
					<-start
					r, _, err := l.Reserve(t.Context(), ws, ceiling, "search_accounts", page, Key{})
					if err != nil {
						if c := fault.CodeOf(err); c != fault.RateLimited && c != fault.Unavailable {
							t.Errorf("refused with %v", err)
						}
						return
					}
					n := int64(page)
					if delivers != "full pages" {
						n = rand.Int64N(page + 1)
					}
					w, err := r.Settle(t.Context(), n)
					if err != nil {
						t.Error(err)
						return
					}
					granted.Add(1)
					delivered.Add(n)
					if w.Used > ceiling && w.Used-n < ceiling {
						passed.Add(1)
					}
				})
			}
			close(start)
			wg.Wait()

			u, err := l.Usage(t.Context(), ws, ceiling)
			if err != nil {
				t.Fatal(err)
			}
			if got := u.Used - (ceiling - 50); got != delivered.Load() {
				t.Errorf("the ledger has %d credits, delivered were %d", got, delivered.Load())
			}
			if u.Used >= ceiling+page {
				t.Errorf("used %d: passed the ceiling by a whole page", u.Used)
			}
			if passed.Load() > 1 {
				t.Errorf("%d searches passed the ceiling", passed.Load())
			}
			if granted.Load() < 2 {
				t.Errorf("only %d searches of %d were granted", granted.Load(), searches)
			}
			if delivers == "full pages" && u.Used != ceiling {
				t.Errorf("used %d, want %d", u.Used, ceiling)
			}
		})
	}
}

func TestOperationsAreIdempotent(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{Wait: time.Nanosecond})
	ws := workspace(t, l)
	r := reserve(t, l, ws, 30, 20)
	seq := r.seq
	for range 3 {
		if status, _, _, err := l.reserve(t.Context(), r, []int64{20}); err != nil || status != "granted" || r.seq != seq {
			t.Fatalf("again: %s, place %d, %v", status, r.seq, err)
		}
	}
	// 20 are reserved, not 80, so 10 are free for the next.
	settle(t, reserve(t, l, ws, 30, 1), 0)

	settle(t, r, 12)
	for range 3 {
		if w := settle(t, unsettledCopy(r), 12); w.Used != 12 {
			t.Fatalf("settled again: %+v", w)
		}
	}
	if _, w, err := l.Reserve(t.Context(), ws, 30, "search_accounts", 18, Key{}); err != nil || w.Used != 12 {
		t.Fatalf("after all that: %+v, %v", w, err)
	}
}

// A charge whose reply is lost is repeated, and made once.
func TestChargeIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := ownRedis(t)
	direct := ledgerOn(t, client(t, s.url()), Options{})
	p := newLossy(t, s.address())
	l := ledgerOn(t, client(t, "redis://"+p.Addr().String()), Options{Timeout: 30 * time.Second, BreakerFailures: 100})
	ws := workspace(t, l)
	for range 3 {
		p.drop.Store(1)
		if _, err := l.Charge(t.Context(), ws, 100, Charge{"search_accounts", 20}, Key{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := used(t, direct, ws); n != 60 {
		t.Errorf("used %d, want 60", n)
	}
}

// A server that knows that many credits are left does not reserve. A later charge beyond the
// ceiling, which another server filled meanwhile, is refused.
func TestAmple(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{Wait: time.Nanosecond})
	other := ledgerOn(t, l.client, Options{Prefix: l.prefix})
	ws, key := workspace(t, l), newKey(30_000)
	const ceiling = 50_000
	if l.Ample(ws, ceiling, key) {
		t.Error("ample before anything is known")
	}
	spendBy(t, l, ws, key, 1)
	if !l.Ample(ws, ceiling, key) || l.Ample(ws, ceiling, Key{}) || l.Ample(ws, 10_001, key) || l.Ample(ws, ceiling, Key{key.ID, 10_001}) {
		t.Error("what was learnt is not what is known")
	}
	spend(t, other, ws, ceiling, ceiling)
	if !l.Ample(ws, ceiling, key) {
		t.Error("known for less than a second")
	}
	_, err := l.Charge(t.Context(), ws, ceiling, Charge{"search_accounts", 20}, key)
	if fault.CodeOf(err) != fault.RateLimited {
		t.Errorf("a charge beyond the ceiling: %v", err)
	}
	if l.Ample(ws, ceiling, key) {
		t.Error("ample after the ceiling is reached")
	}
}

// The lease of a batch's key is renewed while it runs.
func TestRenew(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	ws := workspace(t, l)
	once := Once{Key: [16]byte{1}, Request: [16]byte{2}}
	r, granted, _, _, err := l.ReserveItems(t.Context(), ws, 30, "search_data_batch", []int64{20, 20, 20}, Key{}, once)
	if err != nil || granted != 2 {
		t.Fatalf("%d granted, %v", granted, err)
	}
	left := func() time.Duration { return l.client.PTTL(t.Context(), r.stored.key).Val() }
	if err := l.client.PExpire(t.Context(), r.stored.key, time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	r.Renew(t.Context())
	if left() < 4*time.Second {
		t.Errorf("%v left", left())
	}
	// Not once another request has the key.
	if err := l.client.Set(t.Context(), r.stored.key, "pxxxxxxxxxxxxxxxxother", time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	if r.Renew(t.Context()); left() > time.Second {
		t.Errorf("another's lease was renewed: %v", left())
	}
	_, err = r.SettleItems(t.Context(), []Charge{{"search_accounts", 20}, {"search_projects", 3}}, []byte("answer"))
	wantFault(t, err, fault.IdempotencyInProgress, time.Second)
}

// Servers of different versions share the hashes during an upgrade. doc.go describes the
// fields.
func TestStoredFields(t *testing.T) {
	t.Parallel()
	c := newClocks()
	l := ledger(t, c.options())
	ws := workspace(t, l)
	key, _ := l.key(ws, 0)
	now := c.redis.Load()
	minute := fmt.Sprint(now / 60_000)
	stored := func() map[string]string { return l.client.HGetAll(t.Context(), key).Val() }

	if err := l.client.HSet(t.Context(), key,
		"w", fmt.Sprintf("%d 7 25 %s 3 2 1 the-epoch", now, minute),
		"b", "get_contact:2 search_accounts:5",
		minute, "2:5 1:2",
		"rthe-id", fmt.Sprintf("2 25 %d search_accounts", now), "q2", "the-id",
	).Err(); err != nil {
		t.Fatal(err)
	}
	old := &Reservation{
		ledger: l, key: key, id: "the-id", operation: "search_accounts", amount: 25, ceiling: 100,
		createdAt: time.UnixMilli(now), seq: 2, epoch: "the-epoch",
	}
	if w := settle(t, old, 20); w.Used != 27 {
		t.Errorf("settled: %+v", w)
	}
	want := map[string]string{
		"w":    fmt.Sprintf("%d 27 0 %s 3 3 1 the-epoch", now, minute),
		"b":    "get_contact:2 search_accounts:25",
		minute: "2:25 1:2",
	}
	if diff := cmp.Diff(want, stored()); diff != "" {
		t.Errorf("after a settle (-want +got):\n%s", diff)
	}

	r, _, err := l.Reserve(t.Context(), ws, 100, "get_account", 4, Key{})
	if err != nil {
		t.Fatal(err)
	}
	want["w"] = fmt.Sprintf("%d 27 4 %s 4 3 3 the-epoch", now, minute)
	want["r"+r.id] = fmt.Sprintf("3 4 %d get_account", now)
	want["q3"] = r.id
	if diff := cmp.Diff(want, stored()); diff != "" {
		t.Errorf("after a reserve (-want +got):\n%s", diff)
	}
	settle(t, r, 1)
	if got := stored(); got["b"] != "get_contact:2 search_accounts:25 get_account:1" || got[minute] != "2:25 1:2 3:1" {
		t.Errorf("after another settle: %v", got)
	}
}

func TestSettleRefusesWhatWasNotReserved(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	ws := workspace(t, l)
	for _, n := range []int64{-1, 26} {
		_, err := reserve(t, l, ws, 1000, 25).Settle(t.Context(), n)
		wantFault(t, err, fault.Internal, 0)
	}
	if n := used(t, l, ws); n != 0 {
		t.Errorf("used %d", n)
	}
}

func TestSettleFailsForALostReservation(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	t.Run("hash gone", func(t *testing.T) {
		ws := workspace(t, l)
		r := reserve(t, l, ws, 100, 25)
		l.client.Del(t.Context(), r.key)
		_, err := r.Settle(t.Context(), 25)
		wantFault(t, err, fault.Unavailable, time.Second)
		if n, _ := l.client.Exists(t.Context(), r.key).Result(); n != 0 {
			t.Error("settling a lost reservation made a window")
		}
	})
	t.Run("hash new", func(t *testing.T) {
		ws := workspace(t, l)
		r := reserve(t, l, ws, 100, 25)
		l.client.Del(t.Context(), r.key)
		spend(t, l, ws, 100, 1)
		_, err := r.Settle(t.Context(), 25)
		wantFault(t, err, fault.Unavailable, time.Second)
		if n := used(t, l, ws); n != 1 {
			t.Errorf("used %d, want 1", n)
		}
	})
	t.Run("hash set back", func(t *testing.T) {
		ws := workspace(t, l)
		spend(t, l, ws, 100, 1)
		key, _ := l.key(ws, 0)
		dump := l.client.Dump(t.Context(), key).Val()
		r := reserve(t, l, ws, 100, 25)
		if err := l.client.RestoreReplace(t.Context(), key, time.Hour, dump).Err(); err != nil {
			t.Fatal(err)
		}
		_, err := r.Settle(t.Context(), 25)
		wantFault(t, err, fault.Unavailable, time.Second)
		// Nothing to charge, nothing lost.
		settle(t, unsettledCopy(r), 0)
	})
}

func TestArguments(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	ws := workspace(t, l)
	for name, c := range map[string]struct {
		workspace string
		ceiling   int64
		operation string
		amount    int64
	}{
		"no workspace":       {"", 10, "search_accounts", 1},
		"zero workspace":     {uuid.Nil.String(), 10, "search_accounts", 1},
		"not a uuid":         {"{x}", 10, "search_accounts", 1},
		"negative ceiling":   {ws, -1, "search_accounts", 1},
		"ceiling too high":   {ws, MaxCeiling + 1, "search_accounts", 1},
		"no operation":       {ws, 10, "", 1},
		"operation with gap": {ws, 10, "search accounts", 1},
		"operation with :":   {ws, 10, "search:1", 1},
		"nothing":            {ws, 10, "search_accounts", 0},
		"too much":           {ws, 10, "search_accounts", MaxCeiling + 1},
	} {
		if _, _, err := l.Reserve(t.Context(), c.workspace, c.ceiling, c.operation, c.amount, Key{}); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []Options{{Prefix: "a{b"}, {Prefix: "}"}, {Timeout: -1}, {Wait: -1}, {BreakerFailures: -1}, {BreakerPause: -1}} {
		if _, err := New(l.client, o); err == nil {
			t.Errorf("New took %+v", o)
		}
	}
	if _, err := New(nil, Options{}); err == nil {
		t.Error("New took no client")
	}
}

// The largest permitted numbers are stored without loss.
func TestLargeNumbers(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	ws := workspace(t, l)
	const big = MaxCeiling - 10
	if w := spend(t, l, ws, MaxCeiling, big); w.Used != big || w.Remaining != 10 {
		t.Errorf("%+v", w)
	}
	u, err := l.Usage(t.Context(), ws, MaxCeiling)
	if err != nil || u.Used != big || u.ByTool["search_accounts"] != big {
		t.Errorf("%+v, %v", u, err)
	}
}
