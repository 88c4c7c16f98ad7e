package projection

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/internal/elastic"
	"atlas/search/query"
	"atlas/workspace"
)

// How often the sweep looks at what.
const (
	sweepEvery    = 500 * time.Millisecond
	sourcesEvery  = 5 * time.Second
	upkeepEvery   = time.Minute
	sweepAtOnce   = 4  // workspaces
	sweepListed   = 64 // workspaces
	stubPage      = 500
	scoreAge      = 24 * time.Hour
	scorePage     = 1_000
	upkeepTimeout = time.Minute
	lookTimeout   = 10 * time.Second
)

// StubAge is how long a stub stays: long past any write that could come late.
const StubAge = time.Hour

// Sweep keeps projecting what a crash, an outage or a change of global records
// left, and does the upkeep, until ctx ends.
func (p *Projector) Sweep(ctx context.Context) {
	p.start()
	var prepared bool
	var sources, upkeep time.Time
	healthy := true
	for ctx.Err() == nil {
		err := func() error {
			if !prepared {
				// Bounded, like each call of Elasticsearch: one that hangs must not
				// end the sweeping.
				bounded, cancel := context.WithTimeout(ctx, upkeepTimeout)
				defer cancel()
				if err := p.Prepare(bounded); err != nil {
					return err
				}
				prepared = true
			}
			if time.Since(sources) >= sourcesEvery {
				if err := p.followSources(ctx); err != nil {
					return err
				}
				sources = time.Now()
			}
			if err := p.SweepOnce(ctx); err != nil {
				return err
			}
			if time.Since(upkeep) >= upkeepEvery {
				upkeep = time.Now()
				return p.upkeep(ctx)
			}
			return nil
		}()
		if ctx.Err() != nil {
			return
		}
		p.Swept(err)
		if err != nil && healthy {
			p.Log.Warn("held records cannot be projected now; trying on", "error", err.Error())
		} else if err == nil && !healthy {
			p.Log.Info("held records are projected again")
		}
		healthy = err == nil
		if err != nil {
			prepared = false // an index may be gone
		}
		_ = pause(ctx, sweepEvery)
	}
}

// SweepOnce projects everything that is pending now and that no other projector
// is at.
func (p *Projector) SweepOnce(ctx context.Context) error {
	p.start()
	pending, err := p.System.PendingWorkspaces(ctx, sweepListed)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(sweepAtOnce)
	for _, in := range pending {
		group.Go(func() error { return p.round(ctx, in, false) })
	}
	return group.Wait()
}

// upkeep removes old stubs and has old scores computed anew.
func (p *Projector) upkeep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	if err := p.Purge(ctx, StubAge); err != nil {
		return err
	}
	for {
		n, err := p.System.BumpOldScores(ctx, scoreAge, scorePage)
		if err != nil || n < scorePage {
			return err
		}
	}
}

// Purge deletes stubs that are older than age, and then their rows.
func (p *Projector) Purge(ctx context.Context, age time.Duration) error {
	p.start()
	workspaces, err := p.System.StubWorkspaces(ctx, age, sweepListed)
	if err != nil {
		return err
	}
	for _, in := range workspaces {
		for full := true; full; {
			stubs, err := p.Rows.StubsOf(ctx, in, age, stubPage)
			if err != nil {
				return err
			}
			// After the stubs: a generation that one of them was written to is
			// registered by now.
			generations, err := p.System.HeldGenerations(ctx)
			if err != nil {
				return err
			}
			if err := p.deleteStubs(ctx, in, stubs, generations); err != nil {
				return err
			}
			full = len(stubs) == stubPage
		}
	}
	return nil
}

// deleteStubs deletes with the stubs' own versions: a document that was written
// since is left alone, and so is its row.
func (p *Projector) deleteStubs(ctx context.Context, in workspace.ID, stubs []workspace.HeldRecord, generations []workspace.HeldGeneration) error {
	if len(stubs) == 0 {
		return nil
	}
	for _, g := range generations {
		var batch elastic.Batch
		for _, s := range stubs {
			if s.Dataset == g.Dataset {
				batch.DeleteAt(documentID(in, s.Record), in.String(), s.Version)
			}
		}
		if batch.Len() == 0 {
			continue
		}
		if _, err := p.Elastic.Bulk(ctx, p.Names.HeldWrite(string(g.Dataset), g.Generation), &batch, bulkRetry); err != nil {
			return elastic.FaultOf(err)
		}
	}
	return p.Rows.ForgetHeld(ctx, in, stubs)
}

// followSources makes held records pending where searches of global records go
// to another generation than they were last told of: whoever was to tell them
// may have ended between the switch and the telling.
func (p *Projector) followSources(ctx context.Context) error {
	for _, d := range query.Held {
		generation, err := p.servedGlobal(ctx, d)
		if err != nil || generation == "" {
			return elastic.FaultOf(err)
		}
		told, err := p.System.HeldSource(ctx, d)
		if err != nil {
			return err
		}
		if told == generation {
			continue
		}
		if err := p.tell(ctx, d, generation); err != nil {
			return err
		}
	}
	return nil
}

// servedGlobal is the name of the index that searches of global records go to.
func (p *Projector) servedGlobal(ctx context.Context, d query.Dataset) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	alias := p.Names.Alias(string(d))
	indices, err := p.Elastic.Aliases(ctx, alias)
	if err != nil {
		return "", err
	}
	for index := range indices {
		return index, nil
	}
	return "", nil
}

// tell comes after the switch: who projects then reads the new records.
func (p *Projector) tell(ctx context.Context, d query.Dataset, generation string) error {
	if err := p.System.BumpDataset(ctx, d, false); err != nil {
		return err
	}
	return p.System.SetHeldSource(ctx, d, generation)
}

// Switched says that searches of global records go to a new generation, and
// that every held record may have changed.
func (p *Projector) Switched(ctx context.Context, _ string) error {
	p.start()
	return p.followSources(ctx)
}

// Changed says that some global records are others than before, or are gone or
// back, and that searches see it: those that workspaces hold follow with the
// next sweep.
func (p *Projector) Changed(ctx context.Context, d query.Dataset, ids []string) error {
	if !slices.Contains(query.Held, d) {
		return nil
	}
	return p.System.BumpRecords(ctx, d, ids)
}
