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
	"atlas/internal/timer"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/workspace"
	"atlas/workspace/held"
)

// Rows is the storage of one workspace's held rows: *postgres.Store.
type Rows interface {
	HeldFreshness(ctx context.Context, in workspace.ID, d catalog.Dataset) (held.Freshness, error)
	PendingHeld(ctx context.Context, in workspace.ID, holder string, ttl time.Duration, ownOnly bool, limit int) (held.Pending, error)
	ClaimHeld(ctx context.Context, in workspace.ID, holder string, ttl time.Duration, records []held.Record) (held.Claim, error)
	FinishHeld(ctx context.Context, in workspace.ID, f held.Finish) error
	ReleaseProjector(ctx context.Context, in workspace.ID, holder string) error
	HeldVersions(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) (map[uuid.UUID]int64, error)
	BumpHeld(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) error
	ClaimStubs(ctx context.Context, in workspace.ID, age time.Duration, limit int) ([]held.Record, error)
	ForgetHeld(ctx context.Context, in workspace.ID, records []held.Record) error
}

// Global reads the global dataset: *search.Engine.
type Global interface {
	Lookup(ctx context.Context, d catalog.Dataset, ids []string) (map[string]jsontext.Value, error)
	Children(ctx context.Context, d catalog.Dataset, ids []string) (map[string]document.Children, error)
	SignalCounts(ctx context.Context, accounts []string, at time.Time, span time.Duration) (map[string][2]int64, error)
}

// Projector projects held records. Set the fields before use. Close stops its
// background work.
type Projector struct {
	Rows    Rows
	System  System
	Global  Global
	Elastic *elastic.Client
	Names   mappings.Names
	// Settings are those of new held indices.
	Settings mappings.Settings
	// Log gets failures; nil discards them.
	Log *slog.Logger
	// Swept, when not nil, gets the result of each pass of Sweep.
	Swept func(error)
	// Waited, when not nil, gets each search that waited for own writes, and since when.
	Waited func(ctx context.Context, began time.Time)
	// Now is the clock of scores; nil means time.Now.
	Now func() time.Time
	// Lease is the time to live of the lease of a workspace's projector; 0 means 8 s.
	// After a crash other projectors wait this long.
	Lease time.Duration
	// Page is the number of records that are projected together; 0 means 500.
	// Several pages run concurrently.
	Page int

	once        sync.Once
	ctx         context.Context
	cancel      context.CancelFunc
	name        string
	projections coalescer[workspace.ID]
	refreshes   coalescer[string]
	releasing   sync.Mutex // held while releases may be added
	releases    sync.WaitGroup
	refreshed   refreshTracker
	failing     backoff
	// background limits the concurrent pages of sweeps over all workspaces, so that
	// searches that wait for their own writes find connections to Elasticsearch.
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
		if p.Waited == nil {
			p.Waited = func(context.Context, time.Time) {}
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

// Close stops background work and waits for it. The next sweep, of any process,
// projects what is still pending.
func (p *Projector) Close() {
	p.start()
	p.releasing.Lock() // a later caller sees that p.ctx has ended
	p.cancel()
	p.releasing.Unlock()
	p.projections.wait()
	p.refreshes.wait()
	p.releases.Wait()
}

// ownWritesTimeout limits a projection or refresh that searches wait for.
const ownWritesTimeout = 15 * time.Second

// Wake starts projecting the writes of a workspace and does not wait.
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

// Settle waits until a search of the workspace's held records of a dataset sees all
// writes that the workspace committed before. The search must use the generation
// that Settle returns. fault.Unavailable, also while a lost index is being refilled.
func (p *Projector) Settle(ctx context.Context, in workspace.ID, d catalog.Dataset) (held.Freshness, error) {
	p.start()
	for retried := false; ; retried = true {
		f, err := p.settle(ctx, in, d)
		// A rebuild may have deleted the index meanwhile.
		if gone, ok := errors.AsType[*elastic.Error](err); !ok || gone.Status != http.StatusNotFound || retried {
			return f, unavailable(err)
		}
	}
}

func (p *Projector) settle(ctx context.Context, in workspace.ID, d catalog.Dataset) (held.Freshness, error) {
	f, err := p.Rows.HeldFreshness(ctx, in, d)
	if err == nil && f.Generation == "" {
		if err = p.Prepare(ctx); err == nil {
			f, err = p.Rows.HeldFreshness(ctx, in, d)
		}
	}
	if err != nil {
		return f, err
	}
	visible := func() bool {
		return p.refreshed.visible(p.Names.HeldGeneration(string(d), f.Generation), in, f.ProjectedAt)
	}
	if f.Filling || !f.Pending && visible() {
		return f, errIfFilling(f)
	}
	defer p.Waited(ctx, time.Now())
	// The projection in progress may include all writes; the next one does. Afterwards read the
	// generation again: if a rebuild ended meanwhile, the projection wrote only to the new one.
	if c := p.projections.current(in); c != nil && f.Pending {
		_ = c.wait(ctx) // failed writes stay pending
		if f, err = p.Rows.HeldFreshness(ctx, in, d); err != nil {
			return f, err
		}
	}
	if f.Pending && !f.Filling {
		if err := p.scheduleOwn(in).wait(ctx); err != nil {
			return f, err
		}
		if f, err = p.Rows.HeldFreshness(ctx, in, d); err != nil {
			return f, err
		}
	}
	if f.Filling || visible() {
		return f, errIfFilling(f)
	}
	index := p.Names.HeldGeneration(string(d), f.Generation)
	// A refresh that began before the check above may not include the documents.
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

// errIfFilling refuses a search that would miss rows.
func errIfFilling(f held.Freshness) error {
	if !f.Filling {
		return nil
	}
	err := fault.Wrap(errors.New("documents of the workspace are missing from an index that replaces a lost one"), fault.Unavailable,
		"the workspace's records are being put back into the search index; try again shortly")
	err.RetryAfter = fillingRetryAfter
	return err
}

// fillingRetryAfter is the Retry-After of errIfFilling.
const fillingRetryAfter = 5 * time.Second

// unavailable makes any error fault.Unavailable.
func unavailable(err error) error {
	if err == nil || fault.CodeOf(err) == fault.Unavailable {
		return err
	}
	return fault.BackendUnavailable(err, "projection")
}

// errLeaseLost: another projector may have the lease.
var errLeaseLost = errors.New("the workspace's projector lost its lease")

// leasePollInterval is how often a projection tries to take a lease that is held.
const leasePollInterval = 15 * time.Millisecond

// ownWritesAttempts limits the attempts to project the writes of a workspace.
const ownWritesAttempts = 3

// pageConcurrency is the number of pages of a workspace that are projected
// concurrently: while one waits for Postgres, another waits for Elasticsearch.
const pageConcurrency = 4

// backgroundPageLimit limits the concurrent pages of sweeps over all workspaces.
const backgroundPageLimit = 8

// preparePollInterval is the pause before a projection is retried.
const preparePollInterval = 100 * time.Millisecond

// projecting is a projection of a workspace's records.
type projecting struct {
	in     workspace.ID
	holder string
	// ownOnly means that only what a write of the workspace made pending is projected.
	ownOnly bool
	// leased means that the lease must be released.
	leased bool
	// last means that the lease is released with the results.
	last bool
}

// projectPending projects the pending records of a workspace. With ownOnly it
// projects only those that a write of the workspace made pending, and waits for the
// lease. Without, it gives up when another projector has the lease, and ends after
// sweepTimeSlice.
func (p *Projector) projectPending(ctx context.Context, in workspace.ID, ownOnly bool) error {
	w := &projecting{in: in, holder: p.name + " " + uuid.NewString(), ownOnly: ownOnly}
	failed, began := 0, time.Now()
	defer func() {
		if w.leased {
			p.release(ctx, w)
		}
	}()
	limit := pageConcurrency * p.Page
	for {
		pending, err := p.Rows.PendingHeld(ctx, in, w.holder, p.Lease, ownOnly, limit)
		if err != nil {
			return err
		}
		w.leased = w.leased || pending.Leased
		w.last = len(pending.Records) <= p.Page
		switch {
		case len(pending.Records) == 0: // possibly projected by another projector
			return nil
		case pending.Leased && !pending.Indexed:
			err := p.Prepare(ctx)
			if err != nil && (timer.Sleep(ctx, preparePollInterval) != nil || !ownOnly) {
				return err
			}
		case pending.Leased:
			err := p.withRenewal(ctx, in, w.holder, func(ctx context.Context) error {
				return p.projectPages(ctx, w, pending.Records)
			})
			if err != nil {
				// A rebuild may just have deleted a generation that was read.
				if failed++; ownOnly && failed < ownWritesAttempts && timer.Sleep(ctx, preparePollInterval) == nil {
					continue
				}
				return err
			}
			if len(pending.Records) < limit || !ownOnly && time.Since(began) > sweepTimeSlice {
				return nil
			}
		case !ownOnly:
			return nil
		default:
			if err := timer.Sleep(ctx, leasePollInterval); err != nil {
				return err
			}
		}
	}
}

// releaseTimeout limits an attempt to release a lease, releasePollInterval is the pause
// between two.
const (
	releaseTimeout      = time.Second
	releasePollInterval = 100 * time.Millisecond
)

// release releases the lease of a projection that has ended. If that fails it continues in
// the background until the lease expires: after an outage of Postgres, searches would wait
// for an unused lease.
func (p *Projector) release(ctx context.Context, w *projecting) {
	attempt := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
		defer cancel()
		return p.Rows.ReleaseProjector(ctx, w.in, w.holder)
	}
	err := attempt(context.WithoutCancel(ctx))
	if err == nil {
		return
	}
	p.Log.Warn("a projector's lease could not be released", "workspace", w.in.String(), "error", err.Error())
	p.releasing.Lock()
	defer p.releasing.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	p.releases.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, p.Lease)
		defer cancel()
		for timer.Sleep(ctx, releasePollInterval) == nil && attempt(ctx) != nil {
		}
	})
}

// projectPages projects records in concurrent pages. Pages of sweeps wait for a slot.
func (p *Projector) projectPages(ctx context.Context, w *projecting, records []held.Record) error {
	pages, ctx := errgroup.WithContext(ctx)
	for page := range slices.Chunk(records, p.Page) {
		pages.Go(func() error {
			if !w.ownOnly {
				select {
				case p.background <- struct{}{}:
					defer func() { <-p.background }()
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			return p.project(ctx, w, page)
		})
	}
	return pages.Wait()
}

// withRenewal runs work and renews the lease meanwhile. When that fails it cancels the
// work, which would otherwise run concurrently with the next holder.
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
			case <-done: // ended during the last renewal
				return
			default:
			}
			bounded, end := context.WithTimeout(ctx, p.Lease/4)
			claim, err := p.Rows.ClaimHeld(bounded, in, holder, p.Lease, nil)
			end()
			if failed++; claim.Leased {
				failed = 0
			}
			if err == nil && !claim.Leased || failed == 2 { // before the lease ends
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
