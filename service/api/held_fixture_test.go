package api_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"atlas/internal/devstack/backends"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/service/api"
	"atlas/workspace/alerts"
	"atlas/workspace/boards"
	"atlas/workspace/book"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
	"atlas/workspace/records"
	"atlas/workspace/views"
)

// holds gives the API of a world the book and Views.
func (w *world) holds(t *testing.T) {
	t.Helper()
	engine, store := w.server.Search.(*search.Engine), w.server.Workspaces.(*postgres.Store)
	p := &projection.Projector{Rows: w.rows, System: w.system, Global: engine, Elastic: engine.Elastic, Names: engine.Names}
	t.Cleanup(func() {
		p.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		for _, d := range catalog.Held {
			held, err := engine.Elastic.Aliases(ctx, engine.Names.Held(string(d))+"-*")
			if err != nil {
				t.Error(err)
			}
			for index := range held {
				if err := engine.Elastic.DeleteIndices(ctx, index); err != nil {
					t.Error(err)
				}
			}
		}
	})
	fatal(t, p.Prepare(t.Context()))
	w.server.Book = &book.Book{Store: store, Global: engine, Changed: p.Wake}
	w.server.Views = api.Views{
		Views:       views.NewViews(store, nil),
		Memberships: &views.Memberships{Store: store, Records: engine, Changed: p.Wake},
		Favorites:   views.NewFavorites(store),
		Alerts:      &alerts.Alerts{Store: store},
	}
	w.server.Boards = boards.New(store, nil)
	w.server.Records = &records.Records{Searcher: engine, Faceter: engine, Matcher: engine, Freshness: p, Overlays: store, Views: store}
}

// emptyIndices and viewIndices are the global indices of tests that only read them: an
// index costs a node 0.1 s of the processor.
var (
	emptyIndices searchtest.Shared
	viewIndices  = searchtest.Shared{Records: viewRecords}
)

// sharing deletes the shared indices after the tests.
type sharing struct{ m *testing.M }

func (s sharing) Run() int {
	code := s.m.Run()
	if err := errors.Join(emptyIndices.Delete(), viewIndices.Delete()); err != nil {
		fmt.Fprintln(os.Stderr, "deleting the shared indices:", err)
		return max(code, 1)
	}
	return code
}

// load puts a world's records into global indices of its own. The first time comes
// before holds: the projector has the names of then.
func (w *world) load(t *testing.T, data *searchtest.World) {
	t.Helper()
	engine := w.server.Search.(*search.Engine)
	if !w.loaded {
		w.globals(t, searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{}))
		w.loaded = true
	}
	searchtest.Indices{Client: engine.Elastic, Names: engine.Names}.Load(t, data)
}

// globals gives a world other global indices.
func (w *world) globals(t *testing.T, x searchtest.Indices) {
	t.Helper()
	if w.server.Book != nil {
		t.Fatal("the records are loaded after the world holds records")
	}
	w.server.Search.(*search.Engine).Names.Prefix = x.Names.Prefix
}
