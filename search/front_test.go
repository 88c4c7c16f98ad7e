package search_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// checkFront pages through each dataset in the opposite of its index order, and by
// other times. Pages are searched for among a few records first, and some of them are
// not full there.
func checkFront(t *testing.T, e *search.Engine, w *searchtest.World) {
	sizes := []int{1, 2}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, rows := range sizes {
		var fronts, plain atomic.Int64
		client, err := elastic.New(elastic.Config{
			Addresses: []string{backends.Elasticsearch(t)},
			Observe: func(_ context.Context, c elastic.Call) {
				if c.Operation == "msearch" {
					fronts.Add(1)
				} else {
					plain.Add(1)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		e := &search.Engine{Elastic: client, Names: e.Names, Cursors: e.Cursors, Timeout: e.Timeout, FrontRows: rows}
		checkEverySort(t, e, w)
		for _, d := range catalog.Datasets {
			s, order := query.DefaultSort(d), "desc"
			if s.Desc {
				order = "asc"
			}
			body := fmt.Sprintf(`{"sort":{"field":%q,"order":%q},"filters":{"created_at":{"value":["2000-01-01",null]}}}`, s.Field.Name, order)
			known := map[string]bool{}
			for _, r := range w.Records(d) {
				known[r.ID()] = r.Value("created_at") != nil && r.Millis("created_at") >= 946684800000
			}
			want := slices.DeleteFunc(inOrder(w.Records(d), s.Field, !s.Desc), func(id string) bool { return !known[id] })
			searchtest.Check(t, searchtest.Case{Dataset: d, Body: []byte(body), Want: want}, dataSearch(e))
		}
		if fronts.Load() == 0 || plain.Load() == 0 {
			t.Errorf("with a front of %d rows %d pages were searched for at the front, %d searches were plain", rows, fronts.Load(), plain.Load())
		}
	}
}
