package search

import (
	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/query"
)

// CompilePivot compiles a pivot with groups of each kind, for golden files.
func CompilePivot(s query.PivotSearch) []byte {
	var axes []pivotAxis
	for i, f := range s.Request.Axes() {
		var counts any = query.ValueCounts{Values: []query.ValueCount{{Value: "a", Count: 2}, {Value: "b", Count: 1}}, Other: 1, Unknown: 1}
		if f.Interval != "" {
			counts = query.BucketCounts{Buckets: []query.BucketCount{{From: jsontext.Value("1")}}}
		}
		axes = append(axes, axisOf(f, query.AxisNames[i][:1], counts, s.Sets))
	}
	return compilePivot(s.Sets, axes, s.Request.Measure)
}
