package projection

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/internal/elastic"
	"atlas/search/document"
	"atlas/search/query"
	"atlas/workspace"
)

// How often the sweep looks at what.
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

// How long what it does may take.
const (
	// sweepTimeSlice is how long one workspace is projected before others have theirs.
	sweepTimeSlice     = 5 * time.Second
	sweepTimeout       = 30 * time.Second // of one workspace's turn
	maintenanceTimeout = time.Minute
	readTimeout        = 10 * time.Second
)

// StubAge is how long a stub stays: long past any write that could come late.
const StubAge = time.Hour

// Sweep keeps projecting what a crash, an outage or a change of global records
// left, sees to it that the indices are there, and does the upkeep, until ctx
// ends. Whatever fails of this is tried again, and holds up nothing else.
func (p *Projector) Sweep(ctx context.Context) {
	p.start()
	chores := []*task{
		{interval: indicesInterval, failure: "the indices of held records cannot be seen to", run: p.Prepare},
		{interval: sourcesInterval, failure: "it cannot be seen which global records are served", run: p.followSources},
		{interval: maintenanceInterval, failure: "old stubs and scores cannot be seen to", run: p.maintain},
	}
	var work sync.WaitGroup
	for _, c := range chores {
		work.Go(func() { p.runPeriodically(ctx, c) })
	}
	p.runPeriodically(ctx, &task{interval: sweepInterval, failure: "held records cannot be projected now", run: func(ctx context.Context) error {
		err := p.SweepOnce(ctx)
		told := err
		for _, c := range chores { // a pass is well when all of it is
			told = errors.Join(told, c.lastErr())
		}
		if ctx.Err() == nil {
			p.Swept(told)
		}
		return err
	}})
	work.Wait()
}

// task is something that is done again and again.
type task struct {
	interval time.Duration
	failure  string // what its failing means
	run      func(context.Context) error

	lock sync.Mutex
	err  error // of the last time
}

func (c *task) lastErr() error {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.err
}

func (c *task) setErr(err error) (before error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	before, c.err = c.err, err
	return before
}

// runPeriodically does a chore until ctx ends, and logs when it begins and ceases to fail.
func (p *Projector) runPeriodically(ctx context.Context, c *task) {
	for ctx.Err() == nil {
		err := c.run(ctx)
		if ctx.Err() != nil {
			return
		}
		before := c.setErr(err)
		switch {
		case err != nil && before == nil:
			p.Log.Warn(c.failure+"; trying on", "error", err.Error())
		case err == nil && before != nil:
			p.Log.Info("no longer: " + c.failure)
		}
		if err != nil {
			_ = sleep(ctx, min(c.interval, sweepInterval))
		} else {
			_ = sleep(ctx, c.interval)
		}
	}
}

// SweepOnce projects everything that is pending now and that no other projector
// is at. The error is that of one workspace; the others are projected all the
// same, and it is left out for a while.
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

// maintain removes old stubs and has old scores computed anew.
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
		// After the stubs: a generation that one of them was written to is
		// registered by now.
		generations, err := p.System.HeldGenerations(ctx)
		if err != nil {
			return err
		}
		if err := p.deleteStubs(ctx, in, stubs, generations); err != nil || len(stubs) < stubPage {
			return err
		}
	}
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
			if s.Dataset != g.Dataset {
				continue
			}
			id := documentID(in, s.Record)
			if batch.Len() == 0 {
				// Once more the stub that is there. A deletion with a version of its own
				// makes an index of the alias's name where the alias is gone, whatever
				// require_alias says, unless something else in the request is written.
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

// followSources makes held records pending where searches of global records go
// to another generation than they were last told of: whoever was to tell them
// may have ended between the switch and the telling.
func (p *Projector) followSources(ctx context.Context) error {
	for _, d := range query.Held {
		generation, err := p.servedGeneration(ctx, d)
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

// servedGeneration is the name of the index that searches of global records go to.
func (p *Projector) servedGeneration(ctx context.Context, d query.Dataset) (string, error) {
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
