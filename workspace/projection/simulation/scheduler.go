package simulation

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"atlas/internal/fault"
	"atlas/workspace/held"
)

// scheduler executes one event at a time.
type scheduler struct {
	bus        *bus
	random     *rand.Rand
	plan       plan
	partitions []partition
	began      time.Time
	queue      eventQueue
	events     int
	accepted   int // calls
	// healed: faults have ended.
	healed bool
	// pendingCalls are calls that have not been answered, or not been executed.
	pendingCalls map[*call]bool
	history      history
}

// event is a scheduled event.
type event struct {
	at  time.Duration // since the start
	seq int
	// late: a call whose caller has given up.
	late bool
	do   func()
}

type eventQueue []*event

func (e eventQueue) Len() int { return len(e) }
func (e eventQueue) Less(a, b int) bool {
	return cmp.Or(cmp.Compare(e[a].at, e[b].at), cmp.Compare(e[a].seq, e[b].seq)) < 0
}
func (e eventQueue) Swap(a, b int) { e[a], e[b] = e[b], e[a] }
func (e *eventQueue) Push(x any)   { *e = append(*e, x.(*event)) }
func (e *eventQueue) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

func (s *scheduler) now() time.Duration { return time.Since(s.began) }

// after schedules an event.
func (s *scheduler) after(wait time.Duration, do func()) *event {
	s.events++
	e := &event{at: s.now() + wait, seq: s.events, do: do}
	heap.Push(&s.queue, e)
	return e
}

// runUntil runs the simulation until a condition holds or limit has passed. It reports
// whether the condition holds.
func (s *scheduler) runUntil(limit time.Duration, condition func() bool) bool {
	end := s.now() + limit
	for {
		synctest.Wait()
		s.accept()
		if condition() {
			return true
		}
		now := s.now()
		if now >= end {
			return false
		}
		next := end
		if len(s.queue) > 0 {
			next = min(next, s.queue[0].at)
		}
		if next > now {
			// A goroutine that wakes up meanwhile may schedule an earlier event.
			timer := time.NewTimer(next - now)
			select {
			case <-timer.C:
			case <-s.bus.wake:
			}
			timer.Stop()
			continue
		}
		heap.Pop(&s.queue).(*event).do()
	}
}

// accept schedules the parked calls, sorted by name: their order of arrival depends on
// the Go scheduler.
func (s *scheduler) accept() {
	arrived := s.bus.drain()
	slices.SortStableFunc(arrived, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.caller, b.caller), cmp.Compare(a.what, b.what), cmp.Compare(a.fingerprint, b.fingerprint))
	})
	for _, c := range arrived {
		s.accepted++
		c.seq, s.pendingCalls[c] = s.accepted, true
		if c.link.dead.Load() {
			s.answer(c, nil, errKilled)
			continue
		}
		s.schedule(c)
	}
}

func (s *scheduler) schedule(c *call) {
	r := s.random
	if s.healed || c.to == toScenario {
		s.after(upTo(r, s.plan.latency), func() { s.answer(s.execute(c, "")) })
		return
	}
	wait := s.plan.delay(r)
	c.fate = s.plan.fate(r, c.to)
	for _, cut := range s.partitions {
		if cut.affects(c, s.now()) {
			c.fate = cut.fate
		}
	}
	switch c.fate {
	case noFault:
		s.after(wait, func() {
			// The answer may be slow too.
			_, value, err := s.execute(c, "")
			if r.IntN(3) == 0 {
				s.after(s.plan.delay(r), func() { s.answer(c, value, err) })
				return
			}
			s.answer(c, value, err)
		})
	case lost:
		s.after(wait, func() { s.answer(c, nil, errReset) })
	case answerLost:
		s.after(wait, func() {
			_, _, _ = s.execute(c, "answer lost")
			s.answer(c, nil, errReset)
		})
	case late:
		s.after(wait, func() {
			s.answer(c, nil, errReset)
			s.executeLate(c)
		})
	case hanging:
		if r.IntN(2) == 0 {
			s.executeLate(c)
		}
		s.after(MaxHang, func() { s.answer(c, nil, errReset) })
	case duplicated:
		s.after(wait, func() {
			s.answer(s.execute(c, ""))
			s.executeLate(c)
		})
	case busy:
		s.after(wait, func() {
			refused := randomRefusal(r)
			body, err := json.Marshal(errorBody(refused))
			s.answer(c, reply{refused.status, body}, errors.Join(err, c.refusalError(refused)))
		})
	}
}

// executeLate executes a call after its caller may have given up.
func (s *scheduler) executeLate(c *call) {
	s.after(s.plan.lateness(s.random, c.to), func() { _, _, _ = s.execute(c, "late") }).late = true
}

// execute executes a call. A call whose caller gave up before it arrived is executed
// in half of all cases.
func (s *scheduler) execute(c *call, note string) (*call, any, error) {
	if note == "" && c.abandoned.Load() {
		note = "late"
		if s.random.IntN(2) == 0 {
			s.history.addCall(s.now(), c, "never arrived", nil, nil)
			return c, nil, errReset
		}
	}
	value, err := c.exec()
	s.history.addCall(s.now(), c, note, value, err)
	return c, value, err
}

func (s *scheduler) answer(c *call, value any, err error) {
	if err != nil {
		if _, known := errors.AsType[*fault.Error](err); !known {
			err = fault.BackendUnavailable(err, c.to.String())
		}
		if !c.answered && !c.abandoned.Load() {
			s.history.addCall(s.now(), c, "refused", nil, err)
		}
	}
	c.answer(value, err)
	delete(s.pendingCalls, c)
}

// kill ends a process: its open calls fail.
func (s *scheduler) kill(l *link) {
	l.dead.Store(true)
	var own []*call
	for c := range s.pendingCalls {
		if c.link == l {
			own = append(own, c)
		}
	}
	slices.SortFunc(own, func(a, b *call) int { return cmp.Compare(a.seq, b.seq) })
	for _, c := range own {
		s.answer(c, nil, errKilled)
	}
}

// heal ends all faults. Late calls arrive within LateAfterHeal.
func (s *scheduler) heal() {
	s.healed = true
	for _, e := range s.queue {
		if e.late || e.at > s.now()+LateAfterHeal {
			e.at = s.now() + upTo(s.random, LateAfterHeal)
		}
	}
	heap.Init(&s.queue)
}

// refusalError is nil for a call that gets an HTTP response.
func (c *call) refusalError(f *elasticError) error {
	if c.http {
		return nil
	}
	return fault.BackendUnavailable(f, c.to.String())
}

// history is the events of a run and a digest of them.
type history struct {
	lock    *sync.Mutex // the operator starts processes concurrently
	steps   int
	digest  uint64
	entries []entry
}

type entry struct {
	at                time.Duration
	who, what, result string
}

// maxEntries limits the entries of a history; the digest has no limit.
const maxEntries = 100_000

func (h *history) addCall(at time.Duration, c *call, note string, value any, err error) {
	result := note
	if c.fate == duplicated || c.fate == hanging {
		result += " (" + c.fate.String() + ")"
	}
	if err != nil {
		result += " error: " + err.Error()
	} else {
		result += resultText(value)
	}
	h.add(at, c.caller, c.what, result)
}

func (h *history) add(at time.Duration, who, what, result string) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.steps++
	const prime = 1099511628211 // FNV-1a
	mix := func(b byte) { h.digest = (h.digest ^ uint64(b)) * prime }
	for shift := 0; shift < 64; shift += 8 {
		mix(byte(uint64(at) >> shift)) // #nosec G115 -- bits
	}
	for _, text := range []string{who, what} {
		for i := range len(text) {
			mix(text[i])
		}
	}
	if len(h.entries) < maxEntries {
		h.entries = append(h.entries, entry{at, who, what, result})
	}
}

// resultText is the text of an answer in a history, "" for most types.
func resultText(value any) string {
	switch v := value.(type) {
	case bool, int64, string:
		return fmt.Sprintf(" → %v", v)
	case held.Pending:
		return fmt.Sprintf(" → ok=%v %s", v.Leased, versions(v.Records))
	case reply:
		return fmt.Sprintf(" → %d", v.status)
	}
	return ""
}
