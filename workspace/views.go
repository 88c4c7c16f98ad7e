package workspace

import (
	"context"
	"time"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/query"
)

// ViewFilter chooses Views of a workspace; zero fields choose all.
type ViewFilter struct {
	// Viewer is whose Favorites are shown; zero for an API key.
	Viewer UserID
	ID     *ViewID
	// Name is a part of the name, folded.
	Name    string
	Dataset query.Dataset
	Type    ViewType
	// Favorites: the viewer's only.
	Favorites bool
	// Limit is 1..100, Offset not negative; callers check.
	Limit, Offset int
}

// ViewStore keeps the Views of workspaces.
type ViewStore interface {
	// Views lists a page by folded name, then id.
	Views(ctx context.Context, in ID, f ViewFilter) ([]View, error)
	// ViewByID returns one as a viewer sees it: fault.ViewNotFound.
	ViewByID(ctx context.Context, in ID, id ViewID, viewer UserID) (View, error)
	// BareView is ViewByID without what no search needs: presentation, authors,
	// times, Favorites and counts are left out. fault.ViewNotFound.
	BareView(ctx context.Context, in ID, id ViewID) (View, error)
	// InsertView adds v where the workspace then has at most so many Views,
	// whoever adds others meanwhile: fault.LimitReached, fault.ViewNameConflict.
	InsertView(ctx context.Context, in ID, v View, most int) error
	// UpdateView replaces what can change of a View by what change makes of it,
	// and returns it as its author sees it. Nothing changes in between; an error
	// of change changes nothing. fault.ViewNotFound, fault.ViewNameConflict.
	UpdateView(ctx context.Context, in ID, id ViewID, viewer UserID, change func(View) (View, error)) (View, error)
	// DeleteView drops a View, its memberships and its Favorites:
	// fault.ViewNotFound.
	DeleteView(ctx context.Context, in ID, id ViewID) error
}

// Views is the Views of workspaces and the rules of changing them (docs/api.md,
// "Views").
type Views struct {
	// Bounds.Views is how many a workspace may have.
	Limits Limits
	store  ViewStore
	now    func() time.Time
}

// NewViews returns them on a store; now is the clock, time.Now when nil.
func NewViews(store ViewStore, now func() time.Time) *Views {
	if now == nil {
		now = time.Now
	}
	return &Views{store: store, now: now}
}

// List is a page of Views by name.
func (s *Views) List(ctx context.Context, in ID, f ViewFilter) ([]View, error) {
	f.Name = query.Fold(f.Name)
	return s.store.Views(ctx, in, f)
}

// Get returns one View: fault.ViewNotFound.
func (s *Views) Get(ctx context.Context, in ID, id ViewID, viewer UserID) (View, error) {
	return s.store.ViewByID(ctx, in, id, viewer)
}

// ToSearch returns what a search needs of a View, and no more of it:
// fault.ViewNotFound.
func (s *Views) ToSearch(ctx context.Context, in ID, id ViewID) (View, error) {
	return s.store.BareView(ctx, in, id)
}

// Upsert creates or changes a View; author is zero for an API key. Errors:
// fault.ViewNotFound, fault.ViewImmutableField, fault.InvalidViewDefinition,
// fault.RevisionConflict, fault.ViewNameConflict, fault.LimitReached.
func (s *Views) Upsert(ctx context.Context, in ID, author UserID, c ViewChange) (View, error) {
	now := StoredTime(s.now())
	if c.ID == nil {
		return s.create(ctx, in, author, c, now)
	}
	return s.store.UpdateView(ctx, in, *c.ID, author, func(v View) (View, error) {
		changed, err := c.apply(v)
		if err != nil {
			return View{}, err
		}
		if changed.Name == v.Name && changed.Definition.Equal(v.Definition) && changed.Presentation.Equal(v.Presentation) {
			return v, nil
		}
		changed.Revision++
		changed.UpdatedAt, changed.UpdatedBy = now, author
		return changed, nil
	})
}

func (s *Views) create(ctx context.Context, in ID, author UserID, c ViewChange, now time.Time) (View, error) {
	v := View{
		ID: ViewID(NewUUID()), Workspace: in, Dataset: c.Dataset, Type: c.Type, Name: c.Name, Revision: 1,
		CreatedBy: author, UpdatedBy: author, CreatedAt: now, UpdatedAt: now,
	}
	if c.Definition.Kind != input.Absent {
		definition, err := ParseDefinition(c.Definition, c.Dataset, c.Type)
		if err != nil {
			return View{}, err
		}
		v.Definition = definition
	} else if c.Type == DynamicView {
		return View{}, fault.New(fault.InvalidViewDefinition, "a Dynamic View needs a definition")
	}
	if c.Presentation != nil {
		v.Presentation = *c.Presentation
	}
	if err := s.store.InsertView(ctx, in, v, s.Limits.WithDefaults().Views); err != nil {
		return View{}, err
	}
	return v, nil
}

// Delete drops a View for everybody: fault.ViewNotFound. What only it held
// leaves searches within seconds.
func (s *Views) Delete(ctx context.Context, in ID, id ViewID) error {
	return s.store.DeleteView(ctx, in, id)
}
