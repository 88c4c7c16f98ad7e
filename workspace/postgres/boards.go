package postgres

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/boards"
	"atlas/workspace/views"
)

var _ boards.Store = (*Store)(nil)

func unknownBoard(cause error) *fault.Error {
	return fault.Wrap(cause, fault.NotFound, "the workspace has no board with this id")
}

const boardColumns = `SELECT id, name, tiles, revision, created_by, updated_by, created_at, updated_at FROM boards WHERE workspace_id = $1 `

func collectBoard(in workspace.ID) pgx.RowToFunc[boards.Board] {
	return func(row pgx.CollectableRow) (boards.Board, error) {
		b := boards.Board{Workspace: in}
		var tiles []byte
		var created, updated *uuid.UUID
		err := row.Scan((*uuid.UUID)(&b.ID), &b.Name, &tiles, &b.Revision, &created, &updated, &b.CreatedAt, &b.UpdatedAt)
		if err != nil {
			return b, err
		}
		b.CreatedBy, b.UpdatedBy = userOrZero(created), userOrZero(updated)
		b.Tiles, err = boards.ReadTiles(tiles)
		return b, err
	}
}

// Boards implements boards.Store.
func (s *Store) Boards(ctx context.Context, in workspace.ID, limit, offset int) ([]boards.Board, error) {
	return queryAll(ctx, s, in, collectBoard(in), boardColumns+`ORDER BY name_folded, id LIMIT $2 OFFSET $3`, arg(in), limit, offset)
}

// Board implements boards.Store.
func (s *Store) Board(ctx context.Context, in workspace.ID, id boards.ID) (b boards.Board, err error) {
	err = s.query(ctx, in, boardColumns+`AND id = $2`, []any{arg(in), arg(id)}, func(rows pgx.Rows) error {
		b, err = pgx.CollectExactlyOneRow(rows, collectBoard(in))
		return err
	})
	return orNotFound(b, err, unknownBoard)
}

// InsertBoard implements boards.Store.
func (s *Store) InsertBoard(ctx context.Context, in workspace.ID, b boards.Board) error {
	tiles, err := json.Marshal(b.Tiles)
	if err != nil {
		return err
	}
	return s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		err := lockAndCheckLimit(ctx, tx, in, rowLimit{
			name: "boards", items: "boards", advice: "delete one first", max: boards.MaxBoards, rows: `boards WHERE workspace_id = $1`,
		})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO boards (workspace_id, id, name, name_folded, tiles, revision, created_by, updated_by, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			arg(in), arg(b.ID), b.Name, b.FoldedName(), tiles, b.Revision, nullable(b.CreatedBy), nullable(b.UpdatedBy), b.CreatedAt, b.UpdatedAt)
		return err
	})
}

// UpdateBoard implements boards.Store.
func (s *Store) UpdateBoard(
	ctx context.Context, in workspace.ID, id boards.ID, change func(boards.Board) (boards.Board, error),
) (b boards.Board, err error) {
	err = s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, boardColumns+`AND id = $2 FOR NO KEY UPDATE`, arg(in), arg(id))
		if err != nil {
			return err
		}
		stored, err := pgx.CollectExactlyOneRow(rows, collectBoard(in))
		if noRows(err) {
			return unknownBoard(err)
		}
		if err != nil {
			return err
		}
		b, err = change(stored)
		if err != nil || b.Revision == stored.Revision {
			return err
		}
		tiles, err := json.Marshal(b.Tiles)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			UPDATE boards SET name = $3, name_folded = $4, tiles = $5, revision = $6, updated_by = $7, updated_at = $8
			WHERE workspace_id = $1 AND id = $2`,
			arg(in), arg(id), b.Name, b.FoldedName(), tiles, b.Revision, nullable(b.UpdatedBy), b.UpdatedAt)
		return err
	})
	if err != nil {
		return boards.Board{}, err
	}
	return b, nil
}

// DeleteBoard implements boards.Store.
func (s *Store) DeleteBoard(ctx context.Context, in workspace.ID, id boards.ID) error {
	return s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM boards WHERE workspace_id = $1 AND id = $2`, arg(in), arg(id))
		if err == nil && tag.RowsAffected() == 0 {
			return unknownBoard(pgx.ErrNoRows)
		}
		return err
	})
}

// ViewDatasets implements boards.Store.
func (s *Store) ViewDatasets(ctx context.Context, in workspace.ID, ids []views.ID) (map[views.ID]catalog.Dataset, error) {
	found := map[views.ID]catalog.Dataset{}
	if len(ids) == 0 {
		return found, nil
	}
	asked := make([]uuid.UUID, len(ids))
	for i, id := range ids {
		asked[i] = arg(id)
	}
	type view struct {
		id      views.ID
		dataset catalog.Dataset
	}
	list, err := queryAll(ctx, s, in, func(row pgx.CollectableRow) (v view, err error) {
		return v, row.Scan((*uuid.UUID)(&v.id), &v.dataset)
	}, `SELECT id, dataset FROM views WHERE workspace_id = $1 AND id = ANY ($2)`, arg(in), asked)
	for _, v := range list {
		found[v.id] = v.dataset
	}
	return found, err
}
