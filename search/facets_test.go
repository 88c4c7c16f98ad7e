package search_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"atlas/internal/devstack/backends"
	"atlas/internal/input"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/document"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// facets asks for facets of the Data API.
func facets(t testing.TB, e *search.Engine, d query.Dataset, body map[string]any) (query.Facets, error) {
	t.Helper()
	r, err := facetRequest(t, d, body)
	if err != nil {
		return query.Facets{}, err
	}
	return e.Facets(t.Context(), query.FacetSearch{Request: r, Sets: []query.Query{r.Query}})
}

func facetRequest(t testing.TB, d query.Dataset, body map[string]any) (query.FacetRequest, error) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	v, issues := input.Decode(text)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	return query.FacetRule(d, query.Data).Parse(v)
}

// publicRows are the records of a world as clients see them, by filter keys.
func publicRows(t testing.TB, w *searchtest.World, d query.Dataset) map[string]searchtest.Row {
	t.Helper()
	rows := map[string]searchtest.Row{}
	for _, doc := range w.Documents()[d] {
		var row searchtest.Row
		if err := json.Unmarshal(document.Public(doc.Body), &row); err != nil {
			t.Fatal(err)
		}
		for _, f := range query.Fields(d) {
			row[f.Key] = row[f.Name]
		}
		rows[doc.ID] = row
	}
	return rows
}

// modelOf computes facets from what searches of the same conditions find.
func modelOf(t testing.TB, e *search.Engine, w *searchtest.World, d query.Dataset) searchtest.FacetModel {
	rows, accounts := publicRows(t, w, d), publicRows(t, w, query.Accounts)
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
		Fields: query.FilterFields(d, query.Data),
	}
}

// TestFacetModel compares facets of random records with those that a model computes
// from the records that searches find.
func TestFacetModel(t *testing.T) {
	t.Parallel()
	const requests = 60
	for _, shards := range []int{1, 3} {
		r := rand.New(rand.NewPCG(uint64(shards), 19)) // #nosec G404 -- not a secret
		w := searchtest.AnyWorld(t, r, 150)
		x := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Shards: shards})
		e := &search.Engine{Elastic: x.Client, Names: x.Names, Cursors: newCursors(t), Timeout: search.DefaultTimeout}
		x.Load(t, w)
		for _, d := range query.Datasets {
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
