package search_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"atlas/internal/devstack/backends"
	"atlas/internal/input"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// facets asks for facets of the Data API.
func facets(t testing.TB, e *search.Engine, d catalog.Dataset, body map[string]any) (query.Facets, error) {
	t.Helper()
	r, err := facetRequest(t, d, body)
	if err != nil {
		return query.Facets{}, err
	}
	return e.Facets(t.Context(), query.FacetSearch{Request: r, Sets: []query.Query{r.Query}})
}

func facetRequest(t testing.TB, d catalog.Dataset, body map[string]any) (query.FacetRequest, error) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	v, issues := input.Decode(text)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	return query.FacetRule(d, catalog.Data).Parse(v)
}

// publicRows are the records of a world as clients see them, by filter keys.
func publicRows(t testing.TB, w *searchtest.World, d catalog.Dataset) map[string]searchtest.Row {
	t.Helper()
	rows := map[string]searchtest.Row{}
	for _, doc := range w.Documents()[d] {
		var row searchtest.Row
		if err := json.Unmarshal(document.Public(doc.Body), &row); err != nil {
			t.Fatal(err)
		}
		for _, f := range catalog.Fields(d) {
			row[f.Key] = row[f.Name]
		}
		rows[doc.ID] = row
	}
	return rows
}

// modelOf computes facets from the results of searches with the same conditions.
func modelOf(t testing.TB, e *search.Engine, w *searchtest.World, d catalog.Dataset) searchtest.FacetModel {
	rows, accounts := publicRows(t, w, d), publicRows(t, w, catalog.Accounts)
	return searchtest.FacetModel{
		Matching: func(body map[string]any) (found []searchtest.Row) {
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range searchtest.Walk(t, d, text, 100, -1, dataSearch(e)) {
				found = append(found, rows[id])
			}
			return found
		},
		Name: func(id string) (string, bool) {
			name, known := accounts[id]["name"].(string)
			return name, known
		},
		Fields: catalog.FilterFields(d, catalog.Data),
	}
}

// TestFacetModel compares facets of random records with those that a model computes from
// the records that searches find.
func TestFacetModel(t *testing.T) {
	t.Parallel()
	requests := 60
	if testing.Short() {
		requests = 12
	}
	for _, shards := range []int{1, 3} {
		r := rand.New(rand.NewPCG(uint64(shards), 19)) // #nosec G404 -- not a secret
		w := searchtest.AnyWorld(t, r, 150)
		x := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Shards: shards})
		e := &search.Engine{Elastic: x.Client, Names: x.Names, Cursors: newCursors(t), Timeout: search.DefaultTimeout}
		if shards > 1 { // names are read in several parts
			e.NamesAtOnce = 5
		}
		x.Load(t, w)
		for _, d := range catalog.Datasets {
			model := modelOf(t, e, w, d)
			rows := model.Matching(map[string]any{})
			for range requests {
				body := searchtest.AnyFacets(r, model.Fields, rows)
				got, err := facets(t, e, d, body)
				if err != nil {
					t.Fatalf("%s %v: %v", d, body, err)
				}
				model.Check(t, body, got)
			}
		}
	}
}

// TestFacetCases runs the conditions of the cases: the count is their total.
func TestFacetCases(t *testing.T) {
	t.Parallel()
	f := searchtest.Read(t, "testdata/cases.yaml")
	e, x := newEngine(t)
	x.Load(t, f.World)
	for _, c := range f.Cases {
		var body map[string]any
		if err := json.Unmarshal(c.Body, &body); err != nil {
			t.Fatal(err)
		}
		for _, page := range []string{"sort", "limit", "offset", "search_after"} {
			delete(body, page)
		}
		if containsEmail(body) {
			continue
		}
		total := len(c.Want)
		if c.Total != nil {
			total = *c.Total
		}
		got, err := facets(t, e, c.Dataset, body)
		if err != nil || got.Count != int64(total) {
			t.Errorf("%s: %d of %d, %v", c.Name, got.Count, total, err)
		}
	}
}

func containsEmail(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if name == "email" || containsEmail(inner) {
				return true
			}
		}
	}
	return false
}

// Sums beyond a double are null, and the ends of buckets are dates that filters take.
func TestFacetsOfTheLargest(t *testing.T) {
	t.Parallel()
	w := searchtest.NewWorld()
	for i, cost := range []string{"1.7e308", "1.7e308", "-1.7e308", "-1.7e308"} {
		w.Add(searchtest.Record(t, catalog.Projects, fmt.Sprintf(
			`{"id":%q,"name":"P","stage":%q,"cost":%s,"latitude":51.05,"longitude":-114.07,"filed_at":"9999-12-31T23:59:59Z","permitted_at":"0001-01-01"}`,
			searchtest.ID("p", i+1), []string{"filed", "permitted"}[i/2], cost)))
	}
	e, x := newEngine(t)
	x.Load(t, w)
	measured := func(of string) map[string]any { return map[string]any{"field": "cost", "of": of} }
	for _, of := range []string{"sum", "avg", "min", "max"} {
		measures := map[string]string{"filed": "null", "permitted": "null"}
		switch of {
		case "min", "max":
			measures = map[string]string{"filed": "1.7e+308", "permitted": "-1.7e+308"}
		}
		got, err := facets(t, e, catalog.Projects, map[string]any{"facets": []any{
			map[string]any{"field": "stage", "measure": measured(of)},
			map[string]any{"field": "filed_at", "interval": "week", "measure": measured(of)},
			map[string]any{"geo": map[string]any{"precision": 3}, "measure": measured(of)},
		}})
		if err != nil {
			t.Fatal(of, err)
		}
		for _, v := range got.Facets[0].(query.ValueCounts).Values {
			if string(v.Measure) != measures[v.Value] {
				t.Errorf("%s of %s: %s", of, v.Value, v.Measure)
			}
		}
	}
	for _, interval := range []string{"day", "week", "month", "quarter", "year"} {
		for field, ends := range map[string]string{"filed_at": `"9999-12-31T23:59:59.000Z" null`, "permitted_at": `"0001-01-01T00:00:00.000Z" `} {
			got, err := facets(t, e, catalog.Projects, map[string]any{"facets": []any{map[string]any{"field": field, "interval": interval}}})
			if err != nil {
				t.Fatal(interval, err)
			}
			b := got.Facets[0].(query.BucketCounts)
			last := b.Buckets[len(b.Buckets)-1]
			if said := string(b.Min) + " " + string(last.To); !strings.HasPrefix(said, ends) || last.Count != 4 {
				t.Errorf("%s by %s: %s, %s to %s", field, interval, said, last.From, last.To)
			}
			if _, err := facets(t, e, catalog.Projects, map[string]any{"filters": map[string]any{
				field: map[string]any{"value": []any{last.From, last.To}},
			}}); err != nil {
				t.Errorf("%s by %s: %v", field, interval, err)
			}
		}
	}
}

// A prefix is for typing: of ids it is that of the accounts' names, and of several words
// only the last may be unfinished.
func TestFacetPrefix(t *testing.T) {
	t.Parallel()
	const (
		mattamy = "735ddd27-7d88-5aa1-a50f-a5008168f31e"
		genesis = "a35ddd27-7d88-5aa1-a50f-a5008168f31e"
		elm     = "b35ddd27-7d88-5aa1-a50f-a5008168f31e"
	)
	w := searchtest.NewWorld()
	for id, name := range map[string]string{mattamy: "Mattamy Homes Limited", genesis: "Genesis Homes of Métis", elm: "Elm"} {
		w.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":%q}`, id, name)))
	}
	for i, record := range []string{
		`"city":"São Paulo","primary_use":"single_family","account_ids":["` + mattamy + `","` + genesis + `"]`,
		`"city":"SAO PAULO","primary_use":"single_family","account_ids":["` + mattamy + `"]`,
		`"city":"São Pedro","primary_use":"mixed_use","account_ids":["` + elm + `","7350dd27-7d88-5aa1-a50f-a5008168f31e"]`,
		`"city":"Paulo Afonso","primary_use":"multifamily"`,
	} {
		w.Add(searchtest.Record(t, catalog.Projects, fmt.Sprintf(`{"id":%q,"name":"P",%s}`, searchtest.ID("p", i+1), record)))
	}
	e, x := newEngine(t)
	x.Load(t, w)
	for _, c := range []struct {
		field, prefix string
		limit         int
		want          string
	}{
		{"account_ids", "M", 3, "Mattamy Homes Limited 2, Genesis Homes of Métis 1, other 0"},
		{"account_ids", "m", 1, "Mattamy Homes Limited 2, other 1"},
		{"account_ids", "mattamy h", 3, "Mattamy Homes Limited 2, other 0"},
		{"account_ids", "homes mat", 3, "Mattamy Homes Limited 2, other 0"},
		{"account_ids", "homes", 3, "Mattamy Homes Limited 2, Genesis Homes of Métis 1, other 0"},
		{"account_ids", "hom met", 3, "other 0"},
		{"account_ids", "735", 3, "other 0"},
		{"account_ids", "--", 3, "other 0"},
		{"city", "são p", 3, "São Paulo 2, São Pedro 1, other 0"},
		{"city", "sao pau", 3, "São Paulo 2, other 0"},
		{"city", "paulo", 3, "São Paulo 2, Paulo Afonso 1, other 0"},
		{"city", "sa p", 3, "other 0"},
		{"primary_use", "single f", 3, "Single family 2, other 0"},
		{"primary_use", "mixed_use", 3, "Mixed use 1, other 0"},
	} {
		got, err := facets(t, e, catalog.Projects, map[string]any{"facets": []any{map[string]any{
			"field": c.field, "prefix": c.prefix, "limit": c.limit,
		}}})
		if err != nil {
			t.Fatal(err)
		}
		counts, shown := got.Facets[0].(query.ValueCounts), ""
		for _, v := range counts.Values {
			label := "?"
			if v.Label != nil {
				label = *v.Label
			}
			if label == "SAO PAULO" {
				label = "São Paulo"
			}
			shown += fmt.Sprintf("%s %d, ", label, v.Count)
		}
		if shown += fmt.Sprintf("other %d", counts.Other); shown != c.want {
			t.Errorf("%s %q: %s, want %s", c.field, c.prefix, shown, c.want)
		}
	}
}
