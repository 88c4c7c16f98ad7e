package search

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/query"
)

// TotalCap is how far matches are counted.
const TotalCap = 1_000

type object = map[string]any

// Compile returns the body of Elasticsearch's _search for a query whose page
// begins after a row with these sort values (nil: at the first, or at the
// offset). It asks for one row more than the page has, which tells whether there
// is a next one. Compile is pure; the texts in a query are valid UTF-8.
//
// The body is written, not marshalled from maps: that was a third of what a
// search allocates.
func Compile(q query.Query, after json.RawMessage) []byte {
	b := append(make([]byte, 0, 1024), '{')
	if len(after) == 0 && q.Offset > 0 {
		b = append(strconv.AppendInt(append(b, `"from":`...), int64(q.Offset), 10), ',')
	}
	b = appendCondition(append(b, `"query":`...), q)
	if len(after) > 0 {
		b = append(append(b, `,"search_after":`...), after...)
	}
	b = strconv.AppendInt(append(b, `,"size":`...), int64(q.Limit+1), 10)
	b = appendOrder(append(b, `,"sort":`...), q.Sort)
	return append(strconv.AppendInt(append(b, `,"track_total_hits":`...), TotalCap+1, 10), '}')
}

func appendOrder(b []byte, s query.Sort) []byte {
	direction := "asc"
	if s.Desc {
		direction = "desc"
	}
	if s.Relevance() {
		b = append(b, `[{"_score":{`...)
	} else {
		b = append(appendText(append(b, `[{`...), s.Field.ExactPath(query.Root)), `:{"missing":"_last",`...)
	}
	b = append(append(append(b, `"order":"`...), direction...), `"}}`...)
	for _, path := range query.TiePaths {
		b = append(appendText(append(b, `,{`...), path), `:{"order":"asc"}}`...)
	}
	return append(b, ']')
}

// appendCondition appends the query's tree. Nothing is scored unless relevance
// sorts.
func appendCondition(b []byte, q query.Query) []byte {
	scored := q.Text != "" && q.Sort.Relevance()
	open := len(b)
	b = append(b, `{"bool":{"filter":[`...)
	first := len(b)
	if q.Held {
		// Whatever else a caller asks for, and beside the routing.
		b = append(appendTerm(b, "held.workspace_id", q.Base.Workspace), ',')
	}
	for _, node := range q.Where {
		b = append(appendClause(b, node), ',')
	}
	text := query.Fold(q.Text)
	if q.Text != "" && !scored {
		b = append(appendWords(b, query.QueryPath, text), ',')
	}
	switch filtered := len(b) > first; {
	case filtered && !scored:
		return append(b[:len(b)-1], "]}}"...)
	case filtered:
		b = append(b[:len(b)-1], "],"...)
	case scored:
		b = append(b[:open], `{"bool":{`...)
	default:
		return append(b[:open], `{"match_all":{}}`...)
	}
	b = appendWords(append(b, `"must":[`...), query.QueryPath, text)
	return append(appendNameMatches(append(b, `],"should":[`...), q.Dataset, text), "]}}"...)
}

// appendNameMatches lifts records whose name has the terms over those that
// mention them elsewhere.
func appendNameMatches(b []byte, d query.Dataset, text string) []byte {
	f := query.Headline(d)
	b = appendText(append(b, `{"match":{`...), f.TextPath(query.Root))
	b = appendText(append(b, `:{"boost":2,"query":`...), text)
	b = appendText(append(b, `}}},{"term":{`...), f.ExactPath(query.Root))
	b = appendText(append(b, `:{"boost":4,"value":`...), query.ExactValue(f, text))
	return append(b, "}}}"...)
}

func appendClause(b []byte, node query.Node) []byte {
	switch n := node.(type) {
	case query.All:
		if len(n) == 0 {
			return append(b, `{"match_all":{}}`...)
		}
		return append(appendClauses(append(b, `{"bool":{"filter":`...), n), "}}"...)
	case query.Any:
		if len(n) == 0 {
			return append(b, `{"match_none":{}}`...)
		}
		return append(appendClauses(append(b, `{"bool":{"minimum_should_match":1,"should":`...), n), "}}"...)
	case query.Not:
		return append(appendClause(append(b, `{"bool":{"must_not":[`...), n.Node), "]}}"...)
	case query.Terms:
		return appendTerms(b, n)
	case query.Words:
		return appendWords(b, n.Path, n.Text)
	case query.Span:
		return appendSpan(b, n)
	case query.Child:
		b = appendText(append(b, `{"nested":{"path":`...), n.Path)
		return append(appendClause(append(b, `,"query":`...), n.Node), `,"score_mode":"none"}}`...)
	}
	panic(fmt.Sprintf("search: no clause for %T", node)) // a node type was added without its clause
}

func appendClauses(b []byte, nodes []query.Node) []byte {
	b = append(b, '[')
	for _, n := range nodes {
		b = append(appendClause(b, n), ',')
	}
	b[len(b)-1] = ']'
	return b
}

func appendTerms(b []byte, n query.Terms) []byte {
	switch len(n.Values) {
	case 0:
		return append(b, `{"match_none":{}}`...)
	case 1:
		return appendTerm(b, n.Path, n.Values[0])
	}
	b = append(appendText(append(b, `{"terms":{`...), n.Path), ":["...)
	for _, v := range n.Values {
		b = append(appendText(b, v), ',')
	}
	b[len(b)-1] = ']'
	return append(b, "}}"...)
}

func appendTerm(b []byte, path, value string) []byte {
	b = appendText(append(b, `{"term":{`...), path)
	return append(appendText(append(b, ':'), value), "}}"...)
}

func appendSpan(b []byte, n query.Span) []byte {
	if n.From == "" && n.To == "" {
		return append(appendText(append(b, `{"exists":{"field":`...), n.Path), "}}"...)
	}
	b = append(appendText(append(b, `{"range":{`...), n.Path), ":{"...)
	if n.From != "" {
		b = append(append(append(b, `"gte":`...), n.From...), ',')
	}
	if n.To != "" {
		b = append(append(append(b, `"lte":`...), n.To...), ',')
	}
	b[len(b)-1] = '}'
	return append(b, "}}"...)
}

func appendWords(b []byte, path, text string) []byte {
	b = appendText(append(b, `{"match":{`...), path)
	return append(appendText(append(b, `:{"operator":"and","query":`...), text), "}}}"...)
}

func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // which fails for invalid UTF-8 only
	return b
}
