package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/document"
	"atlas/search/query"
	"atlas/workspace"
)

// Rows are the held rows of one workspace. *postgres.Store has them.
type Rows interface {
	HeldFreshness(ctx context.Context, in workspace.ID, d query.Dataset) (workspace.Freshness, error)
	PendingHeld(ctx context.Context, in workspace.ID, holder string, ttl time.Duration, own bool, limit int) ([]workspace.HeldRecord, []workspace.HeldGeneration, bool, error)
	ClaimHeld(ctx context.Context, in workspace.ID, holder string, ttl time.Duration, records []workspace.HeldRecord) (map[uuid.UUID]int64, []workspace.HeldGeneration, bool, error)
	FinishHeld(ctx context.Context, in workspace.ID, projected []workspace.ProjectionResult, written bool) error
	ReleaseProjector(ctx context.Context, in workspace.ID, holder string) error
	HeldVersions(ctx context.Context, in workspace.ID, d query.Dataset, records []uuid.UUID) (map[uuid.UUID]int64, error)
	BumpHeld(ctx context.Context, in workspace.ID, d query.Dataset, records []uuid.UUID) error
	ClaimStubs(ctx context.Context, in workspace.ID, age time.Duration, limit int) ([]workspace.HeldRecord, error)
	ForgetHeld(ctx context.Context, in workspace.ID, records []workspace.HeldRecord) error
}

// Global tells what the global dataset has. *search.Engine does.
type Global interface {
	Lookup(ctx context.Context, d query.Dataset, ids []string) (map[string]jsontext.Value, error)
	Children(ctx context.Context, d query.Dataset, ids []string) (map[string]document.Children, error)
	SignalCounts(ctx context.Context, accounts []string, at time.Time, span time.Duration) (map[string][2]int64, error)
}

// Projector projects held records. Its fields are set before it is used; Close
// ends what runs in the background.
type Projector struct {
	Rows    Rows
	System  System
	Global  Global
	Elastic *elastic.Client
	Names   mappings.Names
	// Settings are those of new held indices.
	Settings mappings.Settings
	// Log hears of what goes wrong; nil: nobody does.
	Log *slog.Logger
	// Swept, when set, is told how each pass of Sweep ended.
	Swept func(error)
	// Now is the clock of scores; nil: the system's.
	Now func() time.Time
	// Lease is how long a workspace's projector has it after its last sign of
	// life; 0 is 8 s. What others wait for it after a crash.
	Lease time.Duration
	// Page is how many records are projected in one go; 0 is 500. Of a larger
	// number, several pages are at once.
	Page int

	once        sync.Once
	ctx         context.Context
	cancel      context.CancelFunc
	name        string
	projections coalescer[workspace.ID]
	refreshes   coalescer[string]
	refreshed   refreshTracker
	failing     backoff
	// background bounds the pages of sweeps, over all workspaces: the connections
	// to Elasticsearch are those of searches that wait for their own writes too.
	background chan struct{}
}

func (p *Projector) start() {
	p.once.Do(func() {
		if p.Log == nil {
			p.Log = slog.New(slog.DiscardHandler)
		}
		if p.Swept == nil {
			p.Swept = func(error) {}
		}
		if p.Now == nil {
			p.Now = time.Now
		}
		if p.Lease == 0 {
			p.Lease = 8 * time.Second
		}
		if p.Page == 0 {
			p.Page = 500
		}
		p.background = make(chan struct{}, backgroundPageLimit)
		p.ctx, p.cancel = context.WithCancel(context.Background())
		host, err := os.Hostname()
		if err != nil {
			host = "unknown host"
		}
		p.name = fmt.Sprintf("%s, process %d", host, os.Getpid())
	})
}

// Close ends what runs in the background and waits for it. What was not
// projected is the next sweep's.
func (p *Projector) Close() {
	p.start()
	p.cancel()
	p.projections.wait()
	p.refreshes.wait()
}

// ownWritesTimeout bounds a round that searches wait for.
const ownWritesTimeout = 15 * time.Second

// Wake has what a workspace wrote be projected soon, and does not wait.
func (p *Projector) Wake(in workspace.ID) { p.scheduleOwn(in) }

func (p *Projector) scheduleOwn(in workspace.ID) *call {
	p.start()
	return p.projections.schedule(in, func() error {
		ctx, cancel := context.WithTimeout(p.ctx, ownWritesTimeout)
		defer cancel()
		err := p.projectPending(ctx, in, true)
		if err != nil && p.ctx.Err() == nil {
			p.Log.Warn("a workspace's changes were not projected; the sweep will", "workspace", in.String(), "error", err.Error())
		}
		return err
	})
}

// Settle returns when every change that the workspace had written before is
// seen by a search of its held records of a dataset, in the generation that it
// names. fault.Unavailable, also while a lost index is being filled again.
func (p *Projector) Settle(ctx context.Context, in workspace.ID, d query.Dataset) (workspace.Freshness, error) {
	p.start()
	for retried := false; ; retried = true {
		f, err := p.settle(ctx, in, d)
		// A rebuild that ended in between has deleted the index.
		if gone, ok := errors.AsType[*elastic.Error](err); !ok || gone.Status != http.StatusNotFound || retried {
			return f, unavailable(err)
		}
	}
}

func (p *Projector) settle(ctx context.Context, in workspace.ID, d query.Dataset) (workspace.Freshness, error) {
	f, err := p.Rows.HeldFreshness(ctx, in, d)
	if err == nil && f.Generation == "" {
		if err = p.Prepare(ctx); err == nil {
			f, err = p.Rows.HeldFreshness(ctx, in, d)
		}
	}
	if err != nil {
		return f, err
	}
	if f.Pending && !f.Filling {
		if err := p.scheduleOwn(in).wait(ctx); err != nil {
			return f, err
		}
		// The generation is the one that serves after the projection: a rebuild
		// that ended in between had it written to the new one alone.
		if f, err = p.Rows.HeldFreshness(ctx, in, d); err != nil {
			return f, err
		}
	}
	index := p.Names.HeldGeneration(string(d), f.Generation)
	switch {
	case f.Filling:
		return f, errFilling()
	case p.refreshed.visible(index, in, f.ProjectedAt):
		return f, nil
	}
	// A refresh that began before the check above may have passed the documents.
	err = p.refreshes.schedule(index, func() error {
		ctx, cancel := context.WithTimeout(p.ctx, ownWritesTimeout)
		defer cancel()
		return p.Elastic.Refresh(ctx, index)
	}).wait(ctx)
	if err == nil {
		p.refreshed.record(index, in, f.ProjectedAt)
	}
	return f, err
}

// errFilling is the error of a search that would miss rows.
func errFilling() error {
	err := fault.Wrap(errors.New("documents of the workspace are missing from an index that replaces a lost one"), fault.Unavailable,
		"the workspace's records are being put back into the search index; try again shortly")
	err.RetryAfter = fillingRetryAfter
	return err
}

// fillingRetryAfter is when a refused search is told to come again.
const fillingRetryAfter = 5 * time.Second

// unavailable is the error of a search that could not be made to see what it must.
func unavailable(err error) error {
	if err == nil || fault.CodeOf(err) == fault.Unavailable {
		return err
	}
	return fault.Away(err, "projection")
}

// errLeaseLost means that another projector may be at work.
var errLeaseLost = errors.New("the workspace's projector lost its lease")

// leasePollInterval is how often a lease that another one has is asked for.
const leasePollInterval = 15 * time.Millisecond

// ownWritesAttempts is how often a search has its workspace's writes projected.
const ownWritesAttempts = 3

// pageConcurrency is how many pages of a workspace are projected at once: while one
// waits for Postgres, another is at Elasticsearch.
const pageConcurrency = 4

// backgroundPageLimit is how many pages of all workspaces sweeps project at once.
const backgroundPageLimit = 8

// preparePollInterval is how often a round that has no index to write to looks again.
const preparePollInterval = 100 * time.Millisecond

// projectPending projects what is pending in a workspace: only its own writes, however
// long that takes, or everything, as long as no other projector is at it and
// other workspaces do not have to wait for too long.
func (p *Projector) projectPending(ctx context.Context, in workspace.ID, own bool) error {
	holder := p.name + " " + uuid.NewString()
	acquired, failed, began := false, 0, time.Now()
	defer func() {
		if acquired {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if err := p.Rows.ReleaseProjector(ctx, in, holder); err != nil {
				p.Log.Warn("a projector's lease could not be released", "workspace", in.String(), "error", err.Error())
			}
		}
	}()
	for {
		records, generations, ok, err := p.Rows.PendingHeld(ctx, in, holder, p.Lease, own, pageConcurrency*p.Page)
		switch {
		case err != nil:
			return err
		case len(records) == 0: // also when another one has projected them
			acquired = acquired || ok
			return nil
		case ok && !covers(generations):
			acquired = true
			// Nobody has made the indices yet, or another is about to.
			if err := p.Prepare(ctx); err == nil {
				continue
			} else if sleep(ctx, preparePollInterval) != nil || !own {
				return err
			}
		case ok:
			acquired = true
			err := p.withRenewal(ctx, in, holder, func(ctx context.Context) error {
				pages, ctx := errgroup.WithContext(ctx)
				for page := range slices.Chunk(records, p.Page) {
					pages.Go(func() error {
						if !own {
							select {
							case p.background <- struct{}{}:
								defer func() { <-p.background }()
							case <-ctx.Done():
								return context.Cause(ctx)
							}
						}
						return p.project(ctx, in, holder, page)
					})
				}
				return pages.Wait()
			})
			if err != nil {
				// A rebuild may just have deleted a generation that was read.
				if failed++; own && failed < ownWritesAttempts && sleep(ctx, preparePollInterval) == nil {
					continue
				}
				return err
			}
			if len(records) < pageConcurrency*p.Page || !own && time.Since(began) > sweepTimeSlice {
				return nil
			}
		case !own:
			return nil
		default:
			if err := sleep(ctx, leasePollInterval); err != nil {
				return err
			}
		}
	}
}

// withRenewal runs work while the lease is renewed, and ends it when that fails: what
// is under way then would run beside the next holder.
func (p *Projector) withRenewal(ctx context.Context, in workspace.ID, holder string, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var renewing sync.WaitGroup
	defer renewing.Wait()
	done := make(chan struct{})
	defer close(done)
	renewing.Go(func() {
		each := time.NewTicker(p.Lease / 4)
		defer each.Stop()
		for failed := 0; ; {
			select {
			case <-done:
				return
			case <-each.C:
			}
			select {
			case <-done: // while the last renewal was under way
				return
			default:
			}
			bounded, end := context.WithTimeout(ctx, p.Lease/4)
			_, _, ok, err := p.Rows.ClaimHeld(bounded, in, holder, p.Lease, nil)
			end()
			if failed++; ok {
				failed = 0
			}
			if err == nil && !ok || failed == 2 { // not later than the lease ends
				cancel(errLeaseLost)
				return
			}
		}
	})
	err := work(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// visible tells whether every dataset has a generation.
func covers(generations []workspace.HeldGeneration) bool {
	for _, d := range query.Held {
		if !slices.ContainsFunc(generations, func(g workspace.HeldGeneration) bool { return g.Dataset == d }) {
			return false
		}
	}
	return true
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
