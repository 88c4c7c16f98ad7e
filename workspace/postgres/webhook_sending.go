package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/webhooks"
)

// WebhookTarget returns what sending to a webhook needs: fault.NotFound for a deleted one.
func (s *System) WebhookTarget(ctx context.Context, in workspace.ID, id webhooks.ID) (t webhooks.Target, err error) {
	if err := in.Check(); err != nil {
		return t, err
	}
	var until *time.Time
	err = s.pool.QueryRow(ctx, `
		SELECT url, enabled, secret, old_secret, old_until, failing_since FROM webhooks WHERE workspace_id = $1 AND id = $2`, arg(in), arg(id)).
		Scan(&t.URL, &t.Enabled, &t.Secret, &t.OldSecret, &until, &t.FailingSince)
	if until != nil {
		t.OldUntil = *until
	}
	if noRows(err) {
		return t, unknownWebhook(err)
	}
	return t, toFault(err)
}

// WebhookFailing counts a failed attempt at url, and returns how many have failed and since
// when: each URL is judged by its own attempts. It returns none if the webhook is deleted or
// has another URL.
func (s *System) WebhookFailing(
	ctx context.Context,
	in workspace.ID,
	id webhooks.ID,
	url string,
	at time.Time,
) (f webhooks.Failures, err error) {
	if err := in.Check(); err != nil {
		return f, err
	}
	err = s.pool.QueryRow(ctx, `
		UPDATE webhooks SET failing_since = coalesce(failing_since, $3), failures = failures + 1
		WHERE workspace_id = $1 AND id = $2 AND url = $4 RETURNING failing_since, failures`, arg(in), arg(id), at, url).Scan(&f.Since, &f.Count)
	if noRows(err) {
		return f, nil
	}
	return f, toFault(err)
}

// WebhookWorks resets the count of WebhookFailing.
func (s *System) WebhookWorks(ctx context.Context, in workspace.ID, id webhooks.ID, url string) error {
	if err := in.Check(); err != nil {
		return err
	}
	_, err := s.pool.Exec(ctx, `
		UPDATE webhooks SET failing_since = NULL, failures = 0
		WHERE workspace_id = $1 AND id = $2 AND url = $3 AND failing_since IS NOT NULL`, arg(in), arg(id), url)
	return toFault(err)
}

// DisableWebhook disables a webhook, and adds a job to notify each owner and admin who had
// fewer than webhooks.MaxNotices notices in a day. It changes nothing if the webhook is
// disabled or deleted, or has another URL.
func (s *System) DisableWebhook(
	ctx context.Context,
	in workspace.ID,
	id webhooks.ID,
	url string,
	why webhooks.Disabled,
	now time.Time,
) error {
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		tag, err := tx.Exec(
			ctx,
			`UPDATE webhooks SET enabled = false WHERE workspace_id = $1 AND id = $2 AND url = $3 AND enabled`,
			arg(in),
			arg(id),
			url,
		)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT user_id FROM members m WHERE workspace_id = $1 AND role IN ('owner', 'admin')
			AND $4 > (SELECT count(*) FROM jobs j WHERE j.workspace_id = $1 AND j.kind = $2 AND j.lane = $1 AND j.created_at > $3 AND j.payload->>'user_id' = m.user_id::text)`,
			arg(in), string(webhooks.DisabledKind), now.AddDate(0, 0, -1), webhooks.MaxNotices)
		if err != nil {
			return err
		}
		users, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return err
		}
		var notices []jobs.New
		for _, u := range users {
			payload, err := json.Marshal(webhooks.DisabledNotice{Webhook: id, User: workspace.UserID(u), Why: why})
			if err != nil {
				return err
			}
			notices = append(
				notices,
				jobs.New{ID: jobs.NewID(), Workspace: in, Kind: webhooks.DisabledKind, Lane: uuid.UUID(in), Payload: payload, RunAt: now},
			)
		}
		_, err = addJobs(ctx, tx, notices, now)
		return err
	})
}

// DisabledLetter returns what a notice needs: fault.NotFound if the webhook is deleted or
// enabled, or the user is not an owner or admin.
func (s *System) DisabledLetter(ctx context.Context, in workspace.ID, n webhooks.DisabledNotice) (l webhooks.Letter, err error) {
	if err := in.Check(); err != nil {
		return l, err
	}
	err = s.pool.QueryRow(ctx, `
		SELECT w.name, u.email, h.url
		FROM webhooks h JOIN workspaces w ON w.id = h.workspace_id
		JOIN members m ON m.workspace_id = h.workspace_id AND m.user_id = $3 AND m.role IN ('owner', 'admin')
		JOIN users u ON u.id = m.user_id
		WHERE h.workspace_id = $1 AND h.id = $2 AND NOT h.enabled`, arg(in), arg(n.Webhook), arg(n.User)).Scan(&l.WorkspaceName, &l.Email, &l.URL)
	if noRows(err) {
		return l, fault.Wrap(err, fault.NotFound, "nobody has to be notified")
	}
	return l, toFault(err)
}

// ResealWebhooks seals secrets with the first key that another one sealed, so that old keys can
// be removed. It returns how many no key opens.
func (s *System) ResealWebhooks(ctx context.Context, sealer webhooks.Sealer) (lost int, err error) {
	type sealed struct {
		in, id      uuid.UUID
		secret, old []byte
	}
	all, err := collect(ctx, s, func(row pgx.CollectableRow) (b sealed, err error) {
		err = row.Scan(&b.in, &b.id, &b.secret, &b.old)
		return b, err
	}, `SELECT workspace_id, id, secret, old_secret FROM webhooks`)
	if err != nil {
		return 0, err
	}
	for _, b := range all {
		for column, box := range map[string][]byte{"secret": b.secret, "old_secret": b.old} {
			if box == nil {
				continue
			}
			secret, current, err := sealer.Open(box)
			if err != nil {
				lost++
			}
			if err != nil || current {
				continue
			}
			resealed, err := sealer.Seal(secret)
			if err != nil {
				return lost, err
			}
			// Not if it was rotated meanwhile.
			if _, err := s.pool.Exec(
				ctx, `UPDATE webhooks SET `+column+` = $3 WHERE workspace_id = $1 AND id = $2 AND `+column+` = $4`,
				b.in, b.id, resealed, box,
			); err != nil {
				return lost, toFault(err)
			}
		}
	}
	return lost, nil
}
