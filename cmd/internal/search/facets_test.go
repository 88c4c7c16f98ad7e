package search

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/client"
)

func facetFields() ([]client.Field, error) {
	return []client.Field{
		{Key: "stage", Kind: "enum"}, {Key: "cost", Kind: "number"}, {Key: "filed_at", Kind: "date"},
		{Key: "account_ids", Kind: "text"}, {Key: "has_signal", Kind: "relation"},
	}, nil
}

func TestParseFacet(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"stage":       `{"field":"stage"}`,
		"stage:25":    `{"field":"stage","limit":25}`,
		"account_ids": `{"field":"account_ids"}`,
		"filed_at":    `{"field":"filed_at","interval":"year"}`,
		// The service names the intervals.
		"filed_at:moth":                        `{"field":"filed_at","interval":"moth"}`,
		"cost":                                 `{"field":"cost","buckets":10}`,
		"cost:8":                               `{"field":"cost","buckets":8}`,
		"cost:..9,10..1e6,1..":                 `{"field":"cost","ranges":[[null,9],[10,1000000],[1,null]]}`,
		`{"field":"cost","exclude_own":false}`: `{"field":"cost","exclude_own":false}`,
		`{"field":"city","measure":{"field":"cost","of":"sum"}}`: `{"field":"city","measure":{"field":"cost","of":"sum"}}`,
		`{"field":"city","prefix":"cal"}`:                        `{"field":"city","prefix":"cal"}`,
	} {
		f, err := parseFacet(arg, facetFields)
		got, _ := json.Marshal(f)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", arg, got, err, want)
		}
	}
	for arg, want := range map[string]string{
		"stages": `did you mean "stage"?`, "colour": "no key colour", "has_signal": "no key has_signal",
		"cost:a..b": `"a" is not a number`, "cost:5,6": `"5" is neither`,
		"stage:x": `"x" is neither`, `{"fields":"x"}`: "unknown field", `{`: "is no facet", "": "there is no key",
	} {
		if _, err := parseFacet(arg, facetFields); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
}

// The largest count has the longest bar, and unlisted values have none.
func TestFacetTables(t *testing.T) {
	t.Parallel()
	number := func(n float64) *float64 { return &n }
	label := "Evil\u001b[31m Homes"
	var out bytes.Buffer
	c := Facets{Measure: "sum:cost"}
	if err := c.print(&out, target{name: "projects"}, client.Facets{Count: 1_311, ExportCredits: 1_311, Facets: []client.FacetCounts{
		{
			Field:  "stage",
			Values: []client.ValueCount{{Value: "filed", Label: &label, Count: 1000, Measure: number(1.5)}, {Value: "approved", Count: 1}},
			Other:  3, Unknown: 310,
		},
		{Field: "filed_at", Buckets: []client.BucketCount{
			{From: json.RawMessage(`"2024-01-01T00:00:00.000Z"`), To: json.RawMessage(`"2025-01-01T00:00:00.000Z"`), Count: 2},
			{From: json.RawMessage(`null`), Count: 0},
		}},
		{Field: "city", Values: []client.ValueCount{}},
	}}); err != nil {
		t.Fatal(err)
	}
	want := `1,311 projects match; reading all costs 1,311 credits

stage
VALUE      LABEL            COUNT  SUM_COST  BAR
filed      Evil�[31m Homes  1,000  1.50      ##############################
approved   -                1      -         #
(other)    -                3      -
(unknown)  -                310    -

filed_at
FROM        TO          COUNT  SUM_COST  BAR
2024-01-01  2025-01-01  2      -         ##############################
-           -           0      -

city
VALUE  LABEL  COUNT  SUM_COST  BAR
`
	if diff := cmp.Diff(want, strings.ReplaceAll(out.String(), "█", "#")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
