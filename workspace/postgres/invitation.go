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
	"atlas/workspace/people"
)

var (
	_ people.InvitationStore = (*Store)(nil)
	_ people.AcceptanceStore = (*System)(nil)
)

func alreadyInvited(cause error) *fault.Error {
	return fault.Wrap(cause, fault.AlreadyInvited, "this address has a pending invitation already")
}

func noOpenInvitation(cause error) *fault.Error {
	return fault.Wrap(cause, fault.NotFound, "the workspace has no open invitation with this id")
}

const invitationColumns = `id, email, role, sent_at, expires_at, created_at`

func collectInvitation(row pgx.CollectableRow) (i people.Invitation, err error) {
	err = row.Scan((*uuid.UUID)(&i.ID), &i.Email, &i.Role, &i.SentAt, &i.ExpiresAt, &i.CreatedAt)
	return i, err
}

// invitationOpen selects invitations that are neither accepted nor revoked.
const invitationOpen = `accepted_at IS NULL AND revoked_at IS NULL`

// invitationLimit is the name of the limit of open invitations.
const invitationLimit = "invitations"

// Invitations implements workspace.InvitationStore.
func (s *Store) Invitations(ctx context.Context, in workspace.ID, limit, offset int) ([]people.Invitation, error) {
	return queryAll(ctx, s, in, collectInvitation, `
		SELECT `+invitationColumns+` FROM invitations WHERE workspace_id = $1 AND `+invitationOpen+`
		ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3`, arg(in), limit, offset)
}

// InsertInvitation implements workspace.InvitationStore.
func (s *Store) InsertInvitation(
	ctx context.Context,
	in workspace.ID,
	by people.Actor,
	r people.InvitationRecord,
	l workspace.Limits,
	guard people.Guard,
) (schedule people.EmailSchedule, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		locked, err := lockActor(ctx, tx, in, by)
		if err == nil {
			err = guard(locked)
		}
		if err != nil {
			return err
		}
		// The lock of the limit also covers the rates of e-mails.
		if err := lockLimit(ctx, tx, in, invitationLimit); err != nil {
			return err
		}
		folded := workspace.FoldEmail(r.Email)
		// Lock the open invitation before reading members: this waits for an
		// acceptance that is in progress, and then sees the new member.
		if err := revokePrevious(ctx, tx, in, folded, r, func(role people.Role) error {
			locked.Target = role
			return guard(locked)
		}); err != nil {
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
		if err := checkLimit(ctx, tx, in, rowLimit{
			name: invitationLimit, items: "open invitations", advice: "revoke some first, expired ones too", max: l.OpenInvitations,
			rows: `invitations WHERE workspace_id = $1 AND ` + invitationOpen,
		}); err != nil {
			return err
		}
		if schedule, err = scheduleEmail(ctx, tx, in, r, l); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO invitations (workspace_id, id, email, email_folded, role, seed, secret_hash, invited_by, created_at, expires_at, letter_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			arg(in), arg(r.ID), r.Email, folded, r.Role, r.Seed[:], r.Hash[:], nullable(by.User), r.CreatedAt, r.ExpiresAt, schedule.At)
		if err != nil || schedule.At == nil {
			return err
		}
		_, err = addJobs(ctx, tx, []jobs.New{
			{
				ID: jobs.ID(
					r.ID,
				),
				Workspace: in,
				Kind:      people.InvitationKind,
				Lane:      uuid.UUID(in),
				Payload:   json.RawMessage("{}"),
				RunAt:     *schedule.At,
			},
		}, r.CreatedAt)
		return err
	})
	return schedule, err
}

// revokePrevious revokes the invitation that a new one replaces. If a pending one is not to
// be replaced, the error is fault.AlreadyInvited; otherwise permit decides.
func revokePrevious(
	ctx context.Context,
	tx pgx.Tx,
	in workspace.ID,
	folded string,
	r people.InvitationRecord,
	permit func(people.Role) error,
) error {
	var id uuid.UUID
	var expires time.Time
	var role people.Role
	err := tx.QueryRow(ctx, `
		SELECT id, expires_at, role FROM invitations WHERE workspace_id = $1 AND email_folded = $2 AND `+invitationOpen+` FOR UPDATE`,
		arg(in), folded).Scan(&id, &expires, &role)
	pending := r.CreatedAt.Before(expires)
	switch {
	case noRows(err):
		return nil
	case err != nil:
		return err
	case pending && !r.Replaces:
		return alreadyInvited(nil)
	case pending:
		if err := permit(role); err != nil {
			return err
		}
	}
	_, err = tx.Exec(
		ctx,
		`UPDATE invitations SET revoked_at = $3, `+cancelEmail+` WHERE workspace_id = $1 AND id = $2`,
		arg(in),
		id,
		r.CreatedAt,
	)
	return err
}

// RevokeInvitation implements workspace.InvitationStore.
func (s *Store) RevokeInvitation(
	ctx context.Context,
	in workspace.ID,
	by people.Actor,
	id people.InvitationID,
	at time.Time,
	guard people.Guard,
) (i people.Invitation, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		locked, err := lockActor(ctx, tx, in, by)
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `SELECT role FROM invitations WHERE workspace_id = $1 AND id = $2 AND `+invitationOpen+` FOR UPDATE`,
			arg(in), arg(id)).Scan(&locked.Target)
		if err != nil && !noRows(err) {
			return err
		}
		if err := guard(locked); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			UPDATE invitations SET revoked_at = $3, `+cancelEmail+`
			WHERE workspace_id = $1 AND id = $2 AND `+invitationOpen+` RETURNING `+invitationColumns, arg(in), arg(id), at)
		if err != nil {
			return err
		}
		i, err = pgx.CollectExactlyOneRow(rows, collectInvitation)
		i, err = orNotFound(i, err, noOpenInvitation)
		return err
	})
	return i, err
}

// AcceptInvitation implements workspace.AcceptanceStore. It locks the invitation
// first: of two concurrent acceptances, or an acceptance and a revocation, the
// second sees the result of the first.
func (s *System) AcceptInvitation(ctx context.Context, a people.Acceptance) (in workspace.ID, m people.Member, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, setAuthor, workspace.Author{User: a.User.ID}.Text(), workspace.OriginIn(ctx).Text()); err != nil {
			return err
		}
		var role people.Role
		if in, role, err = lockInvitation(ctx, tx, a); err != nil {
			return err
		}
		// The token's address is current and verified: replace the stored one, which later
		// invitations and look-ups use. Nobody else may claim the user any more.
		if _, err := tx.Exec(ctx, `
			INSERT INTO users (id, email, email_folded, name, created_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (id) DO UPDATE SET email = excluded.email, email_folded = excluded.email_folded, name = excluded.name, claimable = false`,
			arg(a.User.ID), a.User.Email, workspace.FoldEmail(a.User.Email), a.User.Name, a.At); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO members (workspace_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4)`,
			arg(in), arg(a.User.ID), role, a.At); err != nil {
			return err
		}
		m = people.Member{ID: a.User.ID, Email: a.User.Email, Name: a.User.Name, Role: role, JoinedAt: a.At}
		_, err := tx.Exec(ctx, `
			UPDATE invitations SET accepted_at = $3, accepted_by = $4, `+cancelEmail+` WHERE workspace_id = $1 AND id = $2`,
			arg(in), arg(a.Invitation), a.At, arg(a.User.ID))
		return err
	})
	if err != nil {
		return workspace.ID{}, people.Member{}, toFault(err)
	}
	return in, m, nil
}

// PreviewInvitation implements workspace.AcceptanceStore.
func (s *System) PreviewInvitation(ctx context.Context, a people.Acceptance) (p people.InvitationPreview, err error) {
	var found people.LockedInvitation
	var hash []byte
	var name, email *string
	var member bool
	err = s.pool.QueryRow(ctx, `
		SELECT w.id, w.name, w.plan, i.role, i.email, i.email_folded, i.secret_hash, i.expires_at, NOT (`+invitationOpen+`), u.name, u.email,
			EXISTS (SELECT FROM members m WHERE m.workspace_id = i.workspace_id AND m.user_id = $2)
		FROM invitations i JOIN workspaces w ON w.id = i.workspace_id
			LEFT JOIN members m ON m.workspace_id = i.workspace_id AND m.user_id = i.invited_by
			LEFT JOIN users u ON u.id = m.user_id
		WHERE i.id = $1`, arg(a.Invitation), arg(a.User.ID)).
		Scan((*uuid.UUID)(&p.Workspace.ID), &p.Workspace.Name, &found.Plan, &p.Role, &p.Email, &found.EmailFolded, &hash,
			&p.ExpiresAt, &found.Closed, &name, &email, &member)
	if noRows(err) {
		return people.InvitationPreview{}, noOpenInvitation(err)
	}
	if err != nil {
		return people.InvitationPreview{}, toFault(err)
	}
	copy(found.Hash[:], hash) // 32 bytes by a check constraint
	found.ExpiresAt = p.ExpiresAt
	if err := a.Guard(found); err != nil {
		return people.InvitationPreview{}, err
	}
	if member {
		return people.InvitationPreview{}, violations["members_pkey"](nil)
	}
	if name != nil && email != nil {
		p.InvitedBy = &people.Inviter{Name: *name, Email: *email}
	}
	return p, nil
}

// lockInvitation locks the invitation and calls the acceptance's guard.
func lockInvitation(ctx context.Context, tx pgx.Tx, a people.Acceptance) (in workspace.ID, role people.Role, err error) {
	var locked people.LockedInvitation
	var hash []byte
	err = tx.QueryRow(ctx, `
		SELECT i.workspace_id, i.role, i.secret_hash, i.email_folded, NOT (`+invitationOpen+`), i.expires_at, w.plan
		FROM invitations i JOIN workspaces w ON w.id = i.workspace_id
		WHERE i.id = $1 FOR UPDATE OF i`, arg(a.Invitation)).
		Scan((*uuid.UUID)(&in), &role, &hash, &locked.EmailFolded, &locked.Closed, &locked.ExpiresAt, &locked.Plan)
	if noRows(err) {
		return in, "", noOpenInvitation(err)
	}
	if err != nil {
		return in, "", err
	}
	copy(locked.Hash[:], hash) // 32 bytes by a check constraint
	return in, role, a.Guard(locked)
}
