package mix

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer/generate"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

// generated draws from a small dataset that is the same each time.
func generated(t *testing.T) Sample {
	t.Helper()
	dir := t.TempDir()
	report, err := generate.Generate(t.Context(), generate.Options{Records: 4_000, Seed: 3, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := DrawSample(dir, report.Records, 5)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSampleReadsTheLinesDrawn(t *testing.T) {
	t.Parallel()
	s := generated(t)
	for _, d := range catalog.Datasets {
		ids := map[any]bool{}
		for _, r := range s[d] {
			ids[r["id"]] = true
		}
		if len(ids) != len(s[d]) || len(ids) < sampleSize/2 || ids[nil] {
			t.Errorf("%s: %d records, %d ids", d, len(s[d]), len(ids))
		}
	}
}

func TestRequestsAreValidDifferentAndTheSameAgain(t *testing.T) {
	t.Parallel()
	from := generated(t)
	const n = 3_000
	first, again := New(from, 9), New(from, 9)
	bodies := map[string]bool{}
	filters, sorts, relations := map[string]bool{}, map[string]bool{}, map[string]bool{}
	limits := map[int]bool{}
	for range n {
		s := first.Next()
		body := s.Encode()
		if d := cmp.Diff(string(body), string(again.Next().Encode())); d != "" {
			t.Fatal("another request from the same seed:", d)
		}
		value, issues := input.Decode(body)
		if len(issues) > 0 {
			t.Fatalf("%s: %v", body, issues)
		}
		q, err := query.Parse(value, s.Dataset, query.Base{Kind: catalog.Data})
		if err != nil {
			t.Fatalf("%s %s: %v", s.Dataset, body, err)
		}
		if q.Limit != s.Limit() {
			t.Errorf("%s has limit %d, said to be %d", body, q.Limit, s.Limit())
		}
		bodies[s.Path()+string(body)] = true
		sorts[string(s.Dataset)+" "+q.Sort.String()] = true
		limits[q.Limit] = true
		collect := func(into map[string]bool, key string) {
			m, _ := s.Body[key].(map[string]any)
			for k := range m {
				into[string(s.Dataset)+" "+k] = true
			}
		}
		collect(filters, "filters")
		collect(relations, "relations")
	}
	if len(bodies) != n {
		t.Errorf("%d different requests of %d", len(bodies), n)
	}
	if !limits[10] || !limits[25] || !limits[100] || len(limits) != 3 {
		t.Errorf("limits: %v", limits)
	}
	var missing []string
	lacks := func(in map[string]bool, what string) {
		if !in[what] {
			missing = append(missing, what)
		}
	}
	for _, d := range catalog.Datasets {
		for _, f := range catalog.FilterFields(d, catalog.Data) {
			if f.Name == "source_id" || f.Name == "source" && d == catalog.Projects {
				continue // generated records are of no permits
			}
			lacks(filters, string(d)+" "+f.Key)
		}
		for _, f := range catalog.SortFields(d, catalog.Data) {
			lacks(sorts, string(d)+" "+f.Name+" asc")
			lacks(sorts, string(d)+" "+f.Name+" desc")
		}
		for _, r := range catalog.RelationsOf(d) {
			lacks(relations, string(d)+" has_"+r.Singular)
			lacks(relations, string(d)+" without_"+r.Singular)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		t.Errorf("never asked for: %q", missing)
	}
}
