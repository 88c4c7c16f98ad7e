package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"atlas/search/catalog"
	"atlas/workspace/projection"
)

// Outcome is the result of a seed.
type Outcome struct {
	Seed uint64
	// Steps counts the events, Digest is a hash of them. The same seed has the same.
	Steps  int
	Digest uint64
	// Simulated is the simulated time. Lag is the time from the end of faults until
	// every document was consistent.
	Simulated, Lag time.Duration
	// Answered and Refused count the searches of clients.
	Answered, Refused int64
	// Killed says of each process when faults killed it: at which share, 0 to 1, of the
	// round that it was in.
	Killed map[string][]float64
	// Violations of invariants; none if the run passed.
	Violations []string

	history history
	plan    plan
}

// Run simulates one seed, in a bubble of its own.
func Run(t *testing.T, seed uint64) (out Outcome) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		w := newWorld(seed)
		out = w.run()
		out.Seed, out.plan = seed, w.plan
	})
	return out
}

func (w *world) run() (out Outcome) {
	if w.plan.prepared {
		w.startServers()
		w.healed = true
		w.runUntil(time.Minute, func() bool { return len(w.db.registered) == len(catalog.Held) && w.searchable() })
		w.healed = false
	}
	w.round(0)
	for n := range w.plan.timeSkips {
		w.stopServers()
		w.runUntil(projection.StubAge+upTo(w.random, projection.StubAge), never)
		w.history.add(w.now(), "", "more than an hour later", "")
		w.round(1 + n)
	}
	w.heal()
	w.startServers()
	w.history.add(w.now(), "", "everything is healed", "")
	w.runUntil(LateAfterHeal, never)
	out.Lag = w.awaitConvergence()
	w.stopServers()
	w.runUntil(time.Minute, func() bool { return len(w.pendingCalls) == 0 })
	out.Killed = w.shares
	out.Answered, out.Refused = w.answered.Load(), w.refused.Load()
	out.Steps, out.Digest, out.Simulated, out.Violations, out.history = w.history.steps, w.history.digest, w.now(), w.violations, w.history
	return out
}

// never as a condition of runUntil runs for the whole time.
func never() bool { return false }

// searchable reports whether every held dataset has an index to search.
func (w *world) searchable() bool {
	return !slices.ContainsFunc(catalog.Held, func(d catalog.Dataset) bool { return len(w.cluster.indicesOf(w.names.Held(string(d)))) == 0 })
}

// round runs clients, loader and operator while faults occur.
func (w *world) round(number int) {
	w.startServers()
	var actors sync.WaitGroup
	w.busy.Store(int64(w.plan.clients))
	for n := range w.plan.clients {
		client := w.actor(fmt.Sprintf("c%d", n+1), n, number)
		actors.Go(client.client)
	}
	loader := &server{world: w, name: "loader"}
	loader.start(false)
	load := w.actor("loader", 100, number)
	actors.Go(func() { load.loader(loader) })
	operator := w.actor("operator", 101, number)
	rebuilding := &server{world: w, name: "operator"}
	actors.Go(func() { operator.operator(rebuilding) })
	w.rounds, w.faultsOn = w.rounds+1, true
	began := w.now()
	w.killed = nil
	w.scheduleFaults(loader, rebuilding)
	done := make(chan struct{})
	go func() {
		actors.Wait()
		close(done)
	}()
	if !w.runUntil(time.Hour, func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}) {
		w.violation("clients, loader and operator have not ended after an hour")
	}
	w.faultsOn = false
	for _, k := range w.killed {
		w.shares[k.process] = append(w.shares[k.process], (k.at-began).Seconds()/max((w.now()-began).Seconds(), 1e-9))
	}
	loader.stop()
	rebuilding.stop()
}

// scheduleFaults schedules the faults that do not belong to single calls.
func (w *world) scheduleFaults(loader, rebuilding *server) {
	r := w.random
	soon := func(times int, what func()) {
		for range times {
			w.duringRound(upTo(r, w.plan.faultSpan), what)
		}
	}
	soon(w.plan.kills, func() {
		switch n := r.IntN(len(w.servers) + 2); n - len(w.servers) {
		case 0:
			w.killRunning(rebuilding)
		case 1:
			loader.stop()
		default:
			s := w.servers[n]
			s.stop()
			w.duringRound(upTo(r, w.plan.faultSpan/2), s.startIfStopped)
		}
	})
	soon(w.plan.partitions, func() {
		c := newPartition(r, w.servers[r.IntN(len(w.servers))].name, w.now())
		w.partitions = append(w.partitions, c)
		w.history.add(w.now(), c.process, "is cut from "+c.to.String(), fmt.Sprintf("%v until %v", c.fate, c.until))
	})
	soon(w.plan.losses, func() {
		if held := w.held(); len(held) > 0 {
			lost := held[r.IntN(len(held))]
			w.history.add(w.now(), "", "the index "+w.indexName(lost.name)+" is lost", "")
			w.cluster.delete(lost.name)
		}
	})
	soon(w.plan.restores, func() {
		held := w.held()
		if len(held) == 0 {
			return
		}
		old := held[r.IntN(len(held))]
		live := maps.Clone(old.live)
		w.duringRound(upTo(r, w.plan.faultSpan/2), func() {
			if now := w.cluster.indices[old.name]; now != nil {
				w.history.add(w.now(), "", "the index "+w.indexName(old.name)+" is restored", "")
				w.cluster.restore(now, live)
			}
		})
	})
	soon(w.plan.flushes, func() {
		for _, i := range w.held() {
			i.forgetDeletes()
		}
	})
	soon(w.plan.clockJumps, func() {
		w.skew = upTo(r, ClockJump) - ClockJump/2
		w.history.add(w.now(), "postgres", "clock jumps", w.skew.String())
	})
	if w.plan.poisoned {
		soon(1, func() { w.poison.Store(&w.workspaces[0]) })
	}
}

// killRunning kills a process that does not run all the time: now or later, while it runs.
func (w *world) killRunning(s *server) {
	if s.current.Load() != nil && w.random.IntN(3) == 0 {
		s.stop()
		return
	}
	w.duringRound(1+upTo(w.random, time.Second), func() { w.killRunning(s) })
}

// duringRound schedules a fault unless the round has ended by then.
func (w *world) duringRound(wait time.Duration, what func()) {
	round := w.rounds
	w.after(wait, func() {
		if w.faultsOn && w.rounds == round {
			what()
		}
	})
}

// held lists the held indices.
func (w *world) held() (list []*index) {
	for _, i := range w.cluster.indices {
		if i.global == nil {
			list = append(list, i)
		}
	}
	return sorted(list)
}

// awaitConvergence waits until nothing is pending and all documents are consistent for
// three seconds in a row. It returns how long that took.
func (w *world) awaitConvergence() time.Duration {
	began, calm := w.now(), 0
	for {
		w.runUntil(time.Second, never)
		var wrong []string
		pending := w.pending()
		if pending == 0 {
			wrong = w.differences()
		}
		if calm++; pending > 0 || len(wrong) > 0 {
			calm = 0
		}
		switch {
		case calm == 3:
			return w.now() - began - 2*time.Second
		case w.now()-began < LagBound:
		case pending > 0:
			w.violation("%d records are pending %v after the healing", pending, w.now()-began)
			return w.now() - began
		default:
			for _, problem := range wrong {
				w.violation("after all was healed: %s", problem)
			}
			return w.now() - began
		}
	}
}

// String is the result with its history.
func (o Outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"seed %d: %d steps, %v simulated, %d searches answered and %d refused, plan %+v\n",
		o.Seed,
		o.Steps,
		o.Simulated,
		o.Answered,
		o.Refused,
		o.plan,
	)
	for _, h := range o.history.entries {
		fmt.Fprintf(&b, "%14v %-10s %-60s%s\n", h.at, h.who, h.what, h.result)
	}
	for _, v := range o.Violations {
		fmt.Fprintf(&b, "VIOLATION %s\n", v)
	}
	return b.String()
}

// Repro is the command that runs the seed again.
func (o Outcome) Repro() string {
	return fmt.Sprintf("again: scripts/faults simulate --seeds 1 --seed %d", o.Seed)
}
