package mix

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"atlas/search/catalog"
	"atlas/search/query"
)

// Search is one search request.
type Search struct {
	Dataset catalog.Dataset
	Body    map[string]any
}

// Path is where it is sent, below the base.
func (s Search) Path() string { return "/data/" + string(s.Dataset) + "/search" }

// Encode writes the body, equal bodies alike.
func (s Search) Encode() []byte {
	b, err := json.Marshal(s.Body)
	if err != nil {
		panic(err) // made of maps, strings and numbers
	}
	return b
}

// Limit is the number of records that it asks for.
func (s Search) Limit() int {
	if n, ok := s.Body["limit"].(int); ok {
		return n
	}
	return query.DefaultLimit
}

// Mix draws search requests like those of people and programs: most look for terms
// or properties of a record, some request whole lists in some order. Terms and
// values come from records that exist, so that nearly every request finds
// something. It covers every field that can be filtered or sorted by.
type Mix struct {
	random *rand.Rand
	from   Sample
	seen   map[string]bool
}

func New(from Sample, seed uint64) *Mix {
	return &Mix{random: rand.New(rand.NewPCG(seed, 0x6d6978)), from: from, seen: map[string]bool{}} // #nosec G404 -- a seed repeats it
}

// Next draws a request that differs from all earlier ones.
func (m *Mix) Next() Search {
	for {
		s := m.draw()
		if m.IsNew(s) {
			return s
		}
	}
}

// IsNew reports whether it is called with an equal request for the first time.
func (m *Mix) IsNew(s Search) bool {
	key := s.Path() + string(s.Encode())
	if m.seen[key] {
		return false
	}
	m.seen[key] = true
	return true
}

// chance is true with the given probability, in percent.
func (m *Mix) chance(percent int) bool { return m.random.IntN(100) < percent }

func pick[T any](m *Mix, list []T) T { return list[m.random.IntN(len(list))] }

// draw composes a request. The shares are assumptions, listed in
// docs/benchmarks.md.
func (m *Mix) draw() Search {
	s := Search{
		pick(
			m,
			[]catalog.Dataset{
				catalog.Projects,
				catalog.Projects,
				catalog.Projects,
				catalog.Accounts,
				catalog.Accounts,
				catalog.Contacts,
				catalog.Signals,
			},
		),
		map[string]any{},
	}
	one := pick(m, m.from[s.Dataset])
	text, filters := m.chance(40), 1+m.random.IntN(3)
	if text {
		filters = m.random.IntN(3)
		if terms := m.terms(s.Dataset, one); terms != "" {
			s.Body["query"] = terms
		}
	}
	if relations := catalog.RelationsOf(s.Dataset); len(relations) > 0 && m.chance(20) {
		filters = min(filters, 1)
		key, value := m.relation(pick(m, relations))
		s.Body["relations"] = map[string]any{key: value}
	}
	if !text && m.chance(8) {
		filters = 0
	}
	if f := m.filters(catalog.FilterFields(s.Dataset, catalog.Data), s.Dataset, one, filters); len(f) > 0 {
		s.Body["filters"] = f
	}
	if m.chance(map[bool]int{true: 20, false: 50}[text]) {
		s.Body["sort"] = map[string]any{
			"field": pick(m, catalog.SortFields(s.Dataset, catalog.Data)).Name,
			"order": pick(m, []string{"asc", "desc"}),
		}
	}
	switch n := m.random.IntN(100); {
	case n < 30:
		s.Body["limit"] = 10
	case n < 45:
		s.Body["limit"] = 100
	case n < 60:
		s.Body["limit"] = 25 // the others leave it to the default
	}
	if m.chance(5) {
		s.Body["offset"] = 25 * (1 + m.random.IntN(8))
	}
	return s
}

// terms are one to three words of a field that `query` searches.
func (m *Mix) terms(d catalog.Dataset, of record) string {
	var texts []string
	for _, f := range catalog.Fields(d) {
		if text, ok := of[f.Name].(string); ok && f.Query && len(words(text)) > 0 {
			texts = append(texts, text)
			if f.Name == "name" || f.Name == "title" {
				texts = append(texts, text, text) // what most look for
			}
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return m.some(pick(m, texts), 3)
}

// some are up to this many consecutive words of a text, sometimes in lower case.
func (m *Mix) some(text string, most int) string {
	all := words(text)
	n := 1 + m.random.IntN(min(most, len(all)))
	from := m.random.IntN(len(all) - n + 1)
	terms := strings.Join(all[from:from+n], " ")
	if m.chance(50) {
		return strings.ToLower(terms)
	}
	return terms
}

// words are the runs of three or more letters and digits of a text, so that no
// query is for an article.
func words(text string) []string {
	all := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' })
	return slices.DeleteFunc(all, func(w string) bool { return len(w) < 3 })
}

// filters returns this many filters that the record meets, fewer if it has fewer
// values.
func (m *Mix) filters(fields []catalog.Field, d catalog.Dataset, met record, n int) map[string]any {
	chosen := map[string]any{}
	fields = slices.Clone(fields)
	m.random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	for _, f := range fields {
		if len(chosen) == n {
			break
		}
		if f.IsID() && !m.chance(30) {
			continue // ids are looked for by programs, less often
		}
		if filter := m.filter(f, d, met); filter != nil {
			chosen[f.Key] = filter
		}
	}
	return chosen
}

// filter returns a filter that the record meets, nil if there is none.
func (m *Mix) filter(f catalog.Field, d catalog.Dataset, met record) map[string]any {
	if f.Derive != nil {
		return m.derived(f, met)
	}
	if f.Kind == catalog.Geo {
		return m.area(met)
	}
	value := met[f.Name]
	if list, ok := value.([]any); ok {
		if len(list) == 0 {
			return nil
		}
		value = pick(m, list)
	}
	if value == nil {
		return nil
	}
	switch {
	case f.IsID():
		return with(value)
	case f.Kind == catalog.Enum:
		return with(m.among(f, d, value))
	case f.Kind == catalog.FullText:
		text := value.(string)
		if m.chance(10) && len(text) <= query.MaxQuery {
			return map[string]any{"value": text, "exact_match": true}
		}
		if len(words(text)) == 0 {
			return nil
		}
		return with(m.some(text, 2))
	case f.Kind == catalog.Number:
		return with(m.numbers(f, value.(json.Number)))
	case f.Kind == catalog.Date:
		return with(m.days(value.(string)))
	}
	return nil
}

// area filters by a circle or a box with the record on its border or in it.
func (m *Mix) area(met record) map[string]any {
	y, known := met[catalog.Latitude].(json.Number)
	x, both := met[catalog.Longitude].(json.Number)
	latitude, err1 := y.Float64()
	longitude, err2 := x.Float64()
	if !known || !both || err1 != nil || err2 != nil {
		return nil
	}
	if m.chance(50) {
		return with(map[string]any{"near": map[string]any{
			"latitude": latitude, "longitude": longitude, "radius_m": pick(m, []int{500, 2_000, 20_000}),
		}})
	}
	return with(map[string]any{"within": map[string]any{
		"north": latitude, "south": max(latitude-0.05, -catalog.MaxLatitude),
		"east": longitude, "west": max(longitude-0.1, -catalog.MaxLongitude),
	}})
}

func with(value any) map[string]any { return map[string]any{"value": value} }

// derived filters by a field that only a load computes, so the record does not show
// its value.
func (m *Mix) derived(f catalog.Field, met record) map[string]any {
	if f.Derive.Count {
		return with([]any{1 + m.random.IntN(4), nil})
	}
	created, ok := met["created_at"].(string)
	if !ok || len(created) < len(time.DateOnly) {
		return nil
	}
	return with([]any{created[:len(time.DateOnly)], nil})
}

// among is the value, mostly with one or two others.
func (m *Mix) among(f catalog.Field, d catalog.Dataset, value any) any {
	values := []any{value}
	for range m.random.IntN(3) {
		var other any
		if f.Vocabulary != nil {
			other = pick(m, f.Vocabulary.Values())
		} else {
			other = pick(m, m.from[d])[f.Name]
		}
		if text, ok := other.(string); ok && !slices.Contains(values, any(text)) {
			values = append(values, text)
		}
	}
	if len(values) == 1 {
		return value
	}
	return values
}

// numbers is a range around the value, often with one end.
func (m *Mix) numbers(f catalog.Field, value json.Number) any {
	v, err := value.Float64()
	if err != nil {
		panic(fmt.Sprintf("%s is no number: %q", f.Name, value)) // a load would have refused it
	}
	if m.chance(10) {
		return value
	}
	low, high := v*(0.2+0.7*m.random.Float64()), v*(1.1+2*m.random.Float64())
	if f.Type == catalog.Integer {
		low, high = float64(int64(low)), float64(int64(high)+1)
	}
	return m.ends(number(low), number(high))
}

// number keeps four digits, as a person would type them.
func number(v float64) json.Number {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		panic(err) // it was just written
	}
	return json.Number(strconv.FormatFloat(rounded, 'f', -1, 64))
}

// days is a range of up to two years around the value, often with one end.
func (m *Mix) days(value string) any {
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		panic(err) // a load would have refused it
	}
	if m.chance(5) {
		return at.Format(time.DateOnly)
	}
	day := func(by int) string { return at.AddDate(0, 0, by).Format(time.DateOnly) }
	return m.ends(day(-1-m.random.IntN(365)), day(1+m.random.IntN(365)))
}

// ends returns both ends, or one of them and null.
func (m *Mix) ends(low, high any) any {
	switch m.random.IntN(4) {
	case 0:
		return []any{low, nil}
	case 1:
		return []any{nil, high}
	}
	return []any{low, high}
}

// relation asks for related records of a kind, or for none.
func (m *Mix) relation(r catalog.Relation) (key string, value map[string]any) {
	key = "has_" + r.Singular
	if m.chance(25) {
		key = "without_" + r.Singular
	}
	n := m.random.IntN(3)
	return key, m.filters(catalog.FilterFields(r.Child, catalog.Data), r.Child, pick(m, m.from[r.Child]), n)
}
