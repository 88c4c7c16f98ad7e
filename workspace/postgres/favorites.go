package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/views"
)

var _ views.FavoriteStore = (*Store)(nil)

// Favorites implements workspace.FavoriteStore.
func (s *Store) Favorites(ctx context.Context, in workspace.ID, user workspace.UserID, limit, offset int) (list []views.View, err error) {
	err = s.query(ctx, in, viewQuery(`AND f.view_id IS NOT NULL ORDER BY f.position LIMIT $3 OFFSET $4`),
		[]any{arg(in), arg(user), limit, offset}, func(rows pgx.Rows) error {
			list, err = pgx.CollectRows(rows, collectView(in))
			return err
		})
	return list, err
}

// viewsByID returns the Views that exist, as the user sees them.
func viewsByID(ctx context.Context, tx pgx.Tx, in workspace.ID, user workspace.UserID, ids []views.ID) (map[views.ID]views.View, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, viewQuery(`AND v.id = ANY($3)`), arg(in), arg(user), argList(ids))
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, collectView(in))
	views := make(map[views.ID]views.View, len(list))
	for _, v := range list {
		views[v.ID] = v
	}
	return views, err
}

// UpdateFavorites implements workspace.FavoriteStore. It locks the user's membership,
// which serializes the user's changes, then their rows in the order of View ids,
// then the Views.
func (s *Store) UpdateFavorites(
	ctx context.Context,
	in workspace.ID,
	user workspace.UserID,
	named []views.ID,
	update func([]views.ID, map[views.ID]bool) []views.ID,
) (favorites map[views.ID]views.View, err error) {
	err = s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `SELECT FROM members WHERE workspace_id = $1 AND user_id = $2 FOR NO KEY UPDATE`, arg(in), arg(user))
		if err == nil && tag.RowsAffected() == 0 {
			return fault.New(fault.Forbidden, "you are no member of this workspace")
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT FROM favorites WHERE workspace_id = $1 AND user_id = $2 ORDER BY view_id FOR UPDATE`, arg(in), arg(user)); err != nil {
			return err
		}
		existing, err := viewIDs(
			ctx,
			tx,
			`SELECT id FROM views WHERE workspace_id = $1 AND id = ANY($2) ORDER BY id FOR KEY SHARE`,
			arg(in),
			argList(named),
		)
		if err != nil {
			return err
		}
		order, err := viewIDs(
			ctx,
			tx,
			`SELECT view_id FROM favorites WHERE workspace_id = $1 AND user_id = $2 ORDER BY position, view_id`,
			arg(in),
			arg(user),
		)
		if err != nil {
			return err
		}
		exists := map[views.ID]bool{}
		for _, id := range existing {
			exists[id] = true
		}
		if err := replaceFavorites(ctx, tx, in, user, update(order, exists)); err != nil {
			return err
		}
		favorites, err = viewsByID(ctx, tx, in, user, named)
		return err
	})
	return favorites, err
}

func viewIDs(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]views.ID, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, collectViewID)
}

// replaceFavorites stores a user's Favorites in this order and deletes all others.
func replaceFavorites(ctx context.Context, tx pgx.Tx, in workspace.ID, user workspace.UserID, order []views.ID) error {
	_, err := tx.Exec(
		ctx,
		`DELETE FROM favorites WHERE workspace_id = $1 AND user_id = $2 AND view_id <> ALL($3)`,
		arg(in),
		arg(user),
		argList(order),
	)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO favorites (workspace_id, user_id, view_id, position)
		SELECT $1, $2, id, position - 1 FROM unnest($3::uuid[]) WITH ORDINALITY AS o (id, position)
		ON CONFLICT ON CONSTRAINT favorites_pkey DO UPDATE SET position = excluded.position
		WHERE favorites.position <> excluded.position`, arg(in), arg(user), argList(order))
	return err
}
