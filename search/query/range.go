package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
)

// rangeReader reads ranges of one type of values.
type rangeReader[T any] struct {
	// name names the schema of a range. schema is the schema of a literal. read returns the
	// first and the last value that the literal stands for.
	name    string
	schema  *schema.Schema
	read    func(issues *input.Issues, v input.Value, path []string) (from, to T, ok bool)
	compare func(a, b T) int
	// bounds returns the least and the greatest stored value from one value to
	// another; nil is an open end. ok is false when no stored value lies between.
	bounds func(from, to *T) (least, greatest Bound, ok bool)
}

// rangeRule reads a scalar, which stands for a range of itself, or an array
// [from, to], one end of which may be null.
func rangeRule[T any](f *catalog.Field, of rangeReader[T]) rule.Rule[conditions] {
	// Code generators do not know tuples. The service refuses a pair of nulls.
	pair := schema.Named(of.name, schema.Array(schema.Nullable(of.schema), 2, 2).
		Described("An inclusive range: the lowest value, then the highest. One of the two may be null, for an open end."))
	s := &schema.Schema{OneOf: []*schema.Schema{of.schema, pair}}
	return rule.New(s, input.Absent, "a value", func(issues *input.Issues, v input.Value, path []string) (conditions, bool) {
		if more := len(v.Items); more > 2 {
			issues.Add(fault.TooBig, path, "must have at most 2 elements, has %d: an array is a range [from, to]; alternatives are groups of any%s", more,
				input.Wrapped(fmt.Sprintf(`, such as "any":[{"filters":{%q:{"value":`, f.Key), v.Items[0], "}}},…]"))
			return conditions{}, false
		}
		if pair := wholePeriods(v); f.Kind == catalog.Date && pair != "" {
			issues.Add(fault.InvalidFormat, path, "must be a date, YYYY-MM-DD, or a range of dates, such as %s", pair)
			return conditions{}, false
		}
		from, to, ok := of.ends(issues, v, path)
		if !ok {
			return conditions{}, false
		}
		least, greatest, ok := of.bounds(from, to)
		if !ok {
			// 2.5 of an integer, or an instant between two milliseconds, matches nothing.
			// The condition keeps its field, which may restrict the search to the book.
			return conditions{where: All{Terms{Field: f}}}, true
		}
		return conditions{where: All{Range{f, least, greatest}}}, true
	})
}

// ends reads a range; nil is an open end.
func (of rangeReader[T]) ends(issues *input.Issues, v input.Value, path []string) (from, to *T, valid bool) {
	switch {
	case v.Kind == input.Object:
		issues.WrongTypeInstead(path, "a value or a range [from, to]", v, rangeOfWords(v))
		return nil, nil, false
	case v.Kind != input.Array:
		first, last, ok := of.read(issues, v, path)
		return &first, &last, ok
	case len(v.Items) == 1 && v.Items[0].Kind != input.Null:
		issues.Add(
			fault.TooSmall, path, "must have 2 elements, [from, to], one of which may be null%s",
			input.Wrapped(", such as [", v.Items[0], ",null]"),
		)
		return nil, nil, false
	case !issues.Length(len(v.Items), 2, 2, path...):
		return nil, nil, false
	}
	valid = true
	for i, end := range v.Items {
		if end.Kind == input.String && strings.Trim(end.Text, " *") == "" {
			issues.Add(fault.InvalidType, append(slices.Clip(path), strconv.Itoa(i)), "an open end of a range is null")
			return nil, nil, false
		}
	}
	if lowest := v.Items[0]; lowest.Kind != input.Null {
		first, _, ok := of.read(issues, lowest, append(slices.Clip(path), "0"))
		from, valid = &first, ok
	}
	if highest := v.Items[1]; highest.Kind != input.Null {
		_, last, ok := of.read(issues, highest, append(slices.Clip(path), "1"))
		to, valid = &last, valid && ok
	}
	switch {
	case !valid:
	case from == nil && to == nil:
		issues.Add(fault.Custom, path, `only one end of a range may be null; {"known":true} finds all records with a value`)
		valid = false
	case from != nil && to != nil && of.compare(*from, *to) > 0:
		issues.Add(fault.Custom, path, "the lowest value of a range must not be above the highest%s",
			input.Wrapped(", such as ", input.Value{Kind: input.Array, Items: []input.Value{v.Items[1], v.Items[0]}}, ""))
		valid = false
	}
	return from, to, valid
}

// number is a literal in a filter: the exact decimal and the double nearest to
// it.
type number struct {
	decimal
	nearest float64
}

// numbers reads numbers; bounds are of the type of the field.
func numbers(f *catalog.Field) rangeReader[number] {
	// The schema's bounds are the range of a double.
	s := &schema.Schema{Type: "number", Format: "double", Minimum: -math.MaxFloat64, Maximum: math.MaxFloat64, Examples: []any{10}}
	read := func(issues *input.Issues, v input.Value, path []string) (from, to number, ok bool) {
		if v.Kind != input.Number {
			if pair := rangeOfText(v.Text, numberIn); pair != "" {
				issues.WrongTypeInstead(path, "a number or a range [from, to]", v, pair)
				return from, to, false
			}
			issues.WrongTypeInstead(path, "a number", v, numberIn(v.Text))
			return from, to, false
		}
		n, err := strconv.ParseFloat(v.Text, 64)
		if err != nil || math.IsInf(n, 0) {
			issues.Add(fault.TooBig, path, "the number is out of range")
			return from, to, false
		}
		from = number{readDecimal(v.Text), n}
		return from, from, true
	}
	compare := func(a, b number) int { return a.compare(b.decimal) }
	if f.Type == catalog.Double {
		return rangeReader[number]{"NumberRange", s, read, compare, doubleBounds}
	}
	return rangeReader[number]{"NumberRange", s, read, compare, integerBounds}
}

func integerBounds(from, to *number) (least, greatest Bound, ok bool) {
	ok = true
	if from != nil {
		first, _ := from.integers()
		least = IntegerBound(first)
	}
	if to != nil {
		_, last := to.integers()
		greatest = IntegerBound(last)
		ok = from == nil || least.integer <= last
	}
	return least, greatest, ok
}

func doubleBounds(from, to *number) (least, greatest Bound, ok bool) {
	a, b := math.Inf(-1), math.Inf(1)
	ok = true
	if from != nil {
		a, _ = from.doubles(from.nearest)
		least, ok = DoubleBound(a), !math.IsInf(a, 1)
	}
	if to != nil {
		_, b = to.doubles(to.nearest)
		greatest, ok = DoubleBound(b), ok && !math.IsInf(b, -1)
	}
	return least, greatest, ok && a <= b
}

// dates reads days, which stand for the whole UTC day, and instants. Values are
// milliseconds since 1970, with a fraction if the instant is finer than the milliseconds of
// records.
var dates = rangeReader[float64]{"DateRange", DateSchema, readDate, cmp.Compare[float64], dateBounds}

func readDate(issues *input.Issues, v input.Value, path []string) (from, to float64, ok bool) {
	if v.Kind != input.String {
		issues.WrongTypeInstead(path, "a date", v, dayOfSeconds(v))
		return 0, 0, false
	}
	if day, ok := catalog.ParseDay(v.Text); ok {
		return float64(day.UnixMilli()), float64(day.AddDate(0, 0, 1).UnixMilli() - 1), true
	}
	t, ok := catalog.ParseInstant(v.Text)
	if !ok {
		if pair := rangeOfText(v.Text, dayIn); pair != "" {
			issues.Add(fault.InvalidFormat, path, "must be a date, YYYY-MM-DD, or a range of dates, such as %s", pair)
		} else {
			issues.Add(fault.InvalidFormat, path, "%s", DateProblem(v.Text))
		}
		return 0, 0, false
	}
	at := float64(t.UnixMilli())
	if finer := t.Nanosecond() % int(time.Millisecond); finer != 0 {
		// A float64 cannot represent every nanosecond, so an instant between two
		// milliseconds is moved away from both.
		at += min(max(float64(finer)/float64(time.Millisecond), 0.1), 0.9)
	}
	return at, at, true
}

func dateBounds(from, to *float64) (least, greatest Bound, ok bool) {
	a, b := math.Inf(-1), math.Inf(1)
	if from != nil {
		a = math.Ceil(*from)
		least = TimeBound(int64(a))
	}
	if to != nil {
		b = math.Floor(*to)
		greatest = TimeBound(int64(b))
	}
	return least, greatest, a <= b
}
