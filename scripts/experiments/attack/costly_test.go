//go:build attack

package attack

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"atlas/scripts/experiments/rig"
)

// grammar is what the searches of a dataset consist of: its fields, as the service
// describes them, and values of records.
type grammar struct {
	dataset string
	fields  []described
	sorts   []string
	values  map[string][]any // by key
	words   []string         // that occur in many records
}

// described is a field's descriptor.
type described struct {
	Key, Kind string
	Values    []struct{ Value string }
	SubFields []described `json:"sub_fields"`
}

// sortable are the sort fields of each dataset; others would be refused.
var sortable = map[string][]string{
	"accounts": {"name", "created_at", "updated_at", "projects_count", "last_activity_at"},
	"contacts": {"name", "created_at", "updated_at", "projects_count"},
	"projects": {"name", "created_at", "updated_at", "last_signal_at", "cost", "sqft", "detected_at", "signals_count"},
	"signals":  {"detected_at", "occurred_at", "created_at"},
}

func readGrammars(t *testing.T, c rig.Caller) []*grammar {
	t.Helper()
	values, words := map[string][]any{}, map[string]int{}
	var all []*grammar
	for _, d := range []string{"accounts", "contacts", "projects", "signals"} {
		g := &grammar{dataset: d, sorts: sortable[d]}
		decode(t, must(t, c, "POST", "/data/fields/search", object{"dataset": d}), &g.fields)
		for _, offset := range []int{0, 5_000} {
			var records []object
			decode(t, must(t, c, "POST", "/data/"+d+"/search", object{"limit": 100, "offset": offset}), &records)
			for _, r := range records {
				for name, v := range r {
					gather(values, words, d, name, v)
				}
			}
		}
		all = append(all, g)
	}
	common := slices.SortedFunc(maps.Keys(words), func(a, b string) int {
		return cmp.Or(cmp.Compare(words[b], words[a]), cmp.Compare(a, b))
	})
	for _, g := range all {
		g.values, g.words = values, common[:min(len(common), 300)]
	}
	return all
}

// gather collects the values of a record, and the words of its texts.
func gather(values map[string][]any, words map[string]int, dataset, name string, v any) {
	if list, ok := v.([]any); ok {
		for _, element := range list {
			gather(values, words, dataset, name, element)
		}
		return
	}
	if v == nil {
		return
	}
	if name == "id" {
		name = singular(dataset) + "_id"
	}
	if name == "account_types" {
		name = "account_type"
	}
	for _, key := range []string{name, strings.TrimSuffix(name, "_id") + "_ids"} {
		if len(values[key]) < 400 && !slices.Contains(values[key], v) {
			values[key] = append(values[key], v)
		}
	}
	if text, ok := v.(string); ok {
		for word := range strings.FieldsSeq(text) {
			if len(word) < 12 && !aUUID.MatchString(word) {
				words[word]++
			}
		}
	}
}

// request is a search with its path.
type request struct {
	grammar *grammar
	body    object
}

func (q request) path() string { return "/data/" + q.grammar.dataset + "/search" }

// String summarizes a request by the size of its parts.
func (q request) String() string {
	var parts []string
	if text, ok := q.body["query"].(string); ok {
		parts = append(parts, fmt.Sprintf("query of %d words", len(strings.Fields(text))))
	}
	shape := func(filters object) string {
		var all []string
		for _, key := range slices.Sorted(maps.Keys(filters)) {
			n := max(1, len(asList(asObject(filters[key])["value"])))
			all = append(all, fmt.Sprintf("%s×%d", key, n))
		}
		return strings.Join(all, " ")
	}
	if filters := asObject(q.body["filters"]); len(filters) > 0 {
		parts = append(parts, "filters: "+shape(filters))
	}
	relations := asObject(q.body["relations"])
	for _, name := range slices.Sorted(maps.Keys(relations)) {
		parts = append(parts, name+": "+shape(asObject(relations[name])))
	}
	if sort := asObject(q.body["sort"]); sort != nil {
		parts = append(parts, fmt.Sprint("sort ", sort["field"], " ", sort["order"]))
	}
	return q.grammar.dataset + "; " + strings.Join(parts, "; ") + fmt.Sprint("; offset ", q.body["offset"], ", limit ", q.body["limit"])
}

// extremes returns requests with the maximum of one part, and of all parts.
func (g *grammar) extremes(r *rand.Rand) []request {
	base := func() object { return object{"limit": 100, "offset": 10_000} }
	var all []request
	add := func(change func(object)) {
		body := base()
		change(body)
		all = append(all, request{g, body})
	}
	filters := object{}
	relations := object{}
	for _, f := range g.fields {
		if f.Kind == "relation" {
			sub := object{}
			for _, s := range f.SubFields {
				sub[s.Key] = g.condition(r, s, 8)
			}
			relations[f.Key] = sub
		} else {
			filters[f.Key] = g.condition(r, f, 20)
		}
	}
	add(func(b object) {})
	add(func(b object) { b["filters"] = filters })
	add(func(b object) { b["query"] = g.words[0] })
	add(func(b object) { b["query"] = g.text(r, 60) })
	for _, field := range g.sorts {
		for _, order := range []string{"asc", "desc"} {
			add(func(b object) { b["sort"] = object{"field": field, "order": order} })
		}
	}
	if len(relations) > 0 {
		any := object{}
		for name := range relations {
			any[name] = object{}
		}
		add(func(b object) { b["relations"] = relations })
		add(func(b object) { b["relations"] = any })
		add(func(b object) { b["relations"], b["filters"], b["query"] = relations, filters, g.words[0] })
		for name := range relations {
			add(func(b object) { b["relations"] = object{name: relations[name]} })
			add(func(b object) { b["relations"] = object{name: object{}} })
		}
	}
	return all
}

// text returns some frequent words.
func (g *grammar) text(r *rand.Rand, words int) string {
	var all []string
	length := 0
	for range words {
		word := g.words[r.IntN(min(len(g.words), 40))]
		if length += len(word) + 1; length > 450 {
			break
		}
		all = append(all, word)
	}
	return strings.Join(all, " ")
}

// condition is a filter of a field with about n values. The values match as much as
// possible.
func (g *grammar) condition(r *rand.Rand, f described, n int) object {
	n = max(1, min(n, 100))
	var values []any
	switch f.Kind {
	case "number":
		return object{"value": []any{-r.IntN(1_000), 1e12}}
	case "date":
		return object{"value": []any{"0001-01-01", fmt.Sprintf("%04d-12-31", 2024+r.IntN(7975))}}
	case "enum":
		for _, v := range f.Values {
			values = append(values, v.Value)
		}
	default:
		if strings.HasSuffix(f.Key, "_id") || strings.HasSuffix(f.Key, "_ids") {
			values = g.values[f.Key]
			if len(values) == 0 {
				values = []any{sample}
			}
			break
		}
		for range n {
			values = append(values, g.text(r, 1+r.IntN(2)))
		}
	}
	if len(values) == 0 {
		values = []any{"Calgary"}
	}
	values = slices.Clone(values)
	r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return object{"value": values[:min(n, len(values))]}
}

// neighbour returns a request that differs in one part.
func (q request) neighbour(r *rand.Rand) request {
	g, body := q.grammar, maps.Clone(q.body)
	f := g.fields[r.IntN(len(g.fields))]
	size := []int{1, 5, 20, 100}[r.IntN(4)]
	switch r.IntN(7) {
	case 0, 1:
		if f.Kind == "relation" {
			relations := maps.Clone(asObject(body["relations"]))
			if relations == nil {
				relations = object{}
			}
			sub := maps.Clone(asObject(relations[f.Key]))
			if sub == nil {
				sub = object{}
			}
			s := f.SubFields[r.IntN(len(f.SubFields))]
			if _, there := sub[s.Key]; there && r.IntN(2) == 0 {
				delete(sub, s.Key)
			} else {
				sub[s.Key] = g.condition(r, s, size)
			}
			relations[f.Key] = sub
			if r.IntN(5) == 0 {
				delete(relations, f.Key)
			}
			body["relations"] = relations
			break
		}
		fallthrough
	case 2:
		if f.Kind == "relation" {
			break
		}
		filters := maps.Clone(asObject(body["filters"]))
		if filters == nil {
			filters = object{}
		}
		if _, there := filters[f.Key]; there && r.IntN(2) == 0 {
			delete(filters, f.Key)
		} else {
			filters[f.Key] = g.condition(r, f, size)
		}
		body["filters"] = filters
	case 3:
		body["query"] = g.text(r, []int{1, 1, 2, 60}[r.IntN(4)])
		if r.IntN(3) == 0 {
			delete(body, "query")
		}
	case 4:
		body["sort"] = object{"field": g.sorts[r.IntN(len(g.sorts))], "order": []string{"asc", "desc"}[r.IntN(2)]}
		if r.IntN(4) == 0 {
			delete(body, "sort")
		}
	case 5:
		body["offset"] = []int{0, 9_900, 10_000}[r.IntN(3)]
	case 6:
		body["limit"] = []int{1, 100}[r.IntN(2)]
	}
	return request{g, body}
}

// measured is a request and its time.
type measured struct {
	request
	took   time.Duration
	status int
}
