package search

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/search/query"
)

// SearchMerged runs two searches that have one base, sort and page, and gives
// the records that either finds, each once, in the order of the sort. second
// finds what the second search adds to the first: the total is that of the first
// and of second, each counted to TotalCap. The sort must not be by relevance,
// whose scores differ between indices. Errors are those of Search.
func (e *Engine) SearchMerged(ctx context.Context, legs [2]query.Query, second query.Query) (Page, error) {
	q := legs[0]
	other := legs[1]
	if q.Sort.Relevance() || q.Sort.String() != other.Sort.String() || q.Base != other.Base ||
		q.Limit != other.Limit || q.Offset != other.Offset || q.After != other.After {
		return Page{}, fault.New(fault.Internal, "two searches that cannot be merged")
	}
	place, err := e.Cursors.Read(q)
	if err != nil {
		return Page{}, err
	}
	// All that it takes, waiting included, is one search.
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	m := merge{legs: legs, second: second, after: place.After, size: q.Limit + 1}
	if q.Offset > 0 {
		// Either search may have any part of the rows before the page, so the
		// row that the page begins after is looked for first.
		if m.after, err = e.skip(ctx, legs, q.Offset); err != nil {
			return Page{}, err
		}
		if m.after == nil {
			m.size = 0
		}
	}
	var last bool
	m.begin, last = e.deep(q, place)
	rows, total, err := e.merge(ctx, m)
	if err == nil && m.begin != nil && !last && len(rows) < m.size {
		m.begin = nil // rows without a value may follow
		rows, total, err = e.merge(ctx, m)
	}
	if err != nil {
		return Page{}, err
	}
	p := Page{Total: min(total, TotalCap), Capped: total > TotalCap}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		p.Next = e.Cursors.Make(q, place.next(q, json.RawMessage(rows[q.Limit-1].key.sort)))
	}
	p.Records = make([]jsontext.Value, len(rows))
	for i, r := range rows {
		p.Records[i] = r.source
	}
	return p, nil
}

// mergedRow is one row of either search.
type mergedRow struct {
	source jsontext.Value
	key    sortKey
}

// merge is what SearchMerged asks for in one round trip: the first size rows of
// both searches after one, and the total.
type merge struct {
	legs   [2]query.Query
	second query.Query
	after  json.RawMessage
	// begin, when set, is a condition on the rows, not on what is counted.
	begin query.Node
	size  int
}

func (e *Engine) merge(ctx context.Context, m merge) ([]mergedRow, int, error) {
	// The two that have the rows, and the two that are counted. The first is
	// counted apart only where its rows are not all of it.
	searches := []query.Query{m.legs[0], m.legs[1], m.second}
	if m.begin != nil {
		searches = append(searches, m.legs[0])
	}
	legs := make([]leg, len(searches))
	for i, q := range searches {
		q.Offset, q.Sort, q.Limit = 0, m.legs[0].Sort, -1 // Compile asks for one more
		var after json.RawMessage
		if i < 2 {
			q.Limit, after = m.size-1, m.after
			if m.begin != nil {
				q = from(q, m.begin)
			}
		}
		legs[i] = e.leg(q, after)
	}
	results, err := e.multi(ctx, legs...)
	if err != nil {
		return nil, 0, err
	}
	var rows []mergedRow
	for i, r := range results {
		q := query.Query{Limit: m.size - 1}
		if i >= 2 {
			q.Limit = -1
		}
		if i < 2 && len(m.after) > 0 {
			q.After = "set" // then fewer rows than the total are no fault
		}
		if err := r.complete(q); err != nil {
			return nil, 0, err
		}
		for _, row := range r.Hits.Hits {
			key, err := sortKeyOf(row.Sort)
			if err != nil {
				return nil, 0, fault.BackendUnavailable(err, "elasticsearch")
			}
			rows = append(rows, mergedRow{row.Source, key})
		}
	}
	slices.SortStableFunc(rows, func(a, b mergedRow) int { return a.key.compare(b.key, m.legs[0].Sort.Desc) })
	seen := map[recordID]bool{}
	rows = slices.DeleteFunc(rows, func(r mergedRow) bool {
		again := seen[r.key.id]
		seen[r.key.id] = true
		return again
	})
	first := results[0]
	if m.begin != nil {
		first = results[3]
	}
	return rows[:min(m.size, len(rows))], first.Hits.Total.Value + results[2].Hits.Total.Value, nil
}
