package client

import (
	"context"
	"iter"
)

// Favorites are the calling user's ordered pointers to Views. An API key has
// none: ErrUserIdentityRequired.
type Favorites struct{ conn *conn }

const favoritesPath = "/workspace/favorite-views"

// FavoriteUpsert makes a View a Favorite. Without a Position an existing Favorite is not
// moved, and a new one is appended.
type FavoriteUpsert struct {
	ViewID   string `json:"view_id"`
	Position *int   `json:"position,omitzero"` // from 0
}

// List iterates over the Favorites in their order.
func (f *Favorites) List(ctx context.Context) iter.Seq2[View, error] {
	return list[View](ctx, f.conn, favoritesPath, "views", nil)
}

// Upsert makes a View a Favorite, or moves it.
func (f *Favorites) Upsert(ctx context.Context, u FavoriteUpsert) (View, error) {
	d, err := post[oneView](ctx, f.conn, favoritesPath+"/upsert", u)
	return d.View, err
}

// UpsertAll is Upsert for 1 to 100 Views, applied together.
func (f *Favorites) UpsertAll(ctx context.Context, all []FavoriteUpsert) (Batch[View], error) {
	return viewBatch(ctx, f.conn, favoritesPath, all)
}

// Delete removes a Favorite, but not the View. It succeeds when there is none.
func (f *Favorites) Delete(ctx context.Context, view string) error {
	return remove(ctx, f.conn, favoritesPath+segment(view))
}

// DeleteAll is Delete for 1 to 100 Views.
func (f *Favorites) DeleteAll(ctx context.Context, views []string) (Batch[Nothing], error) {
	return deleteBatch(ctx, f.conn, favoritesPath, views)
}
