package views

import (
	"cmp"
	"context"
	"slices"

	"atlas/internal/fault"
	"atlas/workspace"
)

// FavoriteChange adds a View to a user's Favorites, or moves it.
type FavoriteChange struct {
	View ID
	// Position is the new position, from 0; a position past the end means the end. nil does
	// not move a Favorite and appends a new one.
	Position *int
}

// FavoriteStore stores the Favorites of users, in the users' order.
type FavoriteStore interface {
	// Favorites lists a page of a user's Favorites, in order. The limit is 1..100,
	// the offset not negative; callers check.
	Favorites(ctx context.Context, in workspace.ID, user workspace.UserID, limit, offset int) ([]View, error)
	// UpdateFavorites replaces a user's Favorites by the result of update. update
	// gets the current order and which of the named Views exist; both are locked
	// until the change is committed. The named Views that exist are returned as the
	// user sees them after the change, read in its transaction.
	// fault.Forbidden when the user is not a member.
	UpdateFavorites(
		ctx context.Context,
		in workspace.ID,
		user workspace.UserID,
		named []ID,
		update func(order []ID, exists map[ID]bool) []ID,
	) (map[ID]View, error)
}

// Favorites applies the rules of Favorites (docs/api.md, "Favorites").
type Favorites struct{ store FavoriteStore }

// NewFavorites returns Favorites on a store.
func NewFavorites(store FavoriteStore) *Favorites { return &Favorites{store} }

// List returns a page of a user's Favorites, in order.
func (s *Favorites) List(ctx context.Context, in workspace.ID, user workspace.UserID, limit, offset int) ([]View, error) {
	return s.store.Favorites(ctx, in, user, limit, offset)
}

// Upsert applies one change and returns the View: fault.ViewNotFound.
func (s *Favorites) Upsert(ctx context.Context, in workspace.ID, user workspace.UserID, c FavoriteChange) (View, error) {
	views, err := s.UpsertAll(ctx, in, user, []FavoriteChange{c})
	if err != nil {
		return View{}, err
	}
	if views[0] == nil {
		return View{}, errViewNotFound
	}
	return *views[0], nil
}

// UpsertAll applies changes together; of several changes of one View the last wins. It
// returns the Views as they are afterwards, nil for an unknown View.
func (s *Favorites) UpsertAll(ctx context.Context, in workspace.ID, user workspace.UserID, changes []FavoriteChange) ([]*View, error) {
	named := make([]ID, len(changes))
	for i, c := range changes {
		named[i] = c.View
	}
	views, err := s.store.UpdateFavorites(ctx, in, user, named, func(order []ID, exists map[ID]bool) []ID {
		var valid []FavoriteChange
		for _, c := range changes {
			if exists[c.View] {
				valid = append(valid, c)
			}
		}
		return applyFavoriteChanges(order, valid)
	})
	if err != nil {
		return nil, err
	}
	found := make([]*View, len(changes))
	for i, c := range changes {
		if v, ok := views[c.View]; ok {
			found[i] = &v
		}
	}
	return found, nil
}

// Delete removes Views from a user's Favorites. A View that is not a Favorite is
// not an error.
func (s *Favorites) Delete(ctx context.Context, in workspace.ID, user workspace.UserID, views ...ID) error {
	_, err := s.store.UpdateFavorites(ctx, in, user, nil, func(order []ID, _ map[ID]bool) []ID {
		return slices.DeleteFunc(order, func(id ID) bool { return slices.Contains(views, id) })
	})
	return err
}

var errViewNotFound = fault.New(fault.ViewNotFound, "the workspace has no View with this id")

// applyFavoriteChanges returns the order of Favorites after changes that were made
// together. The last change of each View wins. Views with a position are placed first,
// lowest position first, ties in the order of the changes. The other Views fill the gaps in
// their old order, followed by new ones.
func applyFavoriteChanges(order []ID, changes []FavoriteChange) []ID {
	last := map[ID]int{}
	for i, c := range changes {
		last[c.View] = i
	}
	var placed []FavoriteChange
	others := slices.Clone(order)
	for i, c := range changes {
		switch {
		case last[c.View] != i:
		case c.Position != nil:
			placed = append(placed, c)
			others = slices.DeleteFunc(others, func(id ID) bool { return id == c.View })
		case !slices.Contains(others, c.View):
			others = append(others, c.View)
		}
	}
	slices.SortStableFunc(placed, func(a, b FavoriteChange) int { return cmp.Compare(*a.Position, *b.Position) })
	next := 0 // the lowest position that is still free
	for _, c := range placed {
		at := min(max(*c.Position, next), len(others))
		others = slices.Insert(others, at, c.View)
		next = at + 1
	}
	return others
}
