//go:build faults

package faults

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"atlas/internal/devstack"
	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

// The disk that all backends share is full for a while, twice, while clients write
// batches and search. No page is wrong, no acknowledged write is lost, and everything
// recovers when there is space again. Postgres stops when it cannot write its log, and
// is then restarted, as by a supervisor.
func TestDiskFull(t *testing.T) {
	const writersAtOnce, readers, each, batch, rounds, full = 6, 6, 40, 20, 2, 20 * time.Second
	// Elasticsearch retries a failed shard within a minute.
	const back = 2 * time.Minute
	seed := figures.Seed(t)
	f := figures.New(
		t, "disk-full",
		fmt.Sprintf("the disk of all backends full for %v, twice, under %d writing and %d searching clients", full, writersAtOnce, readers),
		seed,
	)
	r := rig.Start(t, rig.Options{Seed: seed, Disk: 1536 << 20})
	s := r.Serve("ATLAS_REDIS_TIMEOUT=2s")
	w := r.Workspace(rig.Unlimited)
	c := s.By(w)
	projects, pages := projectIDs(t, c, writersAtOnce*each), knownPages(t, c)

	writers, stop := startWriters(t, c, projects, writersAtOnce, batch, seed)
	searches := startSearchLoad(t.Context(), c, pages, readers, seed, 20*time.Millisecond)
	worst, ended := 0.0, 0
	for range rounds {
		waitForWrites(t, writers, writersAtOnce, time.Minute)
		for began := time.Now(); time.Since(began) < full; sleep(t, 100*time.Millisecond) {
			rig.Check(t, r.FillDisk())
		}
		rig.Check(t, r.FreeDisk())
		room := time.Now()
		for _, b := range []devstack.Backend{devstack.Postgres, devstack.Redis, devstack.Elasticsearch} {
			if !r.Stack.Running(b) {
				t.Logf("%s has ended and is started again", b)
				ended++
				r.Resume(b)
			}
		}
		waitForWrites(t, writers, 3*writersAtOnce, back)
		searches.waitFor(t, http.StatusOK, 20, back)
		worst = max(worst, time.Since(room).Seconds())
	}
	stop()
	all := exchangesOf(writers)
	pagesSeen := searches.stop()
	both := slices.Concat(all, pagesSeen)
	acknowledged := 0
	var lost, half []error
	for _, wr := range writers {
		acknowledged += wr.acknowledged
		l, h := wr.check(t.Context())
		lost, half = append(lost, l...), append(half, h...)
	}
	for _, err := range slices.Concat(lost, half)[:min(5, len(lost)+len(half))] {
		t.Log(err)
	}
	refused := count(both, func(e exchange) bool { return e.status == http.StatusServiceUnavailable })
	f.AtLeast("requests refused", float64(refused), rounds, fmt.Sprintf("of %d", len(both)))
	f.Exactly("answers outside the contract", float64(wrong(t, both)), 0, "")
	f.Exactly("acknowledged items lost", float64(len(lost)), 0, fmt.Sprintf("of %d", acknowledged))
	f.Exactly("records with half of a write", float64(len(half)), 0, fmt.Sprintf("of %d", len(projects)))
	f.Report("backends that ended and were started again", float64(ended), "")
	f.AtMost("until all is answered again", worst, back.Seconds(), "s")
	began := time.Now()
	if err := r.Settled(back); err != nil {
		t.Error(err)
	}
	f.AtMost("until all is projected", time.Since(began).Seconds(), back.Seconds(), "s")
	f.Exactly("records that searches do not find by what was written", float64(unfound(t, c, writers)), 0, "")
	notCounted := max(0, credits(pagesSeen)-used(t, c))
	f.Exactly("credits delivered and not counted", float64(notCounted), 0, "")
}
