package query

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
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

// filters reads an object of filters on the fields at a place.
func (p *parser) filters(v input.Value, fields []Field, at Place, path ...string) []Node {
	var where []Node
	r := p.issues.Object(v, path...)
	for _, f := range fields {
		if filter := r.Take(f.Key); filter.Kind != input.Absent {
			if node := p.filter(filter, f, at, r.Path(f.Key)); node != nil {
				where = append(where, node)
			}
		}
	}
	r.Done()
	return where
}

// relations reads has_… and without_…; each is met by one related record that
// meets all of its filters.
func (p *parser) relations(v input.Value) []Node {
	var where []Node
	r := p.issues.Object(v, "relations")
	for _, rel := range RelationsOf(p.dataset) {
		for _, key := range []string{"has_" + rel.Singular, "without_" + rel.Singular} {
			inner := r.Take(key)
			if inner.Kind == input.Absent {
				continue
			}
			filters := p.filters(inner, FilterFields(rel.Child, Data), RelatedPlace(rel.Child), "relations", key)
			var node Node = Child{RelatedPath(rel.Child), All(filters)}
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
func (p *parser) filter(v input.Value, f Field, at Place, path []string) Node {
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
		return p.span(value, valuePath, f, at, p.number)
	case Date:
		return p.span(value, valuePath, f, at, p.date)
	default:
		return p.values(value, valuePath, f, at, exact)
	}
}

// values reads one value or an array of them, any of which may match.
func (p *parser) values(v input.Value, path []string, f Field, at Place, exact bool) Node {
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
	return p.anyOf(f, at, texts, exact)
}

// anyOf is met when the field matches one of the values.
func (p *parser) anyOf(f Field, at Place, values []string, exact bool) Node {
	if f.Kind != FullText || f.IsID() || exact {
		return Terms{f.ExactPath(at), values}
	}
	words := make(Any, len(values))
	for i, text := range values {
		words[i] = Words{f.TextPath(at), text}
	}
	if len(words) == 1 {
		return words[0]
	}
	return words
}

// element checks one value and returns it as it is matched.
func (p *parser) element(v input.Value, path []string, f Field, exact bool) (string, bool) {
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
	// A value that no record can have matches nothing and is no error, so the
	// bound is not the field's own where that is short.
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
	return ExactValue(f, folded), true
}

// span reads a scalar, which is met by itself, or an array [from, to], one end
// of which may be null. read returns the first and the last value a literal
// stands for, as they are compared.
func (p *parser) span(v input.Value, path []string, f Field, at Place, read literalReader) Node {
	fieldPath := f.ExactPath(at)
	if v.Kind != input.Array {
		from, to, ok := read(v, path, f)
		if !ok {
			return nil
		}
		return spanNode(fieldPath, f, from, to)
	}
	if !p.issues.Length(len(v.Items), 2, 2, path...) {
		return nil
	}
	from, to := math.Inf(-1), math.Inf(1)
	ok := true
	if lowest := v.Items[0]; lowest.Kind != input.Null {
		var good bool
		from, _, good = read(lowest, append(slices.Clip(path), "0"), f)
		ok = ok && good
	}
	if highest := v.Items[1]; highest.Kind != input.Null {
		var good bool
		_, to, good = read(highest, append(slices.Clip(path), "1"), f)
		ok = ok && good
	}
	switch {
	case !ok:
		return nil
	case math.IsInf(from, -1) && math.IsInf(to, 1):
		p.issues.Add(fault.Custom, path, "only one end of a range may be null")
		return nil
	case from > to:
		p.issues.Add(fault.Custom, path, "the lowest value of a range must not be above the highest")
		return nil
	}
	return spanNode(fieldPath, f, from, to)
}

type literalReader func(v input.Value, path []string, f Field) (from, to float64, ok bool)

func (p *parser) number(v input.Value, path []string, _ Field) (from, to float64, ok bool) {
	if v.Kind != input.Number {
		p.issues.WrongType(path, "a number", v)
		return 0, 0, false
	}
	n, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || math.IsInf(n, 0) {
		p.issues.Add(fault.TooBig, path, "the number is out of range")
		return 0, 0, false
	}
	if n == 0 {
		n = 0 // Elasticsearch orders -0 before 0, and records have 0 only
	}
	return n, n, true
}

// date reads a day, which stands for all of that UTC day, or an instant.
// Values are milliseconds since 1970, with a fraction where the instant is
// finer than what records have.
func (p *parser) date(v input.Value, path []string, _ Field) (from, to float64, ok bool) {
	if v.Kind != input.String {
		p.issues.WrongType(path, "a date", v)
		return 0, 0, false
	}
	if day, ok := ParseDay(v.Text); ok {
		return float64(day.UnixMilli()), float64(day.AddDate(0, 0, 1).UnixMilli() - 1), true
	}
	t, ok := ParseInstant(v.Text)
	if !ok {
		p.issues.Add(fault.InvalidFormat, path, "must be a date: YYYY-MM-DD or RFC 3339")
		return 0, 0, false
	}
	at := float64(t.UnixMilli())
	if finer := t.Nanosecond() % int(time.Millisecond); finer != 0 {
		// A float64 does not tell every nanosecond from the millisecond beside
		// it, so what lies between two milliseconds is kept well between them.
		at += min(max(float64(finer)/float64(time.Millisecond), 0.1), 0.9)
	}
	return at, at, true
}

// ParseDay reads YYYY-MM-DD, as 00:00 UTC.
func ParseDay(s string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, s)
	return t, err == nil && t.Year() > 0
}

// ParseInstant reads an RFC 3339 timestamp, in UTC.
func ParseInstant(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, false
	}
	// time.Parse lets pass an hour of one digit, a comma, an offset of a day.
	if zone := s[len(s)-1] != 'Z'; s[13] != ':' || strings.ContainsRune(s, ',') || zone && s[len(s)-5:len(s)-3] > "23" {
		return time.Time{}, false
	}
	t = t.UTC()
	return t, t.Year() > 0 && t.Year() <= 9999
}

// spanNode compares the way the field is stored. An infinite end is open.
func spanNode(path string, f Field, from, to float64) Node {
	literal := func(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }
	if f.Type != Double {
		from, to = math.Ceil(from), math.Floor(to)
	}
	switch f.Type {
	case Integer:
		literal = func(n float64) string { return strconv.FormatInt(clampInt(n), 10) }
	case Time:
		literal = func(n float64) string {
			return strconv.Quote(time.UnixMilli(clampInt(n)).UTC().Format(TimeLayout))
		}
	}
	if from > to {
		return Any{} // 2.5 of an integer, or an instant between two milliseconds
	}
	s := Span{Path: path}
	if !math.IsInf(from, -1) {
		s.From = literal(from)
	}
	if !math.IsInf(to, 1) {
		s.To = literal(to)
	}
	return s
}

// clampInt keeps an integral value that no record can have from overflowing.
func clampInt(n float64) int64 {
	const most = 1 << 62
	return int64(max(-most, min(most, n)))
}

// TimeLayout is how a timestamp is written: RFC 3339, UTC, milliseconds.
const TimeLayout = "2006-01-02T15:04:05.000Z07:00"
