package credits

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
)

func newOnce() Once { return Once{Key: uuid.New(), Request: uuid.New()} }

// once reserves one credit of a ceiling of 1000 for a request whose answer is stored.
func once(t testing.TB, l *Ledger, ws string, o Once) (*Reservation, []byte, error) {
	t.Helper()
	r, answer, _, err := l.ReserveOnce(t.Context(), ws, 1000, "search_accounts", 100, Key{}, o)
	return r, answer, err
}

func settleStoring(t testing.TB, r *Reservation, delivered int64, answer string) Window {
	t.Helper()
	w, err := r.SettleStoring(t.Context(), delivered, []byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// ttl is how long the answer of a request remains stored, negative if none is.
func ttl(t testing.TB, l *Ledger, ws string, o Once) time.Duration {
	t.Helper()
	hash, err := l.key(ws, 0)
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.client.PTTL(t.Context(), o.in(hash).key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAnAnswerIsStored(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	ws, o := workspace(t, l), newOnce()
	r, answer, err := once(t, l, ws, o)
	if err != nil || answer != nil {
		t.Fatalf("the first: %q, %v", answer, err)
	}
	if d := ttl(t, l, ws, o); d <= 0 || d > lease {
		t.Errorf("while it runs, it has the key for %v", d)
	}
	const stored = "an answer\x00\xff with any bytes"
	settleStoring(t, r, 7, stored)
	if d := ttl(t, l, ws, o); d <= 23*time.Hour || d > 24*time.Hour {
		t.Errorf("the answer is kept for %v", d)
	}
	for range 3 {
		r, answer, err := once(t, l, ws, o)
		if err != nil || r != nil || string(answer) != stored {
			t.Fatalf("a repetition: %q, %v", answer, err)
		}
	}
	if n := used(t, l, ws); n != 7 {
		t.Errorf("charged %d", n)
	}

	other := o
	other.Request = uuid.New()
	if _, _, err := once(t, l, ws, other); fault.CodeOf(err) != fault.IdempotencyConflict {
		t.Errorf("another request with the key: %v", err)
	}
	other = o
	other.Key = uuid.New()
	for name, at := range map[string]string{"another key": ws, "another workspace": workspace(t, l)} {
		with := other
		if name != "another key" {
			with = o
		}
		r, answer, err := once(t, l, at, with)
		if err != nil || answer != nil {
			t.Fatalf("%s: %q, %v", name, answer, err)
		}
		settle(t, r, 0)
	}
}

// The answer that used up the ceiling is replayed to a client that did not receive it.
func TestAnAnswerIsStoredBeyondTheCeiling(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	ws, o := workspace(t, l), newOnce()
	r, _, _, err := l.ReserveOnce(t.Context(), ws, 10, "search_accounts", 10, Key{}, o)
	if err != nil {
		t.Fatal(err)
	}
	settleStoring(t, r, 10, "a")
	if _, answer, w, err := l.ReserveOnce(t.Context(), ws, 10, "search_accounts", 10, Key{}, o); err != nil ||
		string(answer) != "a" || w.Used != 10 {
		t.Errorf("%q, %+v, %v", answer, w, err)
	}
	if _, _, _, err := l.ReserveOnce(t.Context(), ws, 10, "search_accounts", 10, Key{}, newOnce()); fault.CodeOf(err) != fault.RateLimited {
		t.Errorf("another request: %v", err)
	}
}

func TestAFailedRequestMayBeRepeated(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	ws, o := workspace(t, l), newOnce()
	r, _, err := once(t, l, ws, o)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = once(t, l, ws, o)
	if wantFault(t, err, fault.IdempotencyInProgress, time.Second); t.Failed() {
		t.FailNow()
	}
	settle(t, r, 0)
	o.Request = uuid.New() // nothing is left of the first
	r, answer, err := once(t, l, ws, o)
	if err != nil || answer != nil {
		t.Fatalf("%q, %v", answer, err)
	}
	settleStoring(t, r, 2, "a")
	if n := used(t, l, ws); n != 2 {
		t.Errorf("charged %d", n)
	}
}

// A request that lost its key, because it took long and was repeated, is not charged, and
// its answer is not delivered.
func TestOneOfTwoIsCharged(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	ws, o := workspace(t, l), newOnce()
	slow, _, err := once(t, l, ws, o)
	if err != nil {
		t.Fatal(err)
	}
	hash, _ := l.key(ws, 0)
	lapse := func() {
		if err := l.client.Del(t.Context(), o.in(hash).key).Err(); err != nil {
			t.Fatal(err)
		}
	}
	lapse()
	fast, answer, err := once(t, l, ws, o)
	if err != nil || answer != nil {
		t.Fatalf("after the lease: %q, %v", answer, err)
	}
	if _, err := slow.SettleStoring(t.Context(), 5, []byte("slow")); fault.CodeOf(err) != fault.IdempotencyInProgress {
		t.Errorf("settled while the other runs: %v", err)
	}
	settleStoring(t, fast, 3, "fast")
	// The same reply, had the one to its settlement been lost.
	if _, err := unsettledCopy(slow).SettleStoring(t.Context(), 5, []byte("slow")); fault.CodeOf(err) != fault.IdempotencyInProgress {
		t.Errorf("settled again: %v", err)
	}
	settleStoring(t, unsettledCopy(fast), 3, "fast")
	if _, answer, err := once(t, l, ws, o); err != nil || string(answer) != "fast" {
		t.Errorf("kept: %q, %v", answer, err)
	}
	if n := used(t, l, ws); n != 3 {
		t.Errorf("charged %d", n)
	}

	// Nobody repeated it: its answer is stored, however long it took.
	o = newOnce()
	slow, _, err = once(t, l, ws, o)
	if err != nil {
		t.Fatal(err)
	}
	lapse()
	settleStoring(t, slow, 1, "slow")
	if _, answer, err := once(t, l, ws, o); err != nil || string(answer) != "slow" {
		t.Errorf("kept: %q, %v", answer, err)
	}
}

// Of many equal concurrent requests to two servers, one is charged.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	other, err := New(l.client, Options{Prefix: l.prefix, Log: l.log})
	if err != nil {
		t.Fatal(err)
	}
	ws, o := workspace(t, l), newOnce()
	var wg sync.WaitGroup
	var charged, stored, refused atomic.Int64
	for i := range 100 {
		l := []*Ledger{l, other}[i%2]
		wg.Go(func() {
			r, answer, err := once(t, l, ws, o)
			switch {
			case fault.CodeOf(err) == fault.IdempotencyInProgress:
				refused.Add(1)
			case err != nil:
				t.Error(err)
			case answer != nil:
				stored.Add(1)
			default:
				charged.Add(1)
				if _, err := r.SettleStoring(t.Context(), 4, []byte("a")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if charged.Load() != 1 || used(t, l, ws) != 4 {
		t.Errorf("%d were charged %d credits; %d got the answer, %d were refused", charged.Load(), used(t, l, ws), stored.Load(), refused.Load())
	}
}

// Answers without records are free, so their number has a limit of its own.
func TestEmptyAnswersHaveALimit(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	ws := workspace(t, l)
	hash, _ := l.key(ws, 0)
	answer := func(delivered int64) bool {
		o := newOnce()
		r, _, err := once(t, l, ws, o)
		if err != nil {
			t.Fatal(err)
		}
		settleStoring(t, r, delivered, "none")
		return ttl(t, l, ws, o) > 0
	}
	for range 2 {
		if !answer(0) {
			t.Fatal("an empty answer is not kept")
		}
	}
	count := l.client.HGet(t.Context(), hash, "e").Val()
	var hour, n int64
	if _, err := fmt.Sscan(count, &hour, &n); err != nil || n != 2 {
		t.Fatalf("counted %q, %v", count, err)
	}
	l.client.HSet(t.Context(), hash, "e", fmt.Sprintf("%d %d", hour, 1999))
	if stored := []bool{answer(0), answer(0), answer(1)}; !stored[0] || stored[1] || !stored[2] {
		t.Errorf("the 2000th empty one, the next, one with a record: stored %v", stored)
	}
	l.client.HSet(t.Context(), hash, "e", fmt.Sprintf("%d %d", hour-1, 2000))
	if !answer(0) {
		t.Error("in the next hour none is kept")
	}
}

// The memory of a stored answer, as in doc.go.
func TestWeightOfStoredAnswers(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	ws := workspace(t, l)
	hash, _ := l.key(ws, 0)
	for _, size := range []int{2, 300, 300 + 25*16, 300 + 100*16} {
		o := newOnce()
		r, _, err := once(t, l, ws, o)
		if err != nil {
			t.Fatal(err)
		}
		settleStoring(t, r, 1, string(bytes.Repeat([]byte{7}, size)))
		weight, err := l.client.MemoryUsage(t.Context(), o.in(hash).key).Result()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%4d bytes of an answer weigh %d", size, weight)
		if weight > int64(size)*5/4+300 {
			t.Errorf("%d bytes weigh %d", size, weight)
		}
	}
}
