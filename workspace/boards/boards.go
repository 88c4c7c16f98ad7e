// Package boards has the types and rules of boards: charts, pivots, maps and Views of a
// workspace on one page (docs/api.md, "Boards"). A tile stores a request, but no answer.
package boards

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/views"
)

type boardKind struct{}

// ID is the id of a board.
type ID = workspace.TypedID[boardKind]

// Limits of boards.
const (
	// MaxBoards is the maximum number of boards of a workspace.
	MaxBoards = 50
	// MaxTiles is the maximum number of tiles of a board.
	MaxTiles = 12
	// MaxName is the maximum length of the name of a board and of the title of a tile, in
	// characters.
	MaxName = 100
	// MaxRequest is the maximum length of the request of a tile, in bytes without spaces
	// and exponents.
	MaxRequest = 20_000
)

// Board is a page of tiles that a workspace shares.
type Board struct {
	ID        ID
	Workspace workspace.ID
	// Name is 1..MaxName characters, trimmed, without control characters.
	Name  string
	Tiles []Tile
	// Revision counts the changes, from 1.
	Revision int
	// CreatedBy and UpdatedBy are zero for an API key and for a deleted user.
	CreatedBy, UpdatedBy workspace.UserID
	// CreatedAt and UpdatedAt are in UTC, whole milliseconds.
	CreatedAt, UpdatedAt time.Time
}

// Kind is the kind of a tile.
type Kind string

// The kinds.
const (
	Chart Kind = "chart" // one facet
	Pivot Kind = "pivot"
	Map   Kind = "map"  // one facet by map tiles
	View  Kind = "view" // the number of a View's records
)

// Source says which records a tile shows.
type Source string

// The sources.
const (
	OfData Source = "data"
	OfBook Source = "book"
	OfView Source = "view"
)

// Tile is a part of a board.
type Tile struct {
	Kind    Kind            `json:"kind"`
	Title   string          `json:"title"`
	Dataset catalog.Dataset `json:"dataset"`
	Of      Source          `json:"of"`
	// View is that of a tile of OfView. It may have been deleted since.
	View *views.ID `json:"view_id,omitempty"`
	// Request is the body of the request, without spaces and with plain numbers, so that it
	// is read as it was stored. Relative dates stay relative: a board resolves them when it
	// is shown.
	Request json.RawMessage `json:"request"`
}

// Equal reports whether two tiles are equivalent.
func (t Tile) Equal(o Tile) bool {
	sameView := t.View == nil && o.View == nil || t.View != nil && o.View != nil && *t.View == *o.View
	return t.Kind == o.Kind && t.Title == o.Title && t.Dataset == o.Dataset && t.Of == o.Of && sameView && sameJSON(t.Request, o.Request)
}

// sameJSON compares values without the order of members, which the store does not preserve.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	plain := func(raw json.RawMessage) []byte {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var v any
		_ = d.Decode(&v)
		text, _ := json.Marshal(v)
		return text
	}
	return bytes.Equal(plain(a), plain(b))
}

// FoldedName is the key that boards are sorted by.
func (b Board) FoldedName() string { return catalog.Fold(b.Name) }

// MarshalJSON writes the board of docs/api.md, "Boards".
func (b Board) MarshalJSON() ([]byte, error) {
	orNull := func(id workspace.UserID) *workspace.UserID {
		if id.IsZero() {
			return nil
		}
		return &id
	}
	tiles := b.Tiles
	if tiles == nil {
		tiles = []Tile{}
	}
	return json.Marshal(struct {
		ID        ID                `json:"id"`
		Workspace workspace.ID      `json:"workspace_id"`
		Name      string            `json:"name"`
		Tiles     []Tile            `json:"tiles"`
		Revision  int               `json:"revision"`
		CreatedBy *workspace.UserID `json:"created_by"`
		UpdatedBy *workspace.UserID `json:"updated_by"`
		CreatedAt string            `json:"created_at"`
		UpdatedAt string            `json:"updated_at"`
	}{
		b.ID, b.Workspace, b.Name, tiles, b.Revision, orNull(b.CreatedBy), orNull(b.UpdatedBy),
		b.CreatedAt.UTC().Format(workspace.TimeFormat), b.UpdatedAt.UTC().Format(workspace.TimeFormat),
	})
}

// Store stores the boards of workspaces.
type Store interface {
	// Boards lists a page, sorted by folded name, then id.
	Boards(ctx context.Context, in workspace.ID, limit, offset int) ([]Board, error)
	// Board returns one: fault.NotFound.
	Board(ctx context.Context, in workspace.ID, id ID) (Board, error)
	// InsertBoard adds one unless the workspace already has MaxBoards: fault.LimitReached.
	InsertBoard(ctx context.Context, in workspace.ID, b Board) error
	// UpdateBoard applies change to a locked board. When change fails, nothing is stored.
	// fault.NotFound.
	UpdateBoard(ctx context.Context, in workspace.ID, id ID, change func(Board) (Board, error)) (Board, error)
	// DeleteBoard deletes one: fault.NotFound.
	DeleteBoard(ctx context.Context, in workspace.ID, id ID) error
	// ViewDatasets returns the datasets of the Views that exist.
	ViewDatasets(ctx context.Context, in workspace.ID, ids []views.ID) (map[views.ID]catalog.Dataset, error)
}

// Boards reads and changes the boards of workspaces.
type Boards struct {
	store Store
	now   func() time.Time
}

// New returns Boards on a store; now is the clock, time.Now when nil.
func New(store Store, now func() time.Time) *Boards {
	if now == nil {
		now = time.Now
	}
	return &Boards{store, now}
}

// List returns a page of boards, sorted by name.
func (s *Boards) List(ctx context.Context, in workspace.ID, limit, offset int) ([]Board, error) {
	return s.store.Boards(ctx, in, limit, offset)
}

// Get returns a board: fault.NotFound.
func (s *Boards) Get(ctx context.Context, in workspace.ID, id ID) (Board, error) {
	return s.store.Board(ctx, in, id)
}

// Delete deletes a board for everybody: fault.NotFound.
func (s *Boards) Delete(ctx context.Context, in workspace.ID, id ID) error {
	return s.store.DeleteBoard(ctx, in, id)
}

// Upsert creates or changes a board; author is zero for an API key. Errors: fault.NotFound,
// fault.RevisionConflict, fault.LimitReached, fault.InvalidInput for a tile of a View that the
// workspace does not have and that was not in the board before.
func (s *Boards) Upsert(ctx context.Context, in workspace.ID, author workspace.UserID, c Change) (Board, error) {
	now := workspace.StoredTime(s.now())
	known, err := s.store.ViewDatasets(ctx, in, c.views())
	if err != nil {
		return Board{}, err
	}
	if c.ID == nil {
		b := Board{
			ID: ID(workspace.NewUUID()), Workspace: in, Name: c.Name, Tiles: *c.Tiles, Revision: 1,
			CreatedBy: author, UpdatedBy: author, CreatedAt: now, UpdatedAt: now,
		}
		if err := checkViews(b.Tiles, nil, known); err != nil {
			return Board{}, err
		}
		return b, s.store.InsertBoard(ctx, in, b)
	}
	return s.store.UpdateBoard(ctx, in, *c.ID, func(b Board) (Board, error) {
		if c.Revision != 0 && c.Revision != b.Revision {
			return Board{}, fault.New(fault.RevisionConflict,
				"the board has revision %d, not %d: read it again and repeat the change", b.Revision, c.Revision)
		}
		changed := b
		if c.Name != "" {
			changed.Name = c.Name
		}
		if c.Tiles != nil {
			if err := checkViews(*c.Tiles, b.Tiles, known); err != nil {
				return Board{}, err
			}
			changed.Tiles = *c.Tiles
		}
		if changed.Name == b.Name && slices.EqualFunc(changed.Tiles, b.Tiles, Tile.Equal) {
			return b, nil
		}
		changed.Revision++
		changed.UpdatedAt, changed.UpdatedBy = now, author
		return changed, nil
	})
}

// checkViews refuses tiles of Views that do not exist, or belong to another dataset. A tile
// that was on the board before may have a deleted View, so that a board can be written as
// it was read.
func checkViews(tiles, before []Tile, known map[views.ID]catalog.Dataset) error {
	var issues []fault.Issue
	for i, t := range tiles {
		if t.View == nil {
			continue
		}
		d, there := known[*t.View]
		if !there && slices.ContainsFunc(before, func(b Tile) bool { return b.View != nil && *b.View == *t.View && b.Dataset == t.Dataset }) {
			continue
		}
		switch {
		case !there:
			issues = append(issues, tileIssue(i, "view_id", "the workspace has no View with this id"))
		case d != t.Dataset:
			issues = append(issues, tileIssue(i, "dataset", "the View has "+string(d)))
		}
	}
	if issues != nil {
		return fault.Validation(issues...)
	}
	return nil
}
