package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/search/changes"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/jobs"
	"atlas/workspace/views"
	"atlas/workspace/webhooks"
)

var _ alerts.Watches = (*System)(nil)

// WatchedViews implements alerts.Watches.
func (s *System) WatchedViews(ctx context.Context) ([]alerts.Watched, error) {
	return collect(ctx, s, func(row pgx.CollectableRow) (w alerts.Watched, err error) {
		err = row.Scan((*uuid.UUID)(&w.View.Workspace), (*uuid.UUID)(&w.View.ID), &w.View.Dataset, &w.View.Type, &w.View.Revision,
			&w.Definition, &w.Version, &w.State, &w.Reason, &w.Changed, &w.Through.Publication, &w.Through.Seq, &w.At)
		if err == nil {
			w.View.Definition, w.Unreadable = views.ReadDefinition(w.Definition, w.View.Dataset, w.View.Type)
		}
		return w, err
	}, `SELECT v.workspace_id, v.id, v.dataset, v.view_type, v.revision, v.definition, w.version, w.state, coalesce(w.reason, ''),
	           w.definition IS DISTINCT FROM v.definition, w.publication, w.seq, w.compared_at
	    FROM watched_views w JOIN views v ON v.workspace_id = w.workspace_id AND v.id = w.view_id
	    WHERE `+isWatched+`
	    ORDER BY v.workspace_id, v.id`)
}

// KnownMatches implements alerts.Watches.
func (s *System) KnownMatches(ctx context.Context, all []alerts.Watched) ([][]byte, error) {
	workspaces, ids, versions := watchedArgs(all)
	known := make([][]byte, len(all))
	rows, err := s.pool.Query(ctx, `
		SELECT o.position, w.matched
		FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) WITH ORDINALITY AS o (workspace_id, view_id, version, position)
		JOIN watched_views w USING (workspace_id, view_id, version)`, workspaces, ids, versions)
	if err != nil {
		return nil, toFault(err)
	}
	var position int
	var packed []byte
	_, err = pgx.ForEachRow(rows, []any{&position, &packed}, func() error {
		known[position-1], packed = packed, nil
		return nil
	})
	return known, toFault(err)
}

// StepWatched implements alerts.Watches. The matches, the position in the feed and the entry
// change in one transaction.
func (s *System) StepWatched(ctx context.Context, w alerts.Watched, step alerts.Step, now time.Time) (stored bool, err error) {
	var packed []byte
	if step.Known != nil {
		if packed, err = step.Known.Pack(); err != nil {
			return false, err
		}
	}
	err = s.inWorkspace(ctx, w.View.Workspace, func(tx pgx.Tx) error {
		// A change of the definition waits for the lock, or is seen.
		var number int64
		err := tx.QueryRow(ctx, `
			WITH v AS MATERIALIZED (
				SELECT definition FROM views WHERE workspace_id = $1 AND id = $2 AND definition = $4::jsonb FOR SHARE
			)
			UPDATE watched_views w SET version = version + 1, definition = v.definition, state = $5, matched = coalesce($6, matched),
				publication = $7, seq = $8, compared_at = CASE WHEN $9 THEN $10 ELSE compared_at END,
				latest = latest + CASE WHEN $11 THEN 1 ELSE 0 END, reason = nullif($12, ''),
				rests = rests + CASE WHEN $5 = 'resting' AND `+restsAlready+` IS NOT TRUE THEN 1 ELSE 0 END,
				rested_at = CASE WHEN `+restsAlready+` THEN w.rested_at WHEN $5 = 'resting' THEN $10 END
			FROM v WHERE w.workspace_id = $1 AND w.view_id = $2 AND w.version = $3 RETURNING w.latest`,
			arg(w.View.Workspace), arg(w.View.ID), w.Version, string(w.Definition), step.State, packed,
			step.Through.Publication, step.Through.Seq, step.Whole, now, len(step.Reported) > 0, step.Reason).Scan(&number)
		if noRows(err) {
			return nil
		}
		stored = true
		if err != nil || len(step.Reported) == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO view_alert_entries (workspace_id, view_id, number, at, records, record_ids) VALUES ($1, $2, $3, $4, $5, $6)`,
			arg(w.View.Workspace), arg(w.View.ID), number, now, len(step.Reported), step.Reported[:min(len(step.Reported), alerts.MaxIDs)])
		if err != nil {
			return err
		}
		return addMatches(ctx, tx, w.View, number, step.Reported, now)
	})
	return stored && err == nil, err
}

// restsAlready is the condition that the View of w already rests for the same reason, so that
// the rest continues.
const restsAlready = `(w.state = 'resting' AND $5 = 'resting' AND w.reason = $12)`

// addMatches creates the deliveries of an entry, in the transaction that creates it.
func addMatches(ctx context.Context, tx pgx.Tx, v views.View, number int64, matched []uuid.UUID, now time.Time) error {
	rows, err := tx.Query(ctx, `
		SELECT id FROM webhooks WHERE workspace_id = $1 AND enabled AND 'view.matched' = ANY (events) AND $2 = ANY (view_ids) ORDER BY id`,
		arg(v.Workspace), arg(v.ID))
	if err != nil {
		return err
	}
	hooks, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return err
	}
	var added []jobs.New
	for _, hook := range hooks {
		// The entries of a deleted View start from number 1 again, so the time is part of the place.
		j, err := webhooks.NewDelivery(v.Workspace, webhooks.ID(hook), webhooks.ViewMatched,
			fmt.Sprintf("view %s %d %d", v.ID, number, now.UnixMicro()), "view:"+v.ID.String(), struct {
				WorkspaceID workspace.ID `json:"workspace_id"`
				View        views.ID     `json:"view_id"`
				Dataset     string       `json:"dataset"`
				Number      int64        `json:"number"`
				Count       int          `json:"count"`
				IDs         []uuid.UUID  `json:"ids"`
			}{v.Workspace, v.ID, v.Dataset.Singular(), number, len(matched), matched[:min(len(matched), alerts.MaxIDs)]}, now)
		if err != nil {
			return err
		}
		added = append(added, j)
	}
	_, err = addJobs(ctx, tx, added, now)
	return err
}

// MoveWatched implements alerts.Watches.
func (s *System) MoveWatched(ctx context.Context, all []alerts.Watched, to changes.Position) error {
	workspaces, ids, versions := watchedArgs(all)
	_, err := s.pool.Exec(ctx, `
		UPDATE watched_views w SET version = w.version + 1, publication = $4, seq = $5
		FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS o (workspace_id, view_id, version)
		WHERE w.workspace_id = o.workspace_id AND w.view_id = o.view_id AND w.version = o.version`,
		workspaces, ids, versions, to.Publication, to.Seq)
	return toFault(err)
}

// watchedArgs name rows and their versions.
func watchedArgs(all []alerts.Watched) (workspaces, ids []uuid.UUID, versions []int64) {
	workspaces, ids, versions = make([]uuid.UUID, len(all)), make([]uuid.UUID, len(all)), make([]int64, len(all))
	for i, w := range all {
		workspaces[i], ids[i], versions[i] = arg(w.View.Workspace), arg(w.View.ID), w.Version
	}
	return workspaces, ids, versions
}

// TidyWatched implements alerts.Watches.
func (s *System) TidyWatched(ctx context.Context, before time.Time) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM view_alert_entries WHERE at < $1`, before)
	if err == nil {
		_, err = s.pool.Exec(ctx, `
			DELETE FROM watched_views w
			WHERE alerted_at < clock_timestamp() - interval '1 minute' AND NOT `+isWatched)
	}
	if err == nil {
		needed := comparesHeld(`c.workspace_id`, `c.dataset`, `$1`)
		_, err = s.pool.Exec(ctx, `DELETE FROM view_alert_changes c WHERE NOT `+needed, alerts.HeldKeys())
	}
	return toFault(err)
}
