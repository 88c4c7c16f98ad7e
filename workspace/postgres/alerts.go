package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/digest"
	"atlas/workspace/subscriptions"
	"atlas/workspace/views"
)

var _ alerts.Store = (*Store)(nil)

// alertQuery reads alerts of a user ($2) of a workspace ($1). rest is appended to the WHERE
// clause.
func alertQuery(rest string) string {
	return `
	SELECT a.view_id, v.name, v.dataset, w.state, w.latest, coalesce(a.mail, ''), a.created_at, a.seen_at,
	       ` + restColumns + `, w.state <> 'resting' OR a.rests_seen >= w.rests,
	       (SELECT coalesce(sum(e.records), 0) FROM view_alert_entries e
	        WHERE e.workspace_id = $1 AND e.view_id = a.view_id AND e.number > a.seen)
	FROM view_alerts a JOIN watched_views w USING (workspace_id, view_id)
	JOIN views v ON v.workspace_id = a.workspace_id AND v.id = a.view_id
	WHERE a.workspace_id = $1 AND a.user_id = $2 ` + rest
}

// Since when the View of w rests, and why: null unless it does.
const (
	restSince   = `CASE WHEN w.state = 'resting' THEN w.rested_at END`
	restReason  = `CASE WHEN w.state = 'resting' THEN w.reason END`
	restColumns = restSince + `, ` + restReason
)

func restOf(since *time.Time, reason *alerts.Reason) *alerts.Rest {
	if since == nil {
		return nil
	}
	return &alerts.Rest{Since: *since, Reason: *reason}
}

func collectAlert(row pgx.CollectableRow) (a alerts.Alert, err error) {
	var since *time.Time
	var reason *alerts.Reason
	err = row.Scan((*uuid.UUID)(&a.View), &a.Name, &a.Dataset, &a.State, &a.Latest, &a.Email, &a.CreatedAt, &a.SeenAt,
		&since, &reason, &a.RestSeen, &a.New)
	a.Rest = restOf(since, reason)
	return a, err
}

// Alerts implements alerts.Store.
func (s *Store) Alerts(ctx context.Context, in workspace.ID, user workspace.UserID, limit, offset int) ([]alerts.Alert, error) {
	return queryAll(ctx, s, in, collectAlert, alertQuery(`ORDER BY v.name_folded, v.id LIMIT $3 OFFSET $4`),
		arg(in), arg(user), limit, offset)
}

// UpsertAlert implements alerts.Store. It locks the user's membership, which serializes the
// user's changes, then the View.
func (s *Store) UpsertAlert(
	ctx context.Context, in workspace.ID, user workspace.UserID, c alerts.Change, at time.Time, may func(views.View) error,
) (a alerts.Alert, err error) {
	err = s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `SELECT FROM members WHERE workspace_id = $1 AND user_id = $2 FOR NO KEY UPDATE`, arg(in), arg(user))
		if err == nil && tag.RowsAffected() == 0 {
			return fault.New(fault.Forbidden, "you are no member of this workspace")
		}
		if err != nil {
			return err
		}
		if err := lockView(ctx, tx, in, c.View, "FOR SHARE"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, viewQuery(`AND v.id = $3`), arg(in), arg(user), arg(c.View))
		if err != nil {
			return err
		}
		v, err := pgx.CollectExactlyOneRow(rows, collectView(in))
		if err != nil {
			return err
		}
		if err := may(v); err != nil {
			return err
		}
		if _, err = oneAlert(ctx, tx, in, user, c.View); noRows(err) {
			err = addAlert(ctx, tx, in, user, c.View, at)
		}
		if err == nil && c.Email != nil {
			err = mailAlert(ctx, tx, in, user, c, at)
		}
		if err != nil {
			return err
		}
		a, err = oneAlert(ctx, tx, in, user, c.View)
		return err
	})
	return a, err
}

func addAlert(ctx context.Context, tx pgx.Tx, in workspace.ID, user workspace.UserID, view views.ID, at time.Time) error {
	err := checkLimit(ctx, tx, in, rowLimit{
		name: "view_alerts", items: "alerts of yours", advice: "switch one off first", max: alerts.MaxAlerts,
		rows: `view_alerts WHERE workspace_id = $1 AND user_id = $2`, args: []any{arg(user)},
	})
	if err != nil {
		return err
	}
	if err := watchView(ctx, tx, in, view, at); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO view_alerts (workspace_id, user_id, view_id, since, seen, rests_seen, rests_mailed, created_at)
		SELECT $1, $2, $3, latest, latest, rests, rests, $4 FROM watched_views WHERE workspace_id = $1 AND view_id = $3`,
		arg(in), arg(user), arg(view), at)
	return err
}

// isWatched is the condition that somebody has an alert on the View of w, or an enabled webhook
// names it.
const isWatched = `(
	EXISTS (SELECT FROM view_alerts a WHERE a.workspace_id = w.workspace_id AND a.view_id = w.view_id)
	OR EXISTS (SELECT FROM webhooks h WHERE h.workspace_id = w.workspace_id AND h.enabled
	           AND 'view.matched' = ANY (h.events) AND w.view_id = ANY (h.view_ids)))`

// watchView makes a View watched before it gets an alert. If it was not watched, it was not
// compared either, so its matches are read anew. alerted_at protects the row from being deleted
// as unused.
func watchView(ctx context.Context, tx pgx.Tx, in workspace.ID, view views.ID, at time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO watched_views AS w (workspace_id, view_id, state, compared_at, alerted_at)
		VALUES ($1, $2, 'waiting', $3, clock_timestamp())
		ON CONFLICT ON CONSTRAINT watched_views_pkey DO UPDATE SET alerted_at = clock_timestamp(), version = w.version + 1,
			state = CASE WHEN `+isWatched+` THEN w.state ELSE 'waiting' END`, arg(in), arg(view), at)
	return err
}

// mailAlert sets how often an alert is mailed. Earlier entries are not.
func mailAlert(ctx context.Context, tx pgx.Tx, in workspace.ID, user workspace.UserID, c alerts.Change, at time.Time) error {
	var zone string
	if err := tx.QueryRow(ctx, `SELECT time_zone FROM workspaces WHERE id = $1`, arg(in)).Scan(&zone); err != nil {
		return err
	}
	due := at // the first one is sent at once
	if *c.Email != subscriptions.Instant {
		due = digest.Next(*c.Email, zone, at)
	}
	_, err := tx.Exec(ctx, `
		UPDATE view_alerts a SET mail = nullif($4, ''), mail_at = $5, mailed = CASE WHEN a.mail IS NULL THEN w.latest ELSE a.mailed END
		FROM watched_views w
		WHERE a.workspace_id = $1 AND a.user_id = $2 AND a.view_id = $3 AND a.mail IS DISTINCT FROM nullif($4, '')
		AND w.workspace_id = $1 AND w.view_id = $3`, arg(in), arg(user), arg(c.View), *c.Email, due)
	return err
}

func oneAlert(ctx context.Context, tx pgx.Tx, in workspace.ID, user workspace.UserID, view views.ID) (a alerts.Alert, err error) {
	rows, err := tx.Query(ctx, alertQuery(`AND a.view_id = $3`), arg(in), arg(user), arg(view))
	if err != nil {
		return a, err
	}
	return pgx.CollectExactlyOneRow(rows, collectAlert)
}

// DeleteAlert implements alerts.Store.
func (s *Store) DeleteAlert(ctx context.Context, in workspace.ID, user workspace.UserID, view views.ID) error {
	return s.change(ctx, in, `DELETE FROM view_alerts WHERE workspace_id = $1 AND user_id = $2 AND view_id = $3`,
		[]any{arg(in), arg(user), arg(view)}, func(pgx.Rows) error { return nil })
}

// Entries implements alerts.Store.
func (s *Store) Entries(
	ctx context.Context, in workspace.ID, user workspace.UserID, view *views.ID, limit, offset int,
) ([]alerts.Entry, error) {
	return queryAll(ctx, s, in, func(row pgx.CollectableRow) (e alerts.Entry, err error) {
		err = row.Scan((*uuid.UUID)(&e.View), &e.Number, &e.At, &e.Count, &e.Records, &e.Seen)
		return e, err
	}, `
		SELECT e.view_id, e.number, e.at, e.records, e.record_ids, e.number <= a.seen
		FROM view_alerts a JOIN view_alert_entries e USING (workspace_id, view_id)
		WHERE a.workspace_id = $1 AND a.user_id = $2 AND e.number > a.since AND ($3::uuid IS NULL OR a.view_id = $3)
		ORDER BY e.at DESC, e.view_id, e.number DESC LIMIT $4 OFFSET $5`, arg(in), arg(user), (*uuid.UUID)(view), limit, offset)
}

// SeeView implements alerts.Store.
func (s *Store) SeeView(
	ctx context.Context, in workspace.ID, user workspace.UserID, view views.ID, through *int64, at time.Time,
) (a alerts.Alert, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			UPDATE view_alerts a SET seen = greatest(a.seen, least(w.latest, coalesce($4, w.latest))), rests_seen = w.rests, seen_at = $5
			FROM watched_views w
			WHERE a.workspace_id = $1 AND a.user_id = $2 AND a.view_id = $3 AND w.workspace_id = $1 AND w.view_id = $3`,
			arg(in), arg(user), arg(view), through, at)
		if err != nil {
			return err
		}
		a, err = oneAlert(ctx, tx, in, user, view)
		if noRows(err) {
			return fault.Wrap(err, fault.NotFound, "you have no alert on this View")
		}
		return err
	})
	return a, err
}
