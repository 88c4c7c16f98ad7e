package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
)

// Bounds of a request for facets.
const (
	MaxFacets         = 12
	MaxFacetValues    = 100 // listed values of a facet
	DefaultFacetLimit = 10
	MaxFacetBuckets   = 1_000 // of dates
	MaxNumberBuckets  = 100   // ranges or buckets of equal width
)

// FacetRequest requests how many records match, and how many of them have which values
// (docs/api.md, "Facets").
type FacetRequest struct {
	// Query selects the records. Sort and the page are not used. The last len(Own)
	// conditions of Where are the filters on the fields of Own.
	Query
	// Own lists the keys of the filters that a facet of the request ignores.
	Own    []string
	Facets []Facet
}

// FacetSearch says where the records of a FacetRequest are.
type FacetSearch struct {
	Request FacetRequest
	// Workspace is the caller's. A server limits how many of its requests are counted at
	// once.
	Workspace string
	// Sets find the records. They are disjoint.
	Sets []Query
	// Overlay finds the held records with the values of overlay fields, if Sets find global
	// records, which lack these values; else nil.
	Overlay *Query
}

// Searches are the Sets and the Overlay.
func (s FacetSearch) Searches() []Query {
	if s.Overlay == nil {
		return s.Sets
	}
	return append(slices.Clip(s.Sets), *s.Overlay)
}

// In is the search with its Searches replaced.
func (s FacetSearch) In(searches []Query) FacetSearch {
	if s.Overlay != nil {
		s.Overlay = &searches[len(s.Sets)]
	}
	s.Sets = searches[:len(s.Sets)]
	return s
}

// Facet requests the distribution of one field.
type Facet struct {
	Field *catalog.Field
	// Limit is how many values are listed. Prefix are folded words that the values must
	// have, the last of which may be incomplete; nil selects all values. Both are for enums
	// and ids; of ids the names have the words.
	Limit  int
	Prefix []string
	// Interval is for dates.
	Interval Interval
	// Ranges or Buckets, a number of buckets of equal width, are for numbers.
	Ranges  []FacetRange
	Buckets int
	// Precision is the zoom of the map tiles by which a Location is counted.
	Precision int
	// Measure is computed for the records of each value or bucket; nil: none.
	Measure *Measure
	// CountOwn means that the facet does not ignore the filter on its field.
	CountOwn bool
}

// Interval is the length of the buckets of dates. They start at 00:00 UTC, weeks on Monday.
type Interval string

// The intervals.
const (
	Day     Interval = "day"
	Week    Interval = "week"
	Month   Interval = "month"
	Quarter Interval = "quarter"
	Year    Interval = "year"
)

// FacetRange is a range of numbers. From and To are as the client sent them, null at an
// open end.
type FacetRange struct {
	From, To jsontext.Value
	// Node is the condition on the field.
	Node Node

	from, to *number
}

// Measure is a value of several records.
type Measure struct {
	Field *catalog.Field
	Of    MeasureOf
}

// MeasureOf is how a Measure combines the known values of its field.
type MeasureOf string

// The measures.
const (
	Sum     MeasureOf = "sum"
	Average MeasureOf = "avg"
	Minimum MeasureOf = "min"
	Maximum MeasureOf = "max"
)

// IgnoredBy is the position in Own of the filter that the facet ignores, -1 for none.
func (r FacetRequest) IgnoredBy(f Facet) int {
	if f.CountOwn {
		return -1
	}
	return slices.Index(r.Own, f.Field.Key)
}

// FacetRule reads the body of a request for facets.
func FacetRule(d catalog.Dataset, base catalog.BaseKind) rule.Rule[FacetRequest] {
	return facetRules[base][d]
}

var facetRules = func() map[catalog.BaseKind]map[catalog.Dataset]rule.Rule[FacetRequest] {
	all := map[catalog.BaseKind]map[catalog.Dataset]rule.Rule[FacetRequest]{catalog.Data: {}, catalog.Book: {}, catalog.View: {}}
	for base, byDataset := range all {
		for _, d := range catalog.Datasets {
			byDataset[d] = facetRequestRule(d, base)
		}
	}
	return all
}()

// facetRequest is a FacetRequest while it is read.
type facetRequest struct {
	request
	facets []Facet
}

func facetRequestRule(d catalog.Dataset, base catalog.BaseKind) rule.Rule[FacetRequest] {
	var members []rule.Field[facetRequest]
	for _, f := range append(conditionFields(d, base, false), boundTerms) {
		members = append(members, rule.Within(f, func(r *facetRequest) *request { return &r.request }))
	}
	members = append(members, rule.Optional("facets", rule.Array("facets", facetRule(d, base), 0, MaxFacets),
		func(r *facetRequest) *[]Facet { return &r.facets }))
	body := rule.Object(members...)
	name := baseNames[base] + d.Title() + "FacetRequest"
	return rule.New(
		schema.Named(name, body.Schema), input.Object, "an object",
		func(issues *input.Issues, v input.Value, path []string) (FacetRequest, bool) {
			v = refusePrivate(issues, v, path)
			before := len(*issues)
			read := body.Read(issues, v, path...)
			if len(*issues) > before {
				return FacetRequest{}, false
			}
			return read.split(d, base, body, v), true
		},
	)
}

// split moves the filters that a facet ignores after the other conditions.
func (r facetRequest) split(d catalog.Dataset, base catalog.BaseKind, body rule.Rule[facetRequest], v input.Value) FacetRequest {
	out := FacetRequest{Query: Query{Dataset: d, Base: Base{Kind: base}, Hints: r.Hints}, Facets: r.facets}
	filters := v.Get("filters")
	var own, others []input.Member
	for _, m := range filters.Members {
		if slices.ContainsFunc(r.facets, func(f Facet) bool { return f.Field.Key == m.Name && !f.CountOwn }) {
			own = append(own, m)
		} else {
			others = append(others, m)
		}
	}
	var none input.Issues // the request is valid
	if own != nil {
		v.Members = slices.Clone(v.Members)
		for i, m := range v.Members {
			if m.Name == "filters" {
				v.Members[i].Value = input.Value{Kind: input.Object, Members: others}
			}
		}
		r = body.Read(&none, v)
	}
	out.Text, out.Exact, out.Typos, out.Where = r.Text, r.Exact, r.Typos, slices.Clip(r.where)
	for _, m := range own {
		of := filtersRule(d, base).Read(&none, input.Value{Kind: input.Object, Members: []input.Member{m}})
		out.Own, out.Where = append(out.Own, m.Name), append(out.Where, of.where)
	}
	return out
}

// refusePrivate returns the conditions of a body without those on Private fields, at
// any depth, and adds an issue for each.
func refusePrivate(issues *input.Issues, v input.Value, path []string) input.Value {
	members := make([]input.Member, 0, len(v.Members))
	for _, m := range v.Members {
		at := append(slices.Clip(path), m.Name)
		switch {
		case slices.Contains(privateKeys, m.Name):
			issues.Add(fault.Custom, at, "what costs nothing cannot be filtered by %s", m.Name)
			continue
		case m.Name == "value" || m.Name == "facets" && len(path) == 0:
		default:
			m.Value = refusePrivate(issues, m.Value, at)
		}
		members = append(members, m)
	}
	v.Members = members
	v.Items = slices.Clone(v.Items)
	for i := range v.Items {
		v.Items[i] = refusePrivate(issues, v.Items[i], append(slices.Clip(path), strconv.Itoa(i)))
	}
	return v
}

var privateKeys = func() (keys []string) {
	for _, d := range catalog.Datasets {
		for _, f := range catalog.Fields(d) {
			if f.Private {
				keys = append(keys, f.Key)
			}
		}
	}
	return keys
}()

// facetKind is how a field is counted.
type facetKind uint8

const (
	noFacet facetKind = iota
	valueFacet
	dateFacet
	numberFacet
)

func facetKindOf(f *catalog.Field) facetKind {
	switch {
	case f.Faceted():
		return valueFacet
	case f.Kind == catalog.Date:
		return dateFacet
	case f.Kind == catalog.Number:
		return numberFacet
	}
	return noFacet
}

// fieldRule reads the key of one of the fields. others describes any other key in messages.
func fieldRule(fields []*catalog.Field, others func(key string) string) rule.Rule[*catalog.Field] {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.Key
	}
	return rule.New(
		schema.OneOf(keys...), input.String, "the name of a field",
		func(issues *input.Issues, v input.Value, path []string) (*catalog.Field, bool) {
			i := slices.Index(keys, v.Text)
			if i < 0 {
				issues.Unrecognized(path, []string{v.Text}, keys, others)
				return nil, false
			}
			return fields[i], true
		},
	)
}

// measureMember is the member that names a numeric field.
func measureMember(d catalog.Dataset, base catalog.BaseKind) []rule.Field[Facet] {
	measure, there := measureRule(d, base, rule.Enum(Sum, Average, Minimum, Maximum),
		"Adds `measure` to every value or bucket: of the known values of a number, null where there are none.")
	if !there {
		return nil
	}
	return []rule.Field[Facet]{rule.Optional("measure", rule.Pointer(measure), func(f *Facet) **Measure { return &f.Measure })}
}

// measureRule reads a Measure; without numeric fields there is none. In a View, overlay
// values cannot be measured, because the searched records may lack them.
func measureRule(d catalog.Dataset, base catalog.BaseKind, of rule.Rule[MeasureOf], text string) (measure rule.Rule[Measure], there bool) {
	fields := catalog.FilterFields(d, base)
	var numbers []*catalog.Field
	for i := range fields {
		if fields[i].Kind == catalog.Number && (!fields[i].Overlay || base == catalog.Book) {
			numbers = append(numbers, &fields[i])
		}
	}
	if numbers == nil {
		return measure, false
	}
	return rule.Object(
		rule.Required(
			"field",
			fieldRule(numbers, ofField(d, base, "a field that is no number")),
			func(m *Measure) **catalog.Field { return &m.Field },
		),
		rule.Required("of", of, func(m *Measure) *MeasureOf { return &m.Of }),
	).Described(text).Instead(func(input.Value) string {
		return fmt.Sprintf(`{"field":%q,"of":"sum"}`, numbers[0].Key)
	}), true
}

// rangesOf is the step that sets the condition of each range.
var rangesOf = rule.Step(func(_ *input.Issues, _ *input.Reader, f *Facet) {
	for i := range f.Ranges {
		r := &f.Ranges[i]
		least, greatest, ok := numbers(f.Field).bounds(r.from, r.to)
		r.Node = Any{}
		if ok {
			r.Node = Range{f.Field, least, greatest}
		}
	}
})

// facetRange reads [from, to], one end of which may be null.
var facetRange = func() rule.Rule[FacetRange] {
	of := numbers(&catalog.Field{Type: catalog.Double})
	s := schema.Array(schema.Nullable(of.schema), 2, 2).Described("From and to, both inclusive; one of them may be null.")
	return rule.New(
		s, input.Array, "an array of two numbers",
		func(issues *input.Issues, v input.Value, path []string) (r FacetRange, ok bool) {
			r.from, r.to, ok = of.ends(issues, v, path)
			if ok {
				r.From, r.To = literal(v.Items[0]), literal(v.Items[1])
			}
			return r, ok
		},
	).Instead(func(v input.Value) string {
		if v.Kind == input.Number {
			return input.Wrapped("[", v, ",null]")
		}
		return rangeOfWords(v)
	})
}()

func literal(v input.Value) jsontext.Value {
	if v.Kind == input.Null {
		return jsontext.Value("null")
	}
	return jsontext.Value(v.Text)
}

// Matches reports whether a folded value has the words of the Prefix in any order, the last
// one as the prefix of a word. It is false for a Prefix without words.
func (f Facet) Matches(folded string) bool {
	if f.Prefix == nil {
		return true
	}
	words := runs(folded)
	for i, typed := range f.Prefix {
		if !slices.ContainsFunc(words, func(word string) bool {
			return word == typed || i == len(f.Prefix)-1 && strings.HasPrefix(word, typed)
		}) {
			return false
		}
	}
	return len(f.Prefix) > 0
}

// PrefixText is a text with the words of the Prefix.
func (f Facet) PrefixText() string { return strings.Join(f.Prefix, " ") }

// runs are the whole words of a folded text: its runs of letters, digits and marks.
func runs(folded string) []string { return strings.FieldsFunc(folded, catalog.Separates) }
