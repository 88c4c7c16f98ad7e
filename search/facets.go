package search

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
)

// errChanged is the cause of an error when round trips counted different records.
var errChanged = errors.New("records changed while they were counted")

func changed() error { return fault.BackendUnavailable(errChanged, "elasticsearch") }

// facets is Facets without the cache.
func (e *Engine) facets(ctx context.Context, s query.FacetSearch) (query.Facets, error) {
	facets, err := e.countFacets(ctx, s)
	if errors.Is(err, errChanged) {
		return e.countFacets(ctx, s)
	}
	return facets, err
}

func (e *Engine) countFacets(ctx context.Context, s query.FacetSearch) (query.Facets, error) {
	searches, err := e.prepared(ctx, true, s.Searches()...)
	if err != nil {
		return query.Facets{}, err
	}
	run := facetRun{engine: e, search: s, searches: searches, tallies: make([]tally, len(s.Request.Facets)), counts: map[scopeOf]int64{}}
	for i := range run.tallies {
		f := &s.Request.Facets[i]
		run.tallies[i] = tally{facet: f, number: i, ignores: s.Request.IgnoredBy(*f), values: map[string]*bucketSum{}}
	}
	if err := run.named(ctx); err != nil {
		return query.Facets{}, err
	}
	if err := run.first(ctx); err != nil {
		return query.Facets{}, err
	}
	if err := run.second(ctx); err != nil {
		return query.Facets{}, err
	}
	answer, err := run.answer(ctx)
	if err == nil && answer.Count == 0 {
		answer.NotFound = e.notFound(ctx, searches[:len(s.Sets)]...)
	}
	return answer, err
}

// facetRun is the work on one FacetSearch.
type facetRun struct {
	engine   *Engine
	search   query.FacetSearch
	searches []query.Query // the Sets, then the Overlay
	tallies  []tally
	// counts are the numbers of matching records, equal in all round trips.
	counts map[scopeOf]int64
}

// scopeOf is a scope of one of the searches.
type scopeOf struct{ search, ignored int }

// matching is the number of records that match all filters but the ignored one.
func (r *facetRun) matching(ignored int) (n int64) {
	for search := range r.search.Sets {
		n += r.counts[scopeOf{search, ignored}]
	}
	return n
}

// tally is what was counted for a facet.
type tally struct {
	facet   *query.Facet
	number  int
	ignores int // position of the ignored filter in Own, -1 for none
	// values are the counts by spelling, listed the values in the answer.
	values map[string]*bucketSum
	listed []listedValue
	// accounts are the accounts that a facet by name selects.
	accounts namedAccounts
	other    int64
	// buckets are those of numbers and dates, in their order.
	buckets []bucketSum
	known   int64 // records with a value
	// withValue is known as counted by recount, equal in all its round trips; -1 before.
	withValue int64
	// least and greatest are the lowest and the highest value, nil if there is none.
	least, greatest *float64
	// edges are the ends of the buckets of equal width, one more than buckets.
	edges []float64
	// first is the start of the first bucket of dates.
	first, last calendar
	// cells are the tiles of a Location.
	cells map[tile]*cellSum
}

// on reports whether a search counts for the facet.
func (r *facetRun) on(t *tally, search int) bool {
	if t.facet.Field.Overlay && r.search.Overlay != nil {
		return search == len(r.search.Sets)
	}
	return search < len(r.search.Sets)
}

// first counts everything except the buckets that depend on the lowest and the highest
// value.
func (r *facetRun) first(ctx context.Context) error {
	lists, cells := 0, 0
	for i := range r.tallies {
		if r.tallies[i].facet.Field.Kind == catalog.Geo {
			cells += query.MaxFacetCells + 1
		}
	}
	for search := range r.searches {
		for i := range r.tallies {
			if t := &r.tallies[i]; t.facet.Field.Faceted() && r.on(t, search) {
				lists++
			}
		}
	}
	most := valuesOf(lists, cells)
	answers, err := r.send(ctx, func(t *tally) []aggregation { return t.firstAggregations(most) })
	if err != nil {
		return err
	}
	for i := range r.tallies {
		t := &r.tallies[i]
		exact := true
		var foldings []catalog.Folding
		for search, answer := range answers {
			if !r.on(t, search) {
				continue
			}
			foldings = append(foldings, r.searches[search].Folding)
			whole, err := t.addFirst(answer[t.ignores].aggregations)
			if err != nil {
				return err
			}
			exact = exact && whole
		}
		switch {
		case !exact:
			err = r.recount(ctx, t, most)
		case t.accounts.more != nil:
			err = r.dropUnselected(ctx, t)
		}
		if err != nil {
			return err
		}
		t.list(oldest(foldings))
	}
	return nil
}

// second counts in buckets that begin at the lowest value.
func (r *facetRun) second(ctx context.Context) error {
	var issues []fault.Issue
	needed := false
	for i := range r.tallies {
		t := &r.tallies[i]
		if len(t.cells) > query.MaxFacetCells {
			issues = append(issues, tooManyCells(t.number))
		}
		if t.least == nil || t.facet.Ranges != nil {
			continue
		}
		needed = true
		if t.facet.Interval == "" {
			t.edges = equalWidths(*t.least, *t.greatest, t.facet.Buckets)
			t.buckets = make([]bucketSum, len(t.edges)-1)
			continue
		}
		t.first, t.last = calendarOf(*t.least, t.facet.Interval), calendarOf(*t.greatest, t.facet.Interval)
		n := t.first.until(t.last) + 1
		if n > query.MaxFacetBuckets {
			issues = append(issues, tooManyBuckets(t.number, n))
			continue
		}
		t.buckets = make([]bucketSum, n)
	}
	if issues != nil {
		return fault.Validation(issues...)
	}
	if !needed {
		return nil
	}
	answers, err := r.send(ctx, func(t *tally) []aggregation { return t.secondAggregations() })
	if err != nil {
		return err
	}
	for i := range r.tallies {
		t := &r.tallies[i]
		if t.buckets == nil || t.facet.Ranges != nil {
			continue
		}
		least, greatest := *t.least, *t.greatest
		t.least, t.greatest = nil, nil
		for search, answer := range answers {
			if r.on(t, search) {
				if err := cmp.Or(t.addExtremes(answer[t.ignores].aggregations), t.addBuckets(answer[t.ignores].aggregations)); err != nil {
					return err
				}
			}
		}
		if t.least == nil || *t.least != least || *t.greatest != greatest {
			return changed()
		}
	}
	return nil
}

// send runs the aggregations of the facets in one round trip. The answers are by search
// and by the position of the ignored filter.
func (r *facetRun) send(ctx context.Context, of func(t *tally) []aggregation) ([]map[int]scope, error) {
	own := len(r.search.Request.Own)
	requests := make([]request, len(r.searches))
	scopes := make([][]scopeRequest, len(r.searches))
	for search, q := range r.searches {
		byIgnored := map[int][]aggregation{-1: nil}
		for i := range r.tallies {
			t := &r.tallies[i]
			byIgnored[t.ignores] = slices.Clip(byIgnored[t.ignores])
			if r.on(t, search) {
				byIgnored[t.ignores] = append(byIgnored[t.ignores], of(t)...)
			}
		}
		for _, ignored := range slices.Sorted(maps.Keys(byIgnored)) {
			scopes[search] = append(scopes[search], scopeRequest{ignored, byIgnored[ignored]})
		}
		requests[search] = r.engine.at(q, compileFacets(q, own, scopes[search]))
	}
	results, err := r.engine.multi(ctx, requests...)
	if err != nil {
		return nil, err
	}
	answers := make([]map[int]scope, len(results))
	for i, result := range results {
		if answers[i], err = scopesOf(result, own, scopes[i]); err != nil {
			return nil, err
		}
		for ignored, scope := range answers[i] {
			at := scopeOf{i, ignored}
			if count, before := r.counts[at]; before && count != scope.count {
				return nil, changed()
			}
			r.counts[at] = scope.count
		}
	}
	return answers, nil
}

// Elasticsearch lists at most 65,536 buckets of all facets together, and orders truncated
// lists of several shards only approximately.
const (
	// valuesAtOnce is how many spellings one aggregation lists. A field with more is
	// counted in partitions.
	valuesAtOnce = 10_000
	// valuesInAll is how many spellings all aggregations of a round trip list together.
	// Buckets of ranges come on top.
	valuesInAll = 60_000
	// mostPartitions bounds the work for one field.
	mostPartitions = 4_096
	// allValues is more than a field has: every shard then sends all its values.
	allValues = 1 << 30
)

// valuesOf is how many spellings each of n aggregations of a round trip lists, besides the
// given number of cells.
func valuesOf(n, cells int) int { return min(valuesAtOnce, (valuesInAll-cells)/max(n, 1)) }

// recount counts the values of a facet if the first round trip, which listed at most the
// given number, did not list all of them.
func (r *facetRun) recount(ctx context.Context, t *tally, listed int) error {
	t.withValue = -1
	if t.facet.Field.List() {
		t.withValue = t.known
	}
	if t.accounts.more != nil {
		return r.countNamed(ctx, t)
	}
	if t.facet.Field.IsID() {
		for _, perShard := range []int{100 * query.MaxFacetValues, allValues} {
			t.clear()
			if whole, err := r.count1(ctx, t, t.topValues(perShard)); whole || err != nil {
				return err
			}
		}
		return inexact()
	}
	most := valuesOf(len(r.searches), 0)
	n := 1
	if listed >= most {
		n = 8
	}
	for ; n <= mostPartitions; n *= 8 {
		complete := true
		t.clear()
		for i := 0; i < n && complete; i++ {
			whole, err := r.count1(ctx, t, t.allValues(i, n, most))
			if err != nil {
				return err
			}
			complete = whole
		}
		if complete && t.known != t.withValue {
			return changed()
		}
		if complete {
			return nil
		}
	}
	return inexact()
}

func inexact() error {
	return fault.BackendUnavailable(errors.New("the values of a field cannot be counted exactly"), "elasticsearch")
}

// count1 adds the values that one aggregation finds, and reports whether these are all.
func (r *facetRun) count1(ctx context.Context, t *tally, a aggregation) (bool, error) {
	answers, err := r.send(ctx, func(other *tally) []aggregation {
		if other != t {
			return nil
		}
		return []aggregation{a, t.withValueAggregation()}
	})
	if err != nil {
		return false, err
	}
	complete, withValue := true, int64(0)
	for search, answer := range answers {
		if r.on(t, search) {
			whole, err := t.addValues(answer[t.ignores].aggregations)
			if err != nil {
				return false, err
			}
			n, err := t.withValueOf(answer[t.ignores].aggregations)
			if err != nil {
				return false, err
			}
			complete = complete && whole
			withValue += n
		}
	}
	if t.withValue >= 0 && t.withValue != withValue {
		return false, changed()
	}
	t.withValue = withValue
	return complete, nil
}

// answer builds the answer from the counts.
func (r *facetRun) answer(ctx context.Context) (query.Facets, error) {
	names, err := r.accountNames(ctx)
	if err != nil {
		return query.Facets{}, err
	}
	count := r.matching(-1)
	out := query.Facets{Count: count, ExportCredits: count, Facets: make([]any, len(r.tallies))}
	for i := range r.tallies {
		t := &r.tallies[i]
		unknown := r.matching(t.ignores) - t.known
		if unknown < 0 { // overlay values are counted in other documents
			return query.Facets{}, changed()
		}
		switch {
		case t.facet.Field.Faceted():
			out.Facets[i] = t.valueCounts(unknown, names)
		case t.facet.Field.Kind == catalog.Geo:
			out.Facets[i] = t.geoCounts(unknown)
		default:
			out.Facets[i] = t.bucketCounts(unknown)
		}
	}
	return out, nil
}

// accountNames returns the names of the accounts that facets list by id.
func (r *facetRun) accountNames(ctx context.Context) (map[string]string, error) {
	var ids []string
	for _, t := range r.tallies {
		if t.facet.Field.IsID() {
			for _, v := range t.listed {
				ids = append(ids, v.value)
			}
		}
	}
	slices.Sort(ids)
	return r.engine.namesOf(ctx, slices.Compact(ids))
}

// list orders the values, folded by a version, and cuts the list.
func (t *tally) list(by catalog.Folding) {
	if !t.facet.Field.Faceted() {
		return
	}
	t.listed = t.listed[:0]
	byValue := map[string]int{}
	for spelling, sum := range t.values {
		value := t.facet.Field.FacetValue(spelling, by)
		// The typed prefix is compared in memory, by the newest folding.
		if !t.facet.Field.IsID() && !t.facet.Matches(t.facet.Field.FacetValue(spelling, catalog.NewestFolding)) {
			continue
		}
		i, there := byValue[value]
		if !there {
			i = len(t.listed)
			byValue[value] = i
			t.listed = append(t.listed, listedValue{value: value})
		}
		t.listed[i].add(spelling, sum)
	}
	slices.SortFunc(t.listed, func(a, b listedValue) int {
		return cmp.Or(cmp.Compare(b.sum.count, a.sum.count), cmp.Compare(a.value, b.value))
	})
	for _, v := range t.listed[min(t.facet.Limit, len(t.listed)):] {
		t.other += v.sum.count
	}
	t.listed = t.listed[:min(t.facet.Limit, len(t.listed))]
}

// listedValue is a value with its most frequent spelling.
type listedValue struct {
	value    string
	spelling string
	most     int64 // records with the spelling
	sum      bucketSum
}

func (v *listedValue) add(spelling string, sum *bucketSum) {
	if sum.count > v.most || sum.count == v.most && spelling < v.spelling {
		v.spelling, v.most = spelling, sum.count
	}
	v.sum.add(*sum)
}

func (t *tally) valueCounts(unknown int64, names map[string]string) query.ValueCounts {
	f := t.facet.Field
	out := query.ValueCounts{Field: f.Key, Values: make([]query.ValueCount, len(t.listed)), Other: t.other, Unknown: unknown}
	for i, v := range t.listed {
		label := &v.spelling
		switch {
		case f.Vocabulary != nil:
			label = new(f.Vocabulary.Label(v.value))
		case f.IsID():
			label = nil
			if name, known := names[v.value]; known {
				label = &name
			}
		}
		out.Values[i] = query.ValueCount{Value: v.value, Label: label, Count: v.sum.count, Measure: v.sum.measure(t.facet.Measure)}
	}
	return out
}

func (t *tally) bucketCounts(unknown int64) query.BucketCounts {
	out := query.BucketCounts{
		Field: t.facet.Field.Key, Buckets: []query.BucketCount{}, Unknown: unknown, Min: t.literal(t.least),
		Max: t.literal(t.greatest),
	}
	for i := range t.buckets {
		b := query.BucketCount{Count: t.buckets[i].count, Measure: t.buckets[i].measure(t.facet.Measure)}
		b.From, b.To = t.ends(i)
		out.Buckets = append(out.Buckets, b)
	}
	return out
}

// ends are the ends of a bucket as in the answer.
func (t *tally) ends(i int) (from, to jsontext.Value) {
	switch {
	case t.facet.Ranges != nil:
		return t.facet.Ranges[i].From, t.facet.Ranges[i].To
	case t.facet.Interval != "":
		return t.first.plus(i).literal(), t.first.plus(i + 1).literal()
	}
	return t.literal(&t.edges[i]), t.literal(&t.edges[i+1])
}
