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

// checkSeek pages through cases and sorts. Every page but the first is searched
// for with a seek filter.
func checkSeek(t *testing.T, e *search.Engine, f searchtest.Fixture) {
	var seeks, plain atomic.Int64
	client, err := elastic.New(elastic.Config{
		Addresses: []string{backends.Elasticsearch(t)},
		Observe: func(_ context.Context, c elastic.Call) {
			if c.Operation == "msearch" {
				seeks.Add(1)
			} else {
				plain.Add(1)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	e = &search.Engine{Elastic: client, Names: e.Names, Cursors: e.Cursors, Timeout: e.Timeout, SeekRows: 1}
	t.Run("pages", func(t *testing.T) {
		for _, c := range f.Cases {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				searchtest.Check(t, c, dataSearch(e))
			})
		}
		t.Run("sorts", func(t *testing.T) { checkEverySort(t, e, f.World) })
	})
	if seeks.Load() < 100 || plain.Load() < 100 {
		t.Errorf("%d pages were searched for with a seek filter, %d without", seeks.Load(), plain.Load())
	}
}
