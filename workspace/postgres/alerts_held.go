package postgres

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/alerts"
)

// Held records are compared with watched Views once their documents are written, whatever
// changed: the workspace's own values, the score or the global record.

// comparesHeld is the condition that a workspace watches a View of a dataset that searches held
// records (alerts.Held). keys are alerts.HeldKeys.
func comparesHeld(in, dataset, keys string) string {
	return fmt.Sprintf(`EXISTS (
		SELECT FROM watched_views w JOIN views v ON v.workspace_id = w.workspace_id AND v.id = w.view_id
		WHERE w.workspace_id = %[1]s AND v.dataset = %[2]s
		AND (v.dataset = 'contacts' OR jsonb_exists_any(v.definition -> 'fields', %[3]s)))`, in, dataset, keys)
}

// compareWritten queues records for comparison when their documents were written.
var compareWritten = `
	INSERT INTO view_alert_changes AS c (workspace_id, dataset, record_id, version, shown)
	SELECT $1, r.dataset, r.record_id, max(r.version), 0
	FROM jsonb_to_recordset($2) AS r(dataset text, record_id uuid, version bigint, written boolean)
	WHERE r.written AND ` + comparesHeld(`$1`, `r.dataset`, `$3`) + `
	GROUP BY r.dataset, r.record_id ORDER BY r.dataset, r.record_id
	ON CONFLICT ON CONSTRAINT view_alert_changes_pkey DO UPDATE SET version = greatest(c.version, excluded.version)`

// noteShown records that the workspace itself put records into its book or a Static View, in
// the transaction that gave them new versions. The records are compared when their documents
// are written.
func noteShown(ctx context.Context, tx pgx.Tx, in workspace.ID, dataset string, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO view_alert_changes AS c (workspace_id, dataset, record_id, version, shown)
		SELECT $1, $2, record_id, 0, version FROM held_records
		WHERE workspace_id = $1 AND dataset = $2 AND record_id = ANY ($3) AND `+comparesHeld(`$1`, `$2`, `$4`)+`
		ORDER BY record_id
		ON CONFLICT ON CONSTRAINT view_alert_changes_pkey DO UPDATE SET shown = excluded.shown`, arg(in), dataset, ids, alerts.HeldKeys())
	return err
}

// HeldChanged implements alerts.Watches.
func (s *System) HeldChanged(ctx context.Context) ([]alerts.HeldOf, error) {
	return collect(ctx, s, func(row pgx.CollectableRow) (of alerts.HeldOf, err error) {
		return of, row.Scan((*uuid.UUID)(&of.Workspace), &of.Dataset)
	}, `SELECT DISTINCT workspace_id, dataset FROM view_alert_changes WHERE version > 0 AND version >= shown ORDER BY workspace_id, dataset`)
}

// HeldChanges implements alerts.Watches.
func (s *System) HeldChanges(ctx context.Context, of alerts.HeldOf, limit int) ([]alerts.HeldChange, error) {
	if err := of.Workspace.Check(); err != nil {
		return nil, err
	}
	return collect(ctx, s, func(row pgx.CollectableRow) (c alerts.HeldChange, err error) {
		return c, row.Scan(&c.Record, &c.Version, &c.Shown)
	}, `SELECT record_id, version, shown FROM view_alert_changes WHERE workspace_id = $1 AND dataset = $2 AND version > 0 AND version >= shown
	    ORDER BY record_id LIMIT $3`, arg(of.Workspace), string(of.Dataset), limit)
}

// CompareHeld implements alerts.Watches. A record that was put into the book meanwhile stays.
func (s *System) CompareHeld(ctx context.Context, of alerts.HeldOf, compared []alerts.HeldChange) error {
	ids, versions, shown := make([]uuid.UUID, len(compared)), make([]int64, len(compared)), make([]int64, len(compared))
	for i, c := range compared {
		ids[i], versions[i], shown[i] = c.Record, c.Version, c.Shown
	}
	return s.inWorkspace(ctx, of.Workspace, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			DELETE FROM view_alert_changes c USING unnest($3::uuid[], $4::bigint[], $5::bigint[]) AS o (record_id, version, shown)
			WHERE c.workspace_id = $1 AND c.dataset = $2 AND c.record_id = o.record_id AND c.version = o.version AND c.shown = o.shown`,
			arg(of.Workspace), string(of.Dataset), ids, versions, shown)
		return err
	})
}
