package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
)

var (
	_ workspace.MemberStore = (*Store)(nil)
	_ workspace.MemberStore = (*System)(nil)
)

// ChangeRole implements workspace.RosterStore.
func (s *Store) ChangeRole(ctx context.Context, in workspace.ID, by workspace.Actor, user workspace.UserID, role workspace.Role, judge workspace.Guard) (m workspace.Member, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		m, err = changeRole(ctx, tx, in, by, user, role, judge)
		return err
	})
	return m, err
}

// RemoveMember implements workspace.RosterStore.
func (s *Store) RemoveMember(ctx context.Context, in workspace.ID, by workspace.Actor, user workspace.UserID, judge workspace.Guard) (removed bool, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		removed, err = removeMember(ctx, tx, in, by, user, judge)
		return err
	})
	return removed, err
}

// Members implements workspace.RosterStore.
func (s *System) Members(ctx context.Context, in workspace.ID, limit, offset int) ([]workspace.Member, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	return collect(ctx, s, collectMember, memberQuery+` LIMIT $2 OFFSET $3`, arg(in), limit, offset)
}

// ChangeRole implements workspace.RosterStore.
func (s *System) ChangeRole(ctx context.Context, in workspace.ID, by workspace.Actor, user workspace.UserID, role workspace.Role, judge workspace.Guard) (m workspace.Member, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		m, err = changeRole(ctx, tx, in, by, user, role, judge)
		return err
	})
	return m, err
}

// RemoveMember implements workspace.RosterStore.
func (s *System) RemoveMember(ctx context.Context, in workspace.ID, by workspace.Actor, user workspace.UserID, judge workspace.Guard) (removed bool, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		removed, err = removeMember(ctx, tx, in, by, user, judge)
		return err
	})
	return removed, err
}

// inWorkspace runs fn for a workspace; an error rolls it back.
func (s *System) inWorkspace(ctx context.Context, in workspace.ID, fn func(pgx.Tx) error) error {
	if err := in.Check(); err != nil {
		return err
	}
	return toFault(pgx.BeginFunc(ctx, s.pool, fn))
}

func changeRole(ctx context.Context, tx pgx.Tx, in workspace.ID, by workspace.Actor, user workspace.UserID, role workspace.Role, judge workspace.Guard) (workspace.Member, error) {
	seats, err := lockMembers(ctx, tx, in, by, user)
	if err != nil {
		return workspace.Member{}, err
	}
	if err := judge(seats); err != nil {
		return workspace.Member{}, err
	}
	rows, err := tx.Query(ctx, `
		WITH changed AS (
			UPDATE members SET role = $3 WHERE workspace_id = $1 AND user_id = $2 RETURNING user_id, role, joined_at
		)
		SELECT u.id, u.email, u.name, c.role, c.joined_at FROM changed c JOIN users u ON u.id = c.user_id`,
		arg(in), arg(user), role)
	if err != nil {
		return workspace.Member{}, err
	}
	return pgx.CollectExactlyOneRow(rows, collectMember)
}

func removeMember(ctx context.Context, tx pgx.Tx, in workspace.ID, by workspace.Actor, user workspace.UserID, judge workspace.Guard) (bool, error) {
	seats, err := lockMembers(ctx, tx, in, by, user)
	if err != nil {
		return false, err
	}
	if err := judge(seats); err != nil {
		return false, err
	}
	tag, err := tx.Exec(ctx, `DELETE FROM members WHERE workspace_id = $1 AND user_id = $2`, arg(in), arg(user))
	return tag.RowsAffected() > 0, err
}

// lockMembers locks the rows of the owners, the actor and the target until the end
// of the transaction, always in the order of their ids, so that two changes of
// one workspace wait for each other and never for a circle. Who becomes an owner
// meanwhile may be missed: then an owner too few is counted, never one too many.
func lockMembers(ctx context.Context, tx pgx.Tx, in workspace.ID, by workspace.Actor, target workspace.UserID) (seats workspace.LockedMembers, err error) {
	seats.Actor = by.Role
	if !by.User.IsZero() {
		seats.Actor = ""
	}
	rows, err := tx.Query(ctx, `
		SELECT user_id, role FROM members
		WHERE workspace_id = $1 AND (role = 'owner' OR user_id = ANY($2))
		ORDER BY user_id FOR UPDATE`, arg(in), []uuid.UUID{arg(by.User), arg(target)})
	if err != nil {
		return seats, err
	}
	var user workspace.UserID
	var role workspace.Role
	_, err = pgx.ForEachRow(rows, []any{(*uuid.UUID)(&user), &role}, func() error {
		if role == workspace.Owner {
			seats.Owners++
		}
		if user == by.User {
			seats.Actor = role
		}
		if user == target {
			seats.Target = role
		}
		return nil
	})
	return seats, err
}

// checkActor asks judge about the actor's role of now, and keeps it so until
// the end of the transaction.
func checkActor(ctx context.Context, tx pgx.Tx, in workspace.ID, by workspace.Actor, judge workspace.Guard) error {
	seats := workspace.LockedMembers{Actor: by.Role}
	if !by.User.IsZero() {
		rows, err := tx.Query(ctx, `SELECT role FROM members WHERE workspace_id = $1 AND user_id = $2 FOR SHARE`, arg(in), arg(by.User))
		if err != nil {
			return err
		}
		roles, err := pgx.CollectRows(rows, pgx.RowTo[workspace.Role])
		if err != nil {
			return err
		}
		seats.Actor = ""
		if len(roles) > 0 {
			seats.Actor = roles[0]
		}
	}
	return judge(seats)
}

// nullable is an id as a query argument, null when it is zero.
func nullable[T ~[16]byte](id T) *uuid.UUID {
	if id == (T{}) {
		return nil
	}
	u := uuid.UUID(id)
	return &u
}

func orNotFound[T any](value T, err error, missing func(error) *fault.Error) (T, error) {
	if noRows(err) {
		var zero T
		return zero, missing(err)
	}
	return value, err
}
