package query

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
)

// conditions are the conditions of filters. All must match.
type conditions struct {
	where All
	terms int // of all texts, including duplicates
}

func (c *conditions) add(more conditions) {
	c.where, c.terms = append(c.where, more.where...), c.terms+more.terms
}

// filtersRule reads an object of filters; books and Views share it.
func filtersRule(d catalog.Dataset, base catalog.BaseKind) rule.Rule[conditions] {
	return shared("filters", d, base, buildFilters)
}

// sharedKey identifies a rule that occurs in several others.
type sharedKey struct {
	name string
	d    catalog.Dataset
	base catalog.BaseKind
}

var sharedRules sync.Map

// shared returns the rule of build, and builds it only once: for all datasets it takes
// megabytes.
func shared(
	name string,
	d catalog.Dataset,
	base catalog.BaseKind,
	build func(catalog.Dataset, catalog.BaseKind) rule.Rule[conditions],
) rule.Rule[conditions] {
	key := sharedKey{name, d, base}
	r, there := sharedRules.Load(key)
	if !there {
		r, _ = sharedRules.LoadOrStore(key, build(d, base))
	}
	return r.(rule.Rule[conditions])
}

func buildFilters(d catalog.Dataset, base catalog.BaseKind) rule.Rule[conditions] {
	fields := catalog.FilterFields(d, base)
	members := make([]rule.Field[conditions], len(fields))
	for i := range fields {
		f := &fields[i]
		members[i] = rule.OptionalFunc(f.Key, filterRule(f).Described(f.Description), (*conditions).add)
	}
	members = append(members, rule.Elsewhere[conditions](func(m input.Member) string { return outsideFilters(d, base, m.Name) }))
	name := d.Title() + "Filters"
	if base != catalog.Data {
		name = "Workspace" + name
	}
	return rule.Object(members...).Instead(
		func(v input.Value) string { return listedFilters(d, v) },
	).Described("Conditions that must all be met.").Named(name)
}

// filterRule reads { value, exact_match? } or { known } for one field.
func filterRule(f *catalog.Field) rule.Rule[conditions] {
	switch {
	case f.Kind == catalog.Number:
		return filter(
			f,
			"NumberFilter",
			rangeRule(f, numbers(f)),
			"A number, or an inclusive range `[lowest, highest]` one end of which may be null; the lowest must not be above the highest. An unknown value is in no range.",
		)
	case f.Kind == catalog.Date:
		return filter(
			f,
			"DateFilter",
			rangeRule(f, dates),
			"A day or an instant, or an inclusive range `[after, before]` one end of which may be null; the first must not be later than the last. An unknown value is in no range.",
		)
	case f.Kind == catalog.Geo:
		return filter(
			f,
			"LocationFilter",
			areaRule(f),
			"Near a point, or within a box or a polygon. A record has a point if its latitude and longitude are known and valid.",
		)
	case f.Vocabulary != nil:
		value := f.Vocabulary.Rule()
		return filter(f, value.Schema.Name()+"Filter", wholeRule(f, value), "")
	case f.IsID():
		one := rule.UUID[uuid.UUID]().Advise(fault.InvalidFormat, idsFrom(f))
		one.Schema = one.Schema.Formatted("") // for one UUID or several, openapi-generator writes Java that does not compile
		id := wholeRule(f, rule.Map(one, uuid.UUID.String))
		return exactFilter(
			f, "IdFilter",
			filterSchema(id, schema.Optional("exact_match", exactMatch.Schema.Described("Ids are always matched whole."))),
			id, &id,
		)
	case f.Code:
		code := wholeText(f, "BP2026-00001")
		return exactFilter(f, "CodeFilter", filterSchema(
			code, schema.Optional("exact_match", exactMatch.Schema.Described("Codes are always matched whole.")),
		).
			Described("A code, or several of which any may match, compared whole and without case, accents, blanks and hyphens."),
			code, &code)
	case f.Dynamic():
		return filter(
			f,
			lengths[longest(*f)]+"ValueFilter",
			wholeText(f, "Calgary"),
			fmt.Sprintf(
				"A value of up to %d characters, or several of which any may match, compared without case and accents.",
				longest(*f),
			),
		)
	default:
		return textFilter(f)
	}
}

func textFilter(f *catalog.Field) rule.Rule[conditions] {
	const example = "north tower"
	terms, whole := termsRule(f, example), wholeText(f, example)
	s := filterSchema(whole, schema.Optional("exact_match", exactMatch.Schema.Defaulting(false)))
	text := "Every term of the text, or of one of several, must occur in the field; with `exact_match` it is the whole value. Case and accents do not matter."
	if longest(*f) > MaxQuery {
		text += fmt.Sprintf(" Without `exact_match` a text has at most %d characters.", MaxQuery)
		s = s.When(schema.Is("exact_match", true), nil, terms.Schema.At("value"))
	}
	return exactFilter(f, lengths[longest(*f)]+"TextFilter", s.Described(text), terms, &whole)
}

func filterSchema(value rule.Rule[conditions], more ...schema.Property) *schema.Schema {
	return schema.Object(append([]schema.Property{schema.Required("value", value.Schema)}, more...)...)
}

// filter reads { value } or { known }.
func filter(f *catalog.Field, name string, value rule.Rule[conditions], text string) rule.Rule[conditions] {
	return exactFilter(f, name, filterSchema(value).Described(text), value, nil)
}

var (
	exactMatch = rule.Boolean()
	hasValue   = rule.Boolean()
)

// knownSchema is the second form of a filter, which all filters share.
var knownSchema = schema.Named("KnownFilter", schema.Object(schema.Required("known",
	hasValue.Schema.Described("In place of `value`. `true`: the field has a value, a list at least one. `false`: it has none."))))

// orKnown is the schema of a filter: { value, exact_match? }, which is s, or { known }.
// Each form requires a member. A type whose members are all optional takes a bare value
// in TypeScript: {"stage": "permitted"} would compile.
func orKnown(name string, s *schema.Schema) *schema.Schema {
	valued := *s
	valued.Description, valued.Properties = "", slices.Clone(s.Properties)
	for i, p := range valued.Properties {
		valued.Properties[i].Value = p.Value.Part(name + schema.Identifier(p.Name))
	}
	either := &schema.Schema{OneOf: []*schema.Schema{schema.Named(name+"ByValue", &valued), knownSchema}}
	return schema.Named(name, either.Described(s.Description))
}

// exactFilter reads { value, exact_match? } or { known }. whole reads the value of an
// exact match; nil: the filter has no `exact_match`. s is the schema of the first form.
func exactFilter(
	f *catalog.Field,
	name string,
	s *schema.Schema,
	value rule.Rule[conditions],
	whole *rule.Rule[conditions],
) rule.Rule[conditions] {
	return rule.New(orKnown(name, s), input.Object, "an object", func(issues *input.Issues, v input.Value, path []string) (conditions, bool) {
		r := issues.Object(v, path...)
		r.Elsewhere(func(m input.Member) string { return inFilter(f, v, m) })
		given := r.Take("value").Kind
		valued := given != input.Absent
		byKnown := v.Get("known").Kind != input.Absent
		chosen := value
		if whole != nil && !byKnown && exactMatch.Member(issues, r, "exact_match", false) {
			chosen = *whole
		}
		has := hasValue.Member(issues, r, "known", false)
		r.Done()
		switch {
		case !byKnown && given == input.Null:
			code := fault.InvalidType
			if f.Vocabulary != nil {
				code = fault.InvalidUnion
			}
			issues.Add(code, r.Path("value"), `must not be null; {"known":false} finds the records without a value`)
			return conditions{}, false
		case !byKnown:
			return chosen.Member(issues, r, "value", true), true
		case valued:
			issues.Add(fault.InvalidUnion, path, "give exactly one of value and known")
		}
		return knownCondition(f, has), true
	}).
		Instead(wrappedFilter(f))
}

func knownCondition(f *catalog.Field, has bool) conditions {
	var n Node = Exists{f}
	if !has {
		n = Not{n}
	}
	return conditions{where: All{n}}
}

// longest is the maximum length of a value that is compared whole, in characters. A value
// that is too long for the field matches nothing and is not an error, so it is at least
// MaxQuery.
func longest(f catalog.Field) int { return max(f.MaxChars, MaxQuery) }

// lengths distinguish the filters on texts by the maximum length of a value. A length that
// only one field has is named after the field.
var lengths = func() map[int]string {
	names := map[int]string{MaxQuery: "Short", catalog.ShortChars: "", catalog.LongChars: "Long"}
	for _, d := range catalog.Datasets {
		for _, f := range catalog.FilterFields(d, catalog.Book) {
			if _, named := names[longest(f)]; !named && f.Folded() {
				names[longest(f)] = strings.ToUpper(f.Name[:1]) + f.Name[1:]
			}
		}
	}
	return names
}()

// withoutFilter is the advice about a filter without a value.
const withoutFilter = "leave the filter out to match every record"

// wholeRule reads one value or several, any of which may match as a whole.
func wholeRule(f *catalog.Field, value rule.Rule[string]) rule.Rule[conditions] {
	return rule.Map(rule.OneOrMore(value, MaxValues).Advise(fault.TooSmall, withoutFilter), func(values []string) conditions {
		return conditions{where: All{Terms{f, distinct(values)}}}
	})
}

func wholeText(f *catalog.Field, example string) rule.Rule[conditions] {
	return wholeRule(f, foldedRule(longest(*f), example))
}

// termsRule reads one text or several; all terms of any of them may match.
func termsRule(f *catalog.Field, example string) rule.Rule[conditions] {
	return rule.Map(rule.OneOrMore(
		foldedRule(MaxQuery, example), MaxValues,
	).Advise(fault.TooSmall, withoutFilter), func(texts []string) (c conditions) {
		var matches Any
		for _, text := range texts {
			c.terms += countTerms(text)
		}
		for _, text := range distinct(texts) {
			matches = append(matches, Match{f, text})
		}
		c.where = All{Simplify(matches)}
		return c
	})
}

// foldedRule reads a text of up to most characters and folds its case.
func foldedRule(most int, example string) rule.Rule[string] {
	return rule.New(
		schema.Free(most).Example(example), input.String, "a string",
		func(issues *input.Issues, v input.Value, path []string) (string, bool) {
			if n := utf8.RuneCountInString(v.Text); n > most {
				issues.Add(fault.TooBig, path, "must have at most %d characters, has %d", most, n)
				return "", false
			}
			return catalog.FoldCase(v.Text), true
		},
	)
}
