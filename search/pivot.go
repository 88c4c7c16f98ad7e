package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
)

// Pivot counts the records of a request by one field or two. All counts are exact. Errors:
// InvalidInput for more than query.MaxPivotCells; Unavailable as for Facets.
func (e *Engine) Pivot(ctx context.Context, s query.PivotSearch) (query.Pivot, error) {
	var indices []string
	for _, q := range s.Sets {
		indices = append(indices, e.at(q, nil).index)
	}
	version, err := e.versionOf(ctx, indices...)
	if err != nil {
		return query.Pivot{}, err
	}
	folded := slices.ContainsFunc(s.Request.Axes(), func(f query.Facet) bool { return f.Field.Folded() })
	return resultOf(ctx, e, operation[query.Pivot]{
		workspace: s.Workspace, key: keyOf(version, func(w io.Writer) { describePivot(w, s) }), counts: true, size: bytesOfPivot,
		run: func(ctx context.Context) (query.Pivot, error) {
			return inFoldings(ctx, e, folded, s.Sets, func(sets []query.Query) (query.Pivot, error) {
				s := s
				s.Sets = sets
				p, err := e.pivot(ctx, s)
				if errors.Is(err, errChanged) {
					return e.pivot(ctx, s)
				}
				return p, err
			})
		},
	})
}

// pivot lists the groups as facets do, then counts the cells in a second search.
func (e *Engine) pivot(ctx context.Context, s query.PivotSearch) (query.Pivot, error) {
	searches, err := e.prepared(ctx, true, s.Sets...)
	if err != nil {
		return query.Pivot{}, err
	}
	listed, err := e.countFacets(ctx, query.FacetSearch{
		Request:   query.FacetRequest{Query: s.Request.Query, Facets: s.Request.Axes()},
		Workspace: s.Workspace, Sets: searches,
	})
	if err != nil {
		return query.Pivot{}, onAxis(err)
	}
	axes := make([]pivotAxis, len(listed.Facets))
	out := query.Pivot{Count: listed.Count, ExportCredits: listed.ExportCredits, CellCount: 1, NotFound: listed.NotFound}
	for i, facet := range s.Request.Axes() {
		axes[i] = axisOf(facet, query.AxisNames[i][:1], listed.Facets[i], s.Sets)
		out.CellCount *= axes[i].listed
	}
	out.Tokens = query.PivotTokens(out.CellCount)
	if out.CellCount > query.MaxPivotCells {
		return query.Pivot{}, tooManyPivotCells(axes)
	}
	if s.Request.DryRun {
		return out, nil
	}
	results, err := e.multi(ctx, e.union(searches, compilePivot(searches, axes, s.Request.Measure)))
	if err != nil {
		return query.Pivot{}, err
	}
	if results[0].total == nil {
		return query.Pivot{}, fault.BackendUnavailable(errors.New("a pivot without a total"), "elasticsearch")
	}
	if int64(*results[0].total) != out.Count {
		return query.Pivot{}, changed()
	}
	return out, decodePivot(&out, axes, s.Request.Measure, results[0].aggregations)
}

// onAxis gives the issues of a facet the names that a pivot has for it.
func onAxis(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.InvalidInput {
		return err
	}
	issues := slices.Clone(e.Issues)
	for i, issue := range issues {
		if len(issue.Path) > 1 && issue.Path[0] == "facets" {
			issues[i].Path = append([]string{query.AxisNames[issue.Path[1][0]-'0']}, issue.Path[2:]...)
		}
	}
	return fault.Validation(issues...)
}

func tooManyPivotCells(axes []pivotAxis) error {
	columns := 1
	if len(axes) > 1 {
		columns = axes[1].listed
	}
	at := "rows"
	if columns > axes[0].listed {
		at = "columns"
	}
	return fault.Validation(fault.Issue{Code: fault.TooBig, Path: []string{at}, Message: query.TooManyCells(axes[0].listed, columns)})
}

// union is one search of the records of several bases. Only searches of held records have
// routing, which is an advantage and no condition.
func (e *Engine) union(searches []query.Query, body []byte) request {
	r := e.at(searches[0], body)
	for _, q := range searches[1:] {
		other := e.at(q, nil)
		if !strings.Contains(","+r.index+",", ","+other.index+",") {
			r.index += "," + other.index
		}
		if other.routing != r.routing {
			r.routing = ""
		}
	}
	return r
}

// pivotAxis are the groups of a field while their records are counted.
type pivotAxis struct {
	facet  query.Facet
	prefix string // of the names of its aggregations
	groups []query.PivotGroup
	listed int            // of the groups, which come first
	at     map[string]int // the place of a listed group, by its key in Elasticsearch
	keys   []string       // those of the listed values
	values []string       // the listed values
	// others and unknown mean that there are such records.
	others, unknown bool
}

// axisOf are the groups that a facet lists.
func axisOf(f query.Facet, prefix string, counts any, sets []query.Query) pivotAxis {
	a := pivotAxis{facet: f, prefix: prefix, at: map[string]int{}}
	switch counts := counts.(type) {
	case query.ValueCounts:
		for i, v := range counts.Values {
			g := query.PivotGroup{Kind: query.GroupValue, Value: v.Value, PivotCell: query.PivotCell{Count: v.Count}}
			if v.Label != nil {
				g.Label = *v.Label
			}
			a.groups, a.values = append(a.groups, g), append(a.values, v.Value)
			for _, q := range sets {
				key := v.Value
				if f.Field.Folded() {
					key = catalog.ExactValue(*f.Field, q.Folding.Fold(v.Value))
				}
				if _, there := a.at[key]; !there {
					a.at[key], a.keys = i, append(a.keys, key)
				}
			}
		}
		a.others, a.unknown = counts.Other > 0, counts.Unknown > 0
	case query.BucketCounts:
		for i, b := range counts.Buckets {
			g := query.PivotGroup{Kind: query.GroupBucket, From: b.From, To: b.To, PivotCell: query.PivotCell{Count: b.Count}}
			a.groups, a.at[string(b.From)] = append(a.groups, g), i
		}
		a.unknown = counts.Unknown > 0
	}
	a.listed = len(a.groups)
	if a.others {
		a.groups = append(a.groups, query.PivotGroup{Kind: query.GroupOther})
	}
	if a.unknown {
		a.groups = append(a.groups, query.PivotGroup{Kind: query.GroupUnknown})
	}
	return a
}

func bytesOfPivot(p query.Pivot) int {
	bytes := len(p.DidYouMean)
	for _, word := range p.Missing {
		bytes += countBytes + len(word)
	}
	for _, axis := range []*query.PivotAxis{p.Rows, p.Columns} {
		if axis == nil {
			continue
		}
		for _, g := range axis.Groups {
			bytes += countBytes + len(g.Value) + len(g.Label)
		}
	}
	for _, row := range p.Cells {
		for _, cell := range row {
			bytes += countBytes/2 + len(cell.Measure)
		}
	}
	return bytes
}

func describePivot(w io.Writer, s query.PivotSearch) {
	describeFacets(w, query.FacetSearch{Request: query.FacetRequest{Facets: s.Request.Axes()}, Sets: s.Sets})
	_, _ = fmt.Fprintf(w, "\npivot %t", s.Request.DryRun)
	if m := s.Request.Measure; m != nil {
		_, _ = fmt.Fprintf(w, " %s %s", m.Of, m.Field)
	}
}

// Names of the aggregations of an axis, after its prefix.
const (
	axisListed  = "l"
	axisOthers  = "o"
	axisUnknown = "u"
)

// medianExact is the compression of the sketches that medians are read from. Elasticsearch
// keeps all values of a cell while they are few, and its median is exact then.
const medianExact = 1_000

// medianName is the aggregation of the median, beside that of how many values it is of.
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
		q.DryRun, q.CountOnly = true, true // nothing is charged, also not for the text of a View
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

// decodePivot reads the answer to a body of compilePivot.
func decodePivot(out *query.Pivot, axes []pivotAxis, m *query.Measure, raw jsontext.Value) error {
	all := map[string]jsontext.Value{}
	if len(raw) > 0 {
		if err := unmarshal(raw, &all); err != nil {
			return err
		}
	}
	total, err := cellOf(out.Count, all, m)
	if err != nil {
		return err
	}
	out.Measure = total.Measure
	rows, within, err := axes[0].read(all, m)
	if err != nil {
		return err
	}
	out.Rows = rows
	if len(axes) == 1 {
		out.Rows, _ = axes[0].withRecords(rows, nil)
		return nil
	}
	columns, _, err := axes[1].read(all, m)
	if err != nil {
		return err
	}
	cells := make([][]query.PivotCell, len(rows.Groups))
	for i := range cells {
		cells[i] = make([]query.PivotCell, len(columns.Groups))
		if within[i] == nil { // no record: an empty bucket of dates
			for j := range cells[i] {
				if m != nil {
					cells[i][j].Measure = jsontext.Value("null")
				}
			}
			continue
		}
		of, _, err := axes[1].cells(within[i], m)
		if err != nil {
			return err
		}
		cells[i] = of
	}
	out.Rows, cells = axes[0].withRecords(rows, cells)
	var keep []int
	kept, _ := axes[1].withRecords(columns, nil)
	for j := range columns.Groups {
		if j < axes[1].listed || columns.Groups[j].Count > 0 {
			keep = append(keep, j)
		}
	}
	for i, row := range cells {
		cells[i] = make([]query.PivotCell, 0, len(keep))
		for _, j := range keep {
			cells[i] = append(cells[i], row[j])
		}
	}
	out.Columns, out.Cells = kept, cells
	return nil
}

// read returns the groups with all of their records, which are as many as were listed, and
// the aggregations within each.
func (a *pivotAxis) read(all map[string]jsontext.Value, m *query.Measure) (*query.PivotAxis, []map[string]jsontext.Value, error) {
	cells, within, err := a.cells(all, m)
	if err != nil {
		return nil, nil, err
	}
	axis := &query.PivotAxis{Field: a.facet.Field.Key, Groups: slices.Clone(a.groups)}
	for i := range axis.Groups {
		g := &axis.Groups[i]
		if i < a.listed && g.Count != cells[i].Count {
			return nil, nil, changed()
		}
		g.PivotCell = cells[i]
	}
	return axis, within, nil
}

// withRecords leaves out the others if each of them has a listed value too, with their row.
func (a *pivotAxis) withRecords(axis *query.PivotAxis, rows [][]query.PivotCell) (*query.PivotAxis, [][]query.PivotCell) {
	kept := &query.PivotAxis{Field: axis.Field, Groups: []query.PivotGroup{}}
	var of [][]query.PivotCell
	for i, g := range axis.Groups {
		if i >= a.listed && g.Count == 0 {
			continue
		}
		kept.Groups = append(kept.Groups, g)
		if rows != nil {
			of = append(of, rows[i])
		}
	}
	if rows != nil && of == nil {
		of = [][]query.PivotCell{}
	}
	return kept, of
}

// cells are the numbers of records of the groups, with the aggregations within each.
func (a *pivotAxis) cells(all map[string]jsontext.Value, m *query.Measure) ([]query.PivotCell, []map[string]jsontext.Value, error) {
	cells, within := make([]query.PivotCell, len(a.groups)), make([]map[string]jsontext.Value, len(a.groups))
	if m != nil {
		for i := range cells {
			cells[i].Measure = jsontext.Value("null")
		}
	}
	put := func(i int, bucket map[string]jsontext.Value) (err error) {
		var count int64
		if err := unmarshal(bucket["doc_count"], &count); err != nil {
			return err
		}
		if within[i] != nil { // two spellings of two foldings
			return changed()
		}
		within[i] = bucket
		cells[i], err = cellOf(count, bucket, m)
		return err
	}
	if a.listed > 0 {
		var listed struct {
			Buckets []map[string]jsontext.Value `json:"buckets"`
			Error   int64                       `json:"doc_count_error_upper_bound"`
		}
		if err := unmarshal(all[a.prefix+axisListed], &listed); err != nil {
			return nil, nil, err
		}
		if listed.Error != 0 {
			return nil, nil, inexact()
		}
		for _, b := range listed.Buckets {
			key, err := a.keyOf(b["key"])
			if err != nil {
				return nil, nil, err
			}
			i, there := a.at[key]
			if !there {
				return nil, nil, changed()
			}
			if err := put(i, b); err != nil {
				return nil, nil, err
			}
		}
	}
	next := a.listed
	for _, one := range []struct {
		there bool
		name  string
	}{{a.others, axisOthers}, {a.unknown, axisUnknown}} {
		if !one.there {
			continue
		}
		bucket := map[string]jsontext.Value{}
		if err := unmarshal(all[a.prefix+one.name], &bucket); err != nil {
			return nil, nil, err
		}
		if err := put(next, bucket); err != nil {
			return nil, nil, err
		}
		next++
	}
	return cells, within, nil
}

// keyOf is the key of a bucket as pivotAxis.at has it.
func (a *pivotAxis) keyOf(raw jsontext.Value) (key string, err error) {
	if a.facet.Interval == "" {
		return key, unmarshal(raw, &key)
	}
	var ms int64
	err = unmarshal(raw, &ms)
	return string(calendarOf(float64(ms), a.facet.Interval).literal()), err
}

// cellOf is a number of records with the measure that was computed of them.
func cellOf(count int64, all map[string]jsontext.Value, m *query.Measure) (query.PivotCell, error) {
	cell := query.PivotCell{Count: count}
	if m == nil {
		return cell, nil
	}
	cell.Measure = jsontext.Value("null")
	if count < query.MinMeasured {
		return cell, nil
	}
	if m.Of != query.Median {
		var s stats
		err := unmarshal(all[measureName], &s)
		if s.Count >= query.MinMeasured {
			cell.Measure = bucketSum{count, s}.measure(m)
		}
		return cell, err
	}
	var known struct {
		Value int64 `json:"value"`
	}
	if err := unmarshal(all[measureName], &known); err != nil || known.Value < query.MinMeasured {
		return cell, err
	}
	var median struct {
		Values []struct {
			Value *float64 `json:"value"`
		} `json:"values"`
	}
	err := unmarshal(all[medianName], &median)
	if err == nil && len(median.Values) == 1 && median.Values[0].Value != nil {
		cell.Measure = number(*median.Values[0].Value)
	}
	return cell, err
}
