package search

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/query"
)

// DefaultSeekRows is the usual Engine.SeekRows. Elasticsearch reads every match before a
// page, about 3 ms for 100,000, and a second search takes most of a millisecond.
const DefaultSeekRows = 10_000

// seekFilter returns, for a page that is far from the first, a condition that its rows meet
// and most rows before it do not; nil for any other page. last reports that the page has
// the rows without a value, which come last.
func (e *Engine) seekFilter(q query.Query, p Position) (seek clause, last bool) {
	if p.Passed < cmp.Or(e.SeekRows, DefaultSeekRows) || q.Sort.Relevance() {
		return nil, false
	}
	var values []json.RawMessage
	if json.Unmarshal(p.After, &values) != nil || len(values) == 0 {
		return nil, false
	}
	f := &q.Sort.Field
	switch string(values[0]) {
	case "9223372036854775807", "-9223372036854775808", `"Infinity"`, `"-Infinity"`, "null":
		// The row has no value. No folded text equals one of these.
		return clauseOf(query.Not{Node: query.Exists{Field: f}}), true
	}
	value, ok := sortBound(f, values[0])
	if !ok {
		return nil, false
	}
	c := newCompiler(64)
	if q.Sort.Desc {
		c.between(seekPath(f), query.Bound{}, value)
	} else {
		c.between(seekPath(f), value, query.Bound{})
	}
	return c.b, false
}

// seekPath is the path of the sort values that a range condition compares. In a range of
// texts Elasticsearch would read every value.
func seekPath(f *catalog.Field) string {
	if f.Ranked() {
		return document.IX + "." + document.RankOf(f)
	}
	return Root.ExactPath(f)
}

// sortBound parses a sort value of a field, as Elasticsearch returned it. For a text it
// returns the rank.
func sortBound(f *catalog.Field, value json.RawMessage) (query.Bound, bool) {
	switch {
	case f.Ranked():
		var text string
		err := json.Unmarshal(value, &text)
		return query.IntegerBound(catalog.Rank(text)), err == nil
	case f.Type == catalog.Double:
		x, err := strconv.ParseFloat(string(value), 64)
		return query.DoubleBound(x), err == nil
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if f.Type == catalog.Time {
		return query.TimeBound(n), err == nil
	}
	return query.IntegerBound(n), err == nil
}

// searchFrom searches for a page with a seekFilter or frontFilter, and counts the matches
// with a separate search. Unless last is set, the filter excludes rows that may follow,
// such as those without a value. A page that is neither full nor has all matches is then
// incomplete and must be searched for without the filter.
func (e *Engine) searchFrom(
	ctx context.Context, q query.Query, p Position, seek clause, last bool,
) (page query.Page, complete bool, err error) {
	count := q
	count.CountOnly = true
	results, err := e.multi(ctx, e.request(q, options{after: p.After, seek: seek}), e.request(count, options{}))
	if err != nil {
		return query.Page{}, false, err
	}
	found, counted := results[0], results[1]
	if err := cmp.Or(found.complete(q), counted.complete(count)); err != nil {
		return query.Page{}, false, err
	}
	whole := len(found.rows) > q.Limit || q.After == "" && len(found.rows) == expectedRows(q, *counted.total)
	page, err = e.page(ctx, q, p, found, *counted.total)
	return page, last || whole, err
}
