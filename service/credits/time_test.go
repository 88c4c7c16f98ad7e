package credits

import (
	"fmt"
	"testing"
	"time"

	"atlas/internal/fault"
)

// header returns the numbers of the field w: time, used, reserved, oldest bucket, next,
// lapsed and deleted position.
func header(t testing.TB, l *Ledger, ws string) (h [7]int64) {
	t.Helper()
	text := l.client.HGet(t.Context(), l.prefix+"{"+ws+"}", "w").Val()
	if _, err := fmt.Sscan(text, &h[0], &h[1], &h[2], &h[3], &h[4], &h[5], &h[6]); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestBucketLeavesWhenItsWholeMinuteIsOld(t *testing.T) {
	t.Parallel()
	c := newClocks()
	l := ledger(t, c.options())
	ws := workspace(t, l)
	start := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	c.set(start) // first millisecond of its minute
	spend(t, l, ws, 1000, 10)
	c.set(start.Add(59*time.Second + 999*time.Millisecond)) // last one
	spend(t, l, ws, 1000, 5)

	c.set(start.Add(24*time.Hour + 59*time.Second + 999*time.Millisecond))
	if n := used(t, l, ws); n != 15 {
		t.Errorf("a millisecond before the minute is old: %d used, want 15", n)
	}
	c.set(start.Add(24*time.Hour + time.Minute))
	if n := used(t, l, ws); n != 0 {
		t.Errorf("when the whole minute is old: %d used, want 0", n)
	}
}

func TestWindowAfterADayWithoutUse(t *testing.T) {
	t.Parallel()
	c := newClocks()
	l := ledger(t, c.options())
	ws := workspace(t, l)
	spend(t, l, ws, 10, 10)
	lost := reserve(t, l, workspace(t, l), 10, 5)
	c.advance(40 * time.Hour)
	if w, err := l.Check(t.Context(), ws, 10, Key{}); err != nil || w.Used != 0 {
		t.Errorf("Check: %+v, %v", w, err)
	}
	if h := header(t, l, ws); h[4] != 1 || h[5] != 1 || h[6] != 1 {
		t.Errorf("the queue after clearing: %v, want all of it passed", h[4:7])
	}
	ttl := l.client.PTTL(t.Context(), l.prefix+"{"+ws+"}").Val()
	if ttl <= 71*time.Hour || ttl > 72*time.Hour {
		t.Errorf("after clearing the hash expires in %v", ttl)
	}
	// Time does not go back to before the cleared day.
	c.advance(-30 * time.Hour)
	spend(t, l, ws, 10, 4)
	c.advance(53 * time.Hour) // 23 h after the clearing
	if n := used(t, l, ws); n != 4 {
		t.Errorf("used %d, want 4", n)
	}
	if _, err := lost.Settle(t.Context(), 5); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("settling two days late: %v", err)
	}
}

// Calls extend the expiry once a minute.
func TestExpiry(t *testing.T) {
	t.Parallel()
	c := newClocks()
	l := ledger(t, c.options())
	ws := workspace(t, l)
	key := l.prefix + "{" + ws + "}"
	for _, call := range []func(){
		func() { spend(t, l, ws, 100, 1) },
		func() { settle(t, reserve(t, l, ws, 100, 1), 0) },
		func() { used(t, l, ws) },
	} {
		call()
		if ttl := l.client.PTTL(t.Context(), key).Val(); ttl <= 71*time.Hour || ttl > 72*time.Hour {
			t.Errorf("expires in %v", ttl)
		}
		l.client.PExpire(t.Context(), key, time.Hour)
		c.advance(time.Minute)
	}
}

// A slow request is charged to the minute of its reservation, which may be before the
// oldest bucket, and leaves the window with that minute.
func TestChargeBeforeTheOldestBucket(t *testing.T) {
	t.Parallel()
	c := newClocks()
	l := ledger(t, c.options())
	ws := workspace(t, l)
	slow := reserve(t, l, ws, 100, 10)
	c.advance(time.Minute)
	spend(t, l, ws, 100, 1)
	settle(t, slow, 10)
	c.advance(24 * time.Hour)
	if n := used(t, l, ws); n != 1 {
		t.Errorf("used %d, want 1", n)
	}
	c.advance(time.Minute)
	if n := used(t, l, ws); n != 0 {
		t.Errorf("used %d, want 0", n)
	}
}

func TestReservationLapses(t *testing.T) {
	t.Parallel()
	c := newClocks()
	l := ledger(t, c.options())
	ws := workspace(t, l)
	crashed := reserve(t, l, ws, 25, 25)
	c.advance(59_999 * time.Millisecond)
	_, _, err := l.Reserve(t.Context(), ws, 25, "search_accounts", 25, Key{})
	wantFault(t, err, fault.Unavailable, time.Second)
	c.advance(time.Millisecond)
	r := reserve(t, l, ws, 25, 20)

	// A slow request is charged what it delivered.
	if w := settle(t, crashed, 11); w.Used != 11 {
		t.Errorf("settled after the deadline: %+v", w)
	}
	if w := settle(t, unsettledCopy(crashed), 11); w.Used != 11 {
		t.Errorf("and settled twice: %+v", w)
	}
	if w := settle(t, r, 20); w.Used != 31 {
		t.Errorf("the other one: %+v", w)
	}

	// Still possible before eleven minutes have passed.
	late := reserve(t, l, ws, 100, 9)
	c.advance(11*time.Minute - time.Millisecond)
	if w := settle(t, late, 2); w.Used != 33 {
		t.Errorf("a millisecond before it is forgotten: %+v", w)
	}

	// Deleted after eleven minutes: not charged, so nothing may be delivered.
	late = reserve(t, l, ws, 100, 9)
	c.advance(11 * time.Minute)
	_, err = late.Settle(t.Context(), 9)
	wantFault(t, err, fault.Unavailable, time.Second)
	if n := used(t, l, ws); n != 33 {
		t.Errorf("used %d, want 33", n)
	}
	if left := l.client.HKeys(t.Context(), late.key).Val(); len(left) != 4 {
		t.Errorf("left in the hash: %v; want w, b and two buckets", left)
	}
}

// More reservations lapse than one call examines.
func TestManyReservationsLapse(t *testing.T) {
	t.Parallel()
	c := newClocks()
	l := ledger(t, c.options())
	ws := workspace(t, l)
	const n = 2500
	for i := range n {
		r := reserve(t, l, ws, n+1, 1)
		if i%2 == 1 {
			settle(t, r, 0)
		}
	}
	c.advance(time.Minute)
	eventually(t, "all lapse within a few calls", func() bool {
		_, _, err := l.Reserve(t.Context(), ws, 1, "get_contact", 1, Key{})
		return err == nil
	})
	c.advance(11 * time.Minute)
	eventually(t, "all are forgotten", func() bool {
		used(t, l, ws)
		return l.client.HLen(t.Context(), l.prefix+"{"+ws+"}").Val() == 1
	})
}

func TestForwardJumpOfRedis(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{2 * time.Hour, 25 * time.Hour, 47 * time.Hour, 10 * 365 * 24 * time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			t.Parallel()
			c := newClocks()
			l := ledger(t, c.options())
			ws := workspace(t, l)
			spend(t, l, ws, 100, 40)
			c.redis.Add(jump.Milliseconds())
			for range 20 { // however often it is called
				spend(t, l, ws, 100, 1)
			}
			if n := used(t, l, ws); n != 60 {
				t.Fatalf("ahead: used %d, want 60", n)
			}
			c.advance(time.Hour)
			spend(t, l, ws, 100, 2)
			c.redis.Add(-jump.Milliseconds())
			spend(t, l, ws, 100, 3)
			if n := used(t, l, ws); n != 65 {
				t.Fatalf("back again: used %d, want 65", n)
			}
			// Everything leaves the window, on time or one or two minutes late.
			c.advance(22*time.Hour + 58*time.Minute)
			if n := used(t, l, ws); n != 65 {
				t.Fatalf("a minute before the first leave: used %d, want 65", n)
			}
			c.advance(4 * time.Minute)
			if n := used(t, l, ws); n != 5 {
				t.Fatalf("after a day: used %d, want 5", n)
			}
			c.advance(time.Hour)
			if n := used(t, l, ws); n != 0 {
				t.Fatalf("after a day and an hour: used %d, want 0", n)
			}
		})
	}
}

func TestBackwardJumpOfRedis(t *testing.T) {
	t.Parallel()
	c := newClocks()
	l := ledger(t, c.options())
	ws := workspace(t, l)
	spend(t, l, ws, 100, 10)
	c.redis.Add(-(5 * time.Hour).Milliseconds())
	spend(t, l, ws, 100, 20)
	c.redis.Add((5 * time.Hour).Milliseconds())
	c.advance(24*time.Hour - time.Minute)
	// Credits charged while the clock was back have not left early.
	if n := used(t, l, ws); n != 30 {
		t.Errorf("used %d, want 30", n)
	}
	c.advance(2 * time.Minute)
	if n := used(t, l, ws); n != 0 {
		t.Errorf("used %d, want 0", n)
	}
}

// The default clocks: Redis's clock and that of this process.
func TestRealClocks(t *testing.T) {
	t.Parallel()
	l := ledger(t, Options{})
	ws := workspace(t, l)
	before := time.Now().Add(-time.Second).UnixMilli()
	r := reserve(t, l, ws, 100, 5)
	settle(t, r, 5)
	after := time.Now().Add(time.Second).UnixMilli()
	if at := header(t, l, ws)[0]; at < before || at > after {
		t.Errorf("the window's time is %d, want %d..%d", at, before, after)
	}
	if ttl := l.client.PTTL(t.Context(), r.key).Val(); ttl <= 71*time.Hour || ttl > 72*time.Hour {
		t.Errorf("expires in %v", ttl)
	}
}

func TestSteadyClock(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	wall, passed := start, time.Duration(0)
	c := newSteadyClock(func() time.Time { return wall }, func() time.Duration { return passed })
	pass := func(d time.Duration) { passed += d; wall = wall.Add(d) }
	expect := func(what string, want time.Time) {
		t.Helper()
		if got := c.now(); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	pass(time.Hour)
	expect("in step", start.Add(time.Hour))
	wall = wall.Add(24 * time.Hour)
	expect("the system clock jumps a day", start.Add(time.Hour))
	for range 60 {
		pass(time.Minute)
		c.now()
	}
	expect("an hour later", start.Add(2*time.Hour+time.Minute))
	wall = wall.Add(-24 * time.Hour)
	expect("it jumps back", start.Add(2*time.Hour+time.Minute))
	pass(time.Hour)
	expect("and goes on", start.Add(3*time.Hour+time.Minute))
	wall = wall.Add(90 * time.Second) // half a minute ahead of the steady clock
	pass(10 * time.Hour)
	expect("caught up", wall)
}
