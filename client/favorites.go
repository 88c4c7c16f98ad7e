package client

import (
	"context"
	"iter"
	"net/http"
)

// Favorites are the calling user's ordered pointers to Views. An API key has
// none: ErrUserIdentityRequired.
type Favorites struct{ conn *conn }

// FavoriteUpsert makes a View a Favorite. Without a Position an existing
// Favorite keeps its place, and a new one is appended.
type FavoriteUpsert struct {
	ViewID   string `json:"view_id"`
	Position *int   `json:"position,omitzero"` // from 0
}

// List iterates over the Favorites in their order.
func (f *Favorites) List(ctx context.Context) iter.Seq2[View, error] {
	return list[View](ctx, f.conn, "/workspace/favorite-views", "views", nil)
}

// Upsert makes a View a Favorite, or moves it.
func (f *Favorites) Upsert(ctx context.Context, u FavoriteUpsert) (View, error) {
	a, err := call[oneView](ctx, f.conn, request{method: http.MethodPost, path: "/workspace/favorite-views/upsert", body: u, repeatable: true})
	return a.Data.View, err
}

// UpsertAll is Upsert for 1 to 100 Views, applied together.
func (f *Favorites) UpsertAll(ctx context.Context, all []FavoriteUpsert) (Batch[View], error) {
	return viewBatch(ctx, f.conn, request{method: http.MethodPost, path: "/workspace/favorite-views/upsert/batch", body: inputs[FavoriteUpsert]{all}, repeatable: true})
}

// Delete removes a Favorite and keeps the View. It succeeds when there is none.
func (f *Favorites) Delete(ctx context.Context, view string) error {
	_, err := call[Nothing](ctx, f.conn, request{method: http.MethodDelete, path: "/workspace/favorite-views" + segment(view), repeatable: true})
	return err
}

// DeleteAll is Delete for 1 to 100 Views.
func (f *Favorites) DeleteAll(ctx context.Context, views []string) (Batch[Nothing], error) {
	return batch[Nothing](ctx, f.conn, request{method: http.MethodPost, path: "/workspace/favorite-views/delete/batch", body: ids{views}, repeatable: true})
}
