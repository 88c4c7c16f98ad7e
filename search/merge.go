package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

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
	after, err := e.Cursors.Read(q)
	if err != nil {
		return Page{}, err
	}
	beyond := false
	if q.Offset > 0 {
		// Either search may have any part of the rows before the page, so the
		// row that the page begins after is looked for first.
		skipped, _, err := e.legs(ctx, legs, second, nil, q.Offset, `,"_source":["id"]`)
		if err != nil {
			return Page{}, err
		}
		if beyond = len(skipped) < q.Offset; !beyond {
			after = json.RawMessage(skipped[q.Offset-1].sort)
		}
	}
	size := q.Limit + 1
	if beyond {
		size = 0
	}
	rows, total, err := e.legs(ctx, legs, second, after, size, "")
	if err != nil {
		return Page{}, err
	}
	p := Page{Total: min(total, TotalCap), Capped: total > TotalCap}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		p.Next = e.Cursors.Make(q, json.RawMessage(rows[q.Limit-1].sort))
	}
	p.Records = make([]jsontext.Value, len(rows))
	for i, r := range rows {
		p.Records[i] = r.source
	}
	return p, nil
}

// mergedRow is one row of either search.
type mergedRow struct {
	source, sort jsontext.Value
	key          sortKey
}

// legs asks both searches for the rows after one, and second for its count, in
// one round trip. It returns the first size rows of both and the total.
func (e *Engine) legs(ctx context.Context, legs [2]query.Query, second query.Query, after json.RawMessage, size int, options string) ([]mergedRow, int, error) {
	legs[0].Limit, legs[1].Limit, second.Limit = size-1, size-1, -1 // Compile asks for one more
	second.Sort = legs[0].Sort
	var body []byte
	for i, q := range []query.Query{legs[0], legs[1], second} {
		q.Offset = 0
		from := after
		if i == 2 {
			from = nil
		}
		search, err := Compile(q, from)
		if err != nil {
			return nil, 0, err
		}
		body = append(append(body, e.header(q)...), '\n')
		body = append(body, search[:len(search)-1]...)
		body = append(body, fmt.Sprintf(`%s,"timeout":"%dms"}`, options, e.Timeout.Milliseconds())...)
		body = append(body, '\n')
	}
	results, err := e.multi(ctx, body, 3)
	if err != nil {
		return nil, 0, err
	}
	var rows []mergedRow
	for i, r := range results {
		q := query.Query{Limit: size - 1}
		if i == 2 {
			q.Limit = -1
		}
		if i < 2 && len(after) > 0 {
			q.After = "set" // then fewer rows than the total are no fault
		}
		if err := r.complete(q); err != nil {
			return nil, 0, err
		}
		for _, row := range r.Hits.Hits {
			key, err := readSortKey(row.Sort)
			if err != nil {
				return nil, 0, fault.Away(err, "elasticsearch")
			}
			rows = append(rows, mergedRow{row.Source, row.Sort, key})
		}
	}
	slices.SortStableFunc(rows, func(a, b mergedRow) int { return a.key.compare(b.key, legs[0].Sort.Desc) })
	seen := map[string]bool{}
	rows = slices.DeleteFunc(rows, func(r mergedRow) bool {
		again := seen[r.key.id]
		seen[r.key.id] = true
		return again
	})
	return rows[:min(size, len(rows))], results[0].Hits.Total.Value + results[2].Hits.Total.Value, nil
}

// header is the line of an _msearch that says where a search runs.
func (e *Engine) header(q query.Query) string {
	if !q.Held {
		return fmt.Sprintf(`{"index":%q,"allow_partial_search_results":false}`, e.Names.Alias(string(q.Dataset)))
	}
	return fmt.Sprintf(`{"index":%q,"routing":%q,"allow_partial_search_results":false}`, e.Names.Held(string(q.Dataset)), q.Base.Workspace)
}

// sortKey is what a row is sorted by: one value, then the id.
type sortKey struct {
	value any // nil, string, json.Number
	id    string
}

func readSortKey(sort jsontext.Value) (sortKey, error) {
	var values []any
	d := json.NewDecoder(bytes.NewReader(sort))
	d.UseNumber() // what stands for "missing" is not a float64
	if err := d.Decode(&values); err != nil || len(values) != 2 {
		return sortKey{}, fmt.Errorf("unreadable sort values %.100s: %w", sort, err)
	}
	id, ok := values[1].(string)
	if !ok {
		return sortKey{}, fmt.Errorf("the sort values %.100s do not end in an id", sort)
	}
	return sortKey{values[0], id}, nil
}

// compare orders as Elasticsearch does: texts by their bytes, no value last in
// both directions, then ids.
func (k sortKey) compare(o sortKey, desc bool) int {
	switch {
	case k.value == nil && o.value == nil:
		return cmp.Compare(k.id, o.id)
	case k.value == nil:
		return 1
	case o.value == nil:
		return -1
	}
	order := 0
	a, isText := k.value.(string)
	b, bothText := o.value.(string)
	if isText && bothText {
		order = cmp.Compare(a, b)
	} else {
		order = compareNumbers(fmt.Sprint(k.value), fmt.Sprint(o.value))
	}
	if desc {
		order = -order
	}
	return cmp.Or(order, cmp.Compare(k.id, o.id))
}

func compareNumbers(a, b string) int {
	m, err1 := strconv.ParseInt(a, 10, 64)
	n, err2 := strconv.ParseInt(b, 10, 64)
	if err1 == nil && err2 == nil {
		return cmp.Compare(m, n)
	}
	x, _ := strconv.ParseFloat(a, 64)
	y, _ := strconv.ParseFloat(b, 64)
	return cmp.Compare(x, y)
}
