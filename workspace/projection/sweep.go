package projection

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/internal/elastic"
	"atlas/internal/timer"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/workspace"
	"atlas/workspace/held"
)

// Intervals and page sizes of the sweep.
const (
	sweepInterval       = 500 * time.Millisecond
	indicesInterval     = time.Second
	sourcesInterval     = 5 * time.Second
	maintenanceInterval = time.Minute
	sweepConcurrency    = 4  // workspaces
	sweepListLimit      = 64 // workspaces
	stubPage            = 500
	maxScoreAge         = 24 * time.Hour
	scorePage           = 1_000
)

// Time limits of the sweep.
const (
	// sweepTimeSlice is how long one workspace is projected before the others.
	sweepTimeSlice     = 5 * time.Second
	sweepTimeout       = 30 * time.Second // of one workspace in one pass
	maintenanceTimeout = time.Minute
	readTimeout        = 10 * time.Second
)

// StubAge is how long a stub remains: longer than any write can be late.
const StubAge = time.Hour

// Sweep runs until ctx ends. It projects records that a crash, an outage or a change
// of global records left pending, creates missing indices, removes old stubs and
// renews old scores. A task that fails is retried and does not delay the others.
func (p *Projector) Sweep(ctx context.Context) {
	p.start()
	tasks := []*task{
		{interval: indicesInterval, failure: "the indices of held records cannot be seen to", run: p.Prepare},
		{interval: sourcesInterval, failure: "it cannot be seen which global records are served", run: p.followSources},
		{interval: maintenanceInterval, failure: "old stubs and scores cannot be seen to", run: p.maintain},
	}
	var work sync.WaitGroup
	for _, t := range tasks {
		work.Go(func() { p.runPeriodically(ctx, t) })
	}
	p.runPeriodically(
		ctx,
		&task{interval: sweepInterval, failure: "held records cannot be projected now", run: func(ctx context.Context) error {
			err := p.SweepOnce(ctx)
			all := err
			for _, t := range tasks { // a pass succeeds when all tasks do
				if last := t.lastErr.Load(); last != nil {
					all = errors.Join(all, *last)
				}
			}
			if ctx.Err() == nil {
				p.Swept(all)
			}
			return err
		}},
	)
	work.Wait()
}

// task is a periodic task.
type task struct {
	interval time.Duration
	failure  string // logged when it fails
	run      func(context.Context) error
	lastErr  atomic.Pointer[error] // nil before the first run
}

// runPeriodically runs a task until ctx ends. It logs the first failure and the first
// success after failures.
func (p *Projector) runPeriodically(ctx context.Context, t *task) {
	for ctx.Err() == nil {
		err := t.run(ctx)
		if ctx.Err() != nil {
			return
		}
		previous := t.lastErr.Swap(&err)
		failedBefore := previous != nil && *previous != nil
		interval := t.interval
		if err != nil {
			interval = min(interval, sweepInterval)
		}
		switch {
		case err != nil && !failedBefore:
			p.Log.Warn(t.failure+"; trying on", "error", err.Error())
		case err == nil && failedBefore:
			p.Log.Info("no longer: " + t.failure)
		}
		_ = timer.Sleep(ctx, interval)
	}
}

// SweepOnce projects everything that is pending now and not leased by another
// projector. A workspace that fails is skipped for a while and does not affect the
// others; the error is that of one such workspace.
func (p *Projector) SweepOnce(ctx context.Context) error {
	p.start()
	pending, err := p.System.PendingWorkspaces(ctx, p.failing.excluded(), sweepListLimit)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(sweepConcurrency)
	for _, in := range pending {
		group.Go(func() error {
			bounded, cancel := context.WithTimeout(ctx, sweepTimeout)
			defer cancel()
			err := p.projectPending(bounded, in, false)
			if p.failing.record(in, err != nil) && err != nil && ctx.Err() == nil {
				p.Log.Warn("a workspace cannot be projected now; trying on", "workspace", in.String(), "error", err.Error())
			}
			return err
		})
	}
	return group.Wait()
}

// maintain removes old stubs and makes records with old scores pending.
func (p *Projector) maintain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maintenanceTimeout)
	defer cancel()
	purged := p.Purge(ctx, StubAge)
	for {
		n, err := p.System.BumpOldScores(ctx, maxScoreAge, scorePage)
		if err != nil || n < scorePage {
			return errors.Join(purged, err)
		}
	}
}

// Purge deletes stubs that are older than age, and then their rows.
func (p *Projector) Purge(ctx context.Context, age time.Duration) error {
	p.start()
	workspaces, err := p.System.StubWorkspaces(ctx, age, sweepListLimit)
	for _, in := range workspaces {
		err = errors.Join(err, p.purge(ctx, in, age))
	}
	return err
}

func (p *Projector) purge(ctx context.Context, in workspace.ID, age time.Duration) error {
	for {
		stubs, err := p.Rows.ClaimStubs(ctx, in, age, stubPage)
		if err != nil {
			return err
		}
		// Read after the stubs, so that every generation that a stub was written to is
		// included.
		generations, err := p.System.HeldGenerations(ctx)
		if err != nil {
			return err
		}
		if err := p.deleteStubs(ctx, in, stubs, generations); err != nil || len(stubs) < stubPage {
			return err
		}
	}
}

// deleteStubs deletes stubs with their own versions, so a document or row that was
// written since remains.
func (p *Projector) deleteStubs(ctx context.Context, in workspace.ID, stubs []held.Record, generations []held.Generation) error {
	if len(stubs) == 0 {
		return nil
	}
	for _, g := range generations {
		var batch elastic.Batch
		for _, s := range stubs {
			if s.Dataset != g.Dataset {
				continue
			}
			id := documentID(in, s.Record)
			if batch.Len() == 0 {
				// Rewrite the existing stub. A bulk request of only deletions with external
				// versions ignores require_alias: if the alias is missing, it creates an
				// index of that name.
				batch.IndexAt(id, in.String(), s.Version, document.WithVersion(document.Stub(s.Record.String()), s.Version))
			}
			batch.DeleteAt(id, in.String(), s.Version)
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

// followSources makes the held records of a dataset pending when searches use another
// generation of global records than at the last such bump. The process that switched
// may have died before it called Switched.
func (p *Projector) followSources(ctx context.Context) error {
	for _, d := range catalog.Held {
		generation, err := p.servedGeneration(ctx, d)
		if err != nil || generation == "" {
			return elastic.FaultOf(err)
		}
		source, err := p.System.HeldSource(ctx, d)
		if err != nil {
			return err
		}
		if source == generation {
			continue
		}
		if err := p.System.BumpDataset(ctx, d, false); err != nil {
			return err
		}
		if err := p.System.SetHeldSource(ctx, d, generation); err != nil {
			return err
		}
	}
	return nil
}

// servedGeneration is the name of the index that searches of global records use.
func (p *Projector) servedGeneration(ctx context.Context, d catalog.Dataset) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
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

// Switched makes held records pending after searches of global records were switched
// to a new generation.
func (p *Projector) Switched(ctx context.Context, _ string) error {
	p.start()
	return p.followSources(ctx)
}

// Changed makes the held rows of changed, deleted or restored global records pending
// for the next sweep. Call it after searches see the change.
func (p *Projector) Changed(ctx context.Context, d catalog.Dataset, ids []string) error {
	if !slices.Contains(catalog.Held, d) {
		return nil
	}
	return p.System.BumpRecords(ctx, d, ids)
}
