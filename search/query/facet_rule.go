package query

import (
	"slices"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
)

// facetMembers are the members of a facet that only its kind has.
var facetMembers = map[facetKind][]rule.Field[Facet]{
	valueFacet: {
		rule.Optional(
			"limit",
			rule.Integer(1, MaxFacetValues).Default(DefaultFacetLimit).Described("How many values are listed, the most frequent ones."),
			func(f *Facet) *int { return &f.Limit },
		),
		rule.OptionalFunc(
			"prefix",
			rule.Text(1, MaxQuery).
				Example("cal").
				Described("Keeps the values, of `account_ids` those of the accounts' names, that have its words, the last of which may be the beginning of one, ignoring case and accents."),
			func(f *Facet, text string) { f.Prefix = append([]string{}, runs(catalog.Fold(text))...) },
		),
	},
	dateFacet: {
		rule.Required(
			"interval",
			rule.Enum(Day, Week, Month, Quarter, Year).
				Described("In UTC; weeks begin on Monday. More than 1,000 buckets are an error."),
			func(f *Facet) *Interval { return &f.Interval },
		),
	},
	numberFacet: {rule.Either(
		rule.Optional(
			"ranges",
			rule.Array("ranges", facetRange, 1, MaxNumberBuckets).Described("Inclusive ranges, in any order."),
			func(f *Facet) *[]FacetRange { return &f.Ranges },
		),
		rule.Optional(
			"buckets",
			rule.Integer(1, MaxNumberBuckets).
				Described("A number of buckets of equal width, from the lowest to the highest value. Each ends before the next begins; the last has its end too."),
			func(f *Facet) *int { return &f.Buckets },
		),
	)},
}

// facetRule reads one facet by the kind of its field.
func facetRule(d catalog.Dataset, base catalog.BaseKind) rule.Rule[Facet] {
	var known []string
	byKind := map[facetKind][]*catalog.Field{}
	fields := catalog.FilterFields(d, base)
	for i := range fields {
		if kind := facetKindOf(&fields[i]); kind != noFacet {
			known = append(known, fields[i].Key)
			byKind[kind] = append(byKind[kind], &fields[i])
		}
	}
	names := map[facetKind]string{valueFacet: "ValueFacet", dateFacet: "DateFacet", numberFacet: "NumberFacet"}
	readers := map[facetKind]rule.Rule[Facet]{}
	var shapes []*schema.Schema
	ofAnyKind := append(measureMember(d, base),
		rule.OptionalFunc(
			"exclude_own",
			rule.Boolean().Default(true).Described("The facet ignores the request's own filter on its field."),
			func(f *Facet, exclude bool) { f.CountOwn = !exclude },
		),
		rangesOf)
	for _, kind := range []facetKind{valueFacet, dateFacet, numberFacet} {
		if byKind[kind] == nil {
			continue
		}
		members := slices.Concat([]rule.Field[Facet]{
			rule.Required("field", fieldRule(byKind[kind], nil), func(f *Facet) **catalog.Field { return &f.Field }),
		}, facetMembers[kind], ofAnyKind)
		readers[kind] = rule.Object(members...)
		shapes = append(shapes, schema.Named(baseNames[base]+d.Title()+names[kind], readers[kind].Schema))
	}
	location, located := catalog.Location(d)
	geo := rule.Object(append([]rule.Field[Facet]{geoMember(&location)}, ofAnyKind...)...)
	if located {
		shapes = append(shapes, schema.Named(baseNames[base]+d.Title()+"GeoFacet", geo.Schema))
	}
	return rule.New(schema.Named(
		baseNames[base]+d.Title()+"Facet", &schema.Schema{AnyOf: shapes},
	), input.Object, "an object", func(issues *input.Issues, v input.Value, path []string) (Facet, bool) {
		if located && v.Get("geo").Kind != input.Absent && v.Get("field").Kind == input.Absent {
			before := len(*issues)
			return geo.Read(issues, v, path...), len(*issues) == before
		}
		for kind, fields := range byKind {
			if slices.ContainsFunc(fields, func(f *catalog.Field) bool { return f.Key == v.Get("field").Text }) {
				before := len(*issues)
				return readers[kind].Read(issues, v, path...), len(*issues) == before
			}
		}
		unreadFacet(issues, d, base, known, v, path)
		return Facet{}, false
	}).Instead(meantFacet)
}

// unreadFacet adds the issues of a facet whose field is not counted. known are the keys of the
// counted fields.
func unreadFacet(issues *input.Issues, d catalog.Dataset, base catalog.BaseKind, known []string, v input.Value, path []string) {
	_, located := catalog.Location(d)
	r := issues.Object(v, path...)
	switch field := r.Take("field"); field.Kind {
	case input.String:
		if located && field.Text == "location" {
			*issues = append(*issues, fault.Issue{
				Code: fault.UnrecognizedKeys, Path: r.Path("field"), Keys: []string{field.Text},
				Message: `to count by map tiles, give {"geo":{"precision":12}} instead`,
			})
			break
		}
		issues.Unrecognized(r.Path("field"), []string{field.Text}, known, ofField(d, base, "a field whose values are not counted"))
	default:
		issues.WrongType(r.Path("field"), "the name of a field", field)
	}
	for _, name := range []string{"limit", "prefix", "interval", "ranges", "buckets", "measure", "exclude_own"} {
		r.Take(name)
	}
	if located && v.Get("field").Text == "location" {
		r.Take("precision")
	}
	r.Done()
}

// meantFacet is the facet that a value of another form means.
func meantFacet(v input.Value) string {
	if v.Kind == input.Object && v.Get("field").Kind == input.String {
		v = v.Get("field")
	} else if v.Kind == input.Object && len(v.Members) == 1 { // { stage: {} }
		v = input.Value{Kind: input.String, Text: v.Members[0].Name}
	}
	if v.Kind != input.String {
		return `{"field":"city"}`
	}
	return input.Wrapped(`{"field":`, v, "}")
}
