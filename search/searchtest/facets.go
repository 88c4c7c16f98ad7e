package searchtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"atlas/search/catalog"
	"atlas/search/query"
)

// Row is a record as decoded JSON, by the keys of filters.
type Row = map[string]any

// FacetModel computes facets from the matching records, without Elasticsearch.
type FacetModel struct {
	// Matching returns all records that a search finds.
	Matching func(body map[string]any) []Row
	// Name returns the name of an account.
	Name func(id string) (string, bool)
	// Fields are the fields that a request can filter by.
	Fields []catalog.Field
}

// Check compares the answer to a request with the model.
func (m FacetModel) Check(t testing.TB, body map[string]any, got query.Facets) {
	t.Helper()
	want := m.answer(body)
	if diff := gocmp.Diff(plainJSON(t, want), plainJSON(t, got), cmpopts.EquateApprox(1e-12, 1e-9)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", encoded(t, body), diff)
	}
}

func encoded(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func plainJSON(t testing.TB, v any) (plain any) {
	t.Helper()
	if err := json.Unmarshal(encoded(t, v), &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

func (m FacetModel) answer(body map[string]any) map[string]any {
	search := maps.Clone(body)
	delete(search, "facets")
	n := len(m.Matching(search))
	facets := []any{}
	asked, _ := body["facets"].([]any)
	for _, f := range asked {
		facet := f.(map[string]any)
		own := maps.Clone(search)
		if filters, filtered := search["filters"].(map[string]any); filtered && facet["exclude_own"] != false {
			filters = maps.Clone(filters)
			delete(filters, keyOf(facet))
			own["filters"] = filters
		}
		facets = append(facets, m.facet(facet, m.Matching(own)))
	}
	return map[string]any{"count": n, "export_credits": n, "facets": facets}
}

// keyOf is the filter key of the field that a facet counts.
func keyOf(facet map[string]any) string {
	if key, named := facet["field"].(string); named {
		return key
	}
	return "location"
}

func (m FacetModel) facet(facet map[string]any, rows []Row) map[string]any {
	key := keyOf(facet)
	if key == "location" {
		return m.cells(facet, rows)
	}
	f := m.Fields[slices.IndexFunc(m.Fields, func(f catalog.Field) bool { return f.Key == key })]
	out := map[string]any{"field": key, "unknown": 0}
	groups := map[string][]Row{}
	spellings := map[string]map[string]int{}
	var numbers []float64
	for _, row := range rows {
		values, _ := row[key].([]any)
		if single := row[key]; single != nil && values == nil && !f.List() {
			values = []any{single}
		}
		if len(values) == 0 {
			out["unknown"] = out["unknown"].(int) + 1
		}
		for _, v := range values {
			switch v := v.(type) {
			case float64:
				numbers = append(numbers, v)
			case string:
				if f.Kind == catalog.Date {
					at, err := time.Parse(time.RFC3339, v)
					if err != nil {
						panic(err)
					}
					numbers = append(numbers, float64(at.UnixMilli()))
					continue
				}
				value := v
				if f.Dynamic() || f.Kind == catalog.FullText && !f.IsID() {
					value = catalog.Fold(v)
				}
				if spellings[value] == nil {
					spellings[value] = map[string]int{}
				}
				spellings[value][v]++
				groups[value] = append(groups[value], row)
			}
		}
	}
	if f.Kind == catalog.Date || f.Kind == catalog.Number {
		m.buckets(out, facet, f, rows, numbers)
	} else {
		m.values(out, facet, f, groups, spellings)
	}
	return out
}

// measured is a bucket of rows with the measure of the facet, if it has one.
func measured(facet, bucket map[string]any, rows []Row) map[string]any {
	if measure, asked := facet["measure"].(map[string]any); asked {
		bucket["measure"] = measureOf(measure, rows)
	}
	return bucket
}

// buckets adds the buckets of dates or numbers.
func (m FacetModel) buckets(out, facet map[string]any, f catalog.Field, rows []Row, numbers []float64) {
	within := func(from, to float64, last bool) (found []Row) {
		for _, row := range rows {
			if v, known := numeric(row[f.Key]); known && v >= from && (v < to || last && v == to) {
				found = append(found, row)
			}
		}
		return found
	}
	out["min"], out["max"] = nil, nil
	buckets := []any{}
	show := func(v float64) any { return v }
	if f.Kind == catalog.Date {
		show = func(v float64) any { return time.UnixMilli(int64(v)).UTC().Format("2006-01-02T15:04:05.000Z") }
	}
	if len(numbers) > 0 {
		out["min"], out["max"] = show(slices.Min(numbers)), show(slices.Max(numbers))
	}
	ranges, _ := facet["ranges"].([]any)
	for _, r := range ranges {
		ends := r.([]any)
		from, to := math.Inf(-1), math.Inf(1)
		if ends[0] != nil {
			from = ends[0].(float64)
		}
		if ends[1] != nil {
			to = ends[1].(float64)
		}
		found := within(from, to, true)
		buckets = append(buckets, measured(facet, map[string]any{"from": ends[0], "to": ends[1], "count": len(found)}, found))
	}
	if len(numbers) > 0 && ranges == nil {
		edges := m.edges(facet, slices.Min(numbers), slices.Max(numbers))
		for i := range len(edges) - 1 {
			found := within(edges[i], edges[i+1], i == len(edges)-2)
			buckets = append(buckets, measured(facet, map[string]any{"from": show(edges[i]), "to": show(edges[i+1]), "count": len(found)}, found))
		}
	}
	out["buckets"] = buckets
}

// values adds the most frequent values.
func (m FacetModel) values(
	out, facet map[string]any,
	f catalog.Field,
	groups map[string][]Row,
	spellings map[string]map[string]int,
) {
	var values []string
	for value := range groups {
		prefix, given := facet["prefix"].(string)
		text := value
		if f.IsID() {
			name, _ := m.Name(value)
			text = catalog.Fold(name)
		}
		if !given || begins(text, catalog.Fold(prefix)) {
			values = append(values, value)
		}
	}
	slices.SortFunc(values, func(a, b string) int {
		return cmp.Or(len(groups[b])-len(groups[a]), strings.Compare(a, b))
	})
	limit := 10
	if given, ok := facet["limit"].(float64); ok {
		limit = int(given)
	}
	list, other := []any{}, 0
	for i, value := range values {
		if i >= limit {
			other += len(groups[value])
			continue
		}
		bucket := map[string]any{"value": value, "label": m.label(f, value, spellings[value]), "count": len(groups[value])}
		list = append(list, measured(facet, bucket, groups[value]))
	}
	out["values"], out["other"] = list, other
}

func (m FacetModel) label(f catalog.Field, value string, spellings map[string]int) any {
	if f.Vocabulary != nil {
		return f.Vocabulary.Label(value)
	}
	if f.IsID() {
		if name, known := m.Name(value); known {
			return name
		}
		return nil
	}
	best := ""
	for spelling, n := range spellings {
		if best == "" || n > spellings[best] || n == spellings[best] && spelling < best {
			best = spelling
		}
	}
	return best
}

// edges are the ends of the buckets.
func (m FacetModel) edges(facet map[string]any, least, greatest float64) []float64 {
	if n, equal := facet["buckets"].(float64); equal {
		if least == greatest {
			return []float64{least, greatest}
		}
		edges := []float64{}
		for i := range int(n) {
			edges = append(edges, least+float64(i)*((greatest-least)/n))
		}
		return append(edges, greatest)
	}
	at := time.UnixMilli(int64(least)).UTC()
	at = time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	begins := func(at time.Time) bool {
		switch facet["interval"] {
		case "week":
			return at.Weekday() == time.Monday
		case "month":
			return at.Day() == 1
		case "quarter":
			return at.Day() == 1 && at.Month()%3 == 1
		case "year":
			return at.YearDay() == 1
		}
		return true
	}
	for !begins(at) {
		at = at.AddDate(0, 0, -1)
	}
	edges := []float64{}
	for float64(at.UnixMilli()) <= greatest {
		edges = append(edges, float64(at.UnixMilli()))
		for at = at.AddDate(0, 0, 1); !begins(at); {
			at = at.AddDate(0, 0, 1)
		}
	}
	return append(edges, float64(at.UnixMilli()))
}

// begins reports whether a text has all words of a prefix, the last as the prefix of a
// word.
func begins(text, prefix string) bool {
	split := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) })
	}
	typed, of := split(prefix), split(text)
	for i, word := range typed {
		if !slices.ContainsFunc(of, func(w string) bool {
			return w == word || i == len(typed)-1 && strings.HasPrefix(w, word)
		}) {
			return false
		}
	}
	return len(typed) > 0
}

func numeric(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		at, err := time.Parse(time.RFC3339, v)
		return float64(at.UnixMilli()), err == nil
	}
	return 0, false
}

func measureOf(measure map[string]any, rows []Row) any {
	var values []float64
	sum := 0.0
	for _, row := range rows {
		if v, known := row[measure["field"].(string)].(float64); known {
			values, sum = append(values, v), sum+v
		}
	}
	if values == nil {
		return nil
	}
	switch measure["of"] {
	case "avg":
		return sum / float64(len(values))
	case "min":
		return slices.Min(values)
	case "max":
		return slices.Max(values)
	}
	return sum
}

// AnyFacets draws a request with one to four facets of the fields, with values of the rows.
func AnyFacets(r *rand.Rand, fields []catalog.Field, rows []Row) map[string]any {
	pick := func(all []any) any { return all[r.IntN(len(all))] }
	valuesOf := func(f catalog.Field) (all []any) {
		for _, row := range rows {
			if list, ok := row[f.Key].([]any); ok {
				all = append(all, list...)
			} else if row[f.Key] != nil {
				all = append(all, row[f.Key])
			}
		}
		return all
	}
	span := func(all []any) []any {
		a, b := pick(all), pick(all)
		x, _ := numeric(a)
		if y, _ := numeric(b); x > y {
			a, b = b, a
		}
		return pick([]any{[]any{a, b}, []any{nil, b}, []any{a, nil}}).([]any)
	}
	var numbers []any
	for _, f := range fields {
		if f.Kind == catalog.Number {
			numbers = append(numbers, f.Key)
		}
	}
	var facets []any
	filters := map[string]any{}
	for range 1 + r.IntN(4) {
		f := fields[r.IntN(len(fields))]
		if at := slices.IndexFunc(fields, func(f catalog.Field) bool { return f.Kind == catalog.Geo }); at >= 0 && r.IntN(4) == 0 {
			f = fields[at]
		}
		all := valuesOf(f)
		facet := map[string]any{"field": f.Key}
		var filter any
		switch {
		case f.Faceted():
			if r.IntN(2) == 0 {
				facet["limit"] = float64(1 + r.IntN(4))
			}
			switch {
			case f.IsID() && r.IntN(2) == 0:
				facet["prefix"] = pick([]any{"f", "Firm", "firm 1", "1 FIRM", "fir 1", "9", "-", "a"})
			case len(all) > 0 && r.IntN(3) == 0:
				words := strings.FieldsFunc(pick(all).(string), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
				letters := []rune(words[r.IntN(len(words))])
				last := 1 + r.IntN(len(letters))
				facet["prefix"] = string(letters[:last])
				if r.IntN(2) == 0 {
					facet["prefix"] = words[r.IntN(len(words))] + " " + string(letters[:last])
				}
			}
			if len(all) > 0 {
				filter = pick(all)
			}
		case f.Kind == catalog.Geo:
			facet = map[string]any{"geo": map[string]any{"precision": float64(r.IntN(catalog.MaxPrecision + 1))}}
			filter = anyArea(r, rows)
		case f.Kind == catalog.Date:
			facet["interval"] = pick([]any{"week", "month", "quarter", "year"})
			if f.Name == "occurred_at" { // more than 1,000 weeks
				facet["interval"] = pick([]any{"month", "quarter", "year"})
			}
			if len(all) > 0 {
				filter = span(all)
			}
		case f.Kind == catalog.Number && len(all) > 0 && r.IntN(2) == 0:
			var ranges []any
			for range 1 + r.IntN(3) {
				ranges = append(ranges, span(all))
			}
			facet["ranges"] = ranges
			filter = span(all)
		case f.Kind == catalog.Number:
			facet["buckets"] = float64(1 + r.IntN(7))
			if len(all) > 0 {
				filter = span(all)
			}
		default:
			continue
		}
		if numbers != nil && r.IntN(2) == 0 {
			facet["measure"] = map[string]any{"field": pick(numbers), "of": pick([]any{"sum", "avg", "min", "max"})}
		}
		if r.IntN(4) == 0 {
			facet["exclude_own"] = r.IntN(2) == 0
		}
		if filter != nil && r.IntN(3) == 0 {
			filters[f.Key] = map[string]any{"value": filter}
		}
		facets = append(facets, facet)
	}
	body := map[string]any{"filters": filters}
	if facets != nil {
		body["facets"] = facets
	}
	return body
}

// AnyWorld draws records of all datasets. Their values repeat in several spellings.
func AnyWorld(t testing.TB, r *rand.Rand, n int) *World {
	t.Helper()
	w := NewWorld()
	one := func(all ...any) any { return all[r.IntN(len(all))] }
	some := func(all ...any) []any {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all[:r.IntN(len(all))]
	}
	city := func() any {
		return one(
			nil, nil, "Calgary", "Calgary", "calgary", "CALGARY", "Québec", "Quebec", "Łódź", "Lodz", "New York",
			"new york", "St. John's", "東京", "Fort McMurray",
		)
	}
	day := func() any {
		return one(
			nil,
			time.Date(
				2019+r.IntN(6), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), 0, r.IntN(1000)*1e6,
				time.UTC,
			).Format("2006-01-02T15:04:05.000Z"),
		)
	}
	put := func(d catalog.Dataset, row Row) { w.Add(Record(t, d, string(encoded(t, row)))) }
	id := func(letter string) string { return ID(letter, 1+r.IntN(n)) }
	for i := range n {
		latitude, longitude := anyCoordinates(r)
		put(catalog.Accounts, Row{
			"id": ID("a", i+1), "name": fmt.Sprintf("Firm %d", i%17),
			"account_types": some("developer", "owner", "broker"), "city": city(), "state": one(nil, "AB", "ab", "QC"),
			"created_at": day(),
		})
		put(catalog.Contacts, Row{
			"id": ID("c", i+1), "name": fmt.Sprintf("Person %d", i%7), "email": fmt.Sprintf("p%d@secret.example", i),
			"role": one(nil, "owner", "architect"), "status": one(nil, "active", "inactive"), "account_id": id("a"),
			"account_name": one(nil, "Bow Works", "Elbow Works"), "city": city(), "created_at": day(),
		})
		put(catalog.Projects, Row{
			"id": ID("p", i+1), "name": fmt.Sprintf("Project %d", i%11), "city": city(),
			"stage": one(nil, "filed", "permitted", "under_construction"), "primary_use": one(nil, "office", "retail"),
			"residential_units": one(nil, 0, 1, 2, 40), "sqft": one(nil, 0.1, 1000.5, 1e6, 2500),
			"cost": one(nil, -5, 0, 0.1, 1e9, 123456.789), "stories": one(nil, 1, 2, 3),
			"filed_at": day(), "detected_at": day(), "account_ids": some(id("a"), ID("a", 1), ID("a", n+5)), "contact_ids": some(id("c")),
			"latitude": latitude, "longitude": longitude,
		})
		put(catalog.Signals, Row{
			"id": ID("s", i+1), "title": fmt.Sprintf("Signal %d", i%5),
			"signal_type": one("permit_filed", "permit_issued"), "project_id": id("p"),
			"account_ids": some(id("a"), ID("a", 2)), "city": city(),
			"occurred_at": one("2020-02-29", "2021-01-03T23:59:59.999Z", "2021-01-04", "1969-12-31"),
			"detected_at": day(),
		})
	}
	return w
}
