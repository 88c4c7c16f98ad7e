package search

import (
	"atlas/search/catalog"
	"atlas/search/query"
)

// medianExact is the compression of the sketches that medians are read from. While a cell
// has few values, Elasticsearch stores them all and its median is exact.
const medianExact = 1_000

// medianName is the aggregation of the median, beside that of the number of values.
const medianName = "median"

// compilePivot returns the body of one search that counts the records of all searches by
// their rows and columns.
func compilePivot(searches []query.Query, axes []pivotAxis, m *query.Measure) []byte {
	c := newCompiler(4096)
	c.raw(`{"query":`)
	if len(searches) > 1 {
		c.raw(`{"bool":{"minimum_should_match":1,"should":[`)
	}
	for _, q := range searches {
		q.DryRun, q.CountOnly = true, true // pivots are free, even for the text of a View
		if len(searches) > 1 && !q.Held {
			c.raw(`{"bool":{"must_not":[`).exists(workspacePath)
			c.raw(`],"filter":[`).condition(q, nil).raw(`]}},`)
			continue
		}
		c.condition(q, nil).raw(`,`)
	}
	c.closeList()
	if len(searches) > 1 {
		c.raw(`]}}`)
	}
	c.raw(`,"size":0,"track_total_hits":true,"aggs":{`)
	measured := func() {
		if m == nil {
			return
		}
		c.text(measureName).raw(`:`)
		path := Root.ExactPath(m.Field)
		if m.Of == query.Median {
			c.b = append(append(c.b, clauseOn("value_count", path)...), ',')
			c.text(medianName).raw(`:{"percentiles":{"field":`).text(path).raw(`,"percents":[50],"keyed":false,"tdigest":{"compression":`)
			c.integer(medianExact).raw(`}}},`)
			return
		}
		c.b = append(append(c.b, clauseOn("stats", path)...), ',')
	}
	measured()
	if len(axes) > 1 {
		c.axis(&axes[1], measured)
	}
	c.axis(&axes[0], func() {
		measured()
		if len(axes) > 1 {
			c.axis(&axes[1], measured)
		}
	})
	c.closeList().raw(`}}`)
	return c.b
}

// axis compiles the groups of an axis, with the aggregations that inner writes in each.
func (c *compiler) axis(a *pivotAxis, inner func()) {
	f := a.facet.Field
	within := func() {
		start := len(c.b)
		c.raw(`,"aggs":{`)
		first := len(c.b)
		if inner(); len(c.b) == first {
			c.b = c.b[:start]
			c.raw(`},`)
			return
		}
		c.closeList().raw(`}},`)
	}
	if a.listed > 0 {
		c.text(a.prefix + axisListed).raw(`:`)
		if a.facet.Interval != "" {
			c.raw(`{"date_histogram":{"field":`).text(Root.ExactPath(f)).raw(`,"calendar_interval":"`)
			c.raw(string(a.facet.Interval)).raw(`","min_doc_count":1}`)
		} else {
			c.raw(`{"terms":{"field":`).text(Root.ExactPath(f)).raw(`,"size":`).integer(len(a.keys)).raw(`,"include":`)
			c.b = catalog.AppendStrings(c.b, a.keys)
			c.raw(`}`)
		}
		within()
	}
	known := query.Exists{Field: f}
	if a.others {
		c.text(a.prefix + axisOthers).raw(`:{"filter":`)
		query.All{known, query.Not{Node: query.Terms{Field: f, Values: a.values}}}.Accept(c)
		within()
	}
	if a.unknown {
		c.text(a.prefix + axisUnknown).raw(`:{"filter":`)
		query.Not{Node: known}.Accept(c)
		within()
	}
}
