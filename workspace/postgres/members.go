package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/views"
)

var _ views.MembershipStore = (*Store)(nil)

// AddMembers implements workspace.MembershipStore. It locks the View's row, then the
// held rows in the order of ids, as every write does. The overlay or membership that
// makes a record visible cannot be removed while its row is locked.
func (s *Store) AddMembers(ctx context.Context, in workspace.ID, v views.View, candidates []views.Candidate) (outcomes []error, err error) {
	err = s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		var members int
		var now time.Time
		err := tx.QueryRow(ctx, `
			SELECT members, date_trunc('milliseconds', clock_timestamp()) FROM views WHERE workspace_id = $1 AND id = $2 AND view_type = 'static'
			FOR NO KEY UPDATE`, arg(in), arg(v.ID)).Scan(&members, &now)
		if noRows(err) {
			return viewNotFound(err)
		}
		if err != nil {
			return err
		}
		ids := make([]uuid.UUID, len(candidates))
		for i, c := range candidates {
			ids[i] = c.Record
		}
		state, err := lockMemberships(ctx, tx, in, v, ids)
		if err != nil {
			return err
		}
		var added []uuid.UUID
		outcomes, added = checkCandidates(v, candidates, state, members)
		if len(added) == 0 {
			return nil
		}
		if err := hold(ctx, tx, in, string(v.Dataset), added); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO view_records (workspace_id, view_id, dataset, record_id, added_at)
			SELECT $1, $2, $3, id, $5 FROM unnest($4::uuid[]) id`, arg(in), arg(v.ID), string(v.Dataset), added, now)
		if err != nil {
			return err
		}
		if err := noteShown(ctx, tx, in, string(v.Dataset), added); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE views SET members = members + $3 WHERE workspace_id = $1 AND id = $2`, arg(in), arg(v.ID), len(added))
		return err
	})
	return outcomes, err
}

// membership says whether a record is in the View, and visible to the workspace.
type membership struct{ inView, visible bool }

// lockMemberships locks the held rows of the records and reads their memberships.
func lockMemberships(ctx context.Context, tx pgx.Tx, in workspace.ID, v views.View, ids []uuid.UUID) (map[uuid.UUID]membership, error) {
	if _, err := tx.Exec(ctx, exclusiveLock, arg(in), string(v.Dataset)); err != nil {
		return nil, err
	}
	_, err := tx.Exec(ctx, `
		SELECT FROM held_records WHERE workspace_id = $1 AND dataset = $2 AND record_id = ANY($3)
		ORDER BY record_id FOR UPDATE`, arg(in), string(v.Dataset), ids)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `
		SELECT id,
		       EXISTS (SELECT FROM view_records WHERE workspace_id = $1 AND view_id = $4 AND record_id = id),
		       EXISTS (SELECT FROM view_records WHERE workspace_id = $1 AND dataset = $2 AND record_id = id)
		       OR EXISTS (SELECT FROM overlays WHERE workspace_id = $1 AND dataset = $2 AND record_id = id)
		FROM unnest($3::uuid[]) id`, arg(in), string(v.Dataset), ids, arg(v.ID))
	if err != nil {
		return nil, err
	}
	state := map[uuid.UUID]membership{}
	var id uuid.UUID
	var m membership
	_, err = pgx.ForEachRow(rows, []any{&id, &m.inView, &m.visible}, func() error {
		state[id] = m
		return nil
	})
	return state, err
}

// checkCandidates checks candidates in order. It adds only records that the workspace
// already sees.
func checkCandidates(
	v views.View,
	candidates []views.Candidate,
	state map[uuid.UUID]membership,
	members int,
) (outcomes []error, added []uuid.UUID) {
	outcomes = make([]error, len(candidates))
	for i, c := range candidates {
		m := state[c.Record]
		switch {
		case m.inView:
		case !c.Linked && !m.visible:
			outcomes[i] = fault.New(
				fault.RecordNotVisible,
				"the %s is not visible to the workspace: no project names it, and it is neither in the book nor in a Static View",
				v.Dataset.Singular(),
			)
		case members >= views.MaxMembers:
			outcomes[i] = fault.New(fault.ViewFull, "a Static View holds at most %d records", views.MaxMembers)
		default:
			members++
			state[c.Record] = membership{true, true}
			added = append(added, c.Record)
		}
	}
	return outcomes, added
}

// RemoveMembers implements workspace.MembershipStore.
func (s *Store) RemoveMembers(ctx context.Context, in workspace.ID, v views.View, records []uuid.UUID) error {
	return s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		if err := lockView(ctx, tx, in, v.ID, "FOR NO KEY UPDATE"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT record_id FROM view_records WHERE workspace_id = $1 AND view_id = $2 AND record_id = ANY($3)`,
			arg(in), arg(v.ID), records)
		if err != nil {
			return err
		}
		removed, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil || len(removed) == 0 {
			return err
		}
		if _, err := bumpExisting(ctx, tx, in, string(v.Dataset), removed); err != nil {
			return err
		}
		tag, err := tx.Exec(
			ctx,
			`DELETE FROM view_records WHERE workspace_id = $1 AND view_id = $2 AND record_id = ANY($3)`,
			arg(in),
			arg(v.ID),
			removed,
		)
		if err != nil {
			return err
		}
		_, err = tx.Exec(
			ctx,
			`UPDATE views SET members = members - $3 WHERE workspace_id = $1 AND id = $2`,
			arg(in),
			arg(v.ID),
			tag.RowsAffected(),
		)
		return err
	})
}
