package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/digest"
	"atlas/workspace/jobs"
	"atlas/workspace/subscriptions"
)

// mailed selects subscriptions s that are mailed.
const mailed = `'email' = ANY (s.channels)`

// toMail is a user ($2, u) of a workspace ($1, w) who is a member and wants its e-mails.
const toMail = `FROM members m JOIN users u ON u.id = m.user_id JOIN workspaces w ON w.id = m.workspace_id
	WHERE m.workspace_id = $1 AND m.user_id = $2
	AND NOT EXISTS (SELECT FROM unsubscribed_users x WHERE x.workspace_id = $1 AND x.user_id = $2)`

// DueDigests returns the digests of signals that arrived up to through which are due or begin.
// A time further away than the longest interval is due too: a server whose clock was ahead
// wrote it. It deletes the state of digests without subscribers.
func (s *System) DueDigests(ctx context.Context, through, now time.Time) ([]digest.Digests, error) {
	if _, err := s.pool.Exec(ctx, `
		DELETE FROM signal_digests d WHERE NOT EXISTS (
			SELECT FROM signal_subscriptions s WHERE s.workspace_id = d.workspace_id AND s.frequency = d.frequency AND `+mailed+`)`); err != nil {
		return nil, toFault(err)
	}
	return collect(ctx, s, func(row pgx.CollectableRow) (d digest.Digests, err error) {
		var at, next *time.Time
		var unchanged bool
		err = row.Scan((*uuid.UUID)(&d.Workspace), &d.Frequency, &d.TimeZone, &d.Types, &at, &next, &unchanged)
		switch {
		case err != nil:
		case at != nil:
			d.Began, d.Through, d.NextAt = true, *at, *next
		case !unchanged:
			d.Through = through // earlier arrivals are not mailed
		}
		return d, err
	}, `
		SELECT s.workspace_id, s.frequency, w.time_zone, array_agg(s.signal_type ORDER BY s.signal_type), d.through, d.next_at, bool_and(s.updated_at = s.created_at)
		FROM signal_subscriptions s JOIN workspaces w ON w.id = s.workspace_id
		LEFT JOIN signal_digests d ON d.workspace_id = s.workspace_id AND d.frequency = s.frequency
		WHERE `+mailed+` AND (d.through IS NULL OR (d.next_at <= $2 OR d.next_at > $2::timestamptz + interval '8 days') AND (s.frequency <> 'instant' OR d.through < $1))
		GROUP BY s.workspace_id, s.frequency, w.time_zone, d.through, d.next_at`, through, now)
}

// BeginDigests stores where digests begin, unless they have begun.
func (s *System) BeginDigests(ctx context.Context, d digest.Digests, next time.Time) error {
	if err := d.Workspace.Check(); err != nil {
		return err
	}
	_, err := s.pool.Exec(
		ctx,
		`INSERT INTO signal_digests (workspace_id, frequency, through, next_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
		arg(d.Workspace),
		d.Frequency,
		d.Through,
		next,
	)
	return toFault(err)
}

// AdvanceDigests stores that the digests of d go up to through, and with send adds a job for
// each member who wants them. If another server did so, it changes nothing. It returns the
// number of jobs.
func (s *System) AdvanceDigests(
	ctx context.Context,
	d digest.Digests,
	through, next time.Time,
	send bool,
	now time.Time,
) (added int64, err error) {
	err = s.inWorkspace(ctx, d.Workspace, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE signal_digests SET through = greatest(through, $5), next_at = $6 WHERE workspace_id = $1 AND frequency = $2 AND through = $3 AND next_at = $4`,
			arg(d.Workspace), d.Frequency, d.Through, d.NextAt, through, next)
		if err != nil || tag.RowsAffected() == 0 || !send {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT user_id FROM members m WHERE workspace_id = $1
			AND NOT EXISTS (SELECT FROM unsubscribed_users u WHERE u.workspace_id = $1 AND u.user_id = m.user_id)`, arg(d.Workspace))
		if err != nil {
			return err
		}
		users, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return err
		}
		list := make([]jobs.New, len(users))
		for i, user := range users {
			payload, err := json.Marshal(digest.Payload{User: workspace.UserID(user), Frequency: d.Frequency, After: d.Through, UpTo: through})
			if err != nil {
				return err
			}
			list[i] = jobs.New{
				ID:        jobs.IDFor(uuid.UUID(d.Workspace), fmt.Sprintf("digest %s %d %s", d.Frequency, through.UnixMicro(), user)),
				Workspace: d.Workspace, Kind: digest.Kind, Lane: uuid.UUID(d.Workspace), Payload: payload, RunAt: now,
			}
		}
		added, err = addJobs(ctx, tx, list, now)
		return err
	})
	return added, err
}

// DigestRecipient returns who gets a digest: fault.NotFound if the user is not a member or
// does not want it.
func (s *System) DigestRecipient(
	ctx context.Context,
	in workspace.ID,
	user workspace.UserID,
	f subscriptions.Frequency,
) (r digest.Recipient, err error) {
	if err := in.Check(); err != nil {
		return r, err
	}
	err = s.pool.QueryRow(ctx, `
		SELECT w.name, u.email, ARRAY(SELECT signal_type FROM signal_subscriptions s WHERE s.workspace_id = $1 AND s.frequency = $3 AND `+mailed+`)
		`+toMail, arg(in), arg(user), f).
		Scan(&r.WorkspaceName, &r.Email, &r.Types)
	r, err = orNotFound(r, err, nobodyToMail)
	return r, toFault(err)
}

func nobodyToMail(cause error) *fault.Error {
	return fault.Wrap(cause, fault.NotFound, "nobody is to be mailed")
}

// WantsMail returns the name of a workspace, and whether a member wants the e-mails of its
// signals: fault.NotFound for a user who is not a member.
func (s *System) WantsMail(ctx context.Context, in workspace.ID, user workspace.UserID) (name string, wants bool, err error) {
	if err := in.Check(); err != nil {
		return "", false, err
	}
	err = s.pool.QueryRow(ctx, `
		SELECT w.name, NOT EXISTS (SELECT FROM unsubscribed_users WHERE workspace_id = $1 AND user_id = $2)
		FROM workspaces w JOIN members m ON m.workspace_id = w.id WHERE w.id = $1 AND m.user_id = $2`, arg(in), arg(user)).Scan(&name, &wants)
	name, err = orNotFound(name, err, nobodyToMail)
	return name, wants, toFault(err)
}

// SetWantsMail stores whether a user wants the e-mails of a workspace's signals. A deleted
// user is not an error.
func (s *System) SetWantsMail(ctx context.Context, in workspace.ID, user workspace.UserID, wants bool) error {
	if err := in.Check(); err != nil {
		return err
	}
	statement := `DELETE FROM unsubscribed_users WHERE workspace_id = $1 AND user_id = $2`
	if !wants {
		statement = `
			INSERT INTO unsubscribed_users (workspace_id, user_id, at)
			SELECT w.id, u.id, clock_timestamp() FROM workspaces w, users u WHERE w.id = $1 AND u.id = $2 ON CONFLICT DO NOTHING`
	}
	_, err := s.pool.Exec(ctx, statement, arg(in), arg(user))
	return toFault(err)
}
