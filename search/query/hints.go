package query

import (
	"fmt"
	"slices"
	"strings"

	"atlas/internal/input"
)

// The functions of this file say what was probably meant where a request has something
// else, for issues: valid JSON, or where a name belongs.

// ends are the names that other APIs have for the ends of a range.
var ends = [2][]string{
	{"gte", "gt", "$gte", "$gt", "min", "from", "after", "since", "start", ">=", ">"},
	{"lte", "lt", "$lte", "$lt", "max", "to", "before", "until", "end", "<=", "<"},
}

// rangeOfWords is [from, to] of an object such as { gte }, "" if it is none.
func rangeOfWords(v input.Value) string {
	pair := input.Value{Kind: input.Array, Items: make([]input.Value, 2)}
	for i, names := range ends {
		pair.Items[i].Kind = input.Null
		for _, m := range v.Members {
			if slices.Contains(names, strings.ToLower(m.Name)) {
				pair.Items[i] = m.Value
			}
		}
	}
	if pair.Items[0].Kind == input.Null && pair.Items[1].Kind == input.Null {
		return ""
	}
	return pair.JSON()
}

// without are the names that other APIs have for a condition that must not match.
var without = []string{"not", "ne", "neq", "nin", "not_in", "exclude", "$ne", "$nin", "!="}

// inFilter is about a member that a filter does not have.
func inFilter(f *Field, filter input.Value, m input.Member) string {
	name := strings.ToLower(m.Name)
	switch {
	case slices.Contains(without, name):
		return "what must not match goes into none: " + input.Wrapped(fmt.Sprintf(`"none":[{"filters":{%q:{"value":`, f.Key), m.Value, "}}}]")
	case f.Kind == Geo && (name == "near" || name == "within"):
		return "an area stands in value: " + input.Wrapped(fmt.Sprintf(`{"value":{%q:`, name), m.Value, "}}")
	case f.Kind != Number && f.Kind != Date:
		return ""
	case slices.Contains(ends[0], name), slices.Contains(ends[1], name):
		if pair := rangeOfWords(filter); pair != "" {
			return `a range is {"value":` + pair + "}"
		}
	}
	return ""
}

// wrappedFilter is the filter of a value that stands in its place.
func wrappedFilter(f *Field) func(v input.Value) string {
	return func(v input.Value) string {
		switch {
		case v.Kind == input.Null:
			return `{"known":false}`
		case f.Kind != Geo:
			return input.Wrapped(`{"value":`, v, "}")
		}
		return geoExample
	}
}

const geoExample = `{"value":{"near":{"latitude":51.05,"longitude":-114.07,"radius_m":1000}}}`

// nearPoint is the value of a filter by location of [latitude, longitude].
func nearPoint(v input.Value) string {
	if len(v.Items) != 2 || v.Items[0].Kind != input.Number || v.Items[1].Kind != input.Number {
		return ""
	}
	return fmt.Sprintf(`{"near":{"latitude":%.20s,"longitude":%.20s,"radius_m":1000}}`, v.Items[0].Text, v.Items[1].Text)
}

// exampleFilters is an object of filters of a dataset.
func exampleFilters(d Dataset) string {
	for _, f := range FilterFields(d, Data) {
		if f.Vocabulary != nil {
			return fmt.Sprintf(`{%q:{"value":%q}}`, f.Key, f.Vocabulary[0].Value)
		}
	}
	return "{}"
}

// listedFilters is the object of filters of a list of { field, value }.
func listedFilters(d Dataset, v input.Value) string {
	example := exampleFilters(d)
	if v.Kind != input.Array || len(v.Items) == 0 {
		return example
	}
	filters := input.Value{Kind: input.Object}
	for _, item := range v.Items {
		name, value := item.Get("field"), item.Get("value")
		if name.Kind != input.String || value.Kind == input.Absent {
			return example
		}
		filters.Members = append(filters.Members, input.Member{Name: name.Text, Value: input.Value{Kind: input.Object, Members: []input.Member{{Name: "value", Value: value}}}})
	}
	return filters.JSON()
}

// asFilter is the member `filters` with one condition.
func asFilter(m input.Member) string {
	if m.Value.Kind != input.Object {
		m.Value = input.Value{Kind: input.Object, Members: []input.Member{{Name: "value", Value: m.Value}}}
	}
	return input.Wrapped(`"filters":`, input.Value{Kind: input.Object, Members: []input.Member{m}}, "")
}

// outsideFilters is about a member that the filters of a dataset do not have.
func outsideFilters(d Dataset, base BaseKind, name string) string {
	if slices.Contains([]string{"query", "typos", "limit", "offset", "sort", "fields", "search_after", "relations", "any", "none", "dry_run"}, name) {
		return "it belongs beside filters, not in them"
	}
	if name == "filters" {
		return "the conditions stand here by their keys, without filters"
	}
	for _, r := range RelationsOf(d) {
		has, no := r.keys()
		if name == has || name == no {
			return "it belongs in relations"
		}
		if key, of, dotted := strings.Cut(name, "."); dotted && (key == has || key == no) {
			return fmt.Sprintf(`it belongs in relations: "relations":{%q:{%q:…}}`, key, of)
		}
	}
	switch f, known := FieldNamed(d, name); {
	case name == "id" && !slices.Contains(keys(FilterFields(d, base)), name), name == "ids":
		return "records are read by id with GET /api/v1/data/" + string(d) + "/{id} and POST /api/v1/data/" + string(d) + "/get/batch"
	case known && (name == "latitude" || name == "longitude"):
		return "location finds by place: " + `"location":` + geoExample
	case known && f.Kind == Plain:
		return "a member of the records that nothing filters by"
	}
	if base == Data && slices.Contains(Held, d) && slices.Contains(keys(FilterFields(d, Book)), name) {
		return "only the book has it: POST /api/v1/workspace/" + string(d) + "/search"
	}
	if input.Nearest(name, keys(FilterFields(d, base))) != "" {
		return "" // that one is told
	}
	var others []string
	for _, other := range Datasets {
		if other != d && slices.Contains(keys(FilterFields(other, Data)), name) {
			others = append(others, string(other))
		}
	}
	if others == nil {
		return ""
	}
	return "only " + strings.Join(others, " and ") + " have it"
}

// outsideRequest is about a member that a search request or a group does not have.
func outsideRequest(d Dataset, base BaseKind) func(m input.Member) string {
	return func(m input.Member) string {
		if slices.Contains(keys(FilterFields(d, base)), m.Name) {
			if filter := asFilter(m); filter != "" {
				return "a condition goes into filters: " + filter
			}
			return "it belongs in filters"
		}
		for _, r := range RelationsOf(d) {
			if has, no := r.keys(); m.Name == has || m.Name == no {
				return "it belongs in relations"
			}
		}
		if m.Name == "include" {
			return "only gets have related records: GET /api/v1/data/" + string(d) + "/{id} and POST /api/v1/data/" + string(d) + "/get/batch"
		}
		return ""
	}
}

// outsideRelations is about a member that the relations of a dataset do not have.
func outsideRelations(d Dataset) func(m input.Member) string {
	return func(m input.Member) string {
		for _, r := range RelationsOf(d) {
			if has, _ := r.keys(); m.Name == r.Singular || m.Name == string(r.Child) {
				return fmt.Sprintf("did you mean %q?", has)
			}
		}
		return ""
	}
}

// exampleRelations is an object of relations of a dataset.
func exampleRelations(d Dataset) string {
	for _, r := range RelationsOf(d) {
		has, _ := r.keys()
		return fmt.Sprintf(`{%q:{}}`, has)
	}
	return "{}"
}

// sortOf is the sort that a text, an array or an object such as { cost: "desc" } means.
func sortOf(v input.Value) string {
	field, order := "", "asc"
	switch v.Kind {
	case input.String:
		field = v.Text
		if rest, desc := strings.CutPrefix(field, "-"); desc {
			field, order = rest, "desc"
		} else if name, way, both := strings.Cut(strings.NewReplacer(":", " ", ",", " ").Replace(field), " "); both {
			field, order = name, strings.ToLower(strings.TrimSpace(way))
		}
	case input.Array:
		if len(v.Items) == 1 && v.Items[0].Kind == input.Object && v.Items[0].Get("field").Kind != input.Absent {
			return v.Items[0].JSON()
		}
		if len(v.Items) > 0 && v.Items[0].Kind != input.Array {
			return sortOf(v.Items[0])
		}
	case input.Object:
		if len(v.Members) == 1 {
			m := v.Members[0]
			switch of := m.Value.Get("order"); {
			case of.Kind == input.String:
				field, order = m.Name, of.Text
			case m.Value.Text == "asc" || m.Value.Text == "desc":
				field, order = m.Name, m.Value.Text
			default:
				field = m.Value.Text
			}
		}
	}
	if field == "" || order != "asc" && order != "desc" {
		return `{"field":"updated_at","order":"desc"}`
	}
	return input.Value{Kind: input.Object, Members: []input.Member{
		{Name: "field", Value: input.Value{Kind: input.String, Text: field}}, {Name: "order", Value: input.Value{Kind: input.String, Text: order}},
	}}.JSON()
}

func keys(fields []Field) []string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.Key
	}
	return keys
}
