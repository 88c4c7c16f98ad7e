package client

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Board is a page of tiles that the workspace shares: docs/api.md, "Boards". A board as read
// can be written by Upsert.
type Board struct {
	// ID is empty to create a board.
	ID          string `json:"id,omitzero"`
	WorkspaceID string `json:"workspace_id,omitzero"`
	// Name has 1 to 100 characters.
	Name string `json:"name,omitzero"`
	// Tiles are at most 12. Nil: an upsert does not change them.
	Tiles []Tile `json:"tiles,omitzero"`
	// Revision counts changes from 1. If it is set, an upsert of a board with another
	// revision is refused.
	Revision int `json:"revision,omitzero"`
	// CreatedBy and UpdatedBy are nil for an API key and for a deleted user.
	CreatedBy *string   `json:"created_by,omitzero"`
	UpdatedBy *string   `json:"updated_by,omitzero"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// Tile is a part of a board.
type Tile struct {
	Kind    TileKind    `json:"kind"`
	Title   string      `json:"title"`
	Dataset DatasetName `json:"dataset"`
	// Of says which records it shows. ViewID is that of a tile of TileOfView.
	Of     TileSource `json:"of"`
	ViewID string     `json:"view_id,omitzero"`
	// Request is the body of the request: that of a FacetRequest with one facet, of TileView
	// without any, or of a PivotRequest. Relative dates stay relative.
	Request json.RawMessage `json:"request"`
}

// Boards are those of the workspace.
type Boards struct{ conn *conn }

const boardsPath = "/workspace/boards"

type oneBoard struct {
	Board Board `json:"board"`
}

// List iterates over the boards, by name.
func (b *Boards) List(ctx context.Context) iter.Seq2[Board, error] {
	return list[Board](ctx, b.conn, boardsPath, "boards", nil)
}

// Get reads a board: ErrNotFound.
func (b *Boards) Get(ctx context.Context, id string) (Board, error) {
	d, err := get[oneBoard](ctx, b.conn, boardsPath+segment(id))
	return d.Board, err
}

// Upsert creates a board, or changes the one with its ID: ErrNotFound, ErrRevisionConflict,
// ErrLimitReached for a 51st.
func (b *Boards) Upsert(ctx context.Context, board Board) (Board, error) {
	d, err := post[oneBoard](ctx, b.conn, boardsPath+"/upsert", board)
	return d.Board, err
}

// Delete deletes a board for everybody: ErrNotFound.
func (b *Boards) Delete(ctx context.Context, id string) error {
	return remove(ctx, b.conn, boardsPath+segment(id))
}
