package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"atlas/internal/fault"
	"atlas/internal/scan"
	"atlas/search/query"
)

const (
	// farOffset is the offset from which matches are counted before they are ranked.
	// Counting stops at the offset and takes a tenth of the time of ranking as many rows.
	// If there is no row on the page, ranking is not needed.
	farOffset = 1_000
	// DefaultSkippedRows is enough for ten searches at query.MaxOffset, each of
	// 20,000 rows of some 60 bytes.
	DefaultSkippedRows = 200_000
)

// count counts the matches of queries, each to its Offset+1 or further.
func (e *Engine) count(ctx context.Context, queries ...query.Query) ([]int, error) {
	requests := make([]request, len(queries))
	for i, q := range queries {
		q.CountOnly = true
		requests[i] = e.request(q, options{})
	}
	results, err := e.multi(ctx, requests...)
	if err != nil {
		return nil, err
	}
	counts := make([]int, len(queries))
	for i, r := range results {
		if r.total == nil {
			return nil, fault.BackendUnavailable(errors.New("a count without a total"), "elasticsearch")
		}
		counts[i] = *r.total
	}
	return counts, nil
}

// skip returns the sort values of the row before the offset in the merged rows of two
// searches; nil when there are no rows after it. It reads the rows before it one by one
// from an answer with only their sort values.
func (e *Engine) skip(ctx context.Context, searches [2]query.Query) (json.RawMessage, error) {
	offset, queries := searches[0].Offset, searches
	for i := range queries {
		queries[i].Offset, queries[i].Limit = 0, offset-1 // and one more, as for a page
	}
	nth := offset
	if offset >= farOffset {
		counts, err := e.count(ctx, searches[:]...)
		if err != nil || counts[0]+counts[1] <= offset {
			return nil, err
		}
		rows := min(offset, counts[0]) + min(offset, counts[1])
		if empty := slices.Index(counts, 0); empty >= 0 {
			queries[empty].CountOnly = true
			queries[1-empty].Offset, queries[1-empty].Limit = offset-1, 0
			nth, rows = 1, 1
		}
		bound := cmp.Or(e.SkippedRows, DefaultSkippedRows)
		release, err := e.skipped.Acquire(ctx, searches[0].Base.Workspace, rows, max(bound/2, 1), bound)
		if err != nil {
			return nil, fault.BackendUnavailable(fmt.Errorf("no place among the rows of other searches with an offset: %w", err), "elasticsearch")
		}
		defer release()
	}
	requests := make([]request, len(queries))
	for i, q := range queries {
		requests[i] = e.request(q, options{sortOnly: true})
	}
	answers, err := e.send(ctx, true, requests...)
	if err != nil {
		return nil, err
	}
	var rows [2]rankedRows
	for i, r := range answers {
		if err := r.whole(); err != nil {
			return nil, err
		}
		if r.total == nil {
			return nil, fault.BackendUnavailable(errors.New("the answer has no total"), "elasticsearch")
		}
		rows[i] = rankedRows{answer: answer{Scanner: scan.New(r.unread)}, expected: expectedRows(queries[i], *r.total)}
		e.fetched(ctx, bytes.Count(r.unread, []byte(`{"sort":`)))
	}
	after, err := nthOf(&rows[0], &rows[1], nth, searches[0].Sort.Desc)
	if err != nil {
		return nil, fault.BackendUnavailable(err, "elasticsearch")
	}
	return after, nil
}

// nthOf merges the rows of two searches, each id once, and returns the sort values
// of the nth row; nil when there are fewer.
func nthOf(a, b *rankedRows, nth int, desc bool) (json.RawMessage, error) {
	seen := make(map[recordID]struct{}, nth)
	if err := cmp.Or(a.next(), b.next()); err != nil {
		return nil, err
	}
	for a.more || b.more {
		first := a
		if !a.more || b.more && b.key.compare(a.key, desc) < 0 {
			first = b
		}
		seen[first.key.id] = struct{}{}
		if len(seen) == nth {
			return bytes.Clone(first.key.sort), nil // so that the answer can be freed
		}
		if err := first.next(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// rankedPaths limit the answers of searches whose rows have only sort values, or doc values.
var rankedPaths = []string{
	"responses.error", "responses.status", "responses.timed_out", "responses._shards.failed",
	"responses.hits.total.value", "responses.hits.hits.sort", "responses.hits.hits.fields",
}

// rankedRows reads the sort values of rows one by one.
type rankedRows struct {
	answer
	expected int // with fewer rows the answer is incomplete
	read     int
	more     bool // key is that of the next row
	key      sortKey
}

func (r *rankedRows) next() (err error) {
	if r.more = r.Next(); !r.more {
		if r.read < r.expected {
			return fmt.Errorf("%d rows of %d", r.read, r.expected)
		}
		return nil
	}
	r.read++
	r.key, err = sortKeyOf(r.hit().sort)
	return err
}
