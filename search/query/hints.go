package query

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/search/catalog"
)

// The functions of this file guess what was meant by valid JSON of another form, or by an
// unknown name, for issues.

// ends are the names that other APIs have for the ends of a range.
var ends = [2][]string{
	{"gte", "gt", "$gte", "$gt", "min", "from", "after", "since", "start", ">=", ">"},
	{"lte", "lt", "$lte", "$lt", "max", "to", "before", "until", "end", "<=", "<"},
}

// rangeOfWords is [from, to] of an object such as { gte }, "" for any other value.
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

var (
	// betweenEnds is what people write between the ends of a range.
	betweenEnds = regexp.MustCompile(`\s*(?:\.\.\.?|…|–|—|\s-\s|/|;|\s(?:to|and|until)\s)\s*`)
	grouped     = regexp.MustCompile(`^\D*\d{1,3}(,\d{3})+(\.\d+)?\D*$`) // 1,000
)

// maxRangeText is the maximum length, in bytes, of a text that is searched for a range: two
// ends take less, and the patterns would be slow on a text as long as a body.
const maxRangeText = 1_000

// rangeOfText is [from, to] of a text such as 1000..2000 or >=1000; "" if it is not a
// range. literal writes an end as JSON, and returns "" for one that it cannot read.
func rangeOfText(text string, literal func(text string) string) string {
	if text = strings.Trim(text, "[]() "); len(text) > maxRangeText {
		return ""
	}
	for i, signs := range [2]string{">=", "<="} {
		if rest := strings.TrimLeft(text, signs); rest != text && literal(strings.TrimSpace(rest)) != "" {
			return [2]string{"[" + literal(strings.TrimSpace(rest)) + ",null]", "[null," + literal(strings.TrimSpace(rest)) + "]"}[i]
		}
	}
	parts := betweenEnds.Split(text, -1)
	if len(parts) != 2 && !grouped.MatchString(text) {
		parts = strings.Split(text, ",")
	}
	if len(parts) != 2 { // dates and negative numbers have hyphens too
		if parts = strings.Split(text, "-"); slices.Contains(parts, "") {
			return ""
		}
	}
	if len(parts) != 2 || parts[0]+parts[1] == "" {
		return ""
	}
	for i, part := range parts {
		if parts[i] = literal(strings.TrimSpace(part)); part == "" {
			parts[i] = "null"
		} else if parts[i] == "" {
			return ""
		}
	}
	return "[" + parts[0] + "," + parts[1] + "]"
}

// numberIn is the number in a text as people write it: 1000, $1,000, 1k, 1.5m.
func numberIn(text string) string {
	text = strings.ToLower(text)
	for suffix, factor := range map[string]float64{"k": 1e3, "m": 1e6} {
		if n, err := strconv.ParseFloat(strings.TrimLeft(strings.TrimSuffix(text, suffix), "$€£ "), 64); strings.HasSuffix(text, suffix) &&
			err == nil {
			return strconv.FormatFloat(n*factor, 'f', -1, 64)
		}
	}
	return rule.Unquoted(input.Value{Kind: input.String, Text: text})
}

// metresIn is the number of metres in a text such as 2km.
func metresIn(v input.Value) string {
	text := strings.ReplaceAll(strings.ToLower(v.Text), " ", "")
	if n, isKilometres := strings.CutSuffix(text, "km"); isKilometres {
		return numberIn(n + "k")
	}
	return numberIn(strings.TrimSuffix(text, "m"))
}

// dayIn is the day or the instant of a text.
func dayIn(text string) string {
	_, isDay := catalog.ParseDay(text)
	if _, isInstant := catalog.ParseInstant(text); !isDay && !isInstant {
		return ""
	}
	return input.Quoted(text)
}

// dayOfSeconds is the day of a number of seconds, milliseconds or other units since 1970.
func dayOfSeconds(v input.Value) string {
	n, err := strconv.ParseInt(v.Text, 10, 64)
	switch {
	case v.Kind != input.Number || err != nil || n < 1e8 || n >= 1e13:
		return `"2026-01-31"`
	case n >= 1e11:
		n /= 1000
	}
	return time.Unix(n, 0).UTC().Format(`"` + time.DateOnly + `"`)
}

// without are the names that other APIs have for a condition that must not match.
var without = []string{"not", "ne", "neq", "nin", "not_in", "exclude", "$ne", "$nin", "!="}

// inFilter is the hint about an unknown member of a filter.
func inFilter(f *catalog.Field, filter input.Value, m input.Member) string {
	name := strings.ToLower(m.Name)
	switch {
	case slices.Contains(without, name):
		value := m.Value
		if value.Kind == input.Bool {
			value = filter.Get("value")
		}
		return "what must not match goes into none: " + input.Wrapped(fmt.Sprintf(`"none":[{"filters":{%q:{"value":`, f.Key), value, "}}}]")
	case f.Kind == catalog.Geo && slices.Contains(areas, name):
		return "an area stands in value: " + input.Wrapped(fmt.Sprintf(`{"value":{%q:`, name), m.Value, "}}")
	case f.Kind != catalog.Number && f.Kind != catalog.Date:
		return ""
	case slices.Contains([]string{"op", "operator", "comparison"}, name):
		pair := rangeOfWords(input.Value{Kind: input.Object, Members: []input.Member{{Name: m.Value.Text, Value: filter.Get("value")}}})
		if pair == "" {
			pair = "[from,to]"
		}
		return `a range is {"value":` + pair + "}"
	case slices.Contains(ends[0], name), slices.Contains(ends[1], name):
		if pair := rangeOfWords(filter); pair != "" {
			return `a range is {"value":` + pair + "}"
		}
	}
	return ""
}

// idsFrom says where the ids of a field come from, "" for the record's own id.
func idsFrom(f *catalog.Field) string {
	for _, d := range catalog.Datasets {
		if singular, _, _ := strings.Cut(f.Name, "_id"); singular+"s" == string(d) {
			if slices.Contains(Matched, d) {
				return "`match_" + string(d) + "` finds the ids of names"
			}
			return "`search_" + string(d) + "` finds the ids of names"
		}
	}
	return ""
}

// wrappedFilter is the filter that a bare value means.
func wrappedFilter(f *catalog.Field) func(v input.Value) string {
	return func(v input.Value) string {
		switch {
		case v.Kind == input.Null:
			return `{"known":false}`
		case f.Kind != catalog.Geo:
			return input.Wrapped(`{"value":`, v, "}")
		}
		return geoExample
	}
}

const (
	nearExample = `{"near":{"latitude":51.05,"longitude":-114.07,"radius_m":1000}}`
	geoExample  = `{"value":` + nearExample + `}`
)

// nearPoint is the value of a filter by location for [latitude, longitude] or a text of the
// two.
func nearPoint(v input.Value) string {
	ends := strings.Split(v.Text, ",")
	if len(v.Items) > 1 {
		ends = []string{v.Items[0].Text, v.Items[1].Text}
	}
	if len(ends) < 2 {
		return nearExample
	}
	latitude, longitude := numberIn(strings.TrimSpace(ends[0])), numberIn(strings.TrimSpace(ends[1]))
	if latitude == "" || longitude == "" {
		return nearExample
	}
	return fmt.Sprintf(`{"near":{"latitude":%.20s,"longitude":%.20s,"radius_m":1000}}`, latitude, longitude)
}

// bareNear is the value of a filter by location for the members of a circle without near,
// also by the names of other APIs; "" for any other form.
func bareNear(v input.Value) string {
	var circle [3]input.Value
	for i, name := range []string{"latitude", "longitude", "radius_m"} {
		for _, m := range v.Members {
			if m.Name == name || input.Synonym(m.Name, name) {
				circle[i] = m.Value
			}
		}
	}
	if circle[0].Kind == input.Absent || circle[1].Kind == input.Absent {
		return ""
	}
	near := nearPoint(input.Value{Kind: input.Array, Items: circle[:2]})
	if radius := metresIn(circle[2]); radius != "" {
		near = strings.Replace(near, `"radius_m":1000`, `"radius_m":`+radius, 1)
	}
	return near
}

// joinedTexts is the query for an array of texts, or for an object with one.
func joinedTexts(v input.Value) string {
	texts := make([]string, len(v.Items))
	for i, item := range v.Items {
		texts[i] = item.Text
	}
	if text := strings.TrimSpace(strings.Join(texts, " ")); text != "" {
		return input.Value{Kind: input.String, Text: text}.JSON()
	}
	return rule.Text(1, MaxQuery).Suggestion(v)
}

// exampleFilters is an example of the filters of a dataset.
func exampleFilters(d catalog.Dataset) string {
	for _, f := range catalog.FilterFields(d, catalog.Data) {
		if f.Vocabulary != nil {
			return fmt.Sprintf(`{%q:{"value":%q}}`, f.Key, f.Vocabulary[0].Value)
		}
	}
	return "{}"
}

// listedFilters is the object of filters for a list of { field, value }.
func listedFilters(d catalog.Dataset, v input.Value) string {
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
		filters.Members = append(filters.Members, input.Member{Name: name.Text, Value: input.Value{
			Kind: input.Object, Members: []input.Member{{Name: "value", Value: value}},
		}})
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

// outsideFilters is the hint about an unknown member of the filters of a dataset.
func outsideFilters(d catalog.Dataset, base catalog.BaseKind, name string) string {
	if slices.Contains(
		[]string{"query", "typos", "limit", "offset", "sort", "fields", "search_after", "relations", "any", "none", "dry_run"},
		name,
	) {
		return "it belongs beside filters, not in them"
	}
	if name == "filters" {
		return "the conditions stand here by their keys, without filters"
	}
	for _, r := range catalog.RelationsOf(d) {
		has, no := r.Keys()
		if name == has || name == no {
			return "it belongs in relations"
		}
		if key, of, dotted := strings.Cut(name, "."); dotted && (key == has || key == no) {
			return fmt.Sprintf(`it belongs in relations: "relations":{%q:{%q:…}}`, key, of)
		}
	}
	switch f, known := catalog.FieldNamed(d, name); {
	case name == "id" && !slices.Contains(catalog.Keys(catalog.FilterFields(d, base)), name), name == "ids":
		return "records are read by id with `get_" + d.Singular() + "` and `get_" + string(d) + "_batch`"
	case known && (name == "latitude" || name == "longitude"):
		return "location finds by place: " + `"location":` + geoExample
	case known && f.Kind == catalog.Plain:
		return "a member of the records that nothing filters by"
	}
	if base == catalog.Data && slices.Contains(catalog.Held, d) &&
		slices.Contains(catalog.Keys(catalog.FilterFields(d, catalog.Book)), name) {
		return "only the book has it: `search_workspace_" + string(d) + "`"
	}
	for _, r := range catalog.RelationsOf(d) {
		known := func(key string) bool { return input.Synonym(name, key) }
		if slices.Contains(catalog.Keys(catalog.FilterFields(r.Child, catalog.Data)), name) &&
			!slices.ContainsFunc(catalog.Keys(catalog.FilterFields(d, base)), known) {
			has, _ := r.Keys()
			return fmt.Sprintf(`a condition on related records: "relations":{%q:{%q:…}}`, has, name)
		}
	}
	if count := string(d) + "_count"; name == "count" && filterable(count) != nil {
		return fmt.Sprintf("how many %s there are is the filter %q of %s", d, count, strings.Join(filterable(count), " and "))
	}
	if input.Nearest(name, catalog.Keys(catalog.FilterFields(d, base))) != "" {
		return "" // that one has its own message
	}
	if others := filterable(name); others != nil {
		return "only " + strings.Join(others, " and ") + " have it"
	}
	return ""
}

// filterable are the datasets with the filter.
func filterable(key string) (all []string) {
	for _, d := range catalog.Datasets {
		if slices.Contains(catalog.Keys(catalog.FilterFields(d, catalog.Data)), key) {
			all = append(all, string(d))
		}
	}
	return all
}

// outsideRequest is the hint about an unknown member of a search request or a group.
func outsideRequest(d catalog.Dataset, base catalog.BaseKind) func(m input.Member) string {
	return func(m input.Member) string {
		if slices.Contains(catalog.Keys(catalog.FilterFields(d, base)), m.Name) {
			if filter := asFilter(m); filter != "" {
				return "a condition goes into filters: " + filter
			}
			return "it belongs in filters"
		}
		for _, r := range catalog.RelationsOf(d) {
			if has, no := r.Keys(); m.Name == has || m.Name == no {
				return "it belongs in relations"
			}
		}
		if slices.Contains([]string{"facets", "aggregations", "group_by"}, m.Name) {
			return "counts are of `facet_" + string(d) + "`"
		}
		if m.Name == "include" {
			return "only gets have related records: `get_" + d.Singular() + "` and `get_" + string(d) + "_batch`"
		}
		return ""
	}
}

// outsideRelations is the hint about an unknown member of the relations of a dataset.
func outsideRelations(d catalog.Dataset) func(m input.Member) string {
	return func(m input.Member) string {
		for _, r := range catalog.RelationsOf(d) {
			if has, _ := r.Keys(); m.Name == r.Singular || m.Name == string(r.Child) {
				return fmt.Sprintf("did you mean %q?", has)
			}
		}
		_, related, _ := strings.Cut(m.Name, "_")
		for _, key := range []string{related + "_ids", related + "_id"} {
			if related != "" && slices.Contains(catalog.Keys(catalog.FilterFields(d, catalog.Data)), key) {
				return fmt.Sprintf("use the filter %q, which takes ids", key)
			}
		}
		return ""
	}
}

// ofField is the hint about the name of a field of a dataset; "" for other names.
func ofField(d catalog.Dataset, base catalog.BaseKind, says string) func(name string) string {
	if base != catalog.Data {
		says += " here"
	}
	return func(name string) string {
		f, known := catalog.FieldNamed(d, name)
		if known && f.Key != "" && f.Key != name {
			return "" // it has another key, which is similar
		}
		if known || slices.Contains(catalog.Keys(catalog.FilterFields(d, base)), name) {
			return says
		}
		return ""
	}
}

// exampleRelations is an example of the relations of a dataset.
func exampleRelations(d catalog.Dataset) string {
	for _, r := range catalog.RelationsOf(d) {
		has, _ := r.Keys()
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
		{Name: "field", Value: input.Value{Kind: input.String, Text: field}},
		{Name: "order", Value: input.Value{Kind: input.String, Text: order}},
	}}.JSON()
}
