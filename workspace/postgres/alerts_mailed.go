package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/views"
)

// DueMailings returns the due e-mails of alerts, one for each user, workspace and frequency.
// Daily and weekly ones are due even without new entries, so that the next one is scheduled. So
// are times further away than the longest interval: a server whose clock was ahead wrote them.
func (s *System) DueMailings(ctx context.Context, now time.Time) ([]alerts.Mailing, error) {
	return collect(ctx, s, func(row pgx.CollectableRow) (m alerts.Mailing, err error) {
		var ids []uuid.UUID
		var after, upTo []int64
		if err = row.Scan((*uuid.UUID)(&m.Workspace), (*uuid.UUID)(&m.User), &m.Frequency, &m.TimeZone, &ids, &after, &upTo); err == nil {
			for i, id := range ids {
				m.Views = append(m.Views, alerts.MailedView{View: views.ID(id), After: after[i], UpTo: upTo[i]})
			}
		}
		return m, err
	}, `
		SELECT a.workspace_id, a.user_id, a.mail, w.time_zone, array_agg(a.view_id ORDER BY a.view_id),
		       array_agg(a.mailed ORDER BY a.view_id), array_agg(v.latest ORDER BY a.view_id)
		FROM view_alerts a JOIN watched_views v USING (workspace_id, view_id) JOIN workspaces w ON w.id = a.workspace_id
		WHERE a.mail IS NOT NULL AND (a.mail_at <= $1 OR a.mail_at > $1::timestamptz + interval '8 days')
		AND (a.mail <> 'instant' OR v.latest > a.mailed)
		GROUP BY a.workspace_id, a.user_id, a.mail, w.time_zone`, now)
}

// AdvanceMailing records that a user is mailed the entries in m, without those that another
// server handled, and adds the job if there are any. The user's alerts of the frequency are due
// next at next.
func (s *System) AdvanceMailing(ctx context.Context, m alerts.Mailing, next, now time.Time) (added int64, err error) {
	ids, after, upTo := mailedArgs(m.Views)
	err = s.inWorkspace(ctx, m.Workspace, func(tx pgx.Tx) error {
		// In one order, against deadlocks.
		_, err := tx.Exec(ctx, `SELECT FROM view_alerts WHERE workspace_id = $1 AND user_id = $2 ORDER BY view_id FOR NO KEY UPDATE`,
			arg(m.Workspace), arg(m.User))
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			UPDATE view_alerts a SET mailed = o.up_to FROM unnest($4::uuid[], $5::bigint[], $6::bigint[]) AS o (view_id, after, up_to)
			WHERE a.workspace_id = $1 AND a.user_id = $2 AND a.mail = $3 AND a.view_id = o.view_id AND a.mailed = o.after AND o.up_to > o.after
			RETURNING a.view_id, o.after, o.up_to`, arg(m.Workspace), arg(m.User), m.Frequency, ids, after, upTo)
		if err != nil {
			return err
		}
		mailed, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v alerts.MailedView, err error) {
			err = row.Scan((*uuid.UUID)(&v.View), &v.After, &v.UpTo)
			return v, err
		})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE view_alerts SET mail_at = $4 WHERE workspace_id = $1 AND user_id = $2 AND mail = $3`,
			arg(m.Workspace), arg(m.User), m.Frequency, next)
		if err != nil || len(mailed) == 0 {
			return err
		}
		added, err = addAlertMail(ctx, tx, m.Workspace, alerts.MailPayload{User: m.User, Views: mailed}, now)
		return err
	})
	return added, err
}

// mailedArgs are Views with their entries.
func mailedArgs(all []alerts.MailedView) (ids []uuid.UUID, after, upTo []int64) {
	for _, v := range all {
		ids, after, upTo = append(ids, arg(v.View)), append(after, v.After), append(upTo, v.UpTo)
	}
	return ids, after, upTo
}

// LetterOf returns the e-mail of a job: fault.NotFound if the user is not a member or does not
// want e-mails of the workspace. It leaves out what no longer applies: entries that the user
// has seen, Views that no longer rest, and alerts that are off or not mailed any more.
func (s *System) LetterOf(ctx context.Context, in workspace.ID, p alerts.MailPayload) (l alerts.Letter, err error) {
	if err := in.Check(); err != nil {
		return l, err
	}
	err = s.pool.QueryRow(ctx, `SELECT w.name, u.email `+toMail, arg(in), arg(p.User)).
		Scan(&l.WorkspaceName, &l.Email)
	if l, err = orNotFound(l, err, nobodyToMail); err != nil {
		return l, toFault(err)
	}
	ids, after, upTo := mailedArgs(p.Views)
	l.Views, err = collect(ctx, s, func(row pgx.CollectableRow) (v alerts.LetterView, err error) {
		err = row.Scan((*uuid.UUID)(&v.ID), &v.Name, &v.Dataset, &v.Count)
		return v, err
	}, `
		SELECT v.id, v.name, v.dataset, sum(e.records)
		FROM unnest($3::uuid[], $4::bigint[], $5::bigint[]) AS o (view_id, after, up_to)
		JOIN view_alerts a ON a.workspace_id = $1 AND a.user_id = $2 AND a.mail IS NOT NULL AND a.view_id = o.view_id
		JOIN views v ON v.workspace_id = $1 AND v.id = o.view_id
		JOIN view_alert_entries e ON e.workspace_id = $1 AND e.view_id = o.view_id AND e.number > greatest(o.after, a.seen) AND e.number <= o.up_to
		GROUP BY v.id, v.name, v.dataset, v.name_folded ORDER BY v.name_folded, v.id`, arg(in), arg(p.User), ids, after, upTo)
	if err == nil && len(p.Rests) > 0 {
		l.Rests, err = s.restsOf(ctx, in, p)
	}
	return l, err
}
