package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
)

var (
	_ workspace.InvitationStore = (*Store)(nil)
	_ workspace.JoinStore       = (*System)(nil)
	_ workspace.Outbox          = (*System)(nil)
)

func alreadyInvited(cause error) *fault.Error {
	return fault.Wrap(cause, fault.AlreadyInvited, "this address has a pending invitation already")
}

func noOpenInvitation(cause error) *fault.Error {
	return fault.Wrap(cause, fault.NotFound, "the workspace has no open invitation with this id")
}

func noRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

const invitationColumns = `id, email, role, sent_at, expires_at, created_at`

func collectInvitation(row pgx.CollectableRow) (i workspace.Invitation, err error) {
	err = row.Scan((*uuid.UUID)(&i.ID), &i.Email, &i.Role, &i.SentAt, &i.ExpiresAt, &i.CreatedAt)
	return i, err
}

// open is the condition of an invitation that is neither accepted nor revoked.
const open = `accepted_at IS NULL AND revoked_at IS NULL`

// Invitations implements workspace.InvitationStore.
func (s *Store) Invitations(ctx context.Context, in workspace.ID, limit, offset int) (list []workspace.Invitation, err error) {
	err = s.query(ctx, in, `
		SELECT `+invitationColumns+` FROM invitations WHERE workspace_id = $1 AND `+open+`
		ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3`, []any{arg(in), limit, offset}, func(rows pgx.Rows) error {
		list, err = pgx.CollectRows(rows, collectInvitation)
		return err
	})
	return list, err
}

// InsertInvitation implements workspace.InvitationStore.
func (s *Store) InsertInvitation(ctx context.Context, in workspace.ID, by workspace.Actor, r workspace.InvitationRecord, judge workspace.Judge) error {
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := requireActor(ctx, tx, in, by, judge); err != nil {
			return err
		}
		folded := workspace.FoldEmail(r.Email)
		// The open invitation comes before the members: one that is being accepted
		// is waited for here, and the new member is seen then.
		if err := replaceExpired(ctx, tx, in, folded, r.CreatedAt); err != nil {
			return err
		}
		var member bool
		if err := tx.QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM members m JOIN users u ON u.id = m.user_id
			               WHERE m.workspace_id = $1 AND u.email_folded = $2)`, arg(in), folded).Scan(&member); err != nil {
			return err
		}
		if member {
			return fault.New(fault.AlreadyMember, "somebody with this address is a member of the workspace already")
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO invitations (workspace_id, id, email, email_folded, role, seed, secret_hash, invited_by, created_at, expires_at, next_attempt_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			arg(in), arg(r.ID), r.Email, folded, r.Role, r.Seed[:], r.Hash[:], nullable(by.User), r.CreatedAt, r.ExpiresAt, r.NextAttemptAt)
		return err
	})
}

// replaceExpired revokes the expired invitation of an address; a pending one is
// fault.AlreadyInvited.
func replaceExpired(ctx context.Context, tx pgx.Tx, in workspace.ID, folded string, now time.Time) error {
	var id uuid.UUID
	var expires time.Time
	err := tx.QueryRow(ctx, `
		SELECT id, expires_at FROM invitations WHERE workspace_id = $1 AND email_folded = $2 AND `+open+` FOR UPDATE`,
		arg(in), folded).Scan(&id, &expires)
	switch {
	case noRows(err):
		return nil
	case err != nil:
		return err
	case now.Before(expires):
		return alreadyInvited(nil)
	}
	_, err = tx.Exec(ctx, `UPDATE invitations SET revoked_at = $3, next_attempt_at = NULL WHERE workspace_id = $1 AND id = $2`, arg(in), id, now)
	return err
}

// RevokeInvitation implements workspace.InvitationStore.
func (s *Store) RevokeInvitation(ctx context.Context, in workspace.ID, by workspace.Actor, id workspace.InvitationID, at time.Time, judge workspace.Judge) (i workspace.Invitation, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := requireActor(ctx, tx, in, by, judge); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			UPDATE invitations SET revoked_at = $3, next_attempt_at = NULL
			WHERE workspace_id = $1 AND id = $2 AND `+open+` RETURNING `+invitationColumns, arg(in), arg(id), at)
		if err != nil {
			return err
		}
		i, err = pgx.CollectExactlyOneRow(rows, collectInvitation)
		i, err = found(i, err, noOpenInvitation)
		return err
	})
	return i, err
}

// Join implements workspace.JoinStore. It locks the invitation first: of two who
// accept it, or one who accepts and one who revokes, the second sees what the
// first did.
func (s *System) Join(ctx context.Context, j workspace.Joining) (in workspace.ID, m workspace.Member, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var role workspace.Role
		if in, role, err = lockOffer(ctx, tx, j); err != nil {
			return err
		}
		// The address is as the token says it now, and verified: later invitations
		// and look-ups go by it.
		if _, err := tx.Exec(ctx, `
			INSERT INTO users (id, email, email_folded, name, created_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (id) DO UPDATE SET email = excluded.email, email_folded = excluded.email_folded, name = excluded.name`,
			arg(j.User.ID), j.User.Email, workspace.FoldEmail(j.User.Email), j.User.Name, j.At); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO members (workspace_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4)`,
			arg(in), arg(j.User.ID), role, j.At); err != nil {
			return err
		}
		m = workspace.Member{ID: j.User.ID, Email: j.User.Email, Name: j.User.Name, Role: role, JoinedAt: j.At}
		_, err := tx.Exec(ctx, `
			UPDATE invitations SET accepted_at = $3, accepted_by = $4, next_attempt_at = NULL WHERE workspace_id = $1 AND id = $2`,
			arg(in), arg(j.Invitation), j.At, arg(j.User.ID))
		return err
	})
	if err != nil {
		return workspace.ID{}, workspace.Member{}, toFault(err)
	}
	return in, m, nil
}

// lockOffer locks the invitation and has it judged.
func lockOffer(ctx context.Context, tx pgx.Tx, j workspace.Joining) (in workspace.ID, role workspace.Role, err error) {
	var offer workspace.Offer
	var hash []byte
	err = tx.QueryRow(ctx, `
		SELECT i.workspace_id, i.role, i.secret_hash, i.email_folded, NOT (`+open+`), i.expires_at, w.plan
		FROM invitations i JOIN workspaces w ON w.id = i.workspace_id
		WHERE i.id = $1 FOR UPDATE OF i`, arg(j.Invitation)).
		Scan((*uuid.UUID)(&in), &role, &hash, &offer.EmailFolded, &offer.Closed, &offer.ExpiresAt, &offer.Plan)
	if noRows(err) {
		return in, "", noOpenInvitation(err)
	}
	if err != nil {
		return in, "", err
	}
	copy(offer.Hash[:], hash) // 32 bytes by the column's check
	return in, role, j.Judge(offer)
}

// ClaimLetter implements workspace.Outbox. SKIP LOCKED lets several servers
// claim at once without waiting for, or taking, each other's.
func (s *System) ClaimLetter(ctx context.Context, now time.Time, hold time.Duration) (l workspace.Letter, ok bool, err error) {
	var seed, hash []byte
	err = s.pool.QueryRow(ctx, `
		UPDATE invitations i
		SET attempts = i.attempts + 1, sent_at = coalesce(i.sent_at, $1), next_attempt_at = $2
		FROM (
			SELECT workspace_id, id FROM invitations
			WHERE next_attempt_at <= $1 AND expires_at > $1 AND `+open+`
			ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED
		) due JOIN workspaces w ON w.id = due.workspace_id
		WHERE i.workspace_id = due.workspace_id AND i.id = due.id
		RETURNING i.workspace_id, i.id, w.name, coalesce((SELECT u.name FROM users u WHERE u.id = i.invited_by), ''),
		          i.email, i.role, i.expires_at, i.seed, i.secret_hash, i.attempts`, now, now.Add(hold)).
		Scan((*uuid.UUID)(&l.Workspace), (*uuid.UUID)(&l.Invitation), &l.WorkspaceName, &l.InvitedBy,
			&l.Email, &l.Role, &l.ExpiresAt, &seed, &hash, &l.Attempt)
	if noRows(err) {
		return workspace.Letter{}, false, nil
	}
	if err != nil {
		return workspace.Letter{}, false, toFault(err)
	}
	copy(l.Seed[:], seed) // 32 bytes each, by the columns' checks
	copy(l.Hash[:], hash)
	return l, true, nil
}

// LetterSent implements workspace.Outbox.
func (s *System) LetterSent(ctx context.Context, l workspace.Letter, at time.Time) error {
	return s.settleLetter(ctx, l, nil, &at)
}

// LetterFailed implements workspace.Outbox.
func (s *System) LetterFailed(ctx context.Context, l workspace.Letter, next *time.Time) error {
	return s.settleLetter(ctx, l, next, nil)
}

// settleLetter leaves a letter alone that another sender has claimed since, or
// whose invitation was closed.
func (s *System) settleLetter(ctx context.Context, l workspace.Letter, next, delivered *time.Time) error {
	if err := l.Workspace.Check(); err != nil {
		return err
	}
	_, err := s.pool.Exec(ctx, `
		UPDATE invitations SET next_attempt_at = $4, delivered_at = coalesce($5, delivered_at)
		WHERE workspace_id = $1 AND id = $2 AND attempts = $3 AND next_attempt_at IS NOT NULL`,
		arg(l.Workspace), arg(l.Invitation), l.Attempt, next, delivered)
	return toFault(err)
}
