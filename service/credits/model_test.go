package credits

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"atlas/internal/devstack/backends"
	"atlas/internal/fault"
)

// model is the complete window by its rules: it stores every charge and every reservation,
// and computes the sums from scratch each time.
type model struct {
	exists  bool
	now     int64 // ms
	charges []modelCharge
	open    map[string]*modelReservation
	ceiling int64
}

type modelCharge struct {
	minute, amount int64
	operation, key string
}

type modelReservation struct {
	amount, created, born int64
	key                   string
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

// inWindow calls f with the charges of the window.
func (m *model) inWindow(f func(modelCharge)) {
	for _, c := range m.charges {
		if end := (c.minute + 1) * 60_000; m.now-end < 24*3600_000 {
			f(c)
		}
	}
}

// anyone, as a key, means everything that is used, by keys and users.
const anyone = "*"

// used is what a key used.
func (m *model) used(key string) (n int64) {
	m.inWindow(func(c modelCharge) {
		if key == anyone || key == c.key {
			n += c.amount
		}
	})
	return n
}

// back is the time in ms at which less than a ceiling, or budget, is used, 0 if it is now
// or never.
func (m *model) back(key string, ceiling int64) int64 {
	rest := m.used(key) - ceiling
	if rest < 0 || ceiling == 0 {
		return 0
	}
	byMinute := map[int64]int64{}
	m.inWindow(func(c modelCharge) {
		if key == anyone || key == c.key {
			byMinute[c.minute] += c.amount
		}
	})
	back := int64(0)
	for _, minute := range slices.Sorted(maps.Keys(byMinute)) {
		if rest >= 0 {
			back = (minute + 1 + 24*60) * 60_000
		}
		rest -= byMinute[minute]
	}
	return back
}

// sums has the credits of the window grouped by the result of of for each charge, without "".
func sums[K comparable](m *model, of func(modelCharge) K) map[K]int64 {
	by := map[K]int64{}
	m.inWindow(func(c modelCharge) {
		var none K
		if name := of(c); name != none {
			by[name] += c.amount
		}
	})
	return by
}

func (m *model) held(key string) (n int64) {
	for _, r := range m.open {
		if m.now < r.created+60_000 && (key == anyone || key == r.key) {
			n += r.amount
		}
	}
	return n
}

// code is the code of the error that Check returns, or Reserve where the second is given.
func (m *model) code(ceiling int64, by Key, reserves bool) fault.Code {
	switch {
	case m.used(anyone) >= ceiling:
		return fault.RateLimited
	case by.Budget > 0 && m.used(by.ID) >= by.Budget:
		return fault.KeyBudgetUsed
	case !reserves:
		return ""
	case m.used(anyone)+m.held(anyone) >= ceiling, by.Budget > 0 && m.used(by.ID)+m.held(by.ID) >= by.Budget:
		return fault.Unavailable
	}
	return ""
}

// grants is how many of the items of a batch are granted, and what they reserve.
func (m *model) grants(amounts []int64, ceiling int64, by Key) (items int, sum int64) {
	for _, amount := range amounts {
		if m.used(anyone)+m.held(anyone)+sum >= ceiling || by.Budget > 0 && m.used(by.ID)+m.held(by.ID)+sum >= by.Budget {
			break
		}
		items, sum = items+1, sum+amount
	}
	return items, sum
}

// charge charges at a time in ms.
func (m *model) charge(at int64, key string, charges ...Charge) {
	for _, c := range charges {
		if c.Credits > 0 {
			m.charges = append(m.charges, modelCharge{at / 60_000, c.Credits, c.Operation, key})
		}
	}
}

// modelOperations are those of the histories.
var modelOperations = []string{"search_accounts", "get_contact", "search_view_records"}

// run compares a ledger with the model through one history.
type run struct {
	*rapid.T
	ctx     context.Context
	clocks  *clocks
	ledger  *Ledger
	ws      string
	keys    []string
	m       *model
	handles []*Reservation // all ever granted
	seen    map[string]int // how often the interesting cases occurred
}

// key draws the caller of a request: a user, or a key, whose budget may have changed.
func (r *run) key() Key {
	id := rapid.SampledFrom(r.keys).Draw(r.T, "key")
	if id == "" {
		return Key{}
	}
	return Key{id, rapid.SampledFrom([]int64{0, 0, 1, 50, 200, 700}).Draw(r.T, "budget")}
}

// window compares a window. refused says what refused the call.
func (r *run) window(what string, got Window, ceiling int64, by Key, refused fault.Code) {
	r.Helper()
	var back, keyBack int64
	switch {
	case what == "usage", what == "check", refused == fault.RateLimited:
		back = r.m.back(anyone, ceiling)
	}
	if by.Budget > 0 && (what == "check" || refused == fault.KeyBudgetUsed) {
		keyBack = r.m.back(by.ID, by.Budget)
	}
	if want := newWindow(r.m.used(anyone), ceiling, back).of(by, r.m.used(by.ID), keyBack); got != want {
		r.Fatalf("%s: window %+v, want %+v", what, got, want)
	}
}

// step is a call of the ledger, and what compares its results with the model.
type step struct{ call, verify func() }

func (r *run) reserve() step {
	op := rapid.SampledFrom(modelOperations).Draw(r.T, "operation")
	amounts := rapid.SliceOfN(rapid.Int64Range(1, 100), 1, 4).Draw(r.T, "amounts")
	by := r.key()
	var h *Reservation
	var granted int
	var w Window
	var err error
	return step{func() {
		h, granted, _, w, err = r.ledger.ReserveItems(r.ctx, r.ws, r.m.ceiling, op, amounts, by, Once{})
	}, func() {
		r.m.step(r.clocks)
		items, amount := r.m.grants(amounts, r.m.ceiling, by)
		if granted != items {
			r.Fatalf("%d of %v granted, want %d", granted, amounts, items)
		}
		if items > 0 && items < len(amounts) {
			r.seen["reserve a part"]++
		}
		want := r.m.code(r.m.ceiling, by, true)
		if got := fault.CodeOf(err); got != want {
			r.Fatalf("reserve by %v: %v, want code %q (used %d, held %d; by the key %d, %d)", by, err, want,
				r.m.used(anyone), r.m.held(anyone), r.m.used(by.ID), r.m.held(by.ID))
		}
		r.window("reserve", w, r.m.ceiling, by, want)
		r.seen["reserve "+string(want)]++
		if want == fault.Unavailable && r.m.used(anyone)+r.m.held(anyone) < r.m.ceiling {
			r.seen["reserve, budget full"]++
		}
		if err == nil {
			r.m.exists = true
			r.m.open[h.id] = &modelReservation{amount: amount, created: r.m.now, born: r.clocks.local.Load(), key: by.ID}
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
	h := unsettledCopy(r.handles[len(r.handles)-1-back])
	var charges []Charge
	delivered := int64(0)
	for _, op := range modelOperations {
		credits := rapid.Int64Range(0, h.amount-delivered).Draw(r.T, "delivered")
		delivered += credits
		charges = append(charges, Charge{op, credits})
	}
	if batch[h.id] {
		return r.check()
	}
	batch[h.id] = true
	var w Window
	var err error
	return step{func() { w, err = h.SettleItems(r.ctx, charges, nil) }, func() {
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
			r.m.charge(known.created, known.key, charges...)
		}
		if err == nil {
			r.window("settle", w, r.m.ceiling, h.by, "")
		}
	}}
}

// charge charges without a reservation.
func (r *run) charge() step {
	c := Charge{rapid.SampledFrom(modelOperations).Draw(r.T, "operation"), rapid.Int64Range(0, 100).Draw(r.T, "credits")}
	by := r.key()
	var w Window
	var err error
	return step{func() { w, err = r.ledger.Charge(r.ctx, r.ws, r.m.ceiling, c, by) }, func() {
		r.m.step(r.clocks)
		want := r.m.code(r.m.ceiling, by, true)
		if got := fault.CodeOf(err); got != want {
			r.Fatalf("charge by %v: %v, want code %q", by, err, want)
		}
		if err == nil {
			r.m.exists = true
			r.m.charge(r.m.now, by.ID, c)
		}
		r.window("charge", w, r.m.ceiling, by, want)
		r.seen["charge "+string(want)]++
	}}
}

// check reads the window with any ceiling, as after a change of it.
func (r *run) check() step {
	var w Window
	var err error
	ceiling := rapid.Int64Range(0, r.m.used(anyone)+1).Draw(r.T, "changed ceiling")
	by := r.key()
	return step{func() { w, err = r.ledger.Check(r.ctx, r.ws, ceiling, by) }, func() {
		r.m.step(r.clocks)
		want := r.m.code(ceiling, by, false)
		if got := fault.CodeOf(err); got != want {
			r.Fatalf("check: %v, want code %q", err, want)
		}
		r.window("check", w, ceiling, by, want)
	}}
}

// batch makes several calls whose operations go together, in this order.
func (r *run) batch() {
	r.ledger.batcher.queues[""] = nil // as if a call were in flight
	settles := map[string]bool{}
	steps := make([]step, rapid.IntRange(2, 6).Draw(r.T, "operations"))
	var group sync.WaitGroup
	for i := range steps {
		switch rapid.IntRange(0, 5).Draw(r.T, "operation of the batch") {
		case 0:
			steps[i] = r.check()
		case 3:
			steps[i] = r.charge()
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
	if diff := cmp.Diff(sums(r.m, func(c modelCharge) string { return c.operation }), u.ByTool); diff != "" {
		r.Fatalf("by tool (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sums(r.m, func(c modelCharge) string { return c.key }), u.ByKey); diff != "" {
		r.Fatalf("by key (-want +got):\n%s", diff)
	}
	r.window("usage", u.Window, r.m.ceiling, Key{}, "")
	byHour := map[int64]int64{}
	for i, h := range u.ByHour {
		byHour[h.From.Unix()] = h.Credits
		if i > 0 && !h.From.After(u.ByHour[i-1].From) {
			r.Fatalf("the hours are not in order: %v", u.ByHour)
		}
	}
	if diff := cmp.Diff(sums(r.m, func(c modelCharge) int64 { return c.minute / 60 * 3600 }), byHour); diff != "" {
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
	if now != r.m.now || held != r.m.held(anyone) {
		r.Fatalf("time %d, held %d; want %d, %d", now, held, r.m.now, r.m.held(anyone))
	}
	// A key that neither used nor reserved anything leaves nothing.
	var want, got []string
	for _, id := range r.keys[1:] {
		if used, held := r.m.used(id), r.m.held(id); used+held > 0 {
			want = append(want, fmt.Sprintf("%s %d %d", id, used, held))
		}
		if text, err := r.ledger.client.HGet(r.ctx, key, "k"+id).Result(); err == nil {
			var number, used, held int64
			if _, err := fmt.Sscan(text, &number, &used, &held); err != nil || number > 2*int64(len(r.keys)) {
				r.Fatalf("%q: %v", text, err)
			}
			got = append(got, fmt.Sprintf("%s %d %d", id, used, held))
		}
	}
	listed := strings.Fields(r.ledger.client.HGet(r.ctx, key, "l").Val())
	if diff := cmp.Diff(want, got); diff != "" || len(listed) != len(u.ByKey) {
		r.Fatalf("keys: %v listed (-want +got):\n%s", listed, diff)
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
		r := &run{
			T: rt, ctx: context.Background(), clocks: newClocks(), ws: uuid.NewString(), seen: seen,
			keys: []string{"", uuid.NewString(), uuid.NewString(), uuid.NewString()},
		}
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
			case 8, 9, 10:
				one(r.reserve())
			case 11:
				one(r.charge())
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
	for _, what := range []string{
		"reserve ", "reserve rate_limited", "reserve key_budget_used", "reserve unavailable", "reserve, budget full",
		"reserve a part", "charge ", "charge rate_limited", "charge unavailable", "settle lapsed",
		"settle again or forgotten", "batch",
	} {
		if seen[what] == 0 {
			t.Errorf("%q never came up", what)
		}
	}
}
