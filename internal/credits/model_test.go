package credits

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"atlas/internal/devstack/backends"
	"atlas/internal/fault"
)

// model is the window as its rules say it, kept whole: every charge and every
// reservation ever made, and the sums taken anew each time.
type model struct {
	exists  bool
	now     int64 // ms
	charges []modelCharge
	open    map[string]*modelReservation
	ceiling int64
}

type modelCharge struct {
	minute, amount int64
	operation      string
}

type modelReservation struct {
	amount, created, born int64
	operation             string
}

// step advances the model to the time of a call.
func (m *model) step(c *clocks) {
	now := min(c.redis.Load(), c.local.Load()+60_000)
	if m.exists {
		now = max(now, m.now)
	}
	m.now = now
	maps.DeleteFunc(m.open, func(_ string, r *modelReservation) bool { return r.created+11*60_000 <= now })
}

func (m *model) byTool() (total int64, byTool map[string]int64) {
	byTool = map[string]int64{}
	for _, c := range m.charges {
		if end := (c.minute + 1) * 60_000; m.now-end < 24*3600_000 {
			byTool[c.operation] += c.amount
			total += c.amount
		}
	}
	return total, byTool
}

func (m *model) used() int64 { n, _ := m.byTool(); return n }

// back is the time in ms at which less than a ceiling is used, 0 if it is now or never.
func (m *model) back(ceiling int64) int64 {
	rest := m.used() - ceiling
	if rest < 0 || ceiling == 0 {
		return 0
	}
	byMinute := map[int64]int64{}
	for _, c := range m.charges {
		if end := (c.minute + 1) * 60_000; m.now-end < 24*3600_000 {
			byMinute[c.minute] += c.amount
		}
	}
	back := int64(0)
	for _, minute := range slices.Sorted(maps.Keys(byMinute)) {
		if rest >= 0 {
			back = (minute + 1 + 24*60) * 60_000
		}
		rest -= byMinute[minute]
	}
	return back
}

// byHour has the credits of the window by clock hour.
func (m *model) byHour() map[int64]int64 {
	hours := map[int64]int64{}
	for _, c := range m.charges {
		if end := (c.minute + 1) * 60_000; m.now-end < 24*3600_000 && c.amount > 0 {
			hours[c.minute/60*3600] += c.amount
		}
	}
	return hours
}

func (m *model) held() (n int64) {
	for _, r := range m.open {
		if m.now < r.created+60_000 {
			n += r.amount
		}
	}
	return n
}

// run holds a ledger against the model through one history.
type run struct {
	*rapid.T
	ctx     context.Context
	clocks  *clocks
	ledger  *Ledger
	ws      string
	m       *model
	handles []*Reservation // all ever granted
	seen    map[string]int // how often the interesting cases occurred
}

func (r *run) window(what string, got Window) {
	r.Helper()
	r.windowOf(what, got, r.m.ceiling)
}

func (r *run) windowOf(what string, got Window, ceiling int64) {
	r.Helper()
	back := int64(0)
	if what != "settle" {
		back = r.m.back(ceiling)
	}
	if want := newWindow(r.m.used(), ceiling, back); got != want {
		r.Fatalf("%s: window %+v, want %+v", what, got, want)
	}
}

// step is a call of the ledger, and what compares its results with the model.
type step struct{ call, verify func() }

func (r *run) reserve() step {
	op := rapid.SampledFrom([]string{"search_accounts", "get_contact", "search_view_records"}).Draw(r.T, "operation")
	amount := rapid.Int64Range(1, 100).Draw(r.T, "amount")
	var h *Reservation
	var w Window
	var err error
	return step{func() { h, w, err = r.ledger.Reserve(r.ctx, r.ws, r.m.ceiling, op, amount) }, func() {
		r.m.step(r.clocks)
		want := fault.Code("")
		switch {
		case r.m.used() >= r.m.ceiling:
			want = fault.RateLimited
		case r.m.used()+r.m.held() >= r.m.ceiling:
			want = fault.Unavailable
		}
		if got := fault.CodeOf(err); got != want {
			r.Fatalf("reserve: %v, want code %q (used %d, held %d)", err, want, r.m.used(), r.m.held())
		}
		r.window("reserve", w)
		r.seen["reserve "+string(want)]++
		if err == nil {
			r.m.exists = true
			r.m.open[h.id] = &modelReservation{amount: amount, created: r.m.now, born: r.clocks.local.Load(), operation: op}
			r.handles = append(r.handles, h)
		}
	}}
}

// settle settles any reservation ever granted, often one that was settled, has lapsed or
// was deleted. A batch has at most one operation on a reservation.
func (r *run) settle(batch map[string]bool) step {
	if len(r.handles) == 0 {
		return r.check()
	}
	// Usually a late one.
	back := min(rapid.IntRange(0, 200).Draw(r.T, "reservation")/10, len(r.handles)-1)
	h := again(r.handles[len(r.handles)-1-back])
	delivered := rapid.Int64Range(0, h.amount).Draw(r.T, "delivered")
	if batch[h.id] {
		return r.check()
	}
	batch[h.id] = true
	var w Window
	var err error
	return step{func() { w, err = h.Settle(r.ctx, delivered) }, func() {
		r.m.step(r.clocks)
		known, open := r.m.open[h.id]
		if !open {
			old := r.clocks.local.Load()-h.createdAt.UnixMilli() >= 10*60_000
			if failed := err != nil; failed != (delivered > 0 && old) {
				r.Fatalf("settle again: %v", err)
			}
			r.seen["settle again or forgotten"]++
		} else {
			if err != nil {
				r.Fatalf("settle: %v", err)
			}
			if r.m.now >= known.created+60_000 {
				r.seen["settle lapsed"]++
			}
			delete(r.m.open, h.id)
			if delivered > 0 {
				r.m.charges = append(r.m.charges, modelCharge{known.created / 60_000, delivered, known.operation})
			}
		}
		if err == nil {
			r.window("settle", w)
		}
	}}
}

// check reads the window with any ceiling, as after a change of it.
func (r *run) check() step {
	var w Window
	var err error
	ceiling := rapid.Int64Range(0, r.m.used()+1).Draw(r.T, "changed ceiling")
	return step{func() { w, err = r.ledger.Check(r.ctx, r.ws, ceiling) }, func() {
		r.m.step(r.clocks)
		want := fault.Code("")
		if r.m.used() >= ceiling {
			want = fault.RateLimited
		}
		if got := fault.CodeOf(err); got != want {
			r.Fatalf("check: %v, want code %q", err, want)
		}
		r.windowOf("check", w, ceiling)
	}}
}

// batch makes several calls whose operations go together, in this order.
func (r *run) batch() {
	r.ledger.batcher.queues[""] = nil // as if a call were in flight
	settles := map[string]bool{}
	steps := make([]step, rapid.IntRange(2, 6).Draw(r.T, "operations"))
	var group sync.WaitGroup
	for i := range steps {
		switch rapid.IntRange(0, 4).Draw(r.T, "operation of the batch") {
		case 0:
			steps[i] = r.check()
		case 1, 2:
			steps[i] = r.reserve()
		default:
			steps[i] = r.settle(settles)
		}
		group.Go(steps[i].call)
		for queued(r.ledger) != i+1 {
			runtime.Gosched()
		}
	}
	r.ledger.batcher.send("", r.ledger.batcher.next(""))
	group.Wait()
	for _, s := range steps {
		s.verify()
	}
	r.seen["batch"]++
}

func (r *run) usage() {
	u, err := r.ledger.Usage(r.ctx, r.ws, r.m.ceiling)
	if err != nil {
		r.Fatal(err)
	}
	r.m.step(r.clocks)
	_, byTool := r.m.byTool()
	if diff := cmp.Diff(byTool, u.ByTool); diff != "" {
		r.Fatalf("by tool (-want +got):\n%s", diff)
	}
	r.window("usage", u.Window)
	byHour := map[int64]int64{}
	for i, h := range u.ByHour {
		byHour[h.From.Unix()] = h.Credits
		if i > 0 && !h.From.After(u.ByHour[i-1].From) {
			r.Fatalf("the hours are not in order: %v", u.ByHour)
		}
	}
	if diff := cmp.Diff(r.m.byHour(), byHour); diff != "" {
		r.Fatalf("by hour (-want +got):\n%s", diff)
	}
	if !r.m.exists {
		return
	}
	key, _ := r.ledger.key(r.ws, 0)
	var now, used, held int64
	if _, err := fmt.Sscan(r.ledger.client.HGet(r.ctx, key, "w").Val(), &now, &used, &held); err != nil {
		r.Fatal(err)
	}
	if now != r.m.now || held != r.m.held() {
		r.Fatalf("time %d, held %d; want %d, %d", now, held, r.m.now, r.m.held())
	}
}

// pass advances both clocks.
func (r *run) pass() {
	const hour = 3600_000
	most := rapid.SampledFrom([]int64{1, 1500, 45_000, 10 * 60_000, hour, 8 * hour, 24 * hour, 50 * hour}).Draw(r.T, "most")
	// Rapid favours small numbers; this spreads them over the range.
	ms := most * rapid.SampledFrom([]int64{1, 2, 3, 4}).Draw(r.T, "quarters") / 4
	ms = max(0, ms-rapid.Int64Range(0, 2*60_000).Draw(r.T, "less"))
	r.clocks.advance(time.Duration(ms) * time.Millisecond)
}

// jump sets one of the clocks wrong or corrects both.
func (r *run) jump() {
	const hour = 3600_000
	wrong := rapid.SampledFrom([]int64{-24 * hour, -hour, -90_000, 90_000, hour, 25 * hour, 72 * hour}).Draw(r.T, "wrong by")
	switch rapid.IntRange(0, 3).Draw(r.T, "clock") {
	case 0:
		r.clocks.redis.Store(r.clocks.local.Load() + wrong)
	case 1:
		r.clocks.local.Store(r.clocks.redis.Load() + wrong)
	default:
		late := min(r.clocks.redis.Load(), r.clocks.local.Load())
		r.clocks.redis.Store(late)
		r.clocks.local.Store(late)
	}
}

// The window equals the model through simulated days with jumps of either
// clock, crashes, lapses and repeated settles.
func TestWindowEqualsItsModel(t *testing.T) {
	t.Parallel()
	c := client(t, backends.Redis(t))
	var steps int
	var days float64
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		r := &run{T: rt, ctx: context.Background(), clocks: newClocks(), ws: uuid.NewString(), seen: seen}
		r.m = &model{
			open:    map[string]*modelReservation{},
			ceiling: rapid.Int64Range(0, 1500).Draw(rt, "ceiling"),
		}
		r.ledger = ledgerOn(t, c, r.clocks.options())
		key, _ := r.ledger.key(r.ws, 0)
		defer c.Del(r.ctx, key)
		start := r.clocks.redis.Load()
		for range rapid.IntRange(100, 400).Draw(rt, "steps") {
			one := func(s step) { s.call(); s.verify() }
			switch rapid.IntRange(0, 19).Draw(rt, "do") {
			case 0, 1, 2, 3:
				r.pass()
			case 4:
				r.jump()
			case 5:
				one(r.check())
			case 6, 7:
				r.usage()
			case 8, 9, 10, 11:
				one(r.reserve())
			case 12, 13, 14, 15:
				r.batch()
			default:
				one(r.settle(map[string]bool{}))
			}
			steps++
		}
		r.usage()
		days += float64(r.m.now-start) / 86_400_000
	})
	t.Logf("%d steps over %.0f days: %v", steps, days, seen)
	for _, what := range []string{"reserve ", "reserve rate_limited", "reserve unavailable", "settle lapsed", "settle again or forgotten", "batch"} {
		if seen[what] == 0 {
			t.Errorf("%q never came up", what)
		}
	}
}
