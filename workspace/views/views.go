// Package views has the types and rules of Views: definitions of Dynamic Views, the
// records of Static Views, presentations and Favorites (docs/api.md, "Views").
//
// It does not search: workspace/join compiles definitions to searches, and
// workspace/records runs them.
package views

import (
	"context"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/workspace"
)

// Filter selects Views of a workspace; zero fields select all.
type Filter struct {
	// Viewer is the user whose Favorites are shown; zero for an API key.
	Viewer workspace.UserID
	ID     *ID
	// Name is a substring of the folded name.
	Name    string
	Dataset catalog.Dataset
	Type    Type
	// Record selects the Static Views that it is in.
	Record *uuid.UUID
	// Favorites selects the viewer's Favorites only.
	Favorites bool
	// Limit is 1..100, Offset not negative; callers check.
	Limit, Offset int
}

// Store stores the Views of workspaces.
type Store interface {
	// Views lists a page, sorted by folded name, then id.
	Views(ctx context.Context, in workspace.ID, f Filter) ([]View, error)
	// ViewByID returns a View as a viewer sees it: fault.ViewNotFound.
	ViewByID(ctx context.Context, in workspace.ID, id ID, viewer workspace.UserID) (View, error)
	// BareView returns the part of a View that searches need: presentation,
	// authors, times, Favorites and counts are left out. fault.ViewNotFound.
	BareView(ctx context.Context, in workspace.ID, id ID) (View, error)
	// InsertView adds v unless the workspace already has limit Views:
	// fault.LimitReached, fault.ViewNameConflict. The limit is exact under
	// concurrency.
	InsertView(ctx context.Context, in workspace.ID, v View, limit int) error
	// UpdateView applies change to a locked View and returns the result as the
	// viewer sees it. When change fails, nothing is stored. fault.ViewNotFound,
	// fault.ViewNameConflict.
	UpdateView(ctx context.Context, in workspace.ID, id ID, viewer workspace.UserID, change func(View) (View, error)) (View, error)
	// DeleteView deletes a View, its memberships and its Favorites:
	// fault.ViewNotFound.
	DeleteView(ctx context.Context, in workspace.ID, id ID) error
}

// Views reads and changes the Views of workspaces (docs/api.md, "Views").
type Views struct {
	// Limits.Views limits the Views of a workspace.
	Limits workspace.Limits
	store  Store
	now    func() time.Time
}

// NewViews returns Views on a store; now is the clock, time.Now when nil.
func NewViews(store Store, now func() time.Time) *Views {
	if now == nil {
		now = time.Now
	}
	return &Views{store: store, now: now}
}

// List returns a page of Views, sorted by name.
func (s *Views) List(ctx context.Context, in workspace.ID, f Filter) ([]View, error) {
	f.Name = catalog.Fold(f.Name)
	return s.store.Views(ctx, in, f)
}

// Get returns a View as a viewer sees it: fault.ViewNotFound.
func (s *Views) Get(ctx context.Context, in workspace.ID, id ID, viewer workspace.UserID) (View, error) {
	return s.store.ViewByID(ctx, in, id, viewer)
}

// ToSearch returns the part of a View that searches need: fault.ViewNotFound.
func (s *Views) ToSearch(ctx context.Context, in workspace.ID, id ID) (View, error) {
	return s.store.BareView(ctx, in, id)
}

// Upsert creates or changes a View; author is zero for an API key. Errors:
// fault.ViewNotFound, fault.ViewImmutableField, fault.InvalidViewDefinition,
// fault.RevisionConflict, fault.ViewNameConflict, fault.LimitReached.
func (s *Views) Upsert(ctx context.Context, in workspace.ID, author workspace.UserID, c Change) (View, error) {
	now := workspace.StoredTime(s.now())
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

func (s *Views) create(ctx context.Context, in workspace.ID, author workspace.UserID, c Change, now time.Time) (View, error) {
	v := View{
		ID: ID(workspace.NewUUID()), Workspace: in, Dataset: c.Dataset, Type: c.Type, Name: c.Name, Revision: 1,
		CreatedBy: author, UpdatedBy: author, CreatedAt: now, UpdatedAt: now,
	}
	if c.Definition.Kind != input.Absent {
		definition, err := ParseDefinition(c.Definition, c.Dataset, c.Type)
		if err != nil {
			return View{}, err
		}
		v.Definition = definition
	} else if c.Type == Dynamic {
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

// Delete deletes a View for all users: fault.ViewNotFound. Records that only this
// View held disappear from searches within seconds.
func (s *Views) Delete(ctx context.Context, in workspace.ID, id ID) error {
	return s.store.DeleteView(ctx, in, id)
}
