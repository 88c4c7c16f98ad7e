package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"atlas/internal/fault"
	"atlas/search/query"
)

// DefaultDeepRows is how many rows lie before a page that is searched for as
// deep. Elasticsearch reads every match before a page, about 3 ms for 100,000,
// while a second search costs most of a millisecond.
const DefaultDeepRows = 10_000

// deep tells whether the page at a place is far from the first, and returns a
// condition that its rows meet and that those before it mostly do not.
func (e *Engine) deep(q query.Query, p Place) (query.Node, bool) {
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
		return query.Span{Path: path, To: value}, true
	}
	return query.Span{Path: path, From: value}, true
}

// searchDeep searches for a page among the rows from where it begins, and counts
// the matches apart. It does not see a row without a value when the page begins
// at one with a value: unless the page is full, it is not whole and has to be
// searched for like any other.
func (e *Engine) searchDeep(ctx context.Context, q query.Query, place Place, begin query.Node) (page Page, whole bool, err error) {
	rows := q
	rows.Where = append(q.Where[:len(q.Where):len(q.Where)], begin)
	count := q
	count.Limit = -1 // Compile asks for one more
	var body []byte
	for _, leg := range []struct {
		query query.Query
		after json.RawMessage
	}{{rows, place.After}, {count, nil}} {
		body = e.appendSearch(body, leg.query, Compile(leg.query, leg.after), "")
	}
	results, err := e.multi(ctx, body, 2)
	if err != nil {
		return Page{}, false, err
	}
	found, counted := results[0], results[1]
	if counted.Hits.Total == nil {
		return Page{}, false, fault.Away(errors.New("the answer has no total"), "elasticsearch")
	}
	if err := found.complete(q); err != nil {
		return Page{}, false, err
	}
	_, atNulls := begin.(query.Not)
	whole = atNulls || len(found.Hits.Hits) > q.Limit
	return e.page(q, place, found, counted.Hits.Total.Value), whole, nil
}

// appendSearch appends a search to the body of an _msearch. options are further
// members of the search, each after a comma.
func (e *Engine) appendSearch(body []byte, q query.Query, search []byte, options string) []byte {
	body = append(append(body, e.header(q)...), '\n')
	body = append(body, search[:len(search)-1]...)
	return append(append(body, options...), '}', '\n')
}
