package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

// ClaimUser gives the id of an account that signed in to the claimable user with its address,
// which the caller has verified, and reports whether there was one. Only the case of ASCII
// letters may differ: addresses that FoldEmail takes as equal may belong to different people.
// If several users have the address, none is claimed.
//
// A user is claimed once. An account that already is a user claims none, and that user can no
// longer be claimed. A person who was provisioned with the address joins their workspace
// (joinProvisioned).
func (s *System) ClaimUser(ctx context.Context, account workspace.UserID, email string) (claimed bool, err error) {
	if _, err := s.pool.Exec(ctx, `UPDATE users SET claimable = false, by_provider = false WHERE id = $1 AND claimable`, arg(account)); err != nil {
		return false, toFault(err)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, setAuthor, workspace.Author{User: account}.Text(), workspace.OriginIn(ctx).Text()); err != nil {
			return err
		}
		// Of two accounts at once the second waits for the row, and then finds it claimed.
		tag, err := tx.Exec(ctx, `
			UPDATE users SET id = $1, claimable = false, by_provider = false
			WHERE email_folded = $2 AND claimable AND lower(email COLLATE "C") = lower($3 COLLATE "C")
			  AND (SELECT count(*) FROM users WHERE email_folded = $2 AND claimable) = 1
			  AND NOT EXISTS (SELECT FROM users WHERE id = $1)`, arg(account), workspace.FoldEmail(email), strings.TrimSpace(email))
		claimed = err == nil && tag.RowsAffected() == 1
		return err
	})
	if err != nil {
		return false, toFault(err)
	}
	return claimed, s.joinProvisioned(ctx, account, email)
}

// ReleaseUser implements people.UserStore.
func (s *System) ReleaseUser(ctx context.Context, id workspace.UserID) (people.User, error) {
	u := people.User{ID: id}
	err := s.pool.QueryRow(ctx, `UPDATE users SET claimable = true WHERE id = $1 RETURNING email, name`, arg(id)).Scan(&u.Email, &u.Name)
	u, err = orNotFound(u, err, func(cause error) *fault.Error {
		return fault.Wrap(cause, fault.NotFound, "there is no user with this id")
	})
	return u, toFault(err)
}

// SignOutUser implements people.UserStore.
func (s *System) SignOutUser(ctx context.Context, id workspace.UserID) (people.User, error) {
	u := people.User{ID: id}
	err := s.pool.QueryRow(ctx, `UPDATE users SET signed_out_at = clock_timestamp() WHERE id = $1 RETURNING email, name`, arg(id)).
		Scan(&u.Email, &u.Name)
	u, err = orNotFound(u, err, func(cause error) *fault.Error {
		return fault.Wrap(cause, fault.NotFound, "there is no user with this id")
	})
	return u, toFault(err)
}

// SignedOut returns when the sessions of a user ended last: SignOutUser was called, or
// their last membership ended. It is zero for never, and for an unknown user.
func (s *System) SignedOut(ctx context.Context, id workspace.UserID) (time.Time, error) {
	var at *time.Time
	err := s.pool.QueryRow(ctx, `SELECT signed_out_at FROM users WHERE id = $1`, arg(id)).Scan(&at)
	if noRows(err) || err == nil && at == nil {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, toFault(err)
	}
	return *at, nil
}

// Memberships lists the workspaces of a user by name, then id.
func (s *System) Memberships(ctx context.Context, user workspace.UserID) ([]people.Membership, error) {
	scan := func(row pgx.CollectableRow) (m people.Membership, err error) {
		err = row.Scan((*uuid.UUID)(&m.Workspace), &m.Name, &m.Role)
		return m, err
	}
	return collect(ctx, s, scan, `
		SELECT w.id, w.name, m.role FROM members m JOIN workspaces w ON w.id = m.workspace_id
		WHERE m.user_id = $1 ORDER BY w.name, w.id`, arg(user))
}
