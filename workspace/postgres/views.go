package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/views"
)

var _ views.Store = (*Store)(nil)

func viewNotFound(cause error) *fault.Error {
	return fault.Wrap(cause, fault.ViewNotFound, "the workspace has no View with this id")
}

func viewNameConflict(cause error) *fault.Error {
	return fault.Wrap(
		cause,
		fault.ViewNameConflict,
		"the workspace has a View of this dataset with this name already: case and accents do not count",
	)
}

// viewQuery reads Views of a workspace ($1) as a viewer ($2, null for none) sees
// them. rest is appended to the WHERE clause.
func viewQuery(rest string) string {
	return `
	WITH f AS (
		SELECT view_id, row_number() OVER (ORDER BY position, view_id) - 1 AS position
		FROM favorites WHERE workspace_id = $1 AND user_id = $2
	)
	SELECT v.id, v.dataset, v.view_type, v.name, v.definition, v.presentation, v.revision, v.created_by, v.updated_by,
	       v.created_at, v.updated_at, f.position,
	       v.members - CASE WHEN v.members = 0 THEN 0 ELSE (
	           SELECT count(*) FROM held_records h JOIN view_records r USING (workspace_id, dataset, record_id)
	           WHERE h.workspace_id = $1 AND h.dataset = v.dataset AND NOT h.present AND r.view_id = v.id) END
	FROM views v LEFT JOIN f ON f.view_id = v.id
	WHERE v.workspace_id = $1 ` + rest
}

func collectView(in workspace.ID) pgx.RowToFunc[views.View] {
	return func(row pgx.CollectableRow) (views.View, error) {
		v := views.View{Workspace: in}
		var definition, presentation []byte
		var created, updated *uuid.UUID
		err := row.Scan((*uuid.UUID)(&v.ID), &v.Dataset, &v.Type, &v.Name, &definition, &presentation, &v.Revision,
			&created, &updated, &v.CreatedAt, &v.UpdatedAt, &v.Position, &v.Records)
		if err != nil {
			return v, err
		}
		v.CreatedBy, v.UpdatedBy = userOrZero(created), userOrZero(updated)
		if v.Definition, err = views.ReadDefinition(definition, v.Dataset, v.Type); err != nil {
			return v, err
		}
		if err := json.Unmarshal(presentation, &v.Presentation); err != nil {
			return v, fmt.Errorf("a stored presentation is unreadable: %w", err)
		}
		return v, nil
	}
}

// userOrZero returns the zero id for null.
func userOrZero(id *uuid.UUID) workspace.UserID {
	if id == nil {
		return workspace.UserID{}
	}
	return workspace.UserID(*id)
}

// Views implements views.Store.
func (s *Store) Views(ctx context.Context, in workspace.ID, f views.Filter) (list []views.View, err error) {
	var id *uuid.UUID
	if f.ID != nil {
		id = (*uuid.UUID)(f.ID)
	}
	err = s.query(ctx, in, viewQuery(`
		  AND ($3::uuid IS NULL OR v.id = $3) AND ($4 = '' OR strpos(v.name_folded, $4) > 0)
		  AND ($5 = '' OR v.dataset = $5) AND ($6 = '' OR v.view_type = $6) AND (NOT $7 OR f.view_id IS NOT NULL)
		  AND ($10::uuid IS NULL OR v.id IN (SELECT view_id FROM view_records
		      WHERE workspace_id = $1 AND dataset IN ('accounts', 'contacts', 'projects') AND record_id = $10))
		ORDER BY v.name_folded, v.id LIMIT $8 OFFSET $9`),
		[]any{arg(in), nullable(f.Viewer), id, f.Name, string(f.Dataset), string(f.Type), f.Favorites, f.Limit, f.Offset, f.Record},
		func(rows pgx.Rows) error {
			list, err = pgx.CollectRows(rows, collectView(in))
			return err
		})
	return list, err
}

// ViewByID implements views.Store.
func (s *Store) ViewByID(ctx context.Context, in workspace.ID, id views.ID, viewer workspace.UserID) (v views.View, err error) {
	err = s.query(ctx, in, viewQuery(`AND v.id = $3`), []any{arg(in), nullable(viewer), arg(id)}, func(rows pgx.Rows) error {
		v, err = pgx.CollectExactlyOneRow(rows, collectView(in))
		return err
	})
	return orNotFound(v, err, viewNotFound)
}

// BareView implements views.Store and workspace.MembershipStore.
func (s *Store) BareView(ctx context.Context, in workspace.ID, id views.ID) (v views.View, err error) {
	v = views.View{ID: id, Workspace: in}
	var definition []byte
	err = s.queryRow(ctx, in, `SELECT dataset, view_type, name, revision, definition FROM views WHERE workspace_id = $1 AND id = $2`,
		[]any{arg(in), arg(id)}, &v.Dataset, &v.Type, &v.Name, &v.Revision, &definition)
	if err == nil {
		v.Definition, err = views.ReadDefinition(definition, v.Dataset, v.Type)
	}
	return orNotFound(v, err, viewNotFound)
}

// StaticViews returns the ids of a dataset's Static Views, not nil.
func (s *Store) StaticViews(ctx context.Context, in workspace.ID, d catalog.Dataset) (ids []views.ID, err error) {
	err = s.query(ctx, in, `SELECT id FROM views WHERE workspace_id = $1 AND dataset = $2 AND view_type = 'static' ORDER BY id`,
		[]any{arg(in), string(d)}, func(rows pgx.Rows) error {
			ids, err = pgx.CollectRows(rows, collectViewID)
			return err
		})
	return ids, err
}

func collectViewID(row pgx.CollectableRow) (id views.ID, err error) {
	return id, row.Scan((*uuid.UUID)(&id))
}

// InsertView implements views.Store.
func (s *Store) InsertView(ctx context.Context, in workspace.ID, v views.View, limit int) error {
	definition, presentation, err := marshalView(v)
	if err != nil {
		return err
	}
	return s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		err := lockAndCheckLimit(ctx, tx, in, rowLimit{
			name: "views", items: "Views", advice: "delete one first", max: limit, rows: `views WHERE workspace_id = $1`,
		})
		if err != nil {
			return err
		}
		if err := refuseEqualName(ctx, tx, in, v); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO views (workspace_id, id, dataset, view_type, name, name_folded, definition, presentation, revision,
			                   created_by, updated_by, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
			arg(in), arg(v.ID), string(v.Dataset), string(v.Type), v.Name, v.FoldedName(), definition, presentation, v.Revision,
			nullable(v.CreatedBy), nullable(v.UpdatedBy), v.CreatedAt, v.UpdatedAt)
		return err
	})
}

func marshalView(v views.View) (definition, presentation []byte, err error) {
	definition, err = json.Marshal(v.Definition)
	if err != nil {
		return nil, nil, err
	}
	presentation, err = json.Marshal(v.Presentation)
	return definition, presentation, err
}

// UpdateView implements views.Store.
func (s *Store) UpdateView(
	ctx context.Context,
	in workspace.ID,
	id views.ID,
	viewer workspace.UserID,
	change func(views.View) (views.View, error),
) (v views.View, err error) {
	err = s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		if err := lockView(ctx, tx, in, id, "FOR NO KEY UPDATE"); err != nil {
			return err
		}
		// A separate statement sees what was committed while this transaction waited
		// for the lock.
		rows, err := tx.Query(ctx, viewQuery(`AND v.id = $3`), arg(in), nullable(viewer), arg(id))
		if err != nil {
			return err
		}
		stored, err := pgx.CollectExactlyOneRow(rows, collectView(in))
		if err != nil {
			return err
		}
		v, err = change(stored)
		if err != nil || v.Revision == stored.Revision {
			return err
		}
		definition, presentation, err := marshalView(v)
		if err != nil {
			return err
		}
		// An unchanged name may equal another's, because an earlier folding distinguished
		// them.
		if v.FoldedName() != stored.FoldedName() {
			if err := refuseEqualName(ctx, tx, in, v); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `
			UPDATE views SET name = $3, name_folded = CASE WHEN $10 THEN name_folded ELSE $4 END, definition = $5, presentation = $6, revision = $7, updated_by = $8,
			                 updated_at = $9
			WHERE workspace_id = $1 AND id = $2`,
			arg(in), arg(id), v.Name, v.FoldedName(), definition, presentation, v.Revision, nullable(v.UpdatedBy), v.UpdatedAt,
			v.FoldedName() == stored.FoldedName())
		return err
	})
	if err != nil {
		return views.View{}, err
	}
	return v, nil
}

// lockView locks a View's row until the end of the transaction.
func lockView(ctx context.Context, tx pgx.Tx, in workspace.ID, id views.ID, how string) error {
	tag, err := tx.Exec(ctx, `SELECT FROM views WHERE workspace_id = $1 AND id = $2 `+how, arg(in), arg(id))
	if err == nil && tag.RowsAffected() == 0 {
		return viewNotFound(pgx.ErrNoRows)
	}
	return err
}

// DeleteView implements views.Store. The records of the View become pending, but not as a
// change of the workspace: there are up to 100,000, so the sweep projects them and no search
// waits for them.
func (s *Store) DeleteView(ctx context.Context, in workspace.ID, id views.ID) error {
	return s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '30s'`); err != nil {
			return err
		}
		if err := lockView(ctx, tx, in, id, "FOR UPDATE"); err != nil {
			return err
		}
		if err := bumpMembers(ctx, tx, in, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM views WHERE workspace_id = $1 AND id = $2`, arg(in), arg(id))
		return err
	})
}

// bumpMembers makes all records of a View pending, but not as a change of the workspace. It
// marks contacts: until their documents are rewritten, they name the deleted View, and
// searches must not find a contact that only this View made visible
// (docs/decisions/013-view-locks.md).
func bumpMembers(ctx context.Context, tx pgx.Tx, in workspace.ID, id views.ID) error {
	_, err := tx.Exec(ctx, `
		WITH locked AS MATERIALIZED (
			SELECT dataset, record_id FROM held_records h JOIN view_records r USING (workspace_id, dataset, record_id)
			WHERE h.workspace_id = $1 AND r.view_id = $2 ORDER BY record_id FOR UPDATE OF h
		), taken AS MATERIALIZED (
			SELECT dataset, record_id, nextval('held_version') AS version FROM locked
		)
		UPDATE held_records SET version = t.version, `+setPendingSince+`,
			view_deleted_version = CASE WHEN t.dataset = 'contacts' THEN t.version END
		FROM taken t
		WHERE held_records.workspace_id = $1 AND held_records.dataset = t.dataset AND held_records.record_id = t.record_id`, arg(in), arg(id))
	return err
}

// inWorkspaceRetrying is inWorkspace with retries after deadlocks and serialization
// failures. fn must change nothing outside the transaction.
func (s *Store) inWorkspaceRetrying(ctx context.Context, in workspace.ID, fn func(pgx.Tx) error) error {
	const maxAttempts = 5
	for attempt := 1; ; attempt++ {
		err := s.inWorkspace(ctx, in, fn)
		aborted, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || aborted.Code != "40P01" && aborted.Code != "40001" || attempt == maxAttempts {
			return err
		}
	}
}
