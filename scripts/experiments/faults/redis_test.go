//go:build faults

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/internal/devstack"
	"atlas/internal/experiment/figures"
	"atlas/internal/timer"
	"atlas/scripts/experiments/rig"
)

// Redis is stopped, killed, and restored to an earlier state while clients search.
// While it is unavailable, requests that cost credits are refused and free ones work.
// The server never delivers more than it counts, except for what Redis itself lost. A
// workspace gets at most its ceiling and one page.
func TestRedisAway(t *testing.T) {
	// A refusal may wait for a place and for a retry of the charge, a second each. A
	// search may take ten.
	const clients, away, refuses, answers = 40, 4 * time.Second, 4 * time.Second, 12 * time.Second
	seed := figures.Seed(t)
	f := figures.New(t, "redis-away", "Redis stopped, killed and put back to an older file under 40 searching clients", seed)
	r := rig.Start(t, rig.Options{Seed: seed})
	s := r.Serve("ATLAS_REDIS_TIMEOUT=2s") // two cores for all: slow is no fault here
	w := r.Workspace(rig.Unlimited)
	c := s.By(w)
	free := knownLists(t, c)
	pages := knownPages(t, c)

	// The current state is the older state later.
	older, data := filepath.Join(r.Dir, "older"), r.Stack.DataDir(devstack.Redis)
	r.Halt(devstack.Redis)
	replace(t, data, older)
	r.Resume(devstack.Redis)
	r.Until(recoversWithin, "credits can be asked for again", func() error { _, err := c.Used(t.Context()); return err })
	kept := used(t, c)
	ways := []struct {
		name    string
		end     func(devstack.Backend)
		earlier bool // it is restored with the older state
	}{
		{"stopped", r.Halt, false},
		{"killed", r.Kill, false},
		{"put back", r.Halt, true},
	}
	for i, way := range ways {
		before, logged := used(t, c), unsettled(s)
		searchLoad := startSearchLoad(t.Context(), c, pages, clients, seed+uint64(i))
		lists := startSearchLoad(t.Context(), c, free, 4, seed, 20*time.Millisecond)
		searchLoad.waitFor(t, 200, 3*clients, time.Minute)
		ending := time.Now()
		way.end(devstack.Redis)
		gone := time.Now()
		sleep(t, away)
		if way.earlier {
			replace(t, older, data)
		}
		resuming := time.Now()
		r.Resume(devstack.Redis)
		back := time.Now()
		searchLoad.waitFor(t, 200, 3*clients, time.Minute)
		some, listed := searchLoad.stop(), lists.stop()
		during, now := within(some, gone, resuming), used(t, c)
		free := slices.DeleteFunc(slices.Clone(listed), func(e exchange) bool { return e.ended.Before(ending) || e.began.After(back) })

		f.AtLeast(way.name+": refused while it was away", float64(count(during, func(e exchange) bool { return e.status == 503 })), clients, "")
		f.Exactly(way.name+": searches answered without it", float64(count(during, func(e exchange) bool { return e.status != 503 })), 0, "")
		f.AtMost(way.name+": slowest refusal", slowest(during), refuses.Seconds(), "s")
		f.AtMost(way.name+": slowest answer", slowest(some), answers.Seconds(), "s")
		f.Exactly(
			way.name+": free requests refused", float64(count(free, func(e exchange) bool { return e.status != 200 })),
			0, "of "+fmt.Sprint(len(free)),
		)
		f.Exactly(way.name+": answers outside the contract", float64(wrong(t, some)+wrong(t, listed)), 0, "")
		f.AtMost(way.name+": until no search is refused", recovery(t, s, some, back, devstack.Redis), recoversWithin.Seconds(), "s")

		delivered := float64(credits(some))
		doubtful := unsettled(s) - logged // charged or not: the server cannot know
		if !way.earlier {
			counted := float64(now - before)
			lost := 0.0
			if way.name == "killed" { // writes that Redis had not persisted
				lost = float64(credits(slices.DeleteFunc(slices.Clone(some), func(e exchange) bool {
					return e.ended.Before(ending.Add(-time.Second)) || e.began.After(gone)
				})))
			}
			f.Report(way.name+": credits delivered", delivered, "")
			f.Between(way.name+": credits counted and not delivered", counted-delivered, 0-lost, doubtful, "")
		} else {
			// The usage since the file was saved is lost, and new deliveries count.
			counted := float64(now - kept)
			since := slices.DeleteFunc(slices.Clone(some), func(e exchange) bool { return e.began.Before(back) })
			around := slices.DeleteFunc(slices.Clone(some), func(e exchange) bool { return e.ended.Before(ending) })
			f.Report(way.name+": credits given back", float64(before-kept)+delivered-counted, "")
			f.Between(way.name+": credits counted since", counted, float64(credits(since)), float64(credits(around))+doubtful, "")
		}
	}
	ceilingHolds(t, f, r, s, pages, seed)
}

// unsettled are the credits that a server may have charged or not.
func unsettled(s *rig.Server) float64 { return float64(s.Unsettled("", time.Time{})) }

// replace makes one folder a copy of another, with the owners of its files.
func replace(t *testing.T, from, to string) {
	t.Helper()
	rig.Check(t, os.RemoveAll(to))
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v %s", err, out)
	}
}

// ceilingHolds spends a workspace's whole ceiling with many clients, while Redis is
// killed in the middle. They get all of it, and less than a page more.
func ceilingHolds(t *testing.T, f *figures.Sheet, r *rig.Rig, s *rig.Server, pages []page, seed uint64) {
	const clients, ceiling, page = 20, 20_000, 100
	w := r.Workspace(ceiling)
	c := s.By(w)
	logged := unsettled(s)
	var delivered, refused atomic.Int64
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	errs := make(chan error, clients)
	var group sync.WaitGroup
	for client := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(client)))
		group.Go(func() { errs <- spend(ctx, c, pages, random, &delivered, &refused) })
	}
	r.Until(time.Minute, "half of the ceiling is spent", func() error {
		if n := delivered.Load(); n < ceiling/2 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	lastSecond := delivered.Load()
	r.Kill(devstack.Redis)
	r.Resume(devstack.Redis)
	group.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d credits were delivered when Redis was killed, %d searches were refused as used up", lastSecond, refused.Load())
	f.Between("of a ceiling of 20000, delivered", float64(delivered.Load()), ceiling-(unsettled(s)-logged), ceiling+page-1, "")
	f.AtLeast("of a ceiling of 20000, counted", float64(used(t, c)), ceiling, "")
}

// spend searches until the ceiling is used up. It retries a 503.
func spend(ctx context.Context, c rig.Caller, pages []page, random *rand.Rand, delivered, refused *atomic.Int64) error {
	for {
		p := pages[random.IntN(len(pages))]
		a, err := c.Do(ctx, "POST", p.path, p.body)
		if err != nil {
			return err
		}
		switch a.Status {
		case http.StatusOK:
			delivered.Add(a.Metadata().Credits)
			continue
		case http.StatusTooManyRequests:
			refused.Add(1)
			if a.Code() != "rate_limited" || a.Header.Get("Retry-After") != "86400" || a.Header.Get("X-Credits-Charged") != "0" {
				return fmt.Errorf("a 429 of another shape: %v %s", a.Header, a.Raw)
			}
			return nil
		}
		if err := a.Unavailable(); err != nil {
			return err
		}
		if err := timer.Sleep(ctx, afterRefusal); err != nil {
			return err
		}
	}
}
