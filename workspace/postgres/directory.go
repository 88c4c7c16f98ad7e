package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

var (
	_ people.WorkspaceStore = (*System)(nil)
	_ people.UserStore      = (*System)(nil)
)

// InsertWorkspace implements workspace.WorkspaceStore.
func (s *System) InsertWorkspace(ctx context.Context, w workspace.Workspace) error {
	if err := w.ID.Check(); err != nil {
		return err
	}
	_, err := s.pool.Exec(ctx, `
		INSERT INTO workspaces (id, name, plan, credit_ceiling, created_at) VALUES ($1, $2, $3, $4, $5)`,
		arg(w.ID), w.Name, w.Plan, w.CreditCeiling, w.CreatedAt)
	return toFault(err)
}

// UpdateWorkspace implements workspace.WorkspaceStore.
func (s *System) UpdateWorkspace(ctx context.Context, id workspace.ID, c people.WorkspaceChange) (workspace.Workspace, error) {
	if c.Plan == nil || *c.Plan == workspace.Free {
		return s.oneWorkspace(ctx, id, updateWorkspace, arg(id), c.Name, c.Plan, c.Ceiling, c.TimeZone)
	}
	var w workspace.Workspace
	err := s.inWorkspace(ctx, id, func(tx pgx.Tx) error {
		err := notBeingDeleted(ctx, tx, id)
		if err == nil {
			w, err = scanWorkspace(tx.QueryRow(ctx, updateWorkspace, arg(id), c.Name, c.Plan, c.Ceiling, c.TimeZone))
		}
		w, err = orNotFound(w, err, unknownWorkspace)
		return err
	})
	return w, err
}

const updateWorkspace = `
		UPDATE workspaces SET name = coalesce($2, name), plan = coalesce($3, plan),
		       credit_ceiling = coalesce($4, credit_ceiling), time_zone = coalesce($5, time_zone)
		WHERE id = $1 RETURNING ` + workspaceColumns

// WorkspaceByID implements workspace.WorkspaceStore.
func (s *System) WorkspaceByID(ctx context.Context, id workspace.ID) (workspace.Workspace, error) {
	return s.oneWorkspace(ctx, id, `SELECT `+workspaceColumns+` FROM workspaces WHERE id = $1`, arg(id))
}

func (s *System) oneWorkspace(ctx context.Context, id workspace.ID, sql string, args ...any) (workspace.Workspace, error) {
	if err := id.Check(); err != nil {
		return workspace.Workspace{}, err
	}
	w, err := scanWorkspace(s.pool.QueryRow(ctx, sql, args...))
	w, err = orNotFound(w, err, unknownWorkspace)
	return w, toFault(err)
}

// Workspaces implements workspace.WorkspaceStore.
func (s *System) Workspaces(ctx context.Context) ([]workspace.Workspace, error) {
	return collect(ctx, s, func(row pgx.CollectableRow) (workspace.Workspace, error) { return scanWorkspace(row) },
		`SELECT `+workspaceColumns+` FROM workspaces ORDER BY name, id`)
}

// InsertMember implements workspace.MemberStore.
func (s *System) InsertMember(ctx context.Context, to workspace.ID, m people.Member, byAddress bool) (people.Member, error) {
	return s.insertMember(ctx, to, m, byAddress, ``)
}

// EnsureMember implements workspace.MemberStore.
func (s *System) EnsureMember(ctx context.Context, to workspace.ID, m people.Member) (people.Member, error) {
	return s.insertMember(ctx, to, m, false, ` ON CONFLICT ON CONSTRAINT members_pkey DO UPDATE SET role = excluded.role`)
}

func (s *System) insertMember(
	ctx context.Context,
	to workspace.ID,
	m people.Member,
	byAddress bool,
	conflict string,
) (out people.Member, err error) {
	if err := to.Check(); err != nil {
		return people.Member{}, err
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if byAddress {
			user, err := lockUserByEmail(ctx, tx, to, m.Email)
			switch {
			case err == nil:
				m.ID = user.ID
			case fault.CodeOf(err) != fault.NotFound:
				return err
			}
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO users (id, email, email_folded, name, created_at, claimable) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (id) DO NOTHING`,
			arg(m.ID), m.Email, workspace.FoldEmail(m.Email), m.Name, m.JoinedAt, byAddress)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO members (workspace_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4)`+conflict,
			arg(to), arg(m.ID), m.Role, m.JoinedAt)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT u.id, u.email, u.name, m.role, m.joined_at FROM members m JOIN users u ON u.id = m.user_id
			WHERE m.workspace_id = $1 AND m.user_id = $2`, arg(to), arg(m.ID))
		if err != nil {
			return err
		}
		out, err = pgx.CollectExactlyOneRow(rows, collectMember)
		return err
	})
	return out, toFault(err)
}

// MembersOf implements workspace.MemberStore.
func (s *System) MembersOf(ctx context.Context, of workspace.ID) ([]people.Member, error) {
	if err := of.Check(); err != nil {
		return nil, err
	}
	return collect(ctx, s, collectMember, memberQuery, arg(of))
}

const (
	usersByEmail = `SELECT id, email, name FROM users WHERE email_folded = $1`
	// ofProvider is true for users that the provider of another workspace than $2 created: they
	// cannot sign in elsewhere. A user whose identity in $2 is as old as the user was created
	// by the provider of $2.
	ofProvider = `by_provider AND NOT claimable AND NOT EXISTS (
		SELECT FROM identities i WHERE i.workspace_id = $2 AND i.user_id = users.id AND i.created_at = users.created_at)`
)

func collectUser(row pgx.CollectableRow) (u people.User, err error) {
	err = row.Scan((*uuid.UUID)(&u.ID), &u.Email, &u.Name)
	return u, err
}

// UsersByEmail implements workspace.MemberStore.
func (s *System) UsersByEmail(ctx context.Context, email string) ([]people.User, error) {
	return collect(ctx, s, collectUser, usersByEmail+` ORDER BY id`, workspace.FoldEmail(email))
}

// lockUserByEmail returns the user with an address who may join a workspace, like
// people.OneUser. Until the transaction ends, other look-ups of the address wait and nobody can
// claim the user.
func lockUserByEmail(ctx context.Context, tx pgx.Tx, to workspace.ID, email string) (people.User, error) {
	folded := workspace.FoldEmail(email)
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('user ' || $1, 0))`, folded); err != nil {
		return people.User{}, err
	}
	rows, err := tx.Query(ctx, usersByEmail+` AND NOT (`+ofProvider+`) ORDER BY id FOR UPDATE`, folded, arg(to))
	if err != nil {
		return people.User{}, err
	}
	users, err := pgx.CollectRows(rows, collectUser)
	if err != nil {
		return people.User{}, err
	}
	return people.OneUser(users, email)
}
