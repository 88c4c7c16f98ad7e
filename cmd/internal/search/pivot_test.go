package search

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/client"
)

func TestPivotTables(t *testing.T) {
	t.Parallel()
	n := func(n float64) *float64 { return &n }
	cell := func(count int64, of *float64) client.PivotCell { return client.PivotCell{Count: count, Measure: of} }
	p := client.Pivot{
		Count: 1005, Measure: n(7.25),
		Rows: &client.PivotAxis{Field: "stage", Groups: []client.PivotGroup{
			{Kind: client.GroupOfValue, Value: "filed", Label: "Evil\u001b[31m Homes", PivotCell: cell(1000, n(1.5))},
			{Kind: client.GroupOfOther, PivotCell: cell(5, nil)},
		}},
		Columns: &client.PivotAxis{Field: "filed_at", Groups: []client.PivotGroup{
			{Kind: client.GroupOfBucket, From: json.RawMessage(`"2024-01-01T00:00:00.000Z"`), PivotCell: cell(1002, n(7))},
			{Kind: client.GroupOfUnknown, PivotCell: cell(3, nil)},
		}},
		Cells: [][]client.PivotCell{{cell(1000, n(2)), cell(0, nil)}, {cell(2, nil), cell(3, nil)}},
	}
	var out bytes.Buffer
	c := Pivot{Measure: "median:cost"}
	if err := c.print(&out, target{name: "projects"}, p); err != nil {
		t.Fatal(err)
	}
	want := `1,005 projects match

STAGE            COUNT  MEDIAN_COST  2024-01-01  (unknown)
Evil�[31m Homes  1,000  1.50         2           -
(other)          5      -            -           -
(all)            1,005  7.25         7           -
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
	p.Rows.Groups[0].Label = "=1+1"
	if err := c.printCSV(&out, p); err != nil {
		t.Fatal(err)
	}
	want = "stage,filed_at,count,measure\n'=1+1,2024-01-01,1000,2\n'=1+1,(unknown),0,\n(other),2024-01-01,2,\n(other),(unknown),3,\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for arg, want := range map[string]string{"stages": "--rows stages: there is no key stages", "stage:x": "--rows stage:x: "} {
		if _, err := pivotBy("--rows", arg, facetFields); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
