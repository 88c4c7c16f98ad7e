package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/people"
)

var _ people.Outbox = (*System)(nil)

// cancelEmail removes the e-mail of a closed invitation from the queue. An e-mail
// that was never attempted no longer counts for the rates; others do.
const cancelEmail = `next_attempt_at = NULL, letter_at = CASE WHEN sent_at IS NOT NULL THEN letter_at END`

// scheduleEmail schedules the e-mail of a new invitation. The caller has locked the
// limit of invitations.
func scheduleEmail(ctx context.Context, tx pgx.Tx, in workspace.ID, r people.InvitationRecord, l workspace.Limits) (people.EmailSchedule, error) {
	if !r.SendEmail {
		return r.ScheduleEmail(people.EarlierEmails{}), nil
	}
	var earlier people.EarlierEmails
	err := tx.QueryRow(ctx, `
		SELECT (SELECT letter_at FROM invitations WHERE workspace_id = $1 AND letter_at IS NOT NULL
		        ORDER BY letter_at DESC OFFSET $3 LIMIT 1),
		       (SELECT letter_at FROM invitations WHERE workspace_id = $1 AND email_folded = $2 AND letter_at IS NOT NULL
		        ORDER BY letter_at DESC OFFSET $4 LIMIT 1)`,
		arg(in), workspace.FoldEmail(r.Email), l.EmailsHourly-1, l.EmailsDaily-1).Scan(&earlier.InWorkspace, &earlier.ToAddress)
	return r.ScheduleEmail(earlier), err
}

// ClaimEmail implements workspace.Outbox. scheduleEmail limits the e-mails of one
// workspace to an address when the invitation is made. The limit over all
// workspaces is applied only here, so that no workspace learns of the others.
func (s *System) ClaimEmail(ctx context.Context, now time.Time, hold time.Duration, daily int) (e people.InvitationEmail, ok bool, err error) {
	for postponed := true; postponed && err == nil; {
		err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			var in workspace.ID
			var id people.InvitationID
			if ok, err = lockDueEmail(ctx, tx, now, &in, &id); err != nil || !ok {
				postponed = false
				return err
			}
			if postponed, err = postponeEmail(ctx, tx, in, id, now, daily); err != nil || postponed {
				return err
			}
			e, err = claimEmail(ctx, tx, in, id, now, hold)
			return err
		})
	}
	if err != nil {
		return people.InvitationEmail{}, false, toFault(err)
	}
	return e, ok, nil
}

// lockDueEmail finds a due e-mail and locks its row. With SKIP LOCKED several
// servers claim different e-mails at the same time without waiting.
func lockDueEmail(ctx context.Context, tx pgx.Tx, now time.Time, in *workspace.ID, id *people.InvitationID) (bool, error) {
	err := tx.QueryRow(ctx, `
		SELECT workspace_id, id FROM invitations
		WHERE next_attempt_at <= $1 AND expires_at > $1 AND `+invitationOpen+`
		ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED`, now).Scan((*uuid.UUID)(in), (*uuid.UUID)(id))
	if noRows(err) {
		return false, nil
	}
	return err == nil, err
}

// postponeEmail postpones an e-mail that was never attempted if its address has got
// its daily maximum: until the oldest of those e-mails is a day old, or for ever if
// the invitation expires first. An advisory lock serializes the claims of e-mails
// to one address.
func postponeEmail(ctx context.Context, tx pgx.Tx, in workspace.ID, id people.InvitationID, now time.Time, daily int) (bool, error) {
	if _, err := tx.Exec(ctx, `
		SELECT pg_advisory_xact_lock(hashtextextended('letters to ' || email_folded, 0)) FROM invitations
		WHERE workspace_id = $1 AND id = $2`, arg(in), arg(id)); err != nil {
		return false, err
	}
	tag, err := tx.Exec(ctx, `
		UPDATE invitations i SET letter_at = first.turn, next_attempt_at = first.turn
		FROM (
			SELECT CASE WHEN o.sent_at + $4::interval < own.expires_at THEN o.sent_at + $4::interval END AS turn
			FROM invitations own JOIN invitations o ON o.email_folded = own.email_folded
			WHERE own.workspace_id = $1 AND own.id = $2 AND own.sent_at IS NULL
			  AND o.letter_at IS NOT NULL AND o.sent_at > $3::timestamptz - $4::interval
			ORDER BY o.sent_at DESC OFFSET $5 LIMIT 1
		) first
		WHERE i.workspace_id = $1 AND i.id = $2`, arg(in), arg(id), now, people.AddressEmailWindow, daily-1)
	return tag.RowsAffected() > 0, err
}

// claimEmail claims an e-mail whose row is locked.
func claimEmail(ctx context.Context, tx pgx.Tx, in workspace.ID, id people.InvitationID, now time.Time, hold time.Duration) (people.InvitationEmail, error) {
	e := people.InvitationEmail{Workspace: in, Invitation: id}
	var seed, hash []byte
	err := tx.QueryRow(ctx, `
		UPDATE invitations i
		SET attempts = i.attempts + 1, sent_at = coalesce(i.sent_at, $3), letter_at = coalesce(i.letter_at, $3), next_attempt_at = $4
		FROM workspaces w
		WHERE i.workspace_id = $1 AND i.id = $2 AND w.id = i.workspace_id
		RETURNING w.name, coalesce((SELECT u.name FROM users u WHERE u.id = i.invited_by), ''),
		          i.email, i.role, i.expires_at, i.seed, i.secret_hash, i.attempts`, arg(in), arg(id), now, now.Add(hold)).
		Scan(&e.WorkspaceName, &e.InvitedBy, &e.Email, &e.Role, &e.ExpiresAt, &seed, &hash, &e.Attempt)
	copy(e.Seed[:], seed) // 32 bytes each, by check constraints
	copy(e.Hash[:], hash)
	return e, err
}

// EmailSent implements workspace.Outbox.
func (s *System) EmailSent(ctx context.Context, e people.InvitationEmail, at time.Time) error {
	return s.finishEmail(ctx, e, nil, &at)
}

// EmailFailed implements workspace.Outbox.
func (s *System) EmailFailed(ctx context.Context, e people.InvitationEmail, next *time.Time) error {
	return s.finishEmail(ctx, e, next, nil)
}

// finishEmail ends a claim. It changes nothing when another sender has claimed the
// e-mail since, or when the invitation was closed.
func (s *System) finishEmail(ctx context.Context, e people.InvitationEmail, next, delivered *time.Time) error {
	if err := e.Workspace.Check(); err != nil {
		return err
	}
	_, err := s.pool.Exec(ctx, `
		UPDATE invitations SET next_attempt_at = $4, delivered_at = coalesce($5, delivered_at)
		WHERE workspace_id = $1 AND id = $2 AND attempts = $3 AND next_attempt_at IS NOT NULL`,
		arg(e.Workspace), arg(e.Invitation), e.Attempt, next, delivered)
	return toFault(err)
}
