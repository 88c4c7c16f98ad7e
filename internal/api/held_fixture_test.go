package api_test

import (
	"context"
	"testing"
	"time"

	"atlas/internal/api"
	"atlas/search"
	"atlas/search/query"
	"atlas/search/searchtest"
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
		for _, d := range query.Held {
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
	}
	w.server.Records = &records.Records{Searcher: engine, Faceter: engine, Freshness: p, Overlays: store, Views: store}
}

// load puts a world's records into the global indices.
func (w *world) load(t *testing.T, data *searchtest.World) {
	t.Helper()
	engine := w.server.Search.(*search.Engine)
	searchtest.Indices{Client: engine.Elastic, Names: engine.Names}.Load(t, data)
}
