package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/jobs"
	"atlas/workspace/views"
)

// DueRests returns the resting alerts that users have not been mailed of.
func (s *System) DueRests(ctx context.Context) ([]alerts.RestMailing, error) {
	return collect(ctx, s, func(row pgx.CollectableRow) (m alerts.RestMailing, err error) {
		var ids []uuid.UUID
		var rests []int64
		err = row.Scan((*uuid.UUID)(&m.Workspace), (*uuid.UUID)(&m.User), &ids, &rests)
		for i, id := range ids {
			m.Rests = append(m.Rests, alerts.MailedRest{View: views.ID(id), Rest: rests[i]})
		}
		return m, err
	}, `
		SELECT a.workspace_id, a.user_id, array_agg(a.view_id ORDER BY a.view_id), array_agg(w.rests ORDER BY a.view_id)
		FROM view_alerts a JOIN watched_views w USING (workspace_id, view_id)
		WHERE w.state = 'resting' AND w.rests > a.rests_mailed
		GROUP BY a.workspace_id, a.user_id`)
}

// AdvanceRests records that a user is mailed of resting alerts, and adds the job. Those that
// another server handled are left out.
func (s *System) AdvanceRests(ctx context.Context, m alerts.RestMailing, now time.Time) (added int64, err error) {
	ids, rests := restArgs(m.Rests)
	err = s.inWorkspace(ctx, m.Workspace, func(tx pgx.Tx) error {
		// In one order, as AdvanceMailing.
		_, err := tx.Exec(ctx, `SELECT FROM view_alerts WHERE workspace_id = $1 AND user_id = $2 ORDER BY view_id FOR NO KEY UPDATE`,
			arg(m.Workspace), arg(m.User))
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			UPDATE view_alerts a SET rests_mailed = o.rest FROM unnest($3::uuid[], $4::bigint[]) AS o (view_id, rest)
			WHERE a.workspace_id = $1 AND a.user_id = $2 AND a.view_id = o.view_id AND a.rests_mailed < o.rest
			RETURNING a.view_id, o.rest`, arg(m.Workspace), arg(m.User), ids, rests)
		if err != nil {
			return err
		}
		mailed, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r alerts.MailedRest, err error) {
			return r, row.Scan((*uuid.UUID)(&r.View), &r.Rest)
		})
		if err != nil || len(mailed) == 0 {
			return err
		}
		added, err = addAlertMail(ctx, tx, m.Workspace, alerts.MailPayload{User: m.User, Rests: mailed}, now)
		return err
	})
	return added, err
}

// addAlertMail adds the job of an e-mail. Any id will do: the rows that it marks as mailed
// change in the same transaction.
func addAlertMail(ctx context.Context, tx pgx.Tx, in workspace.ID, p alerts.MailPayload, now time.Time) (added int64, err error) {
	payload, err := json.Marshal(p)
	if err != nil {
		return 0, err
	}
	return addJobs(ctx, tx, []jobs.New{{
		ID: jobs.ID(uuid.New()), Workspace: in, Kind: alerts.MailKind, Lane: uuid.UUID(in), Payload: payload, RunAt: now,
	}}, now)
}

func restArgs(all []alerts.MailedRest) (ids []uuid.UUID, rests []int64) {
	for _, r := range all {
		ids, rests = append(ids, arg(r.View)), append(rests, r.Rest)
	}
	return ids, rests
}

// restsOf returns the Views of a job that are still in the same rest, and on which the user
// still has an alert.
func (s *System) restsOf(ctx context.Context, in workspace.ID, p alerts.MailPayload) ([]alerts.LetterRest, error) {
	ids, rests := restArgs(p.Rests)
	return collect(ctx, s, func(row pgx.CollectableRow) (r alerts.LetterRest, err error) {
		return r, row.Scan((*uuid.UUID)(&r.ID), &r.Name, &r.Dataset, &r.Rest.Since, &r.Rest.Reason)
	}, `
		SELECT v.id, v.name, v.dataset, `+restColumns+`
		FROM unnest($3::uuid[], $4::bigint[]) AS o (view_id, rest)
		JOIN view_alerts a ON a.workspace_id = $1 AND a.user_id = $2 AND a.view_id = o.view_id
		JOIN watched_views w ON w.workspace_id = $1 AND w.view_id = o.view_id AND w.state = 'resting' AND w.rests = o.rest
		JOIN views v ON v.workspace_id = $1 AND v.id = o.view_id
		ORDER BY v.name_folded, v.id`, arg(in), arg(p.User), ids, rests)
}
