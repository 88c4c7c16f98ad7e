package search

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/search/query"
)

// SearchMerged runs two searches with the same base, sort and page, and returns the records
// that either finds, each once, in the order of the sort. countOnly is a third search,
// which is only counted: it matches the records that only the second search finds. The
// total is the sum of the first search and countOnly, each counted to TotalCap. The sort
// must not be by relevance, because scores differ between indices. Errors are those of
// Search.
func (e *Engine) SearchMerged(ctx context.Context, searches [2]query.Query, countOnly query.Query) (query.Page, error) {
	return inFoldings(ctx, e, false, []query.Query{searches[0], searches[1], countOnly}, func(folded []query.Query) (query.Page, error) {
		page, err := e.mergedPage(ctx, [2]query.Query(folded[:2]), folded[2])
		if err == nil && page.Total == 0 {
			page.NotFound = e.notFound(ctx, folded[0], folded[2])
		}
		return page, err
	})
}

// mergedPage is SearchMerged without Page.NotFound.
func (e *Engine) mergedPage(ctx context.Context, searches [2]query.Query, countOnly query.Query) (query.Page, error) {
	q := searches[0]
	other := searches[1]
	if q.Sort.Relevance() || q.Sort.String() != other.Sort.String() || q.Base != other.Base ||
		q.Limit != other.Limit || q.Offset != other.Offset || q.After != other.After {
		return query.Page{}, fault.New(fault.Internal, "two searches that cannot be merged")
	}
	position, err := e.position(ctx, q)
	if err != nil {
		return query.Page{}, err
	}
	// All round trips and waiting together have the timeout of one search.
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	prepared, err := e.prepared(ctx, q.DryRun || q.WithoutPrivate, searches[0], searches[1], countOnly)
	if err != nil {
		return query.Page{}, err
	}
	searches = [2]query.Query(prepared)
	m := merge{searches: searches, countOnly: prepared[2], after: position.After}
	if q.Offset > 0 {
		// Either search may have any part of the rows before the page, so find the last row
		// before the page first.
		if m.after, err = e.skip(ctx, searches); err != nil {
			return query.Page{}, err
		}
		m.empty = m.after == nil
	}
	var last bool
	m.seek, last = e.seekFilter(q, position)
	rows, total, err := e.merge(ctx, m)
	if err == nil && m.seek != nil && !last && len(rows) <= q.Limit {
		m.seek = nil // rows without a value may follow
		rows, total, err = e.merge(ctx, m)
	}
	if err != nil {
		return query.Page{}, err
	}
	if dependsOnFolding(q.Sort) {
		found := make([]hit, len(rows))
		for i, r := range rows {
			found[i].index = r.index
		}
		if position.Folding, err = e.foldingOfRows(ctx, found); err != nil {
			return query.Page{}, err
		}
	}
	p := pageOf(q, total)
	p.After = func(i int) string {
		return e.Cursors.Make(q, position.next(q, i+1, json.RawMessage(rows[i].key.sort)))
	}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		p.Next = p.After(q.Limit - 1)
	}
	p.Rows = make([]jsontext.Value, len(rows))
	for i, r := range rows {
		p.Rows[i] = r.source
	}
	return p, nil
}

// mergedRow is one row of either search.
type mergedRow struct {
	index, source jsontext.Value
	key           sortKey
}

// merge is one round trip of SearchMerged: it finds the first rows of both
// searches after a row, and the total.
type merge struct {
	searches  [2]query.Query
	countOnly query.Query
	after     json.RawMessage
	seek      clause // a condition on the rows that the total ignores, or nil
	empty     bool   // the page is known to have no rows
}

// merge returns at most one row more than the page has.
func (e *Engine) merge(ctx context.Context, m merge) ([]mergedRow, int, error) {
	m.countOnly.CountOnly = true
	queries := []query.Query{m.searches[0], m.searches[1], m.countOnly}
	if m.seek != nil {
		first := m.searches[0] // the total of its rows differs from that of its matches
		first.CountOnly = true
		queries = append(queries, first)
	}
	requests := make([]request, len(queries))
	for i := range queries {
		q := &queries[i]
		q.Offset, q.CountOnly = 0, q.CountOnly || m.empty
		if len(m.after) > 0 {
			q.After = "set" // so that fewer rows than the total are not an error
		}
		var o options
		if !q.CountOnly {
			o = options{after: m.after, seek: m.seek}
		}
		requests[i] = e.request(*q, o)
	}
	results, err := e.multi(ctx, requests...)
	if err != nil {
		return nil, 0, err
	}
	var rows []mergedRow
	for i, r := range results {
		if err := r.complete(queries[i]); err != nil {
			return nil, 0, err
		}
		for _, row := range r.rows {
			key, err := sortKeyOf(row.sort)
			if err != nil {
				return nil, 0, fault.BackendUnavailable(err, "elasticsearch")
			}
			rows = append(rows, mergedRow{row.index, row.source, key})
		}
	}
	desc := m.searches[0].Sort.Desc
	slices.SortStableFunc(rows, func(a, b mergedRow) int { return a.key.compare(b.key, desc) })
	seen := map[recordID]bool{}
	rows = slices.DeleteFunc(rows, func(r mergedRow) bool {
		duplicate := seen[r.key.id]
		seen[r.key.id] = true
		return duplicate
	})
	first := results[0]
	if m.seek != nil {
		first = results[3]
	}
	return rows[:min(m.searches[0].Limit+1, len(rows))], *first.total + *results[2].total, nil
}
