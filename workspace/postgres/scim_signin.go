package postgres

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
	"atlas/workspace/scim"
)

// provisioned is a person of SCIM who signs in. The zero value is none.
type provisioned struct {
	id     scim.UserID
	active bool
	// linked means that their user is known. role is the one of their groups, "" if no group of
	// the workspace has a role.
	linked bool
	role   people.Role
}

// lockProvisioned returns the person with an address, or whose user a subject is bound to.
// Until the transaction ends, no provider changes people of the workspace.
func lockProvisioned(ctx context.Context, tx pgx.Tx, in workspace.ID, who identity.Person) (p provisioned, err error) {
	if err := lockLimit(ctx, tx, in, scimLock); err != nil {
		return p, err
	}
	err = tx.QueryRow(ctx, `
		SELECT u.id, u.active, u.user_id IS NOT NULL, CASE
			WHEN NOT EXISTS (SELECT FROM scim_groups WHERE workspace_id = $1 AND role IS NOT NULL) THEN ''
			WHEN EXISTS (SELECT FROM scim_group_members gm JOIN scim_groups g ON g.workspace_id = $1 AND g.id = gm.group_id
				WHERE gm.workspace_id = $1 AND gm.member_id = u.id AND g.role = 'admin') THEN 'admin' ELSE 'member' END
		FROM scim_users u LEFT JOIN identities i ON i.workspace_id = $1 AND i.user_id = u.user_id AND i.issuer = $4 AND i.subject = $5
		WHERE u.workspace_id = $1 AND (i.user_id IS NOT NULL OR u.address_folded = $2 AND lower(u.address COLLATE "C") = lower($3 COLLATE "C"))
		ORDER BY i.user_id NULLS LAST LIMIT 1`,
		arg(in), workspace.FoldEmail(who.Email), strings.TrimSpace(who.Email), who.Issuer, who.Subject).
		Scan((*uuid.UUID)(&p.id), &p.active, &p.linked, &p.role)
	if noRows(err) {
		return provisioned{}, nil
	}
	return p, err
}

// roleOf returns the role for a person who signs in with a role from their provider, and
// whether it replaces the current one. If groups have roles, these apply to provisioned people,
// and the provider's role does not.
func (p provisioned) roleOf(role people.Role, given bool) (people.Role, bool, error) {
	switch {
	case p.id.IsZero():
		return role, given, nil
	case !p.active:
		return "", false, refusal("it has deactivated them")
	case p.role != "":
		return p.role, false, nil
	case role == "" && !given:
		return people.MemberRole, false, nil
	}
	return role, given, nil
}

// bind links a person to a user, and gives them the role of their groups.
func (p provisioned) bind(ctx context.Context, tx pgx.Tx, in workspace.ID, user workspace.UserID) error {
	if p.id.IsZero() {
		return nil
	}
	if !p.linked {
		bound, err := bindSCIMUser(ctx, tx, in, p.id, user)
		if err != nil || !bound {
			return err
		}
	}
	_, err := applyGroupRoles(ctx, tx, in, []uuid.UUID{arg(p.id)})
	return err
}

// bindSCIMUser links a pending person to a user, unless another person of the workspace is
// the same user.
func bindSCIMUser(ctx context.Context, tx pgx.Tx, in workspace.ID, id scim.UserID, user workspace.UserID) (bool, error) {
	tag, err := tx.Exec(ctx, `
		UPDATE scim_users SET user_id = $3 WHERE workspace_id = $1 AND id = $2 AND active AND user_id IS NULL
			AND NOT EXISTS (SELECT FROM scim_users WHERE workspace_id = $1 AND user_id = $3)`, arg(in), arg(id), arg(user))
	return tag.RowsAffected() == 1, err
}

// joinProvisioned adds a person who signed in by the installation's provider to the workspace
// that provisioned their address, has proved its domain, and has no provider of its own. That
// is safe: the provider verified the address, only one workspace can prove a domain, and who
// reads the address's mail could accept an invitation as well.
func (s *System) joinProvisioned(ctx context.Context, account workspace.UserID, email string) error {
	in, found, err := s.pendingPerson(ctx, s.pool, email)
	if err != nil || found.ID.IsZero() {
		return err
	}
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, setAuthor, workspace.Author{User: account}.Text(), workspace.OriginIn(ctx).Text()); err != nil {
			return err
		}
		if err := lockLimit(ctx, tx, in, scimLock); err != nil {
			return err
		}
		current, u, err := s.pendingPerson(ctx, tx, email)
		if err != nil || current != in || u.ID.IsZero() {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO users (id, email, email_folded, name, created_at)
			VALUES ($1, $2, $3, $4, date_trunc('milliseconds', clock_timestamp())) ON CONFLICT (id) DO NOTHING`,
			arg(account), u.Address(), workspace.FoldEmail(u.Address()), u.ShownName()); err != nil {
			return err
		}
		bound, err := bindSCIMUser(ctx, tx, in, u.ID, account)
		if err != nil || !bound {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO members (workspace_id, user_id, role, joined_at)
			VALUES ($1, $2, 'member', date_trunc('milliseconds', clock_timestamp())) ON CONFLICT ON CONSTRAINT members_pkey DO NOTHING`,
			arg(in), arg(account)); err != nil {
			return err
		}
		_, err = applyGroupRoles(ctx, tx, in, []uuid.UUID{arg(u.ID)})
		return err
	})
}

// pendingPerson returns the person who may join by an address, and their workspace; zero for
// none.
func (s *System) pendingPerson(ctx context.Context, by interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}, email string) (in workspace.ID, u scim.User, err error) {
	address := strings.TrimSpace(email)
	rows, err := by.Query(ctx, `SELECT `+scimUserColumns+`, u.workspace_id
		FROM scim_users u JOIN identity_domains d ON d.workspace_id = u.workspace_id
		WHERE u.address_folded = $1 AND lower(u.address COLLATE "C") = lower($2 COLLATE "C") AND u.active AND u.user_id IS NULL
		  AND d.domain = $3 AND d.proved_at IS NOT NULL
		  AND NOT EXISTS (SELECT FROM identity_providers p WHERE p.workspace_id = u.workspace_id)`,
		workspace.FoldEmail(address), address, identity.DomainOf(address))
	if err != nil {
		return in, u, toFault(err)
	}
	u, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (scim.User, error) {
		return scanSCIMUser(row, (*uuid.UUID)(&in))
	})
	if noRows(err) {
		return in, scim.User{}, nil
	}
	return in, u, toFault(err)
}
