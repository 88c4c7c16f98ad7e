package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/people"
)

// cancelEmail is set when an invitation is closed: an e-mail that was never attempted no
// longer counts for the rates. Its job finds nothing to do.
const cancelEmail = `letter_at = CASE WHEN sent_at IS NOT NULL THEN letter_at END`

// scheduleEmail schedules the e-mail of a new invitation. The caller has locked the
// limit of invitations.
func scheduleEmail(
	ctx context.Context,
	tx pgx.Tx,
	in workspace.ID,
	r people.InvitationRecord,
	l workspace.Limits,
) (people.EmailSchedule, error) {
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

// InvitationEmail implements delivery.InvitationEmails. The limit for an address over all
// workspaces applies here and not when the invitation is made (scheduleEmail), so that no
// workspace learns about others.
func (s *System) InvitationEmail(
	ctx context.Context,
	in workspace.ID,
	id people.InvitationID,
	now time.Time,
	daily int,
) (e people.InvitationEmail, later time.Time, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var folded string
		var tried bool
		var expires time.Time
		err := tx.QueryRow(ctx, `
			SELECT email_folded, sent_at IS NOT NULL, expires_at FROM invitations
			WHERE workspace_id = $1 AND id = $2 AND expires_at > $3 AND `+invitationOpen+` FOR UPDATE`, arg(in), arg(id), now).
			Scan(&folded, &tried, &expires)
		if noRows(err) {
			return noOpenInvitation(err)
		}
		if err != nil {
			return err
		}
		if !tried {
			if later, err = emailTurn(ctx, tx, folded, now, daily); err != nil {
				return err
			}
		}
		if !later.IsZero() {
			var turn *time.Time // nil: none before the invitation expires
			if later.Before(expires) {
				turn = &later
			}
			_, err := tx.Exec(ctx, `UPDATE invitations SET letter_at = $3 WHERE workspace_id = $1 AND id = $2`, arg(in), arg(id), turn)
			return err
		}
		e, err = firstTried(ctx, tx, in, id, now)
		return err
	})
	return e, later, toFault(err)
}

// emailTurn returns when an address may get its next e-mail: zero for now, or when the oldest
// of its daily maximum is a day old. An advisory lock up to the end of the transaction
// serializes the e-mails to one address.
func emailTurn(ctx context.Context, tx pgx.Tx, folded string, now time.Time, daily int) (turn time.Time, err error) {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('letters to ' || $1, 0))`, folded); err != nil {
		return turn, err
	}
	err = tx.QueryRow(ctx, `
		SELECT sent_at + $3::interval FROM invitations
		WHERE email_folded = $1 AND letter_at IS NOT NULL AND sent_at > $2::timestamptz - $3::interval
		ORDER BY sent_at DESC OFFSET $4 LIMIT 1`, folded, now, people.AddressEmailWindow, daily-1).Scan(&turn)
	if noRows(err) {
		return turn, nil
	}
	return turn, err
}

// firstTried records the first attempt to send an e-mail, and returns its data.
func firstTried(ctx context.Context, tx pgx.Tx, in workspace.ID, id people.InvitationID, now time.Time) (people.InvitationEmail, error) {
	e := people.InvitationEmail{Invitation: id}
	var seed, hash []byte
	err := tx.QueryRow(ctx, `
		UPDATE invitations i SET sent_at = coalesce(i.sent_at, $3), letter_at = coalesce(i.letter_at, $3)
		FROM workspaces w
		WHERE i.workspace_id = $1 AND i.id = $2 AND w.id = i.workspace_id
		RETURNING w.name, coalesce((SELECT u.name FROM users u WHERE u.id = i.invited_by), ''),
		          i.email, i.role, i.expires_at, i.seed, i.secret_hash`, arg(in), arg(id), now).
		Scan(&e.WorkspaceName, &e.InvitedBy, &e.Email, &e.Role, &e.ExpiresAt, &seed, &hash)
	copy(e.Seed[:], seed) // 32 bytes each, by check constraints
	copy(e.Hash[:], hash)
	return e, err
}
