package search_test

import (
	"context"
	"sync/atomic"
	"testing"

	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/search"
	"atlas/search/searchtest"
)

// checkDeepPages pages through cases and sorts, where every page but the first
// is searched for as one that is far from it.
func checkDeepPages(t *testing.T, e *search.Engine, f searchtest.Fixture) {
	var deep, plain atomic.Int64
	client, err := elastic.New(elastic.Config{
		Addresses: []string{backends.Elasticsearch(t)},
		Observe: func(_ context.Context, c elastic.Call) {
			if c.Operation == "msearch" {
				deep.Add(1)
			} else {
				plain.Add(1)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	e = &search.Engine{Elastic: client, Names: e.Names, Cursors: e.Cursors, Timeout: e.Timeout, DeepRows: 1}
	t.Run("pages", func(t *testing.T) {
		for _, c := range f.Cases {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				searchtest.Check(t, c, dataSearch(e))
			})
		}
		t.Run("sorts", func(t *testing.T) { checkEverySort(t, e, f.World) })
	})
	if deep.Load() < 100 || plain.Load() < 100 {
		t.Errorf("%d pages were searched for as deep, %d as others", deep.Load(), plain.Load())
	}
}
