package records_test

import (
	"context"
	"sync"
	"testing"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/workspace/records"
)

// rebuilding completes a rebuild before the first search.
type rebuilding struct {
	records.Searcher
	once    sync.Once
	rebuild func()
}

func (r *rebuilding) Search(ctx context.Context, q query.Query) (query.Page, error) {
	r.once.Do(r.rebuild)
	return r.Searcher.Search(ctx, q)
}

func (r *rebuilding) SearchMerged(ctx context.Context, searches [2]query.Query, countOnly query.Query) (query.Page, error) {
	r.once.Do(r.rebuild)
	return r.Searcher.SearchMerged(ctx, searches, countOnly)
}

// A search whose index is deleted by the end of a rebuild is repeated in the new
// index.
func TestSearchBesideARebuild(t *testing.T) {
	t.Parallel()
	const n = 12
	w := newWorld(t, contactsWorld(t, n))
	for i := 1; i <= n; i++ {
		w.annotate(catalog.Contacts, searchtest.ID("c", i), `{}`)
	}
	live := w.view(catalog.Contacts, everything)
	whole := w.Searcher
	for name, run := range map[string]searchtest.Search{"the book": w.inBook(nil), "a View": w.inView(live, nil)} {
		rebuilt := false
		w.Searcher = &rebuilding{Searcher: whole, rebuild: func() {
			fatal(t, w.projector.Rebuild(t.Context(), nil))
			rebuilt = true
		}}
		page, err := run(t.Context(), catalog.Contacts, []byte(`{"limit":100}`))
		if err != nil || len(page.IDs) != n || page.Total != n || !rebuilt {
			t.Errorf("%s: %d rows of %d, a total of %d: %v", name, len(page.IDs), n, page.Total, err)
		}
	}
}
