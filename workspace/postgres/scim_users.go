package postgres

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/scim"
)

var _ scim.Store = (*Store)(nil)

// scimLock serializes changes of a workspace's users and groups: roles depend on both.
const scimLock = "scim"

const scimUserColumns = `u.id, u.user_name, coalesce(u.external_id, ''), u.active, u.display_name, u.formatted_name, u.family_name, u.given_name,
	u.emails, u.user_id, u.removal_refused_at, u.version, u.created_at, u.updated_at,
	coalesce((SELECT m.role FROM members m WHERE m.workspace_id = u.workspace_id AND m.user_id = u.user_id), '')`

func collectSCIMUser(row pgx.CollectableRow) (u scim.User, err error) { return scanSCIMUser(row) }

// scanSCIMUser scans a user, and more columns after their own.
func scanSCIMUser(row pgx.CollectableRow, more ...any) (u scim.User, err error) {
	var emails []byte
	var account *uuid.UUID
	err = row.Scan(append([]any{
		(*uuid.UUID)(&u.ID), &u.UserName, &u.ExternalID, &u.Active, &u.DisplayName, &u.Name.Formatted, &u.Name.Family, &u.Name.Given,
		&emails, &account, &u.RemovalRefusedAt, &u.Version, &u.Created, &u.Modified, &u.Role,
	}, more...)...)
	if err != nil {
		return u, err
	}
	if account != nil {
		u.Account = workspace.UserID(*account)
	}
	err = json.Unmarshal(emails, &u.Emails)
	if len(u.Emails) == 0 {
		u.Emails = nil
	}
	return u, err
}

// selectSCIM adds the condition of a Lookup to a statement about the rows u of a workspace
// ($1). name is the column with the folded name.
func selectSCIM(sql, name string, in workspace.ID, l scim.Lookup) (string, []any) {
	args := []any{arg(in)}
	and := func(condition string, value any) {
		args = append(args, value)
		sql += ` AND ` + condition
	}
	switch {
	case l.ID != uuid.Nil:
		and(`u.id = $2`, l.ID)
	case l.Name != "":
		and(name+` = $2`, l.Name)
	case l.ExternalID != "":
		and(`u.external_id = $2`, l.ExternalID)
	case l.Address != "":
		and(`u.addresses @> ARRAY[$2]`, l.Address)
	}
	return sql + ` ORDER BY u.id`, args
}

// SCIMUsers implements scim.Store.
func (s *Store) SCIMUsers(ctx context.Context, in workspace.ID, l scim.Lookup) ([]scim.User, error) {
	sql, args := selectSCIM(`SELECT `+scimUserColumns+` FROM scim_users u WHERE u.workspace_id = $1`, `u.user_name_folded`, in, l)
	return queryAll(ctx, s, in, collectSCIMUser, sql, args...)
}

// SCIMPeople implements scim.Store.
func (s *Store) SCIMPeople(ctx context.Context, in workspace.ID, limit, offset int) ([]scim.User, error) {
	return queryAll(ctx, s, in, collectSCIMUser, `SELECT `+scimUserColumns+` FROM scim_users u WHERE u.workspace_id = $1
		ORDER BY u.user_name_folded, u.id LIMIT $2 OFFSET $3`, arg(in), limit, offset)
}

// SCIMUser implements scim.Store.
func (s *Store) SCIMUser(ctx context.Context, in workspace.ID, id scim.UserID) (scim.User, error) {
	u, err := queryOne(ctx, s, in, collectSCIMUser, scimUserByID, arg(in), arg(id))
	return orNotFound(u, err, unknownSCIMUser)
}

const scimUserByID = `SELECT ` + scimUserColumns + ` FROM scim_users u WHERE u.workspace_id = $1 AND u.id = $2`

func unknownSCIMUser(error) *fault.Error { return scim.Unknown("User") }

func scimUserByIDIn(ctx context.Context, tx pgx.Tx, in workspace.ID, id scim.UserID) (scim.User, error) {
	rows, err := tx.Query(ctx, scimUserByID+` FOR UPDATE`, arg(in), arg(id))
	if err != nil {
		return scim.User{}, err
	}
	u, err := pgx.CollectExactlyOneRow(rows, collectSCIMUser)
	return orNotFound(u, err, unknownSCIMUser)
}

// emptyNull is an argument that is null for "".
func emptyNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// scimUserArgs are the arguments of what a provider sets: $1 to $14.
func scimUserArgs(in workspace.ID, u scim.User) ([]any, error) {
	emails := u.Emails
	if emails == nil {
		emails = []scim.Email{}
	}
	raw, err := json.Marshal(emails)
	address := u.Address()
	return []any{
		arg(in), arg(u.ID), u.UserName, scim.Fold(u.UserName), emptyNull(u.ExternalID), u.Active, u.DisplayName, u.Name.Formatted,
		u.Name.Family, u.Name.Given, raw, u.Addresses(), address, workspace.FoldEmail(address),
	}, err
}

// InsertSCIMUser implements scim.Store.
func (s *Store) InsertSCIMUser(ctx context.Context, in workspace.ID, u scim.User) (out scim.User, changed []workspace.UserID, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		changed = nil
		err := lockAndCheckLimit(ctx, tx, in, rowLimit{
			name: scimLock, items: "users of SCIM", advice: "delete some first", max: scim.MaxUsers, rows: `scim_users WHERE workspace_id = $1`,
		})
		if err != nil {
			return err
		}
		if err := checkProved(ctx, tx, in, u); err != nil {
			return err
		}
		args, err := scimUserArgs(in, u)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO scim_users (workspace_id, id, user_name, user_name_folded, external_id, active, display_name, formatted_name,
				family_name, given_name, emails, addresses, address, address_folded, version, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 1, $15, $15)`, append(args, u.Created)...)
		if err != nil {
			return err
		}
		out, changed, err = settle(ctx, tx, in, u, true, u.Created)
		return err
	})
	return out, changed, err
}

// ChangeSCIMUser implements scim.Store.
func (s *Store) ChangeSCIMUser(
	ctx context.Context, in workspace.ID, id scim.UserID, now time.Time, change func(scim.User) (scim.User, error),
) (out scim.User, changed []workspace.UserID, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		changed = nil
		if err := lockLimit(ctx, tx, in, scimLock); err != nil {
			return err
		}
		before, err := scimUserByIDIn(ctx, tx, in, id)
		if err != nil {
			return err
		}
		after, err := change(before)
		if err != nil {
			return err
		}
		begins := after.Active && !before.Active
		if !after.Same(before) {
			if begins || after.Address() != before.Address() {
				if err := checkProved(ctx, tx, in, after); err != nil {
					return err
				}
			}
			args, err := scimUserArgs(in, after)
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `
				UPDATE scim_users SET user_name = $3, user_name_folded = $4, external_id = $5, active = $6, display_name = $7,
					formatted_name = $8, family_name = $9, given_name = $10, emails = $11, addresses = $12, address = $13,
					address_folded = $14, version = version + 1, updated_at = $15
				WHERE workspace_id = $1 AND id = $2`, append(args, now)...)
			if err != nil {
				return err
			}
		}
		out, changed, err = settle(ctx, tx, in, after, begins, now)
		return err
	})
	return out, changed, s.recordLastOwner(ctx, in, id, now, err)
}

// DeleteSCIMUser implements scim.Store.
func (s *Store) DeleteSCIMUser(
	ctx context.Context, in workspace.ID, id scim.UserID, now time.Time, permit func(scim.User) error,
) (changed []workspace.UserID, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		changed = nil
		if err := lockLimit(ctx, tx, in, scimLock); err != nil {
			return err
		}
		u, err := scimUserByIDIn(ctx, tx, in, id)
		if err == nil {
			err = permit(u)
		}
		if err != nil {
			return err
		}
		u.Active = false
		if _, changed, err = settle(ctx, tx, in, u, false, now); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM scim_users WHERE workspace_id = $1 AND id = $2`, arg(in), arg(id))
		return err
	})
	return changed, s.recordLastOwner(ctx, in, id, now, err)
}

// recordLastOwner records that a provider asked to remove the last owner, with an event and an
// e-mail to them. It runs after the refused change was rolled back.
func (s *Store) recordLastOwner(ctx context.Context, in workspace.ID, id scim.UserID, now time.Time, err error) error {
	if fault.CodeOf(err) != fault.LastOwner {
		return err
	}
	noted := s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		var user *uuid.UUID
		err := tx.QueryRow(ctx, `UPDATE scim_users SET removal_refused_at = clock_timestamp() WHERE workspace_id = $1 AND id = $2 RETURNING user_id`,
			arg(in), arg(id)).Scan(&user)
		if noRows(err) || err == nil && user == nil { // another request deleted them meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		return mailLastOwner(ctx, tx, in, people.LastOwnerNotice{User: workspace.UserID(*user), From: people.FromProvisioning}, now)
	})
	if noted != nil {
		return noted
	}
	return err
}

// checkProved refuses an address in a domain that the workspace has not proved.
func checkProved(ctx context.Context, tx pgx.Tx, in workspace.ID, u scim.User) error {
	var proved bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM identity_domains WHERE workspace_id = $1 AND domain = $2 AND proved_at IS NOT NULL)`,
		arg(in), u.Domain()).Scan(&proved)
	if err == nil && !proved {
		return scim.Unproved(u.Domain())
	}
	return err
}

// settle makes the membership of a person match the provider's data, and returns the updated
// person and the users whose roles changed. begins means that the person is new or active
// again: nothing else makes somebody a member again whom an owner or admin removed.
func settle(
	ctx context.Context, tx pgx.Tx, in workspace.ID, u scim.User, begins bool, now time.Time,
) (out scim.User, changed []workspace.UserID, err error) {
	if u.Account.IsZero() {
		if u.Account, err = linkAccount(ctx, tx, in, u); err != nil {
			return u, nil, err
		}
	}
	if !u.Account.IsZero() {
		changed = []workspace.UserID{u.Account}
		switch {
		case !u.Active:
			err = endMembership(ctx, tx, in, u.Account)
		case begins:
			_, err = tx.Exec(ctx, `INSERT INTO members (workspace_id, user_id, role, joined_at) VALUES ($1, $2, 'member', $3)
				ON CONFLICT ON CONSTRAINT members_pkey DO NOTHING`, arg(in), arg(u.Account), now)
		}
		if err == nil {
			_, err = applyGroupRoles(ctx, tx, in, []uuid.UUID{arg(u.ID)})
		}
		if err != nil {
			return u, nil, err
		}
	}
	out, err = scimUserByIDIn(ctx, tx, in, u.ID)
	return out, changed, err
}

// linkAccount links a person to the only user with their address who is or was in the
// workspace, unless another person is linked to that user.
func linkAccount(ctx context.Context, tx pgx.Tx, in workspace.ID, u scim.User) (account workspace.UserID, err error) {
	var id *uuid.UUID
	address := strings.TrimSpace(u.Address())
	err = tx.QueryRow(ctx, `
		UPDATE scim_users SET user_id = scim_account($3, $4) WHERE workspace_id = $1 AND id = $2
			AND NOT EXISTS (SELECT FROM scim_users o WHERE o.workspace_id = $1 AND o.user_id = scim_account($3, $4))
		RETURNING user_id`, arg(in), arg(u.ID), address, workspace.FoldEmail(address)).Scan(&id)
	if noRows(err) || err == nil && id == nil {
		return account, nil
	}
	if err != nil {
		return account, err
	}
	return workspace.UserID(*id), nil
}

// endMembership ends the membership of a person, and the keys that they created. The last
// owner stays: fault.LastOwner.
func endMembership(ctx context.Context, tx pgx.Tx, in workspace.ID, account workspace.UserID) error {
	err := lockMembers(ctx, tx, in, people.OperatorActor, account, func(l people.LockedMembers) error {
		if l.Target == people.Owner && l.Owners <= 1 {
			return scim.LastOwner()
		}
		return nil
	})
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM members WHERE workspace_id = $1 AND user_id = $2`, arg(in), arg(account))
	}
	return err
}

// applyGroupRoles gives provisioned members the role of their groups: admin if one of these has
// it, else member. No ids means all of them. Owners stay owners, and if no group has a role
// nothing changes. It returns the users whose roles changed.
func applyGroupRoles(ctx context.Context, tx pgx.Tx, in workspace.ID, ids []uuid.UUID) ([]workspace.UserID, error) {
	// The rows are locked in the order of their ids, as everywhere.
	rows, err := tx.Query(ctx, `
		WITH wanted AS (
			SELECT u.user_id, CASE WHEN bool_or(g.role = 'admin') THEN 'admin' ELSE 'member' END AS role
			FROM scim_users u LEFT JOIN scim_group_members gm ON gm.workspace_id = $1 AND gm.member_id = u.id
			LEFT JOIN scim_groups g ON g.workspace_id = $1 AND g.id = gm.group_id
			WHERE u.workspace_id = $1 AND u.user_id IS NOT NULL AND u.active AND ($2::uuid[] IS NULL OR u.id = ANY ($2))
			GROUP BY u.user_id
		), locked AS (
			SELECT m.user_id, w.role FROM members m JOIN wanted w ON w.user_id = m.user_id
			WHERE m.workspace_id = $1 AND m.role <> 'owner' AND m.role <> w.role
			  AND EXISTS (SELECT FROM scim_groups WHERE workspace_id = $1 AND role IS NOT NULL)
			ORDER BY m.user_id FOR UPDATE OF m
		)
		UPDATE members m SET role = l.role FROM locked l
		WHERE m.workspace_id = $1 AND m.user_id = l.user_id AND m.role <> 'owner' RETURNING m.user_id`, arg(in), ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (id workspace.UserID, err error) {
		err = row.Scan((*uuid.UUID)(&id))
		return id, err
	})
}
