package search

import (
	"math"
	"slices"
	"strconv"

	"atlas/search/catalog"
	"atlas/search/query"
)

// aggregation is an aggregation of Elasticsearch with its name in the answer.
type aggregation struct {
	name string
	body clause
}

// scopeRequest has the aggregations over the records that match all filters of Own except
// the one at position ignored, -1 for none.
type scopeRequest struct {
	ignored      int
	aggregations []aggregation
}

// Names of the aggregations of a facet, before its number.
const (
	countsName = "f" // the counts of the values or buckets
	knownName  = "k" // how many records have a value
	leastName  = "l"
	mostName   = "m"
	scopeName  = "s" // of a filter on Own, before the position of the ignored filter
	// measureName is that of the sum, the number and the extremes of a measure.
	measureName = "measure"
)

func (t *tally) name(prefix string) string { return prefix + strconv.Itoa(t.number) }

// compileFacets returns the body of a search that counts the records of q. The last own
// conditions of q.Where apply within the scopes.
func compileFacets(q query.Query, own int, scopes []scopeRequest) []byte {
	filters := q.Where[len(q.Where)-own:]
	q.Where = q.Where[:len(q.Where)-own]
	q.DryRun = true // facets are free, even for the text of a View
	q.CountOnly = true
	c := newCompiler(2048)
	c.raw(`{"query":`).condition(q, nil)
	c.raw(`,"size":0,"track_total_hits":true,"aggs":{`)
	for _, s := range scopes {
		if s.isWhole(own) {
			c.aggregations(s.aggregations)
			continue
		}
		within := query.All(filters)
		if s.ignored >= 0 {
			within = slices.Delete(slices.Clone(within), s.ignored, s.ignored+1)
		}
		c.text(s.name()).raw(`:{"filter":`)
		within.Accept(c)
		if s.aggregations != nil {
			c.raw(`,"aggs":{`)
			c.aggregations(s.aggregations)
			c.closeList().raw(`}`)
		}
		c.raw(`},`)
	}
	c.closeList().raw(`}}`)
	return c.b
}

// isWhole reports whether the scope applies no filter.
func (s scopeRequest) isWhole(own int) bool { return own == 0 || own == 1 && s.ignored == 0 }

func (s scopeRequest) name() string { return scopeName + strconv.Itoa(s.ignored) }

// closeList removes the comma after the last member.
func (c *compiler) closeList() *compiler {
	if last := len(c.b) - 1; c.b[last] == ',' {
		c.b = c.b[:last]
	}
	return c
}

func (c *compiler) aggregations(all []aggregation) {
	for _, a := range all {
		c.text(a.name).raw(`:`)
		c.b = append(append(c.b, a.body...), ',')
	}
}

// extremes are the lowest and the highest value.
func (t *tally) extremes() []aggregation {
	path := Root.ExactPath(t.facet.Field)
	return []aggregation{{t.name(leastName), clauseOn("min", path)}, {t.name(mostName), clauseOn("max", path)}}
}

// firstAggregations are those of the first round trip. They list up to most spellings.
func (t *tally) firstAggregations(most int) []aggregation {
	f := t.facet.Field
	if f.Kind == catalog.Geo {
		return []aggregation{t.cellCounts()}
	}
	if !f.Faceted() {
		all := t.extremes()
		if t.facet.Ranges != nil {
			nodes := make([]query.Node, len(t.facet.Ranges))
			for i, r := range t.facet.Ranges {
				nodes[i] = r.Node
			}
			all = append(all, aggregation{t.name(countsName), t.ranges(nodes)}, t.withValueAggregation())
		}
		return all
	}
	all := []aggregation{t.allValues(0, 1, most)}
	switch {
	case t.accounts.more != nil:
		all[0] = t.allValues(0, 1, min(most, t.accounts.listed))
	case f.IsID():
		all[0] = t.topValues(0)
	}
	if f.List() {
		all = append(all, t.withValueAggregation()) // one record is in several buckets
	}
	return all
}

// withValueAggregation counts the records with a value.
func (t *tally) withValueAggregation() aggregation {
	c := newCompiler(64)
	c.raw(`{"filter":`).exists(Root.SpellingPath(t.facet.Field))
	return aggregation{t.name(knownName), c.raw(`}`).b}
}

// allValues counts up to most of all spellings, or of those of one of several partitions.
func (t *tally) allValues(partition, of, most int) aggregation {
	c := newCompiler(128)
	c.raw(`{"terms":{"field":`).text(Root.SpellingPath(t.facet.Field)).raw(`,"size":`).integer(most)
	if of > 1 {
		c.raw(`,"include":{"partition":`).integer(partition).raw(`,"num_partitions":`).integer(of).raw(`}`)
	}
	return aggregation{t.name(countsName), t.measured(c.raw(`}`))}
}

// topValues counts the most frequent values among those that the facet selects. Each shard
// sends the first perShard, 0 for Elasticsearch's default.
func (t *tally) topValues(perShard int) aggregation {
	return t.topAmong(t.accounts.ids, perShard)
}

// topAmong is topValues of some of the ids that the facet selects by name.
func (t *tally) topAmong(ids []string, perShard int) aggregation {
	c := newCompiler(128)
	c.raw(`{"terms":{"field":`).text(Root.ExactPath(t.facet.Field)).raw(`,"size":`).integer(t.facet.Limit)
	if perShard > 0 {
		c.raw(`,"shard_size":`).integer(perShard)
	}
	if t.byName() {
		if len(ids) == 0 {
			ids = []string{"-"} // is not an id
		}
		c.raw(`,"include":`)
		c.b = catalog.AppendStrings(c.b, ids)
	}
	return aggregation{t.name(countsName), t.measured(c.raw(`}`))}
}

// secondAggregations are those of the second round trip. The lowest and the highest value
// are counted a second time, so that they belong to the same records as the buckets.
func (t *tally) secondAggregations() []aggregation {
	f := t.facet.Field
	switch {
	case t.buckets == nil || t.facet.Ranges != nil:
		return nil
	case t.facet.Interval != "":
		c := newCompiler(128)
		c.raw(
			`{"date_histogram":{"field":`,
		).text(Root.ExactPath(f)).raw(`,"calendar_interval":"`).raw(string(t.facet.Interval)).raw(`","min_doc_count":1}`)
		return append(t.extremes(), aggregation{t.name(countsName), t.measured(c)})
	}
	nodes := make([]query.Node, len(t.buckets))
	for i := range nodes {
		nodes[i] = halfOpen(f, t.edges, i)
	}
	return append(t.extremes(), aggregation{t.name(countsName), t.ranges(nodes)})
}

// ranges counts the records in each range, with the range's number as the key. Nodes are
// Ranges, or never match.
func (t *tally) ranges(nodes []query.Node) clause {
	c := newCompiler(64 * len(nodes))
	path := Root.ExactPath(t.facet.Field)
	from, to := make([]float64, len(nodes)), make([]float64, len(nodes))
	for i, n := range nodes {
		r, possible := n.(query.Range)
		if !possible {
			continue // an empty range, from 0 to before 0
		}
		var exact bool
		if from[i], to[i], exact = halfOpenDoubles(r); !exact {
			c.raw(`{"filters":{"filters":{`)
			for i, n := range nodes {
				c.raw(`"`).integer(i).raw(`":`)
				n.Accept(c)
				c.raw(`,`)
			}
			return t.measured(c.closeList().raw(`},"keyed":false}`))
		}
	}
	c.raw(`{"range":{"field":`).text(path).raw(`,"ranges":[`)
	for i := range nodes {
		c.raw(`{"key":"`).integer(i).raw(`","from":`)
		c.b = strconv.AppendFloat(c.b, from[i], 'g', -1, 64)
		if !math.IsInf(to[i], 1) {
			c.b = strconv.AppendFloat(c.raw(`,"to":`).b, to[i], 'g', -1, 64)
		}
		c.raw(`},`)
	}
	return t.measured(c.closeList().raw(`]}`))
}

// halfOpenDoubles returns a range as half-open doubles, an unbounded end as +Inf. It
// returns false for ends that doubles do not represent exactly, because a range aggregation
// compares doubles. It takes a fifth of the time of one filter for each range.
func halfOpenDoubles(r query.Range) (from, to float64, exact bool) {
	const highestExact = 1 << 53
	from, to = -math.MaxFloat64, math.Inf(1)
	integers := r.Field.Type == catalog.Integer
	if !r.From.Open() {
		from, _ = strconv.ParseFloat(r.From.String(), 64)
		if integers && math.Abs(from) >= highestExact {
			return 0, 0, false
		}
	}
	if r.To.Open() {
		return from, to, true
	}
	last, _ := strconv.ParseFloat(r.To.String(), 64)
	if integers {
		return from, last + 1, math.Abs(last) < highestExact
	}
	return from, math.Nextafter(last, math.Inf(1)), true
}

// measured closes an aggregation, with that of the measure inside.
func (t *tally) measured(c *compiler) clause {
	if m := t.facet.Measure; m != nil {
		c.raw(`,"aggs":{"` + measureName + `":`)
		c.b = append(c.b, clauseOn("stats", Root.ExactPath(m.Field))...)
		c.raw(`}`)
	}
	return c.raw(`}`).b
}

func clauseOn(kind, path string) clause {
	c := newCompiler(64)
	return c.raw(`{"`).raw(kind).raw(`":{"field":`).text(path).raw(`}}`).b
}

// equalWidths are the ends of n buckets of equal width, or of one bucket if there is only
// one value.
func equalWidths(least, greatest float64, n int) []float64 {
	if least == greatest {
		return []float64{least, greatest}
	}
	width := (greatest - least) / float64(n)
	edges := make([]float64, n+1)
	for i := range n {
		edges[i] = least + float64(i)*width
		if math.IsInf(width, 1) {
			part := float64(i) / float64(n)
			edges[i] = least*(1-part) + greatest*part
		}
	}
	edges[n] = greatest
	return edges
}

// halfOpen is the condition of bucket i. The first and the last bucket are open, so that
// no value is lost that a double does not represent exactly.
func halfOpen(f *catalog.Field, edges []float64, i int) query.Node {
	var from, to query.Bound
	lowest, highest := edges[i], edges[i+1]
	empty := i > 0 && i < len(edges)-2 && lowest >= highest
	if f.Type == catalog.Integer {
		first, last := int64(math.Ceil(lowest)), int64(math.Ceil(highest))-1
		from, to = query.IntegerBound(first), query.IntegerBound(last)
		empty = i > 0 && i < len(edges)-2 && first > last
	} else {
		from, to = query.DoubleBound(lowest), query.DoubleBound(math.Nextafter(highest, math.Inf(-1)))
	}
	if i == 0 {
		from = query.Bound{}
	}
	if i == len(edges)-2 {
		to = query.Bound{}
	}
	if empty {
		return query.Any{}
	}
	return query.Range{Field: f, From: from, To: to}
}
