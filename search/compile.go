package search

import (
	"encoding/json"
	"fmt"

	"atlas/search/query"
)

// TotalCap is how far matches are counted.
const TotalCap = 1_000

type object = map[string]any

// Compile returns the body of Elasticsearch's _search for a query, whose
// cursor has been decoded to the sort values after which the page begins (nil
// for none). It asks for one row more than the page has, which tells whether
// there is a next one. Compile is pure.
func Compile(q query.Query, after json.RawMessage) ([]byte, error) {
	body := object{
		"query":            condition(q),
		"size":             q.Limit + 1,
		"sort":             order(q.Sort),
		"track_total_hits": TotalCap + 1,
	}
	if len(after) > 0 {
		body["search_after"] = after
	} else if q.Offset > 0 {
		body["from"] = q.Offset
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("search: compile: %w", err)
	}
	return data, nil
}

func order(s query.Sort) []object {
	direction := "asc"
	if s.Desc {
		direction = "desc"
	}
	tie := object{"id": object{"order": "asc"}}
	if s.Relevance() {
		return []object{{"_score": object{"order": direction}}, tie}
	}
	return []object{{s.Field.ExactPath(query.Root): object{"order": direction, "missing": "_last"}}, tie}
}

// condition is the query's tree. Nothing is scored unless relevance sorts.
func condition(q query.Query) object {
	filters := []object{}
	if q.Held {
		// Whatever else a caller asks for, and beside the routing.
		filters = append(filters, object{"term": object{"held.workspace_id": q.Base.Workspace}})
	}
	for _, node := range q.Where {
		filters = append(filters, clause(node))
	}
	if q.Text == "" {
		if len(filters) == 0 {
			return object{"match_all": object{}}
		}
		return object{"bool": object{"filter": filters}}
	}
	text := query.Fold(q.Text)
	matches := words(query.QueryPath, text)
	if !q.Sort.Relevance() {
		return object{"bool": object{"filter": append(filters, matches)}}
	}
	scored := object{"must": []object{matches}, "should": nameMatches(q.Dataset, text)}
	if len(filters) > 0 {
		scored["filter"] = filters
	}
	return object{"bool": scored}
}

// nameMatches lifts records whose name has the terms over those that mention
// them elsewhere.
func nameMatches(d query.Dataset, text string) []object {
	headline := "name"
	if d == query.Signals {
		headline = "title"
	}
	f, _ := query.FieldNamed(d, headline)
	return []object{
		{"match": object{f.TextPath(query.Root): object{"query": text, "boost": 2}}},
		{"term": object{f.ExactPath(query.Root): object{"value": query.ExactValue(f, text), "boost": 4}}},
	}
}

func clause(node query.Node) object {
	switch n := node.(type) {
	case query.All:
		if len(n) == 0 {
			return object{"match_all": object{}}
		}
		return object{"bool": object{"filter": clauses(n)}}
	case query.Any:
		if len(n) == 0 {
			return object{"match_none": object{}}
		}
		return object{"bool": object{"should": clauses(n), "minimum_should_match": 1}}
	case query.Not:
		return object{"bool": object{"must_not": []object{clause(n.Node)}}}
	case query.Terms:
		if len(n.Values) == 0 {
			return object{"match_none": object{}}
		}
		if len(n.Values) == 1 {
			return object{"term": object{n.Path: n.Values[0]}}
		}
		return object{"terms": object{n.Path: n.Values}}
	case query.Words:
		return words(n.Path, n.Text)
	case query.Span:
		ends := object{}
		if n.From != "" {
			ends["gte"] = json.RawMessage(n.From)
		}
		if n.To != "" {
			ends["lte"] = json.RawMessage(n.To)
		}
		if len(ends) == 0 {
			return object{"exists": object{"field": n.Path}}
		}
		return object{"range": object{n.Path: ends}}
	case query.Child:
		return object{"nested": object{"path": n.Path, "query": clause(n.Node), "score_mode": "none"}}
	}
	panic(fmt.Sprintf("search: no clause for %T", node)) // a node type was added without its clause
}

func clauses(nodes []query.Node) []object {
	all := make([]object, len(nodes))
	for i, n := range nodes {
		all[i] = clause(n)
	}
	return all
}

func words(path, text string) object {
	return object{"match": object{path: object{"query": text, "operator": "and"}}}
}
