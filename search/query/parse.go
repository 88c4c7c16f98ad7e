package query

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"atlas/internal/fault"
	"atlas/internal/input"
)

type parser struct {
	issues  *input.Issues
	dataset Dataset
	base    BaseKind
	terms   int
}

// filters reads an object of filters on some fields.
func (p *parser) filters(v input.Value, fields []Field, path ...string) All {
	var where All
	r := p.issues.Object(v, path...)
	for i := range fields {
		f := &fields[i]
		if filter := r.Take(f.Key); filter.Kind != input.Absent {
			if node := p.filter(filter, f, r.Path(f.Key)); node != nil {
				where = append(where, node)
			}
		}
	}
	r.Done()
	return where
}

// relations reads has_… and without_…: one related record must meet all filters
// of the one, and none may meet all filters of the other.
func (p *parser) relations(v input.Value) All {
	var where All
	r := p.issues.Object(v, "relations")
	for _, rel := range RelationsOf(p.dataset) {
		for _, key := range []string{"has_" + rel.Singular, "without_" + rel.Singular} {
			inner := r.Take(key)
			if inner.Kind == input.Absent {
				continue
			}
			var node Node = Nested{rel, p.filters(inner, FilterFields(rel.Child, Data), "relations", key)}
			if strings.HasPrefix(key, "without_") {
				node = Not{node}
			}
			where = append(where, node)
		}
	}
	r.Done()
	return where
}

func (p *parser) sort(v input.Value, hasQuery bool) Sort {
	s := DefaultSort(p.dataset)
	r := p.issues.Object(v, "sort")
	if !r.Ok() {
		return s
	}
	field, order := r.Take("field"), r.Take("order")
	r.Done()
	orders := []string{"asc", "desc"}
	switch {
	case field.Kind != input.String:
		p.issues.WrongType([]string{"sort", "field"}, "a string", field)
	case field.Text == RelevanceSort && p.base == Data:
		s = ByRelevance()
		orders = []string{"desc"}
		if !hasQuery {
			p.issues.Add(fault.Custom, []string{"sort", "field"}, "sorting by relevance needs a query")
		}
	default:
		fields := SortFields(p.dataset, p.base)
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == field.Text })
		if i >= 0 {
			s.Field = fields[i]
			break
		}
		var known []string
		for _, f := range fields {
			known = append(known, f.Name)
		}
		p.issues.Unrecognized([]string{"sort", "field"}, []string{field.Text}, known)
	}
	switch {
	case order.Kind == input.Absent:
		p.issues.WrongType([]string{"sort", "order"}, "asc or desc", order)
	case order.Kind != input.String || !slices.Contains(orders, order.Text):
		p.issues.OutsideVocabulary([]string{"sort", "order"}, orders)
	default:
		s.Desc = order.Text == "desc"
	}
	return s
}

// filter reads { value, exact_match? } for one field; nil when it is not valid.
func (p *parser) filter(v input.Value, f *Field, path []string) Node {
	r := p.issues.Object(v, path...)
	if !r.Ok() {
		return nil
	}
	value := r.Take("value")
	valuePath := r.Path("value")
	exact := false
	if f.Kind == FullText {
		exact = r.Boolean("exact_match")
	}
	r.Done()
	if value.Kind == input.Absent {
		p.issues.WrongType(valuePath, "a value", value)
		return nil
	}
	switch f.Kind {
	case Number:
		return readRange(p, value, valuePath, f, numbers(p, f))
	case Date:
		return readRange(p, value, valuePath, f, dates(p))
	default:
		return p.values(value, valuePath, f, exact)
	}
}

// values reads one value or an array of them, any of which may match.
func (p *parser) values(v input.Value, path []string, f *Field, exact bool) Node {
	elements, paths := []input.Value{v}, [][]string{path}
	if v.Kind == input.Array {
		if !p.issues.Length(len(v.Items), 1, MaxValues, path...) {
			return nil
		}
		elements, paths = v.Items, nil
		for i := range elements {
			paths = append(paths, append(slices.Clip(path), strconv.Itoa(i)))
		}
	}
	var texts []string
	for i, e := range elements {
		if text, ok := p.element(e, paths[i], f, exact); ok && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return anyOf(f, texts, exact)
}

// anyOf matches when the field matches one of the values.
func anyOf(f *Field, values []string, exact bool) Node {
	if f.Kind != FullText || f.IsID() || exact {
		return Terms{f, values}
	}
	matches := make(Any, len(values))
	for i, text := range values {
		matches[i] = Match{f, text}
	}
	return Simplify(matches)
}

// element checks one value and returns it in the form that is compared.
func (p *parser) element(v input.Value, path []string, f *Field, exact bool) (string, bool) {
	switch {
	case f.Vocabulary != nil:
		if v.Kind != input.String || !f.Vocabulary.Has(v.Text) {
			p.issues.OutsideVocabulary(path, f.Vocabulary.Values())
			return "", false
		}
		return v.Text, true
	case f.IsID():
		return p.issues.UUID(v, path...)
	case v.Kind != input.String:
		p.issues.WrongType(path, "a string", v)
		return "", false
	}
	// A value that is too long for the field matches nothing and is no error. So
	// the limit is at least MaxQuery.
	longest := max(f.MaxChars, MaxQuery)
	if f.Kind == FullText && !exact {
		longest = MaxQuery
	}
	if n := utf8.RuneCountInString(v.Text); n > longest {
		p.issues.Add(fault.TooBig, path, "must have at most %d characters, has %d", longest, n)
		return "", false
	}
	folded := Fold(v.Text)
	if f.Kind == FullText && !exact {
		p.terms += countTerms(folded)
		return folded, true
	}
	return ExactValue(*f, folded), true
}
