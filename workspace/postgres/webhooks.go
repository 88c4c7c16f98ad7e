package postgres

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/jobs"
	"atlas/workspace/views"
	"atlas/workspace/webhooks"
)

var _ webhooks.Store = (*Store)(nil)

// webhookColumns are those of webhooks.
const webhookColumns = `id, url, events, enabled, created_at, view_ids, ` + namedViews

// namedViews returns the states of the Views that a webhook names, in their order.
const namedViews = `(
	SELECT coalesce(json_agg(json_build_object('View', o.view_id, 'Name', v.name, 'Since', n.since, 'Reason', n.reason, 'State', CASE
		WHEN v.id IS NULL THEN 'deleted' WHEN NOT webhooks.enabled OR 'view.matched' <> ALL (webhooks.events) THEN 'off'
		ELSE coalesce(n.state, 'waiting') END) ORDER BY o.position), '[]')
	FROM unnest(webhooks.view_ids) WITH ORDINALITY AS o (view_id, position)
	LEFT JOIN views v ON v.workspace_id = webhooks.workspace_id AND v.id = o.view_id
	LEFT JOIN LATERAL (
		SELECT w.state, ` + restSince + ` AS since, ` + restReason + ` AS reason FROM watched_views w
		WHERE w.workspace_id = webhooks.workspace_id AND w.view_id = v.id
		AND webhooks.enabled AND 'view.matched' = ANY (webhooks.events)) n ON true)`

func collectWebhook(row pgx.CollectableRow) (w webhooks.Webhook, err error) {
	var ids []uuid.UUID
	var named []struct {
		View   views.ID
		Name   *string
		State  webhooks.NamedState
		Since  *time.Time
		Reason *alerts.Reason
	}
	err = row.Scan((*uuid.UUID)(&w.ID), &w.URL, &w.Events, &w.Enabled, &w.CreatedAt, &ids, &named)
	for _, id := range ids {
		w.Views = append(w.Views, views.ID(id))
	}
	for _, v := range named {
		w.Named = append(w.Named, webhooks.NamedView{View: v.View, Name: v.Name, State: v.State, Rest: restOf(v.Since, v.Reason)})
	}
	return w, err
}

func unknownWebhook(cause error) *fault.Error {
	return fault.Wrap(cause, fault.NotFound, "there is no webhook with this id")
}

func unknownDelivery(cause error) *fault.Error {
	return fault.Wrap(cause, fault.NotFound, "the webhook has no delivery with this id")
}

// Webhooks implements webhooks.Store.
func (s *Store) Webhooks(ctx context.Context, in workspace.ID, limit, offset int) ([]webhooks.Webhook, error) {
	return queryAll(ctx, s, in, collectWebhook, `
		SELECT `+webhookColumns+` FROM webhooks WHERE workspace_id = $1 ORDER BY created_at, id LIMIT $2 OFFSET $3`, arg(in), limit, offset)
}

// InsertWebhook implements webhooks.Store.
func (s *Store) InsertWebhook(
	ctx context.Context, in workspace.ID, w webhooks.Webhook, secret []byte, most int,
) (made webhooks.Webhook, err error) {
	limit := rowLimit{name: "webhooks", items: "webhooks", advice: "delete one first", max: most, rows: `webhooks WHERE workspace_id = $1`}
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := lockAndCheckLimit(ctx, tx, in, limit); err != nil {
			return err
		}
		if err := watchNamed(ctx, tx, in, w, nil, w.CreatedAt); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			INSERT INTO webhooks (workspace_id, id, url, events, enabled, secret, created_at, view_ids, signals_after)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, `+arrivedSoFar+`) RETURNING `+webhookColumns,
			arg(in), arg(w.ID), w.URL, w.Events, w.Enabled, secret, w.CreatedAt, viewArgs(w.Views))
		if err != nil {
			return err
		}
		made, err = pgx.CollectExactlyOneRow(rows, collectWebhook)
		return err
	})
	return made, err
}

// arrivedSoFar is where a new webhook for arrived signals starts, null before the first load.
// Then the first look sets it.
const arrivedSoFar = `(SELECT arrived FROM data_feed WHERE generation <> '')`

// UpdateWebhook implements webhooks.Store.
func (s *Store) UpdateWebhook(ctx context.Context, in workspace.ID, w webhooks.Webhook) (changed webhooks.Webhook, err error) {
	err = s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+webhookColumns+` FROM webhooks WHERE workspace_id = $1 AND id = $2 FOR UPDATE`, arg(in), arg(w.ID))
		if err != nil {
			return err
		}
		before, err := pgx.CollectExactlyOneRow(rows, collectWebhook)
		if before, err = orNotFound(before, err, unknownWebhook); err != nil {
			return err
		}
		if w.Views == nil {
			w.Views = before.Views
		}
		if err := watchNamed(ctx, tx, in, w, before.Views, time.Now()); err != nil {
			return err
		}
		rows, err = tx.Query(ctx, `
			UPDATE webhooks SET url = $3, events = $4, view_ids = $5, enabled = true,
				failing_since = CASE WHEN enabled AND url = $3 THEN failing_since END,
				failures = CASE WHEN enabled AND url = $3 THEN failures ELSE 0 END,
				signals_after = coalesce(CASE WHEN enabled AND 'signal.arrived' = ANY (events) THEN signals_after END, `+arrivedSoFar+`)
			WHERE workspace_id = $1 AND id = $2 RETURNING `+webhookColumns, arg(in), arg(w.ID), w.URL, w.Events, viewArgs(w.Views))
		if err != nil {
			return err
		}
		changed, err = pgx.CollectExactlyOneRow(rows, collectWebhook)
		return err
	})
	return changed, err
}

func viewArgs(all []views.ID) []uuid.UUID {
	ids := make([]uuid.UUID, len(all))
	for i, id := range all {
		ids[i] = arg(id)
	}
	return ids
}

// watchNamed makes the Views of a webhook watched, in one order, against deadlocks. A View that
// the webhook already named may be deleted, or can no longer be watched: what was read can
// always be written.
func watchNamed(ctx context.Context, tx pgx.Tx, in workspace.ID, w webhooks.Webhook, before []views.ID, at time.Time) error {
	if !slices.Contains(w.Events, webhooks.ViewMatched) {
		return nil
	}
	ordered := slices.SortedFunc(slices.Values(w.Views), func(a, b views.ID) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range ordered {
		had := slices.Contains(before, id)
		if err := lockView(ctx, tx, in, id, "FOR SHARE"); had && fault.CodeOf(err) == fault.ViewNotFound {
			continue
		} else if err != nil {
			return err
		}
		if !had {
			rows, err := tx.Query(ctx, viewQuery(`AND v.id = $3`), arg(in), uuid.Nil, arg(id))
			if err != nil {
				return err
			}
			v, err := pgx.CollectExactlyOneRow(rows, collectView(in))
			if err == nil {
				err = alerts.CanWatch(v)
			}
			if err != nil {
				return err
			}
		}
		if err := watchView(ctx, tx, in, id, at); err != nil {
			return err
		}
	}
	return nil
}

// RotateWebhook implements webhooks.Store.
func (s *Store) RotateWebhook(
	ctx context.Context,
	in workspace.ID,
	id webhooks.ID,
	secret []byte,
	oldUntil time.Time,
) (webhooks.Webhook, error) {
	w, err := changeOne(ctx, s, in, collectWebhook, `
		UPDATE webhooks SET old_secret = secret, old_until = $4, secret = $3
		WHERE workspace_id = $1 AND id = $2 RETURNING `+webhookColumns, arg(in), arg(id), secret, oldUntil)
	return orNotFound(w, err, unknownWebhook)
}

// DeleteWebhook implements webhooks.Store. Its deliveries stay until they are due: the sender
// then finds that the webhook is gone.
func (s *Store) DeleteWebhook(ctx context.Context, in workspace.ID, id webhooks.ID) error {
	_, err := changeOne(
		ctx,
		s,
		in,
		pgx.RowTo[bool],
		`DELETE FROM webhooks WHERE workspace_id = $1 AND id = $2 RETURNING true`,
		arg(in),
		arg(id),
	)
	if noRows(err) {
		return unknownWebhook(err)
	}
	return err
}

// AddDelivery implements webhooks.Store.
func (s *Store) AddDelivery(
	ctx context.Context,
	in workspace.ID,
	id webhooks.ID,
	j jobs.New,
	now time.Time,
) (d webhooks.Delivery, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if _, err := lockWebhook(ctx, tx, in, id); err != nil {
			return err
		}
		if _, err := addJobs(ctx, tx, []jobs.New{j}, now); err != nil {
			return err
		}
		if err := auditOwn(ctx, tx, "webhook.tested", "webhook", arg(id), nil); err != nil {
			return err
		}
		d = webhooks.DeliveryOf(jobs.Job{New: j, State: jobs.Pending, CreatedAt: now})
		return nil
	})
	return d, err
}

// lockWebhook locks a webhook against changes and deletion, and reports whether it is
// enabled.
func lockWebhook(ctx context.Context, tx pgx.Tx, in workspace.ID, id webhooks.ID) (enabled bool, err error) {
	err = tx.QueryRow(ctx, `SELECT enabled FROM webhooks WHERE workspace_id = $1 AND id = $2 FOR SHARE`, arg(in), arg(id)).Scan(&enabled)
	if noRows(err) {
		return false, unknownWebhook(err)
	}
	return enabled, err
}

// Deliveries implements webhooks.Store.
func (s *Store) Deliveries(ctx context.Context, in workspace.ID, id webhooks.ID, limit, offset int) (page []webhooks.Delivery, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if _, err := lockWebhook(ctx, tx, in, id); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT `+jobColumns+` FROM jobs j WHERE j.workspace_id = $1 AND j.kind = $2 AND j.lane = $3
			ORDER BY j.created_at DESC, j.seq DESC LIMIT $4 OFFSET $5`, arg(in), string(webhooks.Kind), arg(id), limit, offset)
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, collectDelivery)
		return err
	})
	return page, err
}

func collectDelivery(row pgx.CollectableRow) (webhooks.Delivery, error) {
	j, err := collectJob(row)
	return webhooks.DeliveryOf(j), err
}

// replay makes a job due that is not pending.
const replay = `UPDATE jobs j SET state = 'pending', run_at = $1, attempts = 0, status = NULL, error = NULL, ended_at = NULL`

// ReplayDelivery implements webhooks.Store. A pending delivery stays as it is.
func (s *Store) ReplayDelivery(
	ctx context.Context,
	in workspace.ID,
	id webhooks.ID,
	delivery jobs.ID,
	now time.Time,
) (d webhooks.Delivery, err error) {
	err = s.inReplay(ctx, in, id, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, replay+` WHERE j.workspace_id = $2 AND j.id = $3 AND j.kind = $4 AND j.lane = $5 AND j.state <> 'pending'`,
			now, arg(in), arg(delivery), string(webhooks.Kind), arg(id)); err != nil {
			return err
		}
		rows, err := tx.Query(
			ctx,
			`SELECT `+jobColumns+` FROM jobs j WHERE j.workspace_id = $1 AND j.id = $2 AND j.kind = $3 AND j.lane = $4`,
			arg(in),
			arg(delivery),
			string(webhooks.Kind),
			arg(id),
		)
		if err != nil {
			return err
		}
		d, err = pgx.CollectExactlyOneRow(rows, collectDelivery)
		if noRows(err) {
			return unknownDelivery(err)
		}
		if err != nil {
			return err
		}
		return auditOwn(ctx, tx, "webhook.replayed", "webhook", arg(id), map[string]any{"deliveries": 1, "delivery": delivery})
	})
	return d, err
}

// ReplayDeliveries implements webhooks.Store.
func (s *Store) ReplayDeliveries(
	ctx context.Context,
	in workspace.ID,
	id webhooks.ID,
	span webhooks.Span,
	now time.Time,
	most int,
) (r webhooks.Replay, err error) {
	err = s.inReplay(ctx, in, id, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT id, created_at FROM jobs
			WHERE workspace_id = $1 AND kind = $2 AND lane = $3 AND created_at >= $4 AND created_at < $5 AND state <> 'pending'
			ORDER BY created_at, seq LIMIT $6 FOR UPDATE`, arg(in), string(webhooks.Kind), arg(id), span.From, span.To, most+1)
		if err != nil {
			return err
		}
		var ids []uuid.UUID
		var job uuid.UUID
		var at time.Time
		if _, err := pgx.ForEachRow(rows, []any{&job, &at}, func() error {
			if len(ids) == most {
				left := at
				r.Next = &left
				return nil
			}
			ids = append(ids, job)
			return nil
		}); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, replay+` WHERE j.workspace_id = $2 AND j.id = ANY ($3)`, now, arg(in), ids)
		if r.Replayed = tag.RowsAffected(); err != nil {
			return err
		}
		return auditOwn(
			ctx,
			tx,
			"webhook.replayed",
			"webhook",
			arg(id),
			map[string]any{"deliveries": r.Replayed, "from": span.From, "to": span.To},
		)
	})
	return r, err
}

// inReplay is inWorkspace for an enabled webhook.
func (s *Store) inReplay(ctx context.Context, in workspace.ID, id webhooks.ID, fn func(pgx.Tx) error) error {
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		enabled, err := lockWebhook(ctx, tx, in, id)
		if err == nil && !enabled {
			err = fault.New(fault.WebhookDisabled, "the webhook is disabled: an upsert enables it")
		}
		if err != nil {
			return err
		}
		return fn(tx)
	})
}
