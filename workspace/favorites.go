package workspace

import (
	"cmp"
	"context"
	"slices"

	"atlas/internal/fault"
)

// FavoriteChange makes a View a Favorite, or moves it.
type FavoriteChange struct {
	View ViewID
	// Position is where it goes, from 0; past the end is the end. nil keeps the
	// place of a Favorite and appends what is none.
	Position *int
}

// FavoriteStore keeps the Favorites of users, in their order.
type FavoriteStore interface {
	// Favorites lists a page of a user's in their order.
	Favorites(ctx context.Context, in ID, user UserID, limit, offset int) ([]View, error)
	// UpdateFavorites replaces a user's Favorites by what arrange makes of them, given
	// their order and which of the named Views are there; neither changes in
	// between. It returns the named Views that are there as the user sees them
	// then, read before the change is committed: what is done is also answered.
	// fault.Forbidden for who is no member.
	UpdateFavorites(ctx context.Context, in ID, user UserID, named []ViewID, arrange func(order []ViewID, there map[ViewID]bool) []ViewID) (map[ViewID]View, error)
}

// Favorites is the personal pointers of users to Views (docs/api.md,
// "Favorites").
type Favorites struct{ store FavoriteStore }

// NewFavorites returns them on a store.
func NewFavorites(store FavoriteStore) *Favorites { return &Favorites{store} }

// List is a page of a user's Favorites in their order.
func (s *Favorites) List(ctx context.Context, in ID, user UserID, limit, offset int) ([]View, error) {
	return s.store.Favorites(ctx, in, user, limit, offset)
}

// Upsert applies one change and returns the View: fault.ViewNotFound.
func (s *Favorites) Upsert(ctx context.Context, in ID, user UserID, c FavoriteChange) (View, error) {
	views, err := s.UpsertAll(ctx, in, user, []FavoriteChange{c})
	if err != nil {
		return View{}, err
	}
	if views[0] == nil {
		return View{}, errViewNotFound
	}
	return *views[0], nil
}

// UpsertAll applies changes together, the last of each View, and returns the
// Views as they are afterwards, nil where there is none.
func (s *Favorites) UpsertAll(ctx context.Context, in ID, user UserID, changes []FavoriteChange) ([]*View, error) {
	named := make([]ViewID, len(changes))
	for i, c := range changes {
		named[i] = c.View
	}
	views, err := s.store.UpdateFavorites(ctx, in, user, named, func(order []ViewID, there map[ViewID]bool) []ViewID {
		var valid []FavoriteChange
		for _, c := range changes {
			if there[c.View] {
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

// Delete takes Views out of a user's Favorites; what is none is fine.
func (s *Favorites) Delete(ctx context.Context, in ID, user UserID, views ...ViewID) error {
	_, err := s.store.UpdateFavorites(ctx, in, user, nil, func(order []ViewID, _ map[ViewID]bool) []ViewID {
		return slices.DeleteFunc(order, func(id ViewID) bool { return slices.Contains(views, id) })
	})
	return err
}

var errViewNotFound = fault.New(fault.ViewNotFound, "the workspace has no View with this id")

// applyFavoriteChanges is an order of Favorites after changes that were made together. The
// last change of each View counts. Those with positions are placed at them, the
// lowest first, a tie in the order of the changes; the others fill the gaps in
// their old order, new ones behind.
func applyFavoriteChanges(order []ViewID, changes []FavoriteChange) []ViewID {
	last := map[ViewID]int{}
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
			others = slices.DeleteFunc(others, func(id ViewID) bool { return id == c.View })
		case !slices.Contains(others, c.View):
			others = append(others, c.View)
		}
	}
	slices.SortStableFunc(placed, func(a, b FavoriteChange) int { return cmp.Compare(*a.Position, *b.Position) })
	next := 0 // the first place that no placed one has taken
	for _, c := range placed {
		at := min(max(*c.Position, next), len(others))
		others = slices.Insert(others, at, c.View)
		next = at + 1
	}
	return others
}
