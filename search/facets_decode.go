package search

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
)

// scope is what was counted among the records that match all filters but one.
type scope struct {
	count        int64
	aggregations map[string]jsontext.Value
}

func unmarshal(raw jsontext.Value, into any) error {
	if err := jsonv2.Unmarshal(raw, into); err != nil {
		return fault.BackendUnavailable(fmt.Errorf("unreadable aggregations: %w", err), "elasticsearch")
	}
	return nil
}

// scopesOf reads the answer to a body of compileFacets.
func scopesOf(r result, own int, scopes []scopeRequest) (map[int]scope, error) {
	if r.total == nil {
		return nil, fault.BackendUnavailable(errors.New("facets without a total"), "elasticsearch")
	}
	root := map[string]jsontext.Value{}
	if len(r.aggregations) > 0 {
		if err := unmarshal(r.aggregations, &root); err != nil {
			return nil, err
		}
	}
	found := map[int]scope{}
	for _, s := range scopes {
		if s.isWhole(own) {
			found[s.ignored] = scope{int64(*r.total), root}
			continue
		}
		within := map[string]jsontext.Value{}
		if err := unmarshal(root[s.name()], &within); err != nil {
			return nil, err
		}
		var count int64
		if err := unmarshal(within["doc_count"], &count); err != nil {
			return nil, err
		}
		found[s.ignored] = scope{count, within}
	}
	return found, nil
}

// bucketSum is the number of records of a bucket and their measure.
type bucketSum struct {
	count int64
	stats stats
}

// stats are the sum, the number and the extremes of known values.
type stats struct {
	Count int64    `json:"count"`
	Sum   sum      `json:"sum"`
	Min   *float64 `json:"min"`
	Max   *float64 `json:"max"`
}

// sum is a sum of doubles. One beyond a double is the text "Infinity" or "-Infinity".
type sum float64

// UnmarshalJSON reads a sum as Elasticsearch writes it.
func (s *sum) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*s = sum(n)
	return err
}

func (b *bucketSum) add(more bucketSum) {
	b.count += more.count
	b.stats.Count += more.stats.Count
	b.stats.Sum += more.stats.Sum
	b.stats.Min = extreme(b.stats.Min, more.stats.Min, math.Min)
	b.stats.Max = extreme(b.stats.Max, more.stats.Max, math.Max)
}

// extreme returns of(a, b), or the other value if one is nil.
func extreme(a, b *float64, of func(a, b float64) float64) *float64 {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return new(of(*a, *b))
}

// measure is the measure as in the answer, empty if none was requested.
func (b bucketSum) measure(m *query.Measure) jsontext.Value {
	if m == nil {
		return nil
	}
	if b.stats.Count == 0 {
		return jsontext.Value("null")
	}
	value := float64(b.stats.Sum)
	switch m.Of {
	case query.Average:
		value /= float64(b.stats.Count)
	case query.Minimum:
		value = *b.stats.Min
	case query.Maximum:
		value = *b.stats.Max
	case query.Sum:
	}
	return number(value)
}

// number is a number as records show it. A sum of doubles may be beyond a double.
func number(value float64) jsontext.Value {
	if math.IsInf(value, 0) || math.IsNaN(value) {
		return jsontext.Value("null")
	}
	return catalog.AppendValue(nil, &catalog.Field{Type: catalog.Double}, value)
}

// counts is the answer of an aggregation with buckets.
type counts struct {
	Buckets []struct {
		Key     jsontext.Value `json:"key"`
		Count   int64          `json:"doc_count"`
		Measure stats          `json:"measure"`
	} `json:"buckets"`
	Other int64 `json:"sum_other_doc_count"`
	// Error is the largest possible error of the counts, in records.
	Error int64 `json:"doc_count_error_upper_bound"`
}

func (t *tally) clear() {
	t.other = 0
	clear(t.values)
	if !t.facet.Field.List() {
		t.known = 0
	}
}

// addFirst adds the answer of firstAggregations. It reports whether the values are
// complete.
func (t *tally) addFirst(all map[string]jsontext.Value) (whole bool, err error) {
	if _, counted := all[t.name(knownName)]; counted {
		known, err := t.withValueOf(all)
		if err != nil {
			return false, err
		}
		t.known += known
	}
	if t.facet.Field.Faceted() {
		return t.addValues(all)
	}
	if t.facet.Field.Kind == catalog.Geo {
		return true, t.addCells(all[t.name(countsName)])
	}
	if err := t.addExtremes(all); err != nil {
		return false, err
	}
	if t.facet.Ranges == nil {
		return true, nil
	}
	if t.buckets == nil {
		t.buckets = make([]bucketSum, len(t.facet.Ranges))
	}
	return true, t.addBuckets(all)
}

// withValueOf is the number of records with a value.
func (t *tally) withValueOf(all map[string]jsontext.Value) (int64, error) {
	var known struct {
		Count int64 `json:"doc_count"`
	}
	err := unmarshal(all[t.name(knownName)], &known)
	return known.Count, err
}

// addExtremes adds the answer of extremes.
func (t *tally) addExtremes(all map[string]jsontext.Value) error {
	var least, greatest struct {
		Value *float64 `json:"value"`
	}
	if err := unmarshal(all[t.name(leastName)], &least); err != nil {
		return err
	}
	if err := unmarshal(all[t.name(mostName)], &greatest); err != nil {
		return err
	}
	t.least, t.greatest = extreme(t.least, least.Value, math.Min), extreme(t.greatest, greatest.Value, math.Max)
	return nil
}

// addValues adds the values that one aggregation found. It reports whether they are
// complete.
func (t *tally) addValues(all map[string]jsontext.Value) (whole bool, err error) {
	var c counts
	if err := unmarshal(all[t.name(countsName)], &c); err != nil {
		return false, err
	}
	f := t.facet.Field
	for _, b := range c.Buckets {
		var spelling string
		if err := unmarshal(b.Key, &spelling); err != nil {
			return false, err
		}
		of, there := t.values[spelling]
		if !there {
			of = &bucketSum{}
			t.values[spelling] = of
		}
		of.add(bucketSum{b.Count, b.Measure})
		if !f.List() {
			t.known += b.Count
		}
	}
	if f.IsID() && t.accounts.more == nil {
		t.other += c.Other
		return c.Error == 0, nil
	}
	return c.Error == 0 && c.Other == 0, nil
}

// addBuckets adds the counts of ranges, or the answer of secondAggregations.
func (t *tally) addBuckets(all map[string]jsontext.Value) error {
	var c counts
	if err := unmarshal(all[t.name(countsName)], &c); err != nil {
		return err
	}
	if t.facet.Interval == "" && len(c.Buckets) != len(t.buckets) {
		return fault.BackendUnavailable(fmt.Errorf("%d buckets of %d", len(c.Buckets), len(t.buckets)), "elasticsearch")
	}
	for _, b := range c.Buckets {
		i, err := t.bucketOf(b.Key)
		if err != nil {
			return fault.BackendUnavailable(fmt.Errorf("a bucket that was not asked for: %s", b.Key), "elasticsearch")
		}
		if i < 0 || i >= len(t.buckets) {
			return changed()
		}
		t.buckets[i].add(bucketSum{b.Count, b.Measure})
		if t.facet.Ranges == nil {
			t.known += b.Count
		}
	}
	return nil
}

// bucketOf is the position of the bucket with a key: a time, or the text of the position.
func (t *tally) bucketOf(key jsontext.Value) (int, error) {
	if t.facet.Interval == "" {
		return strconv.Atoi(strings.Trim(string(key), `"`))
	}
	at, err := strconv.ParseInt(string(key), 10, 64)
	return t.first.until(calendarOf(float64(at), t.facet.Interval)), err
}

// literal is a value of the facet's field as a record shows it; null for nil.
func (t *tally) literal(value *float64) jsontext.Value {
	if value == nil {
		return jsontext.Value("null")
	}
	if t.facet.Interval == "" {
		return number(*value)
	}
	return catalog.AppendValue(nil, t.facet.Field, int64(*value))
}

// calendar is the start of a bucket of dates.
type calendar struct {
	begin    time.Time
	interval query.Interval
}

// calendarOf is the bucket that contains an instant, in milliseconds since 1970.
func calendarOf(ms float64, interval query.Interval) calendar {
	t := time.UnixMilli(int64(ms)).UTC()
	year, month, day := t.Date()
	switch interval {
	case query.Day:
	case query.Week:
		day -= (int(t.Weekday()) + 6) % 7 // days since Monday
	case query.Month:
		day = 1
	case query.Quarter:
		month, day = month-(month-1)%3, 1
	case query.Year:
		month, day = time.January, 1
	}
	return calendar{time.Date(year, month, day, 0, 0, 0, 0, time.UTC), interval}
}

// until is the number of buckets from c to a later one.
func (c calendar) until(to calendar) int {
	months := (to.begin.Year()-c.begin.Year())*12 + int(to.begin.Month()-c.begin.Month())
	days := int((to.begin.Unix() - c.begin.Unix()) / (24 * 60 * 60))
	switch c.interval {
	case query.Day:
		return days
	case query.Week:
		return days / 7
	case query.Month:
		return months
	case query.Quarter:
		return months / 3
	case query.Year:
	}
	return months / 12
}

// plus is the bucket n buckets later.
func (c calendar) plus(n int) calendar {
	switch c.interval {
	case query.Day:
		c.begin = c.begin.AddDate(0, 0, n)
	case query.Week:
		c.begin = c.begin.AddDate(0, 0, 7*n)
	case query.Month:
		c.begin = c.begin.AddDate(0, n, 0)
	case query.Quarter:
		c.begin = c.begin.AddDate(0, 3*n, 0)
	case query.Year:
		c.begin = c.begin.AddDate(n, 0, 0)
	}
	return c
}

// literal is the start as in the answer: null, an open end, after the last year that
// filters take.
func (c calendar) literal() jsontext.Value {
	if c.begin.Year() > catalog.LastYear {
		return jsontext.Value("null")
	}
	return catalog.AppendValue(nil, &catalog.Field{Type: catalog.Time}, c.begin.UnixMilli())
}

func tooManyBuckets(facet, n int) fault.Issue {
	return fault.Issue{Code: fault.TooBig, Path: []string{"facets", strconv.Itoa(facet), "interval"},
		Message: fmt.Sprintf("makes %d buckets, more than %d; choose a longer interval or filter by the date", n, query.MaxFacetBuckets)}
}
