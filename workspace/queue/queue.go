// Package queue has the queue of signals of a workspace (docs/api.md, "Signal queue"): the
// signals of the subscribed types that arrived after their subscription began. They are
// searched for like other global records; what a workspace dismissed is in Postgres.
package queue

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
)

// Limits of a queue.
const (
	// MaxDismissed is how many signals of its queue a workspace can dismiss. Every search
	// of the queue contains their ids.
	MaxDismissed = 10_000
	// MaxBook is how many accounts and projects of a book a search with InBook can take: as
	// many values as Elasticsearch takes in a condition.
	MaxBook = 65_536
)

// State is what determines the content of a queue.
type State struct {
	// After has the subscribed types, with the arrival after which signals are in the
	// queue.
	After map[string]time.Time
	// Dismissed are the signals that the workspace dismissed.
	Dismissed []uuid.UUID
}

// Dismissal is a signal that a workspace dismisses.
type Dismissal struct {
	Signal uuid.UUID
	Type   string
}

// Store stores the state of queues.
type Store interface {
	QueueState(ctx context.Context, in workspace.ID) (State, error)
	// Dismiss stores dismissals and returns the signals for which there is no room: at most
	// MaxDismissed are stored.
	Dismiss(ctx context.Context, in workspace.ID, all []Dismissal, at time.Time) (refused []uuid.UUID, err error)
	// Restore deletes dismissals. Signals that are not dismissed are ignored.
	Restore(ctx context.Context, in workspace.ID, signals []uuid.UUID) error
	// BookIDs returns the accounts and projects of the book, at most limit of both.
	BookIDs(ctx context.Context, in workspace.ID, limit int) (accounts, projects []uuid.UUID, err error)
	// ArrivedThrough returns an arrival up to which searches see every signal.
	ArrivedThrough(ctx context.Context) (time.Time, error)
}

// Searcher finds global records. *search.Engine implements it.
type Searcher interface {
	Search(ctx context.Context, q query.Query) (query.Page, error)
}

// Queue searches and changes the queues of workspaces.
type Queue struct {
	Store    Store
	Searcher Searcher
	// Now is the clock; nil means the system's.
	Now func() time.Time
}

// Page is a page of a queue. Unread counts the signals of the whole queue that are not
// dismissed, whatever the request's conditions.
type Page struct {
	query.Page
	Unread int
}

// Search searches a workspace's queue. A dry run does not count Unread. Errors:
// fault.BadRequest for a cursor of another search and for a book with more than MaxBook
// records, fault.Unavailable.
func (u *Queue) Search(ctx context.Context, in workspace.ID, r query.QueueRequest) (Page, error) {
	state, err := u.Store.QueueState(ctx, in)
	if err != nil {
		return Page{}, err
	}
	q := r.Query
	q.Base.Workspace = in.String()
	where := state.where(r.Dismissed)
	if r.InBook {
		inBook, err := u.inBook(ctx, in)
		if err != nil {
			return Page{}, err
		}
		where = append(where, inBook)
	}
	q.Where = append(where, r.Where...)
	var page Page
	searches, searchCtx := errgroup.WithContext(ctx)
	searches.Go(func() (err error) {
		page.Page, err = u.Searcher.Search(searchCtx, q)
		return err
	})
	if !q.DryRun {
		searches.Go(func() error {
			// A dry run counts all matches.
			count := query.Query{
				Dataset:   catalog.Signals,
				Base:      q.Base,
				Where:     state.where(false),
				Sort:      r.Sort,
				CountOnly: true,
				DryRun:    true,
			}
			counted, err := u.Searcher.Search(searchCtx, count)
			page.Unread = counted.Total
			return err
		})
	}
	return page, searches.Wait()
}

// where are the conditions of the queue.
func (s State) where(dismissed bool) query.All {
	types := query.Any{}
	for _, t := range slices.Sorted(maps.Keys(s.After)) {
		types = append(types, query.All{
			query.Terms{Field: &typeField, Values: []string{t}},
			query.Range{Field: &query.Arrived, From: query.IntegerBound(s.After[t].UnixMilli() + 1)},
		})
	}
	among := query.Terms{Field: &idField, Values: texts(s.Dismissed)}
	switch {
	case dismissed:
		return query.All{types, among}
	case len(s.Dismissed) > 0:
		return query.All{types, query.Not{Node: among}}
	}
	return query.All{types}
}

var (
	idField       = field("id")
	typeField     = field("signal_type")
	projectField  = field("project_id")
	accountsField = field("account_ids")
)

func field(name string) catalog.Field {
	f, known := catalog.FieldNamed(catalog.Signals, name)
	if !known {
		panic("signals have no " + name)
	}
	return f
}

func texts(ids []uuid.UUID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	return list
}

// inBook matches signals of an account or a project of the book.
func (u *Queue) inBook(ctx context.Context, in workspace.ID) (query.Node, error) {
	accounts, projects, err := u.Store.BookIDs(ctx, in, MaxBook+1)
	if err != nil {
		return nil, err
	}
	if len(accounts)+len(projects) > MaxBook {
		return nil, fault.New(
			fault.BadRequest,
			"in_book takes a book of at most %d accounts and projects: filter the queue by something else",
			MaxBook,
		)
	}
	return query.Any{
		query.Terms{Field: &accountsField, Values: texts(accounts)},
		query.Terms{Field: &projectField, Values: texts(projects)},
	}, nil
}

// Dismiss dismisses signals of a workspace's queue and returns the error of each, nil
// for those that are dismissed now: fault.NotFound for a signal that is not in the queue,
// fault.LimitReached when MaxDismissed are dismissed.
func (u *Queue) Dismiss(ctx context.Context, in workspace.ID, signals []uuid.UUID) ([]error, error) {
	state, err := u.Store.QueueState(ctx, in)
	if err != nil {
		return nil, err
	}
	types, err := u.typesOf(ctx, in, state, signals)
	if err != nil {
		return nil, err
	}
	var all []Dismissal
	for _, id := range signals {
		if d := (Dismissal{id, types[id]}); d.Type != "" && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	var refused []uuid.UUID
	if len(all) > 0 {
		if refused, err = u.Store.Dismiss(ctx, in, all, workspace.Clock(u.Now)()); err != nil {
			return nil, err
		}
	}
	errs := make([]error, len(signals))
	for i, id := range signals {
		switch {
		case types[id] == "":
			errs[i] = fault.New(fault.NotFound, "the signal is not in the queue")
		case slices.Contains(refused, id):
			errs[i] = workspace.LimitError(
				MaxDismissed,
				"dismissed signals",
				"restore some, or delete the subscription and create it again, which starts the queue anew",
			)
		}
	}
	return errs, nil
}

// typesOf returns the types of the signals that are in the queue, dismissed or not.
func (u *Queue) typesOf(ctx context.Context, in workspace.ID, state State, signals []uuid.UUID) (map[uuid.UUID]string, error) {
	state.Dismissed = nil
	where := append(state.where(false), query.Terms{Field: &idField, Values: texts(signals)})
	page, err := u.Searcher.Search(ctx, query.Query{
		Dataset: catalog.Signals, Base: query.Base{Kind: catalog.QueueBase, Workspace: in.String()},
		Where: where, Sort: query.Sort{Field: query.Arrived}, Limit: len(signals),
	})
	if err != nil {
		return nil, err
	}
	types := make(map[uuid.UUID]string, len(page.Rows))
	for _, row := range page.Rows {
		s, err := read(row)
		if err != nil {
			return nil, err
		}
		types[s.ID] = s.Type
	}
	return types, nil
}

// Restore deletes dismissals. Signals that are not dismissed are ignored.
func (u *Queue) Restore(ctx context.Context, in workspace.ID, signals []uuid.UUID) error {
	return u.Store.Restore(ctx, in, signals)
}

// Signal is a signal that arrived.
type Signal struct {
	ID     uuid.UUID      `json:"id"`
	Type   string         `json:"signal_type"`
	Record jsontext.Value `json:"-"` // public
}

func read(record jsontext.Value) (s Signal, err error) {
	if err := json.Unmarshal(record, &s); err != nil {
		return s, fault.Wrap(err, fault.Internal, "a signal could not be read")
	}
	s.Record = record
	return s, nil
}
