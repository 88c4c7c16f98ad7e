package api

import (
	"fmt"
	"math"
	"strings"

	"atlas/internal/api/openapi"
	"atlas/search/query"
)

// oneOrSeveral is a value or an array of them, any of which may match.
func oneOrSeveral(value *openapi.Schema) *openapi.Schema {
	return &openapi.Schema{AnyOf: []*openapi.Schema{value, openapi.Array(value, 1, query.MaxValues)}}
}

// filterOf is the schema of the filter on a field: a reference.
func filterOf(f query.Field) *openapi.Schema {
	name := ""
	switch {
	case f.Kind == query.Number:
		name = "NumberFilter"
	case f.Kind == query.Date:
		name = "DateFilter"
	case f.Vocabulary != nil:
		name = vocabularyName(f.Vocabulary) + "Filter"
	case f.IsID():
		name = "IdFilter"
	case f.Dynamic():
		name = fmt.Sprintf("ValueFilter%d", longest(f))
	default:
		name = fmt.Sprintf("TextFilter%d", longest(f))
	}
	return openapi.Ref(name).Described(f.Description)
}

// longest is how many characters a value may have that is compared whole.
func longest(f query.Field) int { return max(f.MaxChars, query.MaxQuery) }

// valueSchemas are the filters by kind of field.
func valueSchemas() schemas {
	filter := func(value *openapi.Schema) *openapi.Schema { return openapi.Object(openapi.Required("value", value)) }
	var all schemas
	for _, v := range vocabularies {
		all = append(all, named(v.name+"Filter", filter(oneOrSeveral(openapi.Ref(v.name)))))
	}
	seen := map[string]bool{}
	add := func(name string, s *openapi.Schema) {
		if !seen[name] {
			seen[name] = true
			all = append(all, named(name, s))
		}
	}
	for _, base := range []query.BaseKind{query.Data, query.Book} {
		for _, d := range catalogOrder {
			for _, f := range query.FilterFields(d, base) {
				switch most := longest(f); {
				case f.Dynamic():
					add(fmt.Sprintf("ValueFilter%d", most), filter(oneOrSeveral(free(most).Example("Calgary"))).Described(
						fmt.Sprintf("A value of up to %d characters, or several of which any may match, compared without case and accents.", most)))
				case f.Kind == query.FullText && !f.IsID():
					add(fmt.Sprintf("TextFilter%d", most), textFilter(most))
				}
			}
		}
	}
	bound := func(value *openapi.Schema) []*openapi.Schema {
		pair := func(from, to *openapi.Schema) *openapi.Schema {
			return &openapi.Schema{Type: "array", PrefixItems: []*openapi.Schema{from, to}, Items: false, MinItems: 2, MaxItems: 2}
		}
		either := &openapi.Schema{AnyOf: []*openapi.Schema{value, openapi.Null()}}
		return []*openapi.Schema{value, pair(value, either), pair(openapi.Null(), value)}
	}
	// What a double has room for.
	number := &openapi.Schema{Type: "number", Minimum: -math.MaxFloat64, Maximum: math.MaxFloat64, Examples: []any{10}}
	date := openapi.Ref("DayOrInstant")
	return append(all,
		named("IdFilter", openapi.Object(
			openapi.Required("value", oneOrSeveral(idIn())),
			openapi.Optional("exact_match", openapi.Boolean().Described("Ids are always matched whole.")),
		)),
		named("NumberFilter", filter(&openapi.Schema{AnyOf: bound(number)}).Described(
			"A number, or an inclusive range `[lowest, highest]` one end of which may be null; the lowest must not be above the highest. An unknown value is in no range.")),
		named("DayOrInstant", &openapi.Schema{AnyOf: []*openapi.Schema{
			{Type: "string", Format: "date", Pattern: aDay, Description: "The whole UTC day.", Examples: []any{sampleDay}},
			{Type: "string", Format: "date-time", Pattern: instant, Description: "An instant, RFC 3339.", Examples: []any{sampleTime}},
		}}),
		named("DateFilter", filter(&openapi.Schema{AnyOf: bound(date)}).Described(
			"A day or an instant, or an inclusive range `[after, before]` one end of which may be null; the first must not be later than the last. An unknown value is in no range.")),
	)
}

// textFilter matches the terms of a text, or the whole value.
func textFilter(most int) *openapi.Schema {
	value := func(most int) *openapi.Schema { return oneOrSeveral(free(most).Example("north tower")) }
	terms := openapi.Object(
		openapi.Required("value", value(query.MaxQuery)),
		openapi.Optional("exact_match", openapi.Boolean().Defaulting(false)),
	).Described("Every term of the text, or of one of several, must occur in the field; with `exact_match` it is the whole value. Case and accents do not matter.")
	if most <= query.MaxQuery {
		return terms
	}
	whole := openapi.Object(
		openapi.Required("value", value(most)),
		openapi.Required("exact_match", openapi.Const(true)),
	).Described("The whole value, without regard to case and accents.")
	return &openapi.Schema{AnyOf: []*openapi.Schema{terms, whole}}
}

// requestName names the schema of a search request.
func requestName(d query.Dataset, base query.BaseKind) string {
	prefix := map[query.BaseKind]string{query.Data: "", query.Book: "Workspace", query.View: "View"}[base]
	return prefix + titles[d] + "SearchRequest"
}

// requestSchemas are the search requests with what is in them: filters of books
// and Views are the same.
func requestSchemas() schemas {
	all := valueSchemas()
	filters := func(name string, d query.Dataset, base query.BaseKind) {
		var members []openapi.Property
		for _, f := range query.FilterFields(d, base) {
			members = append(members, openapi.Optional(f.Key, filterOf(f)))
		}
		all = append(all, named(name, openapi.Object(members...).Described("Conditions that must all be met.")))
	}
	for _, d := range catalogOrder {
		filters(titles[d]+"Filters", d, query.Data)
		all = append(all, named(titles[d]+"Relations", relations(d)))
	}
	for _, d := range query.Held {
		filters("Workspace"+titles[d]+"Filters", d, query.Book)
	}
	for _, d := range catalogOrder {
		all = append(all, named(requestName(d, query.Data), request(d, query.Data)))
	}
	for _, base := range []query.BaseKind{query.Book, query.View} {
		for _, d := range query.Held {
			all = append(all, named(requestName(d, base), request(d, base)))
		}
	}
	return all
}

func relations(d query.Dataset) *openapi.Schema {
	var members []openapi.Property
	for _, rel := range query.RelationsOf(d) {
		inner := openapi.Ref(titles[rel.Child] + "Filters")
		members = append(members,
			openapi.Optional("has_"+rel.Singular, inner.Described("One related "+rel.Singular+" meets all of these; `{}`: there is one.")),
			openapi.Optional("without_"+rel.Singular, inner.Described("No related "+rel.Singular+" meets all of these; `{}`: there is none.")))
	}
	s := openapi.Object(members...)
	if members == nil {
		return s.Described("This dataset has no relations.")
	}
	return s.Described(fmt.Sprintf("Conditions on related records, which must all be met. Of each kind the newest %d count.", query.MaxChildren))
}

// request is a search request.
func request(d query.Dataset, base query.BaseKind) *openapi.Schema {
	var names []string
	for _, f := range query.SortFields(d, base) {
		names = append(names, f.Name)
	}
	byField := openapi.Object(openapi.Required("field", openapi.OneOf(names...)), openapi.Required("order", openapi.OneOf("asc", "desc")))
	sort := byField.Described("Records without a value come last, ties go by id. " + usualSort(d, base))
	if base == query.Data {
		byRelevance := openapi.Object(openapi.Required("field", openapi.Const(query.RelevanceSort)), openapi.Required("order", openapi.Const("desc"))).
			Described("The best match first; needs a `query`.")
		sort = &openapi.Schema{Description: sort.Description, AnyOf: []*openapi.Schema{byField, byRelevance}}
	}
	filters := titles[d] + "Filters"
	if base != query.Data {
		filters = "Workspace" + filters
	}
	var searched []string
	for _, f := range query.Fields(d) {
		if f.Query {
			searched = append(searched, "`"+f.Name+"`")
		}
	}
	s := openapi.Object(
		openapi.Optional("query", text(query.MaxQuery).
			Described("Every term must occur in one of the fields "+strings.Join(searched, ", ")+". Case and accents do not matter.").Example("garage")),
		openapi.Optional("filters", openapi.Ref(filters)),
		openapi.Optional("relations", openapi.Ref(titles[d]+"Relations")),
		openapi.Optional("sort", sort),
		openapi.Optional("limit", openapi.Integer(1, query.MaxLimit).Defaulting(query.DefaultLimit)),
		openapi.Optional("offset", openapi.Integer(0, query.MaxOffset).Defaulting(0).Described("Does not count beside `search_after`.")),
		openapi.Optional("search_after", openapi.Nullable(&openapi.Schema{Type: "string", Pattern: aCursor, MinLength: 1}).
			Described("`metadata.search_after` of the page before, with the same sort; null: the first page.")),
	)
	if base == query.Data {
		// Sorting by relevance needs a query.
		s.AnyOf = []*openapi.Schema{
			{Properties: schemas{named("sort", &openapi.Schema{Properties: schemas{named("field", openapi.OneOf(names...))}})}},
			{Required: []string{"query"}},
		}
	}
	return s
}

// usualSort says what leaving the sort out means.
func usualSort(d query.Dataset, base query.BaseKind) string {
	standard, order := query.DefaultSort(d), "asc"
	if standard.Desc {
		order = "desc"
	}
	if base == query.Data {
		return fmt.Sprintf("By default `%s %s`, with a `query` by relevance.", standard.Field.Name, order)
	}
	return fmt.Sprintf("By default `%s %s`.", standard.Field.Name, order)
}
