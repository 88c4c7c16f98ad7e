package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/people"
)

var (
	_ people.MemberStore = (*Store)(nil)
	_ people.MemberStore = (*System)(nil)
)

// transactor is a Store or a System.
type transactor interface {
	inWorkspace(ctx context.Context, in workspace.ID, fn func(pgx.Tx) error) error
}

// Members implements workspace.MemberStore.
func (s *System) Members(ctx context.Context, in workspace.ID, limit, offset int) ([]people.Member, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	return collect(ctx, s, collectMember, memberQuery+` LIMIT $2 OFFSET $3`, arg(in), limit, offset)
}

// ChangeRole implements workspace.MemberStore.
func (s *Store) ChangeRole(
	ctx context.Context,
	in workspace.ID,
	by people.Actor,
	user workspace.UserID,
	role people.Role,
	guard people.Guard,
) (people.Member, error) {
	return changeRole(ctx, s, in, by, user, role, guard)
}

// ChangeRole implements workspace.MemberStore.
func (s *System) ChangeRole(
	ctx context.Context,
	in workspace.ID,
	by people.Actor,
	user workspace.UserID,
	role people.Role,
	guard people.Guard,
) (people.Member, error) {
	return changeRole(ctx, s, in, by, user, role, guard)
}

func changeRole(
	ctx context.Context,
	s transactor,
	in workspace.ID,
	by people.Actor,
	user workspace.UserID,
	role people.Role,
	guard people.Guard,
) (m people.Member, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := lockMembers(ctx, tx, in, by, user, guard); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			WITH changed AS (
				UPDATE members SET role = $3 WHERE workspace_id = $1 AND user_id = $2 RETURNING user_id, role, joined_at
			)
			SELECT u.id, u.email, u.name, c.role, c.joined_at FROM changed c JOIN users u ON u.id = c.user_id`,
			arg(in), arg(user), role)
		if err != nil {
			return err
		}
		m, err = pgx.CollectExactlyOneRow(rows, collectMember)
		return err
	})
	return m, err
}

// RemoveMember implements workspace.MemberStore.
func (s *Store) RemoveMember(
	ctx context.Context,
	in workspace.ID,
	by people.Actor,
	user workspace.UserID,
	guard people.Guard,
) (bool, error) {
	return removeMember(ctx, s, in, by, user, guard)
}

// RemoveMember implements workspace.MemberStore.
func (s *System) RemoveMember(
	ctx context.Context,
	in workspace.ID,
	by people.Actor,
	user workspace.UserID,
	guard people.Guard,
) (bool, error) {
	return removeMember(ctx, s, in, by, user, guard)
}

func removeMember(
	ctx context.Context,
	s transactor,
	in workspace.ID,
	by people.Actor,
	user workspace.UserID,
	guard people.Guard,
) (removed bool, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := lockMembers(ctx, tx, in, by, user, guard); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `DELETE FROM members WHERE workspace_id = $1 AND user_id = $2`, arg(in), arg(user))
		removed = tag.RowsAffected() > 0
		return err
	})
	return removed, err
}

// lockMembers locks the rows of the owners, the actor and the target until the end
// of the transaction and calls guard. It locks them in the order of their ids, so
// that concurrent changes of one workspace cannot deadlock. It may miss a member
// who becomes an owner at the same time; then it counts one owner too few, never
// one too many.
func lockMembers(ctx context.Context, tx pgx.Tx, in workspace.ID, by people.Actor, target workspace.UserID, guard people.Guard) error {
	var locked people.LockedMembers
	if by.User.IsZero() {
		locked.Actor = by.Role
	}
	rows, err := tx.Query(ctx, `
		SELECT user_id, role FROM members
		WHERE workspace_id = $1 AND (role = 'owner' OR user_id = ANY($2))
		ORDER BY user_id FOR UPDATE`, arg(in), []uuid.UUID{arg(by.User), arg(target)})
	if err != nil {
		return err
	}
	var user workspace.UserID
	var role people.Role
	_, err = pgx.ForEachRow(rows, []any{(*uuid.UUID)(&user), &role}, func() error {
		if role == people.Owner {
			locked.Owners++
		}
		if user == by.User {
			locked.Actor = role
		}
		if user == target {
			locked.Target = role
		}
		return nil
	})
	if err != nil {
		return err
	}
	return guard(locked)
}

// lockActor locks the actor's row until the end of the transaction and returns their role.
func lockActor(ctx context.Context, tx pgx.Tx, in workspace.ID, by people.Actor) (people.LockedMembers, error) {
	locked := people.LockedMembers{Actor: by.Role}
	if !by.User.IsZero() {
		locked.Actor = ""
		err := tx.QueryRow(ctx, `SELECT role FROM members WHERE workspace_id = $1 AND user_id = $2 FOR SHARE`, arg(in), arg(by.User)).
			Scan(&locked.Actor)
		if err != nil && !noRows(err) {
			return locked, err
		}
	}
	return locked, nil
}
