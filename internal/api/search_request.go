package api

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"atlas/internal/schema"
	"atlas/search/query"
)

// oneOrSeveral is a value or an array of them, any of which may match.
func oneOrSeveral(value *schema.Schema) *schema.Schema {
	return &schema.Schema{AnyOf: []*schema.Schema{value, schema.Array(value, 1, query.MaxValues)}}
}

// filterOf is the schema of the filter on a field.
func filterOf(f query.Field) *schema.Schema {
	var s *schema.Schema
	switch {
	case f.Kind == query.Number:
		s = numberFilter
	case f.Kind == query.Date:
		s = dateFilter
	case f.Vocabulary != nil:
		values := f.Vocabulary.Schema()
		s = schema.Named(values.Name()+"Filter", valueOf(oneOrSeveral(values)))
	case f.IsID():
		s = idFilter
	case f.Dynamic():
		s = valueFilter(longest(f))
	default:
		s = textFilter(longest(f))
	}
	return s.Described(f.Description)
}

// longest is how many characters a value may have that is compared whole.
func longest(f query.Field) int { return max(f.MaxChars, query.MaxQuery) }

// lengths distinguish the filters on texts by how long a value may be. A length that
// only one field has is named after it.
var lengths = func() map[int]string {
	names := map[int]string{query.MaxQuery: "Short", query.ShortChars: "", query.LongChars: "Long"}
	for _, d := range query.Datasets {
		for _, f := range append(slices.Clip(query.Fields(d)), query.OverlayFields(d)...) {
			if _, named := names[longest(f)]; !named && f.Folded() {
				names[longest(f)] = strings.ToUpper(f.Name[:1]) + f.Name[1:]
			}
		}
	}
	return names
}()

// valueOf is a filter by a value.
func valueOf(value *schema.Schema) *schema.Schema {
	return schema.Object(schema.Required("value", value))
}

// rangeOf is a value, or an inclusive range of them one end of which may be null.
func rangeOf(value *schema.Schema) *schema.Schema {
	pair := func(from, to *schema.Schema) *schema.Schema {
		return &schema.Schema{Type: "array", PrefixItems: []*schema.Schema{from, to}, Items: false, MinItems: 2, MaxItems: 2}
	}
	either := &schema.Schema{AnyOf: []*schema.Schema{value, schema.Null()}}
	return &schema.Schema{AnyOf: []*schema.Schema{value, pair(value, either), pair(schema.Null(), value)}}
}

var (
	idFilter = schema.Named("IdFilter", schema.Object(
		schema.Required("value", oneOrSeveral(schema.AnyUUID())),
		schema.Optional("exact_match", schema.Boolean().Described("Ids are always matched whole.")),
	))
	numberFilter = schema.Named("NumberFilter", valueOf(rangeOf(
		// What a double has room for.
		&schema.Schema{Type: "number", Minimum: -math.MaxFloat64, Maximum: math.MaxFloat64, Examples: []any{10}},
	)).Described("A number, or an inclusive range `[lowest, highest]` one end of which may be null; the lowest must not be above the highest. An unknown value is in no range."))
	dateFilter = schema.Named("DateFilter", valueOf(rangeOf(query.DayOrInstant)).Described("A day or an instant, or an inclusive range `[after, before]` one end of which may be null; the first must not be later than the last. An unknown value is in no range."))
)

// valueFilter matches whole values.
func valueFilter(most int) *schema.Schema {
	return schema.Named(lengths[most]+"ValueFilter", valueOf(oneOrSeveral(schema.Free(most).Example("Calgary"))).Described(
		fmt.Sprintf("A value of up to %d characters, or several of which any may match, compared without case and accents.", most)))
}

// textFilter matches the terms of a text, or the whole value.
func textFilter(most int) *schema.Schema {
	value := func(most int) *schema.Schema { return oneOrSeveral(schema.Free(most).Example("north tower")) }
	terms := schema.Object(
		schema.Required("value", value(query.MaxQuery)),
		schema.Optional("exact_match", schema.Boolean().Defaulting(false)),
	).Described("Every term of the text, or of one of several, must occur in the field; with `exact_match` it is the whole value. Case and accents do not matter.")
	name := lengths[most] + "TextFilter"
	if most <= query.MaxQuery {
		return schema.Named(name, terms)
	}
	whole := schema.Object(
		schema.Required("value", value(most)),
		schema.Required("exact_match", schema.Const(true)),
	).Described("The whole value, without regard to case and accents.")
	return schema.Named(name, &schema.Schema{AnyOf: []*schema.Schema{terms, whole}})
}

// filters are the conditions of a search; those of books and Views are the same.
func filters(d query.Dataset, base query.BaseKind) *schema.Schema {
	var members []schema.Property
	for _, f := range query.FilterFields(d, base) {
		members = append(members, schema.Optional(f.Key, filterOf(f)))
	}
	name := d.Title() + "Filters"
	if base != query.Data {
		name = "Workspace" + name
	}
	return schema.Named(name, schema.Object(members...).Described("Conditions that must all be met."))
}

func relations(d query.Dataset) *schema.Schema {
	var members []schema.Property
	for _, rel := range query.RelationsOf(d) {
		inner := filters(rel.Child, query.Data)
		members = append(members,
			schema.Optional("has_"+rel.Singular, inner.Described("One related "+rel.Singular+" meets all of these; `{}`: there is one.")),
			schema.Optional("without_"+rel.Singular, inner.Described("No related "+rel.Singular+" meets all of these; `{}`: there is none.")))
	}
	s := schema.Object(members...)
	text := "This dataset has no relations."
	if members != nil {
		text = fmt.Sprintf("Conditions on related records, which must all be met. Of each kind the newest %d count.", query.MaxChildren)
	}
	return schema.Named(d.Title()+"Relations", s.Described(text))
}

// searchRequest is what query.Parse reads.
func searchRequest(d query.Dataset, base query.BaseKind) *schema.Schema {
	var names []string
	for _, f := range query.SortFields(d, base) {
		names = append(names, f.Name)
	}
	byField := schema.Object(schema.Required("field", schema.OneOf(names...)), schema.Required("order", schema.OneOf("asc", "desc")))
	sort := byField.Described("Records without a value come last, ties go by id. " + usualSort(d, base))
	if base == query.Data {
		byRelevance := schema.Object(schema.Required("field", schema.Const(query.RelevanceSort)), schema.Required("order", schema.Const("desc"))).
			Described("The best match first; needs a `query`.")
		sort = &schema.Schema{Description: sort.Description, AnyOf: []*schema.Schema{byField, byRelevance}}
	}
	var searched []string
	for _, f := range query.Fields(d) {
		if f.Query {
			searched = append(searched, "`"+f.Name+"`")
		}
	}
	cursor := schema.Cursor()
	cursor.MinLength = 1
	s := schema.Object(
		schema.Optional("query", schema.Text(query.MaxQuery).
			Described("Every term must occur in one of the fields "+strings.Join(searched, ", ")+". Case and accents do not matter.").Example("garage")),
		schema.Optional("filters", filters(d, base)),
		schema.Optional("relations", relations(d)),
		schema.Optional("sort", sort),
		schema.Optional("limit", schema.Integer(1, query.MaxLimit).Defaulting(query.DefaultLimit)),
		schema.Optional("offset", schema.Integer(0, query.MaxOffset).Defaulting(0).Described("Does not count beside `search_after`.")),
		schema.Optional("search_after", schema.Nullable(cursor).
			Described("`metadata.search_after` of the page before, with the same sort; null: the first page.")),
	)
	if base == query.Data {
		// Sorting by relevance needs a query.
		s.AnyOf = []*schema.Schema{
			{Properties: properties("sort", &schema.Schema{Properties: properties("field", schema.OneOf(names...))})},
			{Required: []string{"query"}},
		}
	}
	prefix := map[query.BaseKind]string{query.Data: "", query.Book: "Workspace", query.View: "View"}[base]
	return schema.Named(prefix+d.Title()+"SearchRequest", s)
}

func properties(name string, s *schema.Schema) schema.Map[*schema.Schema] {
	return schema.Map[*schema.Schema]{{Name: name, Value: s}}
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
