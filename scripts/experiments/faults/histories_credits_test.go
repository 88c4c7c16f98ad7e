//go:build faults

package faults

import (
	"context"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/scripts/experiments/history"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
)

// Several clients concurrently spend the credits of a workspace with a small ceiling,
// and then of another one.
const (
	smallCeiling = 400
	smallPage    = 20
	spenderCount = 2
)

// spenders spend one small ceiling after the other until stop is closed.
func (s *testbed) spenders(ctx context.Context, stop <-chan struct{}, log *history.Log, count *counters) error {
	seed := s.random.Uint64()
	for n := uint64(0); ; n++ {
		select {
		case <-stop:
			return nil
		default:
		}
		w, err := s.smallTenant(ctx)
		if err != nil {
			return err
		}
		group, inner := errgroup.WithContext(ctx)
		for i := range uint64(spenderCount) {
			a := &actor{
				n: len(s.actors) + int(i), rig: s.rig, random: rand.New(rand.NewPCG(seed+n, i)), in: w,
				targets: s.targets, globalData: s.globalData, log: log, counters: count,
			}
			group.Go(func() error { return a.spend(inner, stop) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
		s.total.ceilings++
		if err := s.audit(ctx, w); err != nil {
			return err
		}
	}
}

// audit checks the ledger of a workspace after the last request.
func (s *testbed) audit(ctx context.Context, w *tenant) error {
	readings, wrong := w.ledger.Judge()
	s.total.readings += readings
	s.took(&s.total.wrongCredits, wrong)
	var used int64
	err := rig.Until(quietWithin, "the ledger answers", func() (err error) {
		if ctx.Err() != nil {
			return rig.ErrNeverHolds
		}
		used, err = s.targets[0].By(w.Workspace).Used(ctx)
		return err
	})
	if err != nil {
		return err
	}
	var unsettled int64
	for _, v := range s.targets {
		unsettled += v.Unsettled(w.ID, w.opened)
	}
	s.took(&s.total.wrongCredits, w.ledger.Close(used, unsettled))
	return nil
}

// smallTenant makes a workspace with a small ceiling.
func (s *testbed) smallTenant(ctx context.Context) (*tenant, error) {
	w := &tenant{opened: time.Now(), ledger: &history.Ledger{Ceiling: smallCeiling, Page: smallPage}}
	// The primary of Postgres may be killed meanwhile.
	err := rig.Until(quietWithin, "a workspace is made", func() (err error) {
		if ctx.Err() != nil {
			return rig.ErrNeverHolds
		}
		w.Workspace, err = s.rig.NewWorkspace(ctx, "Small", smallCeiling)
		return err
	})
	return w, err
}

// spend searches until the ceiling is used up.
func (a *actor) spend(ctx context.Context, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if a.random.IntN(4) == 0 {
			if err := a.usage(ctx); err != nil {
				return err
			}
		}
		limit := int64(1 + a.random.IntN(smallPage))
		path, body, doubt := "/data/projects/search", map[string]any{"limit": limit}, limit
		if a.random.IntN(3) == 0 { // a batch, whose last search that is granted may pass the ceiling by itself alone
			searches := make([]map[string]any, 2+a.random.IntN(11)) // more than eight go in two round trips
			for i := range searches {
				searches[i] = map[string]any{"dataset": pick(a.random, catalog.Datasets), "limit": limit}
			}
			path, body, doubt = "/data/search/batch", map[string]any{"searches": searches}, limit*int64(len(searches))
		}
		r, err := a.ask(ctx, reading, doubt, "POST", path, body)
		switch {
		case err != nil:
			return err
		case r.Status == 429:
			if r.Code() != "rate_limited" || r.Header.Get("Retry-After") != "86400" || r.Header.Get("X-Credits-Charged") != "0" {
				a.unexpected(r, "a 429")
			}
			return nil
		case r.sent && r.outcome == history.Refused:
			a.unexpected(r, "a search of the Data API")
		case r.outcome == history.Unknown:
			// The reservations of killed servers stay open for a minute.
			pause(stop, a.random, time.Second)
		}
		pause(stop, a.random, 4*clientPause)
	}
}
