// Package records runs searches of a workspace's book and of Views: it waits for
// the workspace's own writes, plans the search, runs it, and adds the workspace's
// values to the rows.
//
// Elasticsearch decides which records are found and in which order. The
// workspace's values are read from Postgres. The package imports neither, and
// knows nothing of HTTP and credits.
package records

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/held"
	"atlas/workspace/join"
	"atlas/workspace/views"
)

// Searcher finds global records or those that a workspace holds. The Rows of its
// pages are public records. *search.Engine implements it.
type Searcher interface {
	Search(ctx context.Context, q query.Query) (query.Page, error)
	// SearchMerged finds the records of either of two searches. countOnly finds the records
	// that only the second one finds, and is counted.
	SearchMerged(ctx context.Context, searches [2]query.Query, countOnly query.Query) (query.Page, error)
}

// Matcher finds, among some records, those that match each of several searches.
// *search.Engine implements it.
type Matcher interface {
	Matching(ctx context.Context, d catalog.Dataset, among []uuid.UUID, searches []query.Query) ([][]uuid.UUID, error)
}

// Freshness makes the workspace's writes visible to searches of held records.
type Freshness interface {
	// Settle waits until a search of the workspace's held records, in the
	// generation that it returns, sees every write of the workspace that was
	// answered before the call.
	Settle(ctx context.Context, in workspace.ID, d catalog.Dataset) (held.Freshness, error)
}

// Views lists the Static Views of a dataset.
type Views interface {
	StaticViews(ctx context.Context, in workspace.ID, d catalog.Dataset) ([]views.ID, error)
}

// Overlays reads a workspace's overlays of records.
type Overlays interface {
	// Overlays returns the overlays by record; a record may have none.
	Overlays(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) (map[uuid.UUID]book.Overlay, error)
}

// Records searches books and Views.
type Records struct {
	Searcher  Searcher
	Faceter   Faceter
	Matcher   Matcher
	Freshness Freshness
	Overlays  Overlays
	Views     Views
}

// SearchBook searches a workspace's book. Errors are those of the search:
// fault.BadRequest for a cursor of another search, fault.Unavailable.
func (r *Records) SearchBook(ctx context.Context, in workspace.ID, request query.Query) (query.Page, error) {
	s := search{in: in, dataset: request.Dataset,
		plan: func([]views.ID) (join.Plan, error) { return join.Book(in, request) },
		rows: book.LayoutOf(request.Dataset, catalog.BookRow, request.Fields),
	}
	return r.search(ctx, s)
}

// SearchView searches a View of the caller's workspace. Errors are those of
// SearchBook.
func (r *Records) SearchView(ctx context.Context, v views.View, request query.Query) (query.Page, error) {
	s := search{in: v.Workspace, dataset: v.Dataset,
		plan: func(existing []views.ID) (join.Plan, error) { return join.View(v, request, existing) },
		rows: book.LayoutOf(v.Dataset, catalog.ViewRow, request.Fields),
	}
	return r.search(ctx, s)
}

// MatchingViews returns, for each of several Dynamic Views of a dataset, which of the records
// match it as global records, in the order of their ids. A View whose plan does not search
// global records matches none. E-mail addresses are not searched.
func (r *Records) MatchingViews(ctx context.Context, vs []views.View, among []uuid.UUID) ([][]uuid.UUID, error) {
	var searches []query.Query
	var of []int // positions in vs
	for i, v := range vs {
		plan, err := matchPlan(v, nil)
		if err != nil {
			return nil, err
		}
		for _, q := range plan.Searches {
			if !q.Held {
				searches, of = append(searches, q), append(of, i)
			}
		}
	}
	found := make([][]uuid.UUID, len(vs))
	if len(searches) == 0 {
		return found, nil
	}
	matches, err := r.Matcher.Matching(ctx, vs[0].Dataset, among, searches)
	if err != nil {
		return nil, err
	}
	for i := range matches {
		found[of[i]] = matches[i]
	}
	return found, nil
}

// MatchingHeld returns, for each of several Dynamic Views of one workspace and dataset, which
// of the records match it as records that the workspace holds, in the order of their ids. A
// View whose plan does not search these matches none. It sees what the workspace wrote.
func (r *Records) MatchingHeld(ctx context.Context, vs []views.View, among []uuid.UUID) ([][]uuid.UUID, error) {
	found := make([][]uuid.UUID, len(vs))
	if len(vs) == 0 || len(among) == 0 {
		return found, nil
	}
	in, d := vs[0].Workspace, vs[0].Dataset
	// The searches of all Views are one plan, so that they run in the same generation.
	all := func(existing []views.ID) (plan join.Plan, err error) {
		for _, v := range vs {
			if v.Workspace != in || v.Dataset != d {
				return plan, fault.New(fault.Internal, "the View %s is of another workspace or dataset", v.ID)
			}
			one, err := matchPlan(v, existing)
			if err != nil {
				return plan, err
			}
			plan.Searches = append(plan.Searches, one.Searches...)
		}
		return plan, nil
	}
	plan, matches, err := find(ctx, r, search{in: in, dataset: d, plan: all}, true,
		func(plan join.Plan, _ string) ([][]uuid.UUID, error) {
			return r.Matcher.Matching(ctx, d, among, slices.DeleteFunc(slices.Clone(plan.Searches), func(q query.Query) bool { return !q.Held }))
		})
	if err != nil {
		return nil, err
	}
	positions := map[string]int{}
	for i, v := range vs {
		positions[v.ID.String()] = i
	}
	for _, q := range plan.Searches {
		if q.Held {
			found[positions[q.Base.View]], matches = matches[0], matches[1:]
		}
	}
	return found, nil
}

// matchPlan plans a search of a View whose matches cost nothing.
func matchPlan(v views.View, existing []views.ID) (join.Plan, error) {
	return join.View(v, query.Query{Dataset: v.Dataset, WithoutPrivate: true}, existing)
}

// Merged reports whether a search of a View merges two.
func (r *Records) Merged(v views.View, request query.Query) bool {
	plan, err := join.View(v, request, nil)
	return err == nil && len(plan.Searches) > 1
}

// search is a search of a book or a View.
type search struct {
	in      workspace.ID
	dataset catalog.Dataset
	// plan makes the plan from the Static Views that exist (join.View).
	plan func(existing []views.ID) (join.Plan, error)
	rows book.Layout
}

func (r *Records) search(ctx context.Context, s search) (query.Page, error) {
	plan, page, err := find(ctx, r, s, false, func(plan join.Plan, _ string) (query.Page, error) { return r.run(ctx, plan) })
	if err != nil || len(page.Rows) == 0 {
		return page, err
	}
	ids, err := book.RecordIDs(page.Rows)
	if err != nil {
		return query.Page{}, err
	}
	overlays, err := r.Overlays.Overlays(ctx, s.in, s.dataset, ids)
	if err != nil {
		return query.Page{}, err
	}
	rows, found := page.Rows[:0], make([]int, 0, len(page.Rows))
	for i, record := range page.Rows {
		var overlay *book.Overlay
		if o, there := overlays[ids[i]]; there {
			overlay = &o
		} else if plan.InBook {
			continue // the record left the book after the search
		}
		rendered, err := s.rows.Row(record, overlay)
		if err != nil {
			return query.Page{}, err
		}
		rows, found = append(rows, rendered), append(found, i)
	}
	after := page.After
	page.Rows, page.After = rows, func(row int) string { return after(found[row]) }
	return page, nil
}

// find makes a plan and runs it in the settled generation of held records. If a rebuild has
// deleted that generation, it runs once more in the new one. overlaid means that the run reads
// held records even if the plan does not.
func find[T any](
	ctx context.Context, r *Records, s search, overlaid bool, run func(plan join.Plan, generation string) (T, error),
) (plan join.Plan, found T, err error) {
	if plan, err = s.plan(nil); err != nil {
		return plan, found, err
	}
	if !plan.Held() && !overlaid {
		found, err = run(plan, "")
		return plan, found, err
	}
	f, err := r.Freshness.Settle(ctx, s.in, s.dataset)
	if err == nil && f.ViewDeleted {
		var existing []views.ID
		if existing, err = r.Views.StaticViews(ctx, s.in, s.dataset); err == nil {
			plan, err = s.plan(existing)
		}
	}
	if err != nil {
		return plan, found, err
	}
	found, err = run(plan.In(f.Generation), f.Generation)
	if !errors.Is(err, query.ErrIndexGone) {
		return plan, found, err
	}
	now, failed := r.Freshness.Settle(ctx, s.in, s.dataset)
	if failed != nil || now.Generation == f.Generation {
		return plan, found, err
	}
	found, err = run(plan.In(now.Generation), now.Generation)
	return plan, found, err
}

func (r *Records) run(ctx context.Context, plan join.Plan) (query.Page, error) {
	if len(plan.Searches) == 1 {
		return r.Searcher.Search(ctx, plan.Searches[0])
	}
	return r.Searcher.SearchMerged(ctx, [2]query.Query(plan.Searches), plan.CountOnly)
}
