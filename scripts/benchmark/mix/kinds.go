package mix

import (
	"fmt"
	"strconv"

	"atlas/search/catalog"
)

// Kind is a kind of search request, whose requests cost about the same.
type Kind struct {
	Name string
	// AfterOffset means that the request's offset only says which row is before the
	// page: the page is requested by cursor.
	AfterOffset bool
	// CountOnly means that only the total is requested.
	CountOnly bool

	draw func(*Mix) Search
}

// OfKind draws up to n different requests of a kind, fewer if there are fewer.
// Equal requests get different limits.
func (m *Mix) OfKind(k Kind, n int) (all []Search) {
	for range 20 * n {
		if len(all) == n {
			break
		}
		s := k.draw(m)
		if s.Body == nil {
			continue
		}
		if !m.IsNew(s) {
			if s.Body["limit"] = 20 + m.random.IntN(11); !m.IsNew(s) {
				continue
			}
		}
		all = append(all, s)
	}
	return all
}

// Whole is the mix itself as a kind.
var Whole = Kind{Name: "the mix", draw: (*Mix).draw}

// sortedFields of projects are of each type of values: the field of the index
// order, a number with unknown values, a date, a number with few values, a text.
var sortedFields = []string{"last_signal_at", "cost", "created_at", "stories", "name"}

// Kinds lists the kinds, most of them of projects, in the default order unless the
// name says otherwise.
func Kinds() []Kind {
	kinds := []Kind{
		text("query of one word, by relevance", 1, nil),
		text("query of two or three words, by relevance", 3, nil),
		text("query of one word, in the index order", 1, by("last_signal_at", "desc")),
		text("query of one word, by cost", 1, by("cost", "desc")),
		filtered("filter by an enum", catalog.Projects, "stage"),
		filtered("filter by a dynamic enum", catalog.Projects, "city"),
		filtered("filter by an id", catalog.Projects, "account_ids"),
		filtered("filter by words of a field", catalog.Projects, "name"),
		filtered("filter by a domain", catalog.Accounts, "domains"),
		filtered("filter by a range of numbers", catalog.Projects, "cost"),
		filtered("filter by a range of dates", catalog.Projects, "created_at"),
		filtered("filter by a count of related records", catalog.Accounts, "projects_count"),
		filtered("three filters", catalog.Projects, "stage", "cost", "created_at"),
		{Name: "filter by a whole value", draw: func(m *Mix) Search {
			return search(catalog.Projects, "filters", map[string]any{"name": map[string]any{
				"value": pick(m, m.from[catalog.Projects])["name"], "exact_match": true,
			}})
		}},
		{Name: "no match", draw: func(m *Mix) Search {
			return search(catalog.Projects, "query", "none"+strconv.Itoa(m.random.IntN(1_000_000)))
		}},
		{Name: "total only, of a filter by an enum", CountOnly: true, draw: filtered("", catalog.Projects, "stage", "primary_use").draw},
		related("has a related record (projects, signal)", catalog.Projects, "has_", "signal"),
		related("has a related record with a value (projects, signal)", catalog.Projects, "has_", "signal", "signal_type", "occurred_at"),
		related("has no related record with a value (projects, signal)", catalog.Projects, "without_", "signal", "signal_type", "occurred_at"),
		related("has a related record with a value (accounts, project)", catalog.Accounts, "has_", "project", "stage", "cost"),
		related("has no related record with a value (accounts, project)", catalog.Accounts, "without_", "project", "stage", "cost"),
		offset("page by cursor, in the index order", "last_signal_at", true),
		offset("page by cursor, by cost", "cost", true),
		offset("page by offset, in the index order", "last_signal_at", false),
	}
	for _, field := range sortedFields {
		for _, order := range []string{"asc", "desc"} {
			name := fmt.Sprintf("%s %s", field, order)
			if field == "last_signal_at" {
				name = map[string]string{"asc": "against the index order", "desc": "in the index order"}[order]
			}
			kinds = append(kinds,
				Kind{Name: "all records, " + name, draw: func(*Mix) Search {
					return search(catalog.Projects, "sort", by(field, order))
				}},
				Kind{Name: "filter by an enum, " + name, draw: func(m *Mix) Search {
					s := filtered("", catalog.Projects, "stage").draw(m)
					if s.Body != nil {
						s.Body["sort"] = by(field, order)
					}
					return s
				}})
		}
	}
	return kinds
}

func search(d catalog.Dataset, key string, value any) Search {
	return Search{d, map[string]any{key: value}}
}

func by(field, order string) map[string]any {
	return map[string]any{"field": field, "order": order}
}

// text requests words of a project's name or description.
func text(name string, most int, sort map[string]any) Kind {
	return Kind{Name: name, draw: func(m *Mix) Search {
		one := pick(m, m.from[catalog.Projects])
		value, _ := one[pick(m, []string{"name", "description", "address"})].(string)
		if len(words(value)) < most {
			return Search{}
		}
		s := search(catalog.Projects, "query", m.some(value, most))
		if sort != nil {
			s.Body["sort"] = sort
		}
		return s
	}}
}

// filtered requests the values of a record in these fields; nothing if it has not
// all.
func filtered(name string, d catalog.Dataset, keys ...string) Kind {
	fields := fieldsOf(d, keys)
	return Kind{Name: name, draw: func(m *Mix) Search {
		filters := m.filtersOn(fields, d)
		if filters == nil {
			return Search{}
		}
		return search(d, "filters", filters)
	}}
}

// filtersOn returns a filter on each field, which one record meets; nil if the
// record drawn has no value in one of them.
func (m *Mix) filtersOn(fields []catalog.Field, d catalog.Dataset) map[string]any {
	one, filters := pick(m, m.from[d]), map[string]any{}
	for _, f := range fields {
		filter := m.filter(f, d, one)
		if filter == nil {
			return nil
		}
		filters[f.Key] = filter
	}
	return filters
}

func fieldsOf(d catalog.Dataset, keys []string) (fields []catalog.Field) {
	for _, f := range catalog.FilterFields(d, catalog.Data) {
		for _, key := range keys {
			if f.Key == key {
				fields = append(fields, f)
			}
		}
	}
	return fields
}

// related requests records with or without a related one that has these values.
func related(name string, d catalog.Dataset, prefix, singular string, keys ...string) Kind {
	var child catalog.Dataset
	for _, r := range catalog.RelationsOf(d) {
		if r.Singular == singular {
			child = r.Child
		}
	}
	fields := fieldsOf(child, keys)
	return Kind{Name: name, draw: func(m *Mix) Search {
		filters := m.filtersOn(fields, child)
		if filters == nil {
			return Search{}
		}
		return search(d, "relations", map[string]any{prefix + singular: filters})
	}}
}

// offset requests a page after some thousand rows of a list with a filter.
func offset(name, field string, after bool) Kind {
	draw := filtered("", catalog.Projects, "stage").draw
	return Kind{Name: name, AfterOffset: after, draw: func(m *Mix) Search {
		s := draw(m)
		if s.Body != nil {
			s.Body["sort"], s.Body["offset"] = by(field, "desc"), 100+m.random.IntN(1_900)
		}
		return s
	}}
}
