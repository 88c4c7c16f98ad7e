package searchtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"atlas/search/catalog"
	"atlas/search/query"
)

// Model evaluates the conditions of search requests on records in memory. It reads the JSON
// of requests and rows, and shares only the field catalog with the search. Its texts are
// ASCII words.
type Model struct {
	rows map[catalog.Dataset][]row
	// Overlays are the overlays of the workspace's book by dataset and record id, as rows
	// of the book show them.
	Overlays map[catalog.Dataset]map[string]map[string]any
}

type row struct {
	id     string
	values map[string]any
}

// Conditions are a request with nothing but conditions, or a group.
type Conditions struct {
	Filters   map[string]Filter            `json:"filters,omitempty"`
	Relations map[string]map[string]Filter `json:"relations,omitempty"`
	Any       []Conditions                 `json:"any,omitempty"`
	None      []Conditions                 `json:"none,omitempty"`
}

// Filter is a condition on one field.
type Filter struct {
	Value any   `json:"value,omitempty"`
	Exact bool  `json:"exact_match,omitempty"`
	Known *bool `json:"known,omitempty"`
}

// ModelWorld returns a world of n records of each dataset, in which every optional value
// may be unknown, and its Model.
func ModelWorld(t testing.TB, n int) (*World, *Model) {
	t.Helper()
	w := NewWorld()
	id := rapid.Custom(func(t *rapid.T) int { return rapid.IntRange(1, n+n/4).Draw(t, "id") }) // some ids have no record
	for _, d := range catalog.Datasets {
		for i := 1; i <= n; i++ {
			line := rapid.Custom(func(t *rapid.T) string {
				values := map[string]any{"id": ID(string(d[0]), i)}
				for _, f := range catalog.Fields(d) {
					if f.Name == "id" || f.Derive != nil || f.Kind == catalog.Plain && !f.Coordinate() || !f.Required && rapid.Bool().Draw(t, "unknown") {
						continue
					}
					of := func() any { return drawStored(t, f, id) }
					if values[f.Name] = of(); f.List() {
						values[f.Name] = []any{values[f.Name], of()}[:rapid.IntRange(1, 2).Draw(t, "values")]
					}
				}
				text, _ := json.Marshal(values)
				return string(text)
			}).Example(1_000*int(d[0]) + i)
			w.Add(Record(t, d, line))
		}
	}
	w.Documents() // computes the derived values
	m := &Model{map[catalog.Dataset][]row{}, map[catalog.Dataset]map[string]map[string]any{}}
	for _, d := range catalog.Datasets {
		for _, r := range w.Records(d) {
			var values map[string]any
			if err := json.Unmarshal(r.AppendPublic(nil), &values); err != nil {
				t.Fatal(err)
			}
			m.rows[d] = append(m.rows[d], row{r.ID(), values})
		}
	}
	return w, m
}

var modelWords = []string{"acme", "Bow", "tower", "Homes"}

// drawStored draws a value of a field; one of several for lists.
func drawStored(t *rapid.T, f catalog.Field, id *rapid.Generator[int]) any {
	word := rapid.SampledFrom(modelWords)
	switch {
	case f.Coordinate():
		return drawCoordinate(t, f.Name)
	case f.Vocabulary != nil:
		return rapid.SampledFrom(f.Vocabulary.Values()[:3]).Draw(t, f.Name)
	case f.IsID():
		return ID(f.Name[:1], id.Draw(t, f.Name))
	case f.Type == catalog.Integer:
		return rapid.IntRange(-1, 3).Draw(t, f.Name)
	case f.Type == catalog.Double:
		return float64(rapid.IntRange(-2, 6).Draw(t, f.Name)) / 2
	case f.Type == catalog.Time:
		return fmt.Sprintf("2024-02-%02dT%02d:00:00.000Z", rapid.IntRange(27, 29).Draw(t, f.Name), rapid.IntRange(0, 23).Draw(t, "hour"))
	case f.Dynamic():
		return word.Draw(t, f.Name)
	}
	return strings.Join(rapid.SliceOfN(word, 1, 3).Draw(t, f.Name), " ")
}

// Draw draws conditions on a dataset.
func (m *Model) Draw(t *rapid.T, d catalog.Dataset, base catalog.BaseKind) Conditions {
	c := m.drawGroup(t, d, base, rapid.Bool().Draw(t, "only groups"))
	c.Any, c.None = m.drawGroups(t, d, base), m.drawGroups(t, d, base)
	return c
}

func (m *Model) drawGroups(t *rapid.T, d catalog.Dataset, base catalog.BaseKind) []Conditions {
	groups := make([]Conditions, rapid.IntRange(0, 3).Draw(t, "groups"))
	for i := range groups {
		groups[i] = m.drawGroup(t, d, base, false)
	}
	return groups
}

func (m *Model) drawGroup(t *rapid.T, d catalog.Dataset, base catalog.BaseKind, empty bool) (c Conditions) {
	if empty {
		return c
	}
	relations := catalog.RelationsOf(d)
	if len(relations) > 0 && rapid.IntRange(0, 2).Draw(t, "related") == 0 {
		rel := rapid.SampledFrom(relations).Draw(t, "relation")
		c.Relations = map[string]map[string]Filter{
			rapid.SampledFrom([]string{"has_", "without_"}).Draw(t, "prefix") + rel.Singular: m.drawFilters(t, rel.Child, catalog.Data, 0),
		}
	}
	c.Filters = m.drawFilters(t, d, base, 1-len(c.Relations))
	return c
}

func (m *Model) drawFilters(t *rapid.T, d catalog.Dataset, base catalog.BaseKind, fewest int) map[string]Filter {
	filters := map[string]Filter{}
	for range rapid.IntRange(fewest, 2).Draw(t, "filters") {
		f := rapid.SampledFrom(catalog.FilterFields(d, base)).Draw(t, "field")
		if rapid.Bool().Draw(t, "by known") {
			known := rapid.Bool().Draw(t, "known")
			filters[f.Key] = Filter{Known: &known}
			continue
		}
		filters[f.Key] = drawFilter(t, f)
	}
	return filters
}

func drawFilter(t *rapid.T, f catalog.Field) Filter {
	if f.Kind == catalog.Geo {
		return Filter{Value: drawArea(t)}
	}
	of := func() any { return drawStored(t, f, rapid.IntRange(1, 40)) }
	switch f.Kind {
	case catalog.Number, catalog.Date:
		low, high := of(), of()
		if f.Type == catalog.Integer && rapid.IntRange(0, 4).Draw(t, "between") == 0 {
			return Filter{Value: 1.5}
		}
		switch rapid.IntRange(0, 3).Draw(t, "range") {
		case 0:
			return Filter{Value: []any{low, nil}}
		case 1:
			return Filter{Value: []any{nil, high}}
		case 2:
			if text, ok := low.(string); ok {
				return Filter{Value: text[:len("2024-02-29")]}
			}
			return Filter{Value: low}
		}
		if compare(low, high) > 0 {
			low, high = high, low
		}
		return Filter{Value: []any{low, high}}
	}
	filter := Filter{Value: []any{of(), of()}}
	if rapid.Bool().Draw(t, "one") {
		filter.Value = of()
	}
	if f.Kind == catalog.FullText && !f.IsID() && !f.Code {
		filter.Exact = rapid.Bool().Draw(t, "exact")
	}
	return filter
}

// Body is the request with a limit.
func (c Conditions) Body() []byte {
	type conditions Conditions
	text, err := json.Marshal(struct {
		conditions
		Limit int `json:"limit"`
	}{conditions(c), query.MaxLimit})
	if err != nil {
		panic(err)
	}
	return text
}

// OnOverlay reports whether a condition is on an overlay value.
func (c Conditions) OnOverlay(d catalog.Dataset, base catalog.BaseKind) bool {
	for _, f := range catalog.FilterFields(d, base) {
		if _, named := c.Filters[f.Key]; named && f.Overlay {
			return true
		}
	}
	return slices.ContainsFunc(slices.Concat(c.Any, c.None), func(g Conditions) bool { return g.OnOverlay(d, base) })
}

// Find lists the ids of the records of a dataset that meet the conditions, sorted. For a
// book or a View, visible reports which records it has; nil: all.
func (m *Model) Find(d catalog.Dataset, base catalog.BaseKind, c Conditions, visible func(id string) bool) []string {
	found := []string{}
	onOverlay := c.OnOverlay(d, base)
	for _, r := range m.rows[d] {
		_, inBook := m.Overlays[d][r.id]
		if (visible == nil || visible(r.id)) && (inBook || !onOverlay) && m.meets(d, base, r, c) {
			found = append(found, r.id)
		}
	}
	slices.Sort(found)
	return found
}

func (m *Model) meets(d catalog.Dataset, base catalog.BaseKind, r row, c Conditions) bool {
	for key, filters := range c.Relations {
		prefix, singular, _ := strings.Cut(key, "_")
		if m.related(d, singular, r, filters) != (prefix == "has") {
			return false
		}
	}
	meets := func(g Conditions) bool { return m.meets(d, base, r, g) }
	return m.meetsAll(d, base, r, c.Filters) && (len(c.Any) == 0 || slices.ContainsFunc(c.Any, meets)) && !slices.ContainsFunc(c.None, meets)
}

// related reports whether a related record meets all filters.
func (m *Model) related(d catalog.Dataset, singular string, r row, filters map[string]Filter) bool {
	i := slices.IndexFunc(catalog.Relations, func(rel catalog.Relation) bool { return rel.Parent == d && rel.Singular == singular })
	rel := catalog.Relations[i]
	return slices.ContainsFunc(m.rows[rel.Child], func(child row) bool {
		return slices.Contains(elements(child.values[rel.Link]), any(r.id)) && m.meetsAll(rel.Child, catalog.Data, child, filters)
	})
}

func (m *Model) meetsAll(d catalog.Dataset, base catalog.BaseKind, r row, filters map[string]Filter) bool {
	for _, f := range catalog.FilterFields(d, base) {
		filter, named := filters[f.Key]
		if !named {
			continue
		}
		values := elements(r.values[f.Name])
		switch {
		case f.Overlay:
			values = elements(m.Overlays[d][r.id][f.Name])
		case f.Kind == catalog.Geo:
			values = spotOf(r.values)
		}
		if !filter.met(f, values) {
			return false
		}
	}
	return true
}

// elements are the values of a field: none, one, or those of a list. An empty text, which
// notes can be, counts as none.
func elements(value any) []any {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		return v
	case string:
		if v == "" {
			return nil
		}
	}
	return []any{value}
}

func (filter Filter) met(f catalog.Field, values []any) bool {
	if filter.Known != nil {
		return *filter.Known == (len(values) > 0)
	}
	if f.Kind == catalog.Geo {
		return len(values) > 0 && values[0].(spot).inArea(filter.Value)
	}
	if f.Kind == catalog.Number || f.Kind == catalog.Date {
		return len(values) > 0 && within(values[0], filter.Value)
	}
	return slices.ContainsFunc(elements(filter.Value), func(wanted any) bool {
		if f.Kind == catalog.FullText && !f.IsID() && !f.Code && !filter.Exact {
			var words []string
			for _, v := range values {
				words = append(words, strings.Fields(lower(v))...)
			}
			return !slices.ContainsFunc(strings.Fields(lower(wanted)), func(term string) bool { return !slices.Contains(words, term) })
		}
		return slices.ContainsFunc(values, func(v any) bool {
			return lower(v) == lower(wanted) || f.Code && catalog.Code(lower(v)) == catalog.Code(lower(wanted))
		})
	})
}

func lower(v any) string { return strings.ToLower(v.(string)) }

func within(value, wanted any) bool {
	if day, ok := wanted.(string); ok {
		return strings.HasPrefix(value.(string), day)
	}
	ends, ok := wanted.([]any)
	if !ok {
		ends = []any{wanted, wanted}
	}
	return (ends[0] == nil || compare(ends[0], value) <= 0) && (ends[1] == nil || compare(value, ends[1]) <= 0)
}

// compare compares numbers, or times in the same form.
func compare(a, b any) int {
	number := func(v any) float64 {
		n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		if err != nil {
			at, err := time.Parse(time.RFC3339, v.(string))
			if err != nil {
				panic(err)
			}
			return float64(at.UnixMilli())
		}
		return n
	}
	switch x, y := number(a), number(b); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
