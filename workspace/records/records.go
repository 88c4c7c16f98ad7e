// Package records answers a search of a workspace's book or of a View from start
// to end: it waits for what the workspace itself wrote, plans the search, runs
// it, and puts the workspace's own data on the rows.
//
// Elasticsearch decides which records and in what order, Postgres what is shown
// of the workspace's own. The package knows neither, nor HTTP, nor credits.
package records

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/join"
)

// Page is one page of rows.
type Page struct {
	// Rows are JSON objects, in order.
	Rows []jsontext.Value
	// Total is how many records match, counted to 1,000; Capped tells that there
	// are more.
	Total  int
	Capped bool
	// Next is the cursor of the next page, empty on the last one.
	Next string
}

// Searcher finds global records, or those that a workspace holds. In what it
// returns, Rows are public records. *search.Engine does so, but for the type of
// the page.
type Searcher interface {
	Search(ctx context.Context, q query.Query) (Page, error)
	// SearchMerged finds what either of two searches finds; second counts what
	// the second one adds.
	SearchMerged(ctx context.Context, legs [2]query.Query, second query.Query) (Page, error)
}

// Freshness makes searches of held records see what the workspace wrote.
type Freshness interface {
	// Settle returns when a search of the workspace's held records that begins
	// now, in the generation that it names, sees every write of the workspace that
	// was answered before.
	Settle(ctx context.Context, in workspace.ID, d query.Dataset) (workspace.Freshness, error)
}

// Views tells which Static Views of a dataset there are.
type Views interface {
	StaticViews(ctx context.Context, in workspace.ID, d query.Dataset) ([]workspace.ViewID, error)
}

// Overlays tells what a workspace says of records.
type Overlays interface {
	// Overlays returns those that are there.
	Overlays(ctx context.Context, in workspace.ID, d query.Dataset, records []uuid.UUID) (map[uuid.UUID]workspace.Overlay, error)
}

// Records searches books and Views.
type Records struct {
	Searcher  Searcher
	Freshness Freshness
	Overlays  Overlays
	Views     Views
}

// SearchBook searches a workspace's book. Errors are those of the search:
// fault.BadRequest for a cursor of another search, fault.Unavailable.
func (r *Records) SearchBook(ctx context.Context, in workspace.ID, request query.Query) (Page, error) {
	s := search{in: in, dataset: request.Dataset,
		plan: func([]workspace.ViewID) (join.Plan, error) { return join.Book(in, request) },
		row: func(record jsontext.Value, o *workspace.Overlay) (jsontext.Value, error) {
			return workspace.Row(request.Dataset, query.BookRow, record, o)
		},
	}
	return r.search(ctx, s)
}

// SearchView searches what a View shows; the View is the caller's workspace's.
// Errors are those of SearchBook.
func (r *Records) SearchView(ctx context.Context, v workspace.View, request query.Query) (Page, error) {
	s := search{in: v.Workspace, dataset: v.Dataset,
		plan: func(existing []workspace.ViewID) (join.Plan, error) { return join.View(v, request, existing) },
		row: func(record jsontext.Value, o *workspace.Overlay) (jsontext.Value, error) {
			return workspace.Row(v.Dataset, query.ViewRow, record, o)
		},
	}
	return r.search(ctx, s)
}

// search is a search of a book or a View.
type search struct {
	in      workspace.ID
	dataset query.Dataset
	// plan plans it, with the Static Views there are, nil when it makes no
	// difference.
	plan func(existing []workspace.ViewID) (join.Plan, error)
	row  func(record jsontext.Value, o *workspace.Overlay) (jsontext.Value, error)
}

func (r *Records) search(ctx context.Context, s search) (Page, error) {
	plan, page, err := r.find(ctx, s)
	if err != nil || len(page.Rows) == 0 {
		return page, err
	}
	ids, err := idsOf(page.Rows)
	if err != nil {
		return Page{}, err
	}
	overlays, err := r.Overlays.Overlays(ctx, s.in, s.dataset, ids)
	if err != nil {
		return Page{}, err
	}
	rows := page.Rows[:0]
	for i, record := range page.Rows {
		var overlay *workspace.Overlay
		if o, there := overlays[ids[i]]; there {
			overlay = &o
		} else if plan.InBook {
			continue // it left the book since it was found
		}
		rendered, err := s.row(record, overlay)
		if err != nil {
			return Page{}, err
		}
		rows = append(rows, rendered)
	}
	page.Rows = rows
	return page, nil
}

// find runs the plan. Where it searches held records it does so in the
// generation of which it is known what is in it; one that a rebuild has replaced
// in between is gone, and the search is made once more, in the next.
func (r *Records) find(ctx context.Context, s search) (join.Plan, Page, error) {
	plan, err := s.plan(nil)
	if err != nil {
		return plan, Page{}, err
	}
	if !plan.Held() {
		page, err := r.run(ctx, plan)
		return plan, page, err
	}
	f, err := r.Freshness.Settle(ctx, s.in, s.dataset)
	if err == nil && f.ViewDeleted {
		var existing []workspace.ViewID
		if existing, err = r.Views.StaticViews(ctx, s.in, s.dataset); err == nil {
			plan, err = s.plan(existing)
		}
	}
	if err != nil {
		return plan, Page{}, err
	}
	page, err := r.run(ctx, plan.In(f.Generation))
	if !errors.Is(err, query.ErrIndexGone) {
		return plan, page, err
	}
	now, again := r.Freshness.Settle(ctx, s.in, s.dataset)
	if again != nil || now.Generation == f.Generation {
		return plan, page, err
	}
	page, err = r.run(ctx, plan.In(now.Generation))
	return plan, page, err
}

func (r *Records) run(ctx context.Context, plan join.Plan) (Page, error) {
	if len(plan.Legs) == 1 {
		return r.Searcher.Search(ctx, plan.Legs[0])
	}
	return r.Searcher.SearchMerged(ctx, [2]query.Query(plan.Legs), plan.Second)
}

func idsOf(records []jsontext.Value) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, len(records))
	for i, record := range records {
		id, err := workspace.RecordID(record)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}
