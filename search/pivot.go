package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

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

// onAxis renames the issues of a facet to those of a pivot.
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
// routing, which is faster but not required.
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

// pivotAxis has the groups of a field while their records are counted.
type pivotAxis struct {
	facet  query.Facet
	prefix string // of the names of its aggregations
	groups []query.PivotGroup
	listed int            // number of groups that come first
	at     map[string]int // the position of a listed group, by its key in Elasticsearch
	keys   []string       // of the listed values
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
