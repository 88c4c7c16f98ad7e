package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/queue"
)

var _ queue.Store = (*Store)(nil)

// QueueState implements queue.Store.
func (s *Store) QueueState(ctx context.Context, in workspace.ID) (queue.State, error) {
	state := queue.State{After: map[string]time.Time{}}
	// One statement, so that dismissals and subscriptions are of the same time.
	err := s.query(ctx, in, `
		SELECT signal_type, coalesce(arrived_after, queue_started_at), NULL::uuid FROM signal_subscriptions WHERE workspace_id = $1
		UNION ALL
		SELECT NULL, NULL, signal_id FROM dismissed_signals WHERE workspace_id = $1`, []any{arg(in)}, func(rows pgx.Rows) error {
		for rows.Next() {
			var of *string
			var after *time.Time
			var dismissed *uuid.UUID
			if err := rows.Scan(&of, &after, &dismissed); err != nil {
				return err
			}
			if of != nil {
				state.After[*of] = *after
			} else {
				state.Dismissed = append(state.Dismissed, *dismissed)
			}
		}
		return rows.Err()
	})
	return state, err
}

// Dismiss implements queue.Store.
func (s *Store) Dismiss(ctx context.Context, in workspace.ID, all []queue.Dismissal, at time.Time) (refused []uuid.UUID, err error) {
	ids, types := make([]uuid.UUID, len(all)), make([]string, len(all))
	for i, d := range all {
		ids[i], types[i] = d.Signal, d.Type
	}
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := lockLimit(ctx, tx, in, "dismissed_signals"); err != nil {
			return err
		}
		// The share lock preserves the subscriptions until the dismissals of their types
		// are stored: ending a subscription deletes these.
		rows, err := tx.Query(ctx, `
			WITH subscribed AS MATERIALIZED (
				SELECT signal_type FROM signal_subscriptions WHERE workspace_id = $1 FOR SHARE
			), wanted AS (
				SELECT w.*, d.signal_id IS NOT NULL
					OR count(*) FILTER (WHERE d.signal_id IS NULL) OVER (ORDER BY place) <= $4 - (SELECT count(*) FROM dismissed_signals WHERE workspace_id = $1) AS fits
				FROM unnest($2::uuid[], $3::text[]) WITH ORDINALITY AS w (signal_id, signal_type, place)
				LEFT JOIN dismissed_signals d ON d.workspace_id = $1 AND d.signal_id = w.signal_id
			), added AS (
				INSERT INTO dismissed_signals (workspace_id, signal_id, signal_type, dismissed_at)
				SELECT $1, signal_id, signal_type, $5 FROM wanted JOIN subscribed USING (signal_type) WHERE fits
				ON CONFLICT DO NOTHING
			)
			SELECT signal_id FROM wanted WHERE NOT fits`, arg(in), ids, types, queue.MaxDismissed, at)
		if err != nil {
			return err
		}
		refused, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	return refused, err
}

// Restore implements queue.Store.
func (s *Store) Restore(ctx context.Context, in workspace.ID, signals []uuid.UUID) error {
	return s.change(ctx, in, `DELETE FROM dismissed_signals WHERE workspace_id = $1 AND signal_id = ANY ($2)`, []any{arg(in), signals},
		func(pgx.Rows) error { return nil })
}

// BookIDs implements queue.Store.
func (s *Store) BookIDs(ctx context.Context, in workspace.ID, limit int) (accounts, projects []uuid.UUID, err error) {
	err = s.query(ctx, in, `
		SELECT dataset, record_id FROM overlays WHERE workspace_id = $1 AND dataset IN ('accounts', 'projects') LIMIT $2`,
		[]any{arg(in), limit}, func(rows pgx.Rows) error {
			var d string
			var id uuid.UUID
			_, err := pgx.ForEachRow(rows, []any{&d, &id}, func() error {
				if d == string(catalog.Accounts) {
					accounts = append(accounts, id)
				} else {
					projects = append(projects, id)
				}
				return nil
			})
			return err
		})
	return accounts, projects, err
}

// ArrivedThrough implements queue.Store.
func (s *Store) ArrivedThrough(ctx context.Context) (at time.Time, err error) {
	err = s.pool.QueryRow(ctx, `SELECT arrived FROM data_feed`).Scan(&at)
	return at, toFault(err)
}
