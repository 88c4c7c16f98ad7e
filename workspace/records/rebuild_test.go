package records_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"atlas/search/query"
	"atlas/search/searchtest"
)

// Searches that meet the end of a rebuild, which deletes the index that they were
// to run on, are made in the new one: none fails, and none has fewer rows.
func TestSearchesBesideRebuilds(t *testing.T) {
	t.Parallel()
	const n = 12
	w := newWorld(t, people(t, n))
	for i := 1; i <= n; i++ {
		w.annotate(query.Contacts, searchtest.ID("c", i), `{}`)
	}
	live := w.view(query.Contacts, everything)
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	var searches atomic.Int64
	for _, run := range []searchtest.Search{w.inBook(nil), w.inView(live, nil)} {
		clients.Go(func() {
			for ctx.Err() == nil {
				page, err := run(t.Context(), query.Contacts, []byte(`{"limit":100}`))
				if err != nil || len(page.IDs) != n || page.Total != n {
					t.Errorf("%d rows of %d, a total of %d: %v", len(page.IDs), n, page.Total, err)
					return
				}
				searches.Add(1)
			}
		})
	}
	for range 5 {
		if err := w.projector.Rebuild(t.Context(), nil); err != nil {
			t.Error(err)
			break
		}
	}
	stop()
	clients.Wait()
	if searches.Load() < 20 {
		t.Errorf("only %d searches were made", searches.Load())
	}
}
