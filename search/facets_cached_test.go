package search_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/internal/devstack/backends"
	"atlas/internal/input"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// Equal requests are counted once until an index changes, also those that arrive
// together.
func TestFacetsAreCached(t *testing.T) {
	t.Parallel()
	direct, x := newEngine(t)
	var searches atomic.Int64
	var refuse atomic.Bool // the version of an index
	e := proxied(t, direct, func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/_msearch") {
			searches.Add(1)
		}
		if refuse.Load() && strings.Contains(r.URL.Path, "/_stats") {
			w.Header().Set("X-Elastic-Product", "Elasticsearch")
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	})
	w := searchtest.NewWorld()
	add := func(n int) {
		w.Add(searchtest.Record(t, catalog.Projects, `{"id":"`+searchtest.ID("p", n)+`","name":"P","stage":"filed"}`))
		x.Load(t, w)
	}
	body := map[string]any{"facets": []any{map[string]any{"field": "stage"}}}
	for n := 1; n <= 3; n++ {
		add(n)
		before := searches.Load()
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				got, err := facets(t, e, catalog.Projects, body)
				if err != nil || got.Count != int64(n) {
					t.Errorf("%d of %d: %v", got.Count, n, err)
				}
			})
		}
		all.Wait()
		if ran := searches.Load() - before; ran != 1 {
			t.Errorf("twelve equal requests made %d searches", ran)
		}
	}
	before := searches.Load()
	for _, other := range []map[string]any{
		{"facets": []any{map[string]any{"field": "stage", "limit": 1.0}}},
		{"facets": []any{map[string]any{"field": "stage"}}, "query": "p"},
		{"facets": []any{map[string]any{"field": "stage"}}, "filters": map[string]any{"stage": map[string]any{"value": "filed"}}},
		{
			"facets":  []any{map[string]any{"field": "stage", "exclude_own": false}},
			"filters": map[string]any{"stage": map[string]any{"value": "filed"}},
		},
	} {
		if _, err := facets(t, e, catalog.Projects, other); err != nil {
			t.Error(err)
		}
	}
	if ran := searches.Load() - before; ran != 4 {
		t.Errorf("four other requests made %d searches", ran)
	}
	refuse.Store(true)
	before = searches.Load()
	for range 2 {
		if got, err := facets(t, e, catalog.Projects, body); err != nil || got.Count != 3 {
			t.Errorf("without a version: %d, %v", got.Count, err)
		}
	}
	if ran := searches.Load() - before; ran != 2 {
		t.Errorf("two requests without a version made %d searches", ran)
	}
}

// Facets with more spellings than one aggregation lists, and ids of which each shard
// knows only a part of the most frequent ones.
func TestFacetsOfManyValues(t *testing.T) {
	t.Parallel()
	x := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Shards: 2})
	e := &search.Engine{Elastic: x.Client, Names: x.Names, Timeout: time.Minute}
	const many, states = 11_000, 6_000
	var docs []searchtest.Document
	for i := range many {
		id := searchtest.ID("p", i)
		docs = append(docs, searchtest.Document{ID: id, Body: fmt.Appendf(nil, `{"id":%q,"city":"City %s","state":"State %d","account_ids":[%q,%q]}`,
			id, id[24:], i%states, searchtest.ID("a", i), searchtest.ID("a", i/3))})
	}
	x.Put(t, catalog.Projects, docs...)
	x.Refresh(t)
	cities, firms, inStates := map[string]any{"field": "city", "limit": 1.0}, map[string]any{
		"field": "account_ids", "limit": 2.0,
	}, map[string]any{"field": "state", "limit": 1.0}
	check := func(asked ...any) {
		t.Helper()
		got, err := facets(t, e, catalog.Projects, map[string]any{"facets": asked})
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range got.Facets {
			v := f.(query.ValueCounts)
			if v.Unknown != 0 {
				t.Errorf("facet %d: %d unknown", i, v.Unknown)
			}
			switch v.Field {
			case "city":
				if v.Values[0].Value != "city 000000000000" || v.Other != many-1 {
					t.Errorf("%+v", v)
				}
			case "state":
				if v.Values[0].Value != "state 0" || v.Values[0].Count != 2 || v.Other != many-2 {
					t.Errorf("%+v", v)
				}
			default:
				// Account 0 is named by projects 0 to 2, each other one below many/3 by four.
				if v.Values[0].Value != searchtest.ID("a", 1) || v.Values[0].Count != 4 || v.Values[1].Value != searchtest.ID("a", 2) {
					t.Errorf("%+v", v)
				}
			}
		}
	}
	check(cities, firms)
	// Together they have more values than Elasticsearch lists in one answer.
	check(cities, inStates, inStates, inStates, inStates, inStates, inStates, inStates, inStates, inStates, inStates, firms)
}

// Ranges beyond the integers that doubles represent, doubles that are neighbours, and
// one bucket of one value.
func TestFacetsOfExtremeNumbers(t *testing.T) {
	t.Parallel()
	e, x := newEngine(t)
	w := searchtest.NewWorld()
	for i, numbers := range []string{
		`"residential_units":9007199254740991,"sqft":0.1`,
		`"residential_units":9007199254740990,"sqft":0.10000000000000002`, `"residential_units":-3,"sqft":-1.7e308`,
		`"sqft":1.7e308`,
	} {
		w.Add(searchtest.Record(t, catalog.Projects, `{"id":"`+searchtest.ID("p", i+1)+`","name":"P","stories":7,`+numbers+`}`))
	}
	x.Load(t, w)
	for _, c := range []struct {
		facet string
		want  []int64
	}{
		{`{"field":"residential_units","ranges":[[9007199254740991,null],[null,9007199254740990],[-3.5,0],[9007199254740993,null]]}`, []int64{1, 2, 1, 0}},
		{`{"field":"residential_units","ranges":[[0.5,0.7],[-3,-3],[-4,9007199254740990]]}`, []int64{0, 1, 2}},
		{`{"field":"sqft","ranges":[[0.1,0.1],[0.1,0.10000000000000002],[0.10000000000000002,null],[null,0.1]]}`, []int64{1, 2, 2, 2}},
		{`{"field":"sqft","buckets":3}`, []int64{1, 2, 1}},
		{`{"field":"stories","buckets":3}`, []int64{4}},
		{`{"field":"cost","buckets":3}`, []int64{}},
		{`{"field":"cost","ranges":[[0,null]]}`, []int64{0}},
	} {
		v, _ := input.Decode([]byte(`{"facets":[` + c.facet + `]}`))
		r, err := query.FacetRule(catalog.Projects, catalog.Data).Parse(v)
		if err != nil {
			t.Fatal(c.facet, err)
		}
		got, err := e.Facets(t.Context(), query.FacetSearch{Request: r, Sets: []query.Query{r.Query}})
		if err != nil {
			t.Fatal(c.facet, err)
		}
		counts := []int64{}
		for _, b := range got.Facets[0].(query.BucketCounts).Buckets {
			counts = append(counts, b.Count)
		}
		if !slices.Equal(counts, c.want) {
			t.Errorf("%s: %v, want %v", c.facet, counts, c.want)
		}
	}
}
