package alerts

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/scan"
	"atlas/internal/timer"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/views"
)

const (
	// interval is how often a Watcher looks.
	interval = time.Second
	// pageOfChanges limits the changes that are compared at once, recordsAtOnce the records and
	// definitionsAtOnce the definitions of one search.
	pageOfChanges, recordsAtOnce, definitionsAtOnce = 10_000, 10_000, 500
	// setsAtOnce limits the packed sets in memory. A set of MaxMatches ids has 1.5 MB, and only
	// one is unpacked at a time.
	setsAtOnce = 20
	// pageOfMatches is how many records a search returns.
	pageOfMatches = 1000
	// rest is how long a View rests before it is tried again.
	rest = time.Hour
	// tidyEvery is how often old entries and Views without alerts are deleted.
	tidyEvery = time.Minute
)

// Watched is a View with an alert, as it is stored.
type Watched struct {
	View views.View
	// Definition is the stored form of the View's definition, Unreadable the error if it could
	// not be parsed into View.
	Definition []byte
	Unreadable error
	// Version changes with the row: a writer names the version that it read.
	Version int64
	State   State
	// Reason is why it rests.
	Reason Reason
	// Changed means that the definition was changed after the last comparison.
	Changed bool
	// Through is the position in the feed up to which changes are compared.
	Through changes.Position
	// At is when it was last compared with all records.
	At time.Time
}

// Step is the state of a View after its comparison with a part of the feed.
type Step struct {
	State State
	// Reason is why it is Resting.
	Reason  Reason
	Through changes.Position
	// Known are the current matches; nil leaves them as they are.
	Known Set
	// Whole means that all records were compared.
	Whole bool
	// Reported are the records of a new entry, in order; none creates no entry.
	Reported []uuid.UUID
}

// HeldOf are the held records of a dataset and a workspace.
type HeldOf struct {
	Workspace workspace.ID
	Dataset   catalog.Dataset
}

// HeldChange is a held record whose document was written.
type HeldChange struct {
	Record uuid.UUID
	// Version is that of the document.
	Version int64
	// Shown is the version at which the workspace itself put the record into its book or a
	// Static View, since the last comparison; 0 if it did not.
	Shown int64
}

// Watches stores the matches of watched Views. *postgres.System implements it.
type Watches interface {
	// WatchedViews are the Views with alerts of all workspaces.
	WatchedViews(ctx context.Context) ([]Watched, error)
	// KnownMatches returns the known matches of each View, packed; nil if the row has another
	// version.
	KnownMatches(ctx context.Context, all []Watched) ([][]byte, error)
	// StepWatched stores a step in one transaction. It stores nothing if the row has another
	// version, or the View was deleted or has another definition.
	StepWatched(ctx context.Context, w Watched, s Step, now time.Time) (stored bool, err error)
	// MoveWatched moves Views past a part of the feed that changes nothing for them, under the
	// conditions of StepWatched.
	MoveWatched(ctx context.Context, all []Watched, to changes.Position) error
	// HeldChanged returns the workspaces and datasets that have changed held records.
	// HeldChanges returns the changed records of one, in order.
	HeldChanged(ctx context.Context) ([]HeldOf, error)
	HeldChanges(ctx context.Context, of HeldOf, limit int) ([]HeldChange, error)
	// CompareHeld deletes compared changes, unless the records changed again.
	CompareHeld(ctx context.Context, of HeldOf, compared []HeldChange) error
	// TidyWatched deletes Views without alerts, and entries before a time.
	TidyWatched(ctx context.Context, before time.Time) error
	// WithLease runs work on one server at a time.
	WithLease(ctx context.Context, name, who string, ttl time.Duration, work func(context.Context) error) error
}

// Feed is the feed of changes of global records. *postgres.Store implements it.
type Feed interface {
	FeedHead(ctx context.Context) (changes.Position, time.Time, error)
	ChangesAfter(ctx context.Context, d catalog.Dataset, after changes.Position, limit int) (changes.Page, bool, error)
}

// Searcher searches Views. *records.Records implements it.
type Searcher interface {
	SearchView(ctx context.Context, v views.View, q query.Query) (query.Page, error)
	// MatchingViews returns which of the records match each View of a dataset as global
	// records. MatchingHeld does so for Views of one workspace and held records.
	MatchingViews(ctx context.Context, vs []views.View, among []uuid.UUID) ([][]uuid.UUID, error)
	MatchingHeld(ctx context.Context, vs []views.View, among []uuid.UUID) ([][]uuid.UUID, error)
}

// Watcher creates the entries of alerts. Any number of servers may run one: each step is stored
// once.
type Watcher struct {
	Watches Watches
	Feed    Feed
	Search  Searcher
	// Who names the process in the lease.
	Who string
	// Busy reports whether an error means that another server is working.
	Busy func(error) bool
	// Ran, when not nil, receives the outcome of each look: "ok" or "failed".
	Ran func(outcome string)
	Log *slog.Logger
	// MaxMatches is how many records may match a View; 0 is the constant MaxMatches.
	MaxMatches int
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Pause waits between two parts of the work; nil is timer.Sleep.
	Pause func(context.Context, time.Duration) error

	tidied time.Time
	// unreadable are the Views whose error was logged.
	unreadable map[views.ID]bool
}

// Lease is the lease of the server that looks.
const (
	Lease    = "view alerts"
	leaseTTL = 30 * time.Second
)

// Run looks until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	failing := false
	for timer.Sleep(ctx, interval) == nil {
		err := w.Watches.WithLease(ctx, Lease, w.Who, leaseTTL, w.Look)
		if w.Busy(err) {
			continue
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			w.Log.Warn("alerts on Views are not made; trying on", "error", err.Error())
		case err == nil && failing:
			w.Log.Info("alerts on Views are made again")
		}
		failing = err != nil
		if w.Ran != nil {
			w.Ran(map[bool]string{true: "failed", false: "ok"}[failing])
		}
	}
}

// Look compares the watched Views with the published changes. A View that fails does not
// block others.
func (w *Watcher) Look(ctx context.Context) error {
	now := workspace.Clock(w.Now)()
	if now.Sub(w.tidied) >= tidyEvery || now.Before(w.tidied) {
		if err := w.Watches.TidyWatched(ctx, now.Add(-Retention)); err != nil {
			return err
		}
		w.tidied = now
	}
	all, err := w.Watches.WatchedViews(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	var following []Watched
	for _, v := range all {
		switch {
		case v.Unreadable != nil:
			err = errors.Join(err, w.leave(ctx, v, now))
		case v.State == Waiting, v.Changed, v.State == Resting && now.Sub(v.At) >= rest:
			err = errors.Join(err, w.begin(ctx, v, now))
		case v.State == Watching:
			following = append(following, v)
		}
	}
	slices.SortFunc(following, func(a, b Watched) int {
		return cmp.Or(cmp.Compare(a.View.Dataset, b.View.Dataset), cmp.Compare(a.Through.Seq, b.Through.Seq),
			bytes.Compare(a.Through.Publication[:], b.Through.Publication[:]))
	})
	for len(following) > 0 {
		n := 1
		for n < len(following) && following[n].View.Dataset == following[0].View.Dataset && following[n].Through == following[0].Through {
			n++
		}
		err = errors.Join(err, w.follow(ctx, following[:n], now))
		following = following[n:]
	}
	return errors.Join(err, w.followHeld(ctx, now))
}

// leave puts a View whose definition cannot be read to rest, so that it does not block the
// others, and logs that once.
func (w *Watcher) leave(ctx context.Context, v Watched, now time.Time) error {
	if w.unreadable[v.View.ID] && v.State == Resting && !v.Changed {
		return nil
	}
	if err := w.rest(ctx, v, DefinitionRefused, now); err != nil || w.unreadable[v.View.ID] {
		return err
	}
	if w.unreadable == nil {
		w.unreadable = map[views.ID]bool{}
	}
	w.unreadable[v.View.ID] = true
	w.Log.Error("a View is not watched", "workspace", v.View.Workspace.String(), "view", v.View.ID.String(), "error", v.Unreadable.Error())
	return nil
}

// rest deletes the known matches of a View.
func (w *Watcher) rest(ctx context.Context, v Watched, reason Reason, now time.Time) error {
	_, err := w.Watches.StepWatched(ctx, v, Step{State: Resting, Reason: reason, Through: v.Through, Known: Set{}, Whole: true}, now)
	return err
}

// begin makes all current matches known.
func (w *Watcher) begin(ctx context.Context, v Watched, now time.Time) error {
	// The position is read first: what is published meanwhile is compared again.
	head, _, err := w.Feed.FeedHead(ctx)
	if err != nil {
		return err
	}
	if CanWatch(v.View) != nil { // it is not a Dynamic View
		return w.rest(ctx, v, DefinitionRefused, now)
	}
	ids, err := w.matching(ctx, v.View, w.most()+1)
	switch {
	case fault.CodeOf(err) == fault.InvalidInput:
		return w.rest(ctx, v, DefinitionRefused, now)
	case err != nil:
		return err
	case len(ids) > w.most():
		return w.rest(ctx, v, TooManyMatches, now)
	}
	_, err = w.Watches.StepWatched(ctx, v, Step{State: Watching, Through: head, Known: Of(ids...), Whole: true}, now)
	return err
}

func (w *Watcher) most() int { return cmp.Or(w.MaxMatches, MaxMatches) }

// follow compares Views of one dataset at one position with the following part of the feed.
func (w *Watcher) follow(ctx context.Context, all []Watched, now time.Time) error {
	through := all[0].Through
	page, known, err := w.Feed.ChangesAfter(ctx, all[0].View.Dataset, through, pageOfChanges)
	switch {
	case err != nil:
		return err
	case !known: // the feed was started over, or no longer has that part
		for _, v := range all {
			err = errors.Join(err, w.begin(ctx, v, now))
		}
		return err
	case page.Next == through:
		return nil
	}
	return w.compare(ctx, all, page, now) // the rest is for the next look
}

// matching returns records that match a View, at most limit.
func (w *Watcher) matching(ctx context.Context, v views.View, limit int) (ids []uuid.UUID, err error) {
	// E-mail addresses are not searched: an alert would reveal for free that one exists.
	q := query.Query{
		Dataset: v.Dataset, Base: query.Base{Kind: catalog.View}, Sort: query.DefaultSort(v.Dataset),
		Limit: pageOfMatches, WithoutPrivate: true,
	}
	for more := true; more && len(ids) < limit; more = q.After != "" {
		page, err := w.Search.SearchView(ctx, v, q)
		if err != nil {
			return nil, err
		}
		for _, row := range page.Rows {
			var one uuid.UUID
			var unreadable error
			err := scan.Pick(row, []string{"id"}, func(_ int, value jsontext.Value) { unreadable = json.Unmarshal(value, &one) })
			if err := errors.Join(err, unreadable); err != nil {
				return nil, fault.Wrap(err, fault.Internal, "a record is unreadable")
			}
			ids = append(ids, one)
		}
		q.After = page.Next
	}
	return ids, nil
}
