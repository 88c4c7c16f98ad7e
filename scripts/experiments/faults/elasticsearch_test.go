//go:build faults

package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"atlas/internal/devstack"
	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

// Elasticsearch is killed and restarted while 200 clients search. Meanwhile every
// search is refused with the documented error in time, nothing is charged, and requests
// that need no global records work.
func TestElasticsearchKilled(t *testing.T) {
	const clients, timeout = 200, 10 * time.Second
	seed := figures.Seed(t)
	f := figures.New(t, "elasticsearch-killed", "Elasticsearch killed under 200 searching clients, and resumed", seed)
	r := rig.Start(t, rig.Options{Seed: seed})
	s := r.Serve("ATLAS_SEARCH_TIMEOUT="+timeout.String(), "ATLAS_REDIS_TIMEOUT=2s") // two cores for all: Redis is no fault here
	w := r.Workspace(rig.Unlimited)
	c := s.By(w)
	// Small pages: a cold Elasticsearch on two cores must be able to serve them to all
	// clients at once.
	pages := slices.DeleteFunc(knownPages(t, c), func(p page) bool { return p.credits > 5 })
	writes := newFreeWrites(t, s, w)
	before := used(t, c)

	all := startSearchLoad(t.Context(), c, pages, clients, seed)
	all.waitFor(t, 200, 3*clients, time.Minute)
	r.Kill(devstack.Elasticsearch)
	killed := time.Now()
	all.waitFor(t, 503, 5*clients, time.Minute)
	if err := writes.round(t.Context(), 0); err != nil {
		t.Errorf("with Elasticsearch away: %v", err)
	}
	all.waitFor(t, 503, 5*clients, time.Minute)
	if err := writes.round(t.Context(), 1); err != nil {
		t.Errorf("with Elasticsearch away: %v", err)
	}
	resuming := time.Now()
	r.Resume(devstack.Elasticsearch)
	back := time.Now()
	all.waitFor(t, 200, 3*clients, time.Minute)
	exchanges := all.stop()

	away := within(exchanges, killed, resuming)
	f.Report("searches", float64(len(exchanges)), "")
	f.Report("seconds away", back.Sub(killed).Seconds(), "s")
	f.AtLeast("refused while it was away", float64(len(away)), 5*clients, "")
	f.Exactly("other answers than 503 while it was away", float64(count(away, func(e exchange) bool { return e.status != 503 })), 0, "")
	f.Exactly("answers outside the contract, all in all", float64(wrong(t, exchanges)), 0, "")
	f.AtMost("slowest refusal", slowest(away), (timeout + grace).Seconds(), "s")
	f.AtMost("until no search is refused", recovery(t, s, exchanges, back, devstack.Elasticsearch), 5, "s")
	f.Exactly("credits counted and not delivered", float64(used(t, c)-before-credits(exchanges)), 0, "")
	f.Exactly("writes refused that need no global record", float64(writes.failed), 0, "of "+fmt.Sprint(writes.made))
	if err := r.Settled(time.Minute); err != nil {
		t.Error(err)
	}
	if err := writes.check(t.Context()); err != nil {
		t.Error(err)
	}
}
