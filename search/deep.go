package search

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"atlas/search/query"
)

// DefaultDeepRows is how many rows lie before a page that is searched for as
// deep. Elasticsearch reads every match before a page, about 3 ms for 100,000,
// while a second search costs most of a millisecond.
const DefaultDeepRows = 10_000

// deep returns, for a page that is far from the first, a condition that its rows
// meet and that those before it mostly do not; nil for any other page. last tells
// that it is of the rows without a value, which none follow.
func (e *Engine) deep(q query.Query, p Place) (begin query.Node, last bool) {
	if p.Passed < cmp.Or(e.DeepRows, DefaultDeepRows) || q.Sort.Relevance() {
		return nil, false
	}
	var values []json.RawMessage
	if json.Unmarshal(p.After, &values) != nil || len(values) == 0 {
		return nil, false
	}
	path, value := q.Sort.Field.ExactPath(query.Root), string(values[0])
	switch value {
	case "9223372036854775807", "-9223372036854775808", `"Infinity"`, `"-Infinity"`, "null":
		// Rows without a value are the last ones. No folded text is one of these.
		return query.Not{Node: query.Span{Path: path}}, true
	}
	if q.Sort.Field.Ranked() {
		// Of a text itself, Elasticsearch would go through every value beyond.
		var text string
		if json.Unmarshal(values[0], &text) != nil {
			return nil, false
		}
		path, value = query.RankPath, strconv.FormatInt(query.Rank(text), 10)
	}
	if q.Sort.Field.Type == query.Time {
		ms, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, false
		}
		value = time.UnixMilli(ms).UTC().Format(`"` + query.TimeLayout + `"`)
	}
	if q.Sort.Desc {
		return query.Span{Path: path, To: value}, false
	}
	return query.Span{Path: path, From: value}, false
}

// searchDeep searches for a page among the rows from where it begins, and counts
// the matches apart. Unless begin is of the last rows, it does not see those
// without a value: then a page that is not full is not whole, and has to be
// searched for like any other.
func (e *Engine) searchDeep(ctx context.Context, q query.Query, place Place, begin query.Node, last bool) (page Page, whole bool, err error) {
	rows, count := from(q, begin), q
	count.Limit = -1 // Compile asks for one more
	results, err := e.multi(ctx, e.leg(rows, place.After), e.leg(count, nil))
	if err != nil {
		return Page{}, false, err
	}
	found, counted := results[0], results[1]
	if err := cmp.Or(found.complete(rows), counted.complete(count)); err != nil {
		return Page{}, false, err
	}
	return e.page(q, place, found, counted.Hits.Total.Value), last || len(found.Hits.Hits) > q.Limit, nil
}

// from is q under one more condition.
func from(q query.Query, begin query.Node) query.Query {
	q.Where = append(q.Where[:len(q.Where):len(q.Where)], begin)
	return q
}
