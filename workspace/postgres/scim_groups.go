package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/scim"
)

var _ scim.GroupStore = (*Store)(nil)

// scimGroupColumns are those of groups u.
func scimGroupColumns(members bool) string {
	list := `NULL::uuid[]`
	if members {
		list = `ARRAY(SELECT gm.member_id FROM scim_group_members gm WHERE gm.workspace_id = u.workspace_id AND gm.group_id = u.id ORDER BY gm.member_id)`
	}
	return `SELECT u.id, u.display_name, coalesce(u.external_id, ''), coalesce(u.role, ''), u.version, u.created_at, u.updated_at,
		(SELECT count(*) FROM scim_group_members gm WHERE gm.workspace_id = u.workspace_id AND gm.group_id = u.id), ` + list + `
		FROM scim_groups u WHERE u.workspace_id = $1`
}

func collectSCIMGroup(row pgx.CollectableRow) (g scim.Group, err error) {
	var members []uuid.UUID
	err = row.Scan((*uuid.UUID)(&g.ID), &g.DisplayName, &g.ExternalID, &g.Role, &g.Version, &g.Created, &g.Modified, &g.Size, &members)
	for _, m := range members {
		g.Members = append(g.Members, scim.UserID(m))
	}
	g.HasMembers = members != nil
	return g, err
}

// SCIMGroups implements scim.GroupStore.
func (s *Store) SCIMGroups(ctx context.Context, in workspace.ID, l scim.Lookup, members bool) ([]scim.Group, error) {
	sql, args := selectSCIM(scimGroupColumns(members), `u.display_name_folded`, in, l)
	return queryAll(ctx, s, in, collectSCIMGroup, sql, args...)
}

// SCIMMembers implements scim.GroupStore.
func (s *Store) SCIMMembers(ctx context.Context, in workspace.ID, groups []scim.GroupID) (map[scim.GroupID][]scim.UserID, error) {
	type row struct{ group, member uuid.UUID }
	rows, err := queryAll(ctx, s, in, func(r pgx.CollectableRow) (v row, err error) {
		err = r.Scan(&v.group, &v.member)
		return v, err
	}, `SELECT group_id, member_id FROM scim_group_members WHERE workspace_id = $1 AND group_id = ANY ($2) ORDER BY group_id, member_id`,
		arg(in), argList(groups))
	of := map[scim.GroupID][]scim.UserID{}
	for _, r := range rows {
		of[scim.GroupID(r.group)] = append(of[scim.GroupID(r.group)], scim.UserID(r.member))
	}
	return of, err
}

// SCIMGroupsByName implements scim.GroupStore.
func (s *Store) SCIMGroupsByName(ctx context.Context, in workspace.ID, limit, offset int) ([]scim.Group, error) {
	return queryAll(ctx, s, in, collectSCIMGroup, scimGroupColumns(false)+` ORDER BY u.display_name_folded, u.id LIMIT $2 OFFSET $3`,
		arg(in), limit, offset)
}

// SCIMGroup implements scim.GroupStore.
func (s *Store) SCIMGroup(ctx context.Context, in workspace.ID, id scim.GroupID, members bool) (scim.Group, error) {
	g, err := queryOne(ctx, s, in, collectSCIMGroup, scimGroupColumns(members)+` AND u.id = $2`, arg(in), arg(id))
	return orNotFound(g, err, unknownSCIMGroup)
}

func unknownSCIMGroup(error) *fault.Error { return scim.Unknown("Group") }

func scimGroupIn(ctx context.Context, tx pgx.Tx, in workspace.ID, id scim.GroupID) (scim.Group, error) {
	rows, err := tx.Query(ctx, scimGroupColumns(true)+` AND u.id = $2 FOR UPDATE`, arg(in), arg(id))
	if err != nil {
		return scim.Group{}, err
	}
	g, err := pgx.CollectExactlyOneRow(rows, collectSCIMGroup)
	return orNotFound(g, err, unknownSCIMGroup)
}

// InsertSCIMGroup implements scim.GroupStore.
func (s *Store) InsertSCIMGroup(ctx context.Context, in workspace.ID, g scim.Group) (out scim.Group, changed []workspace.UserID,
	err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		err := lockAndCheckLimit(ctx, tx, in, rowLimit{
			name: scimLock, items: "groups of SCIM", advice: "delete some first", max: scim.MaxGroups, rows: `scim_groups WHERE workspace_id = $1`,
		})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO scim_groups (workspace_id, id, display_name, display_name_folded, external_id, version, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, 1, $6, $6)`,
			arg(in), arg(g.ID), g.DisplayName, scim.Fold(g.DisplayName), emptyNull(g.ExternalID), g.Created)
		if err != nil {
			return err
		}
		changed, err = setSCIMMembers(ctx, tx, in, g.ID, nil, g.Members)
		if err == nil {
			out, err = scimGroupIn(ctx, tx, in, g.ID)
		}
		return err
	})
	return out, changed, err
}

// ChangeSCIMGroup implements scim.GroupStore.
func (s *Store) ChangeSCIMGroup(
	ctx context.Context, in workspace.ID, id scim.GroupID, now time.Time, change func(scim.Group) (scim.Group, error),
) (out scim.Group, changed []workspace.UserID, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		changed = nil
		if err := lockLimit(ctx, tx, in, scimLock); err != nil {
			return err
		}
		before, err := scimGroupIn(ctx, tx, in, id)
		if err != nil {
			return err
		}
		after, err := change(before)
		if out = before; err != nil || after.Same(before) {
			return err
		}
		_, err = tx.Exec(ctx, `
			UPDATE scim_groups SET display_name = $3, display_name_folded = $4, external_id = $5, version = version + 1, updated_at = $6
			WHERE workspace_id = $1 AND id = $2`,
			arg(in), arg(id), after.DisplayName, scim.Fold(after.DisplayName), emptyNull(after.ExternalID), now)
		if err != nil {
			return err
		}
		if changed, err = setSCIMMembers(ctx, tx, in, id, before.Members, after.Members); err == nil {
			out, err = scimGroupIn(ctx, tx, in, id)
		}
		return err
	})
	return out, changed, err
}

// setSCIMMembers changes the members of a group, with one event that counts them, and then
// their roles.
func setSCIMMembers(
	ctx context.Context, tx pgx.Tx, in workspace.ID, id scim.GroupID, before, after []scim.UserID,
) ([]workspace.UserID, error) {
	was, is := map[scim.UserID]bool{}, map[scim.UserID]bool{}
	for _, m := range before {
		was[m] = true
	}
	var added, removed []uuid.UUID
	for _, m := range after {
		if is[m] = true; !was[m] {
			added = append(added, arg(m))
		}
	}
	for _, m := range before {
		if !is[m] {
			removed = append(removed, arg(m))
		}
	}
	if len(added)+len(removed) == 0 {
		return nil, nil
	}
	if err := checkSCIMMembers(ctx, tx, in, added); err != nil {
		return nil, err
	}
	_, err := tx.Exec(ctx, `DELETE FROM scim_group_members WHERE workspace_id = $1 AND group_id = $2 AND member_id = ANY ($3)`,
		arg(in), arg(id), removed)
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO scim_group_members (workspace_id, group_id, member_id) SELECT $1, $2, m FROM unnest($3::uuid[]) m`,
		arg(in), arg(id), added)
	if err != nil {
		return nil, err
	}
	err = auditOwn(ctx, tx, "scim_group.members_changed", "scim_group", arg(id), map[string]any{"added": len(added),
		"removed": len(removed)})
	if err != nil {
		return nil, err
	}
	return applyGroupRoles(ctx, tx, in, slices.Concat(added, removed))
}

// checkSCIMMembers refuses people who are not users of the workspace, and memberships beyond
// the limit.
func checkSCIMMembers(ctx context.Context, tx pgx.Tx, in workspace.ID, added []uuid.UUID) error {
	var known, all int
	err := tx.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM scim_users WHERE workspace_id = $1 AND id = ANY ($2)),
		       (SELECT count(*) FROM scim_group_members WHERE workspace_id = $1)`, arg(in), added).Scan(&known, &all)
	switch {
	case err != nil:
		return err
	case known < len(added):
		return scim.UnknownMember()
	case all+len(added) > scim.MaxMemberships:
		return workspace.LimitError(scim.MaxMemberships, "memberships of groups", "take some people out of groups first")
	}
	return nil
}

// DeleteSCIMGroup implements scim.GroupStore.
func (s *Store) DeleteSCIMGroup(
	ctx context.Context, in workspace.ID, id scim.GroupID, _ time.Time, permit func(scim.Group) error,
) (changed []workspace.UserID, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := lockLimit(ctx, tx, in, scimLock); err != nil {
			return err
		}
		g, err := scimGroupIn(ctx, tx, in, id)
		if err == nil {
			err = permit(g)
		}
		if err != nil {
			return err
		}
		// The members first, while groups still have roles: without any such group no role
		// changes, and the workspace would keep its admins.
		if changed, err = setSCIMMembers(ctx, tx, in, id, g.Members, nil); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM scim_groups WHERE workspace_id = $1 AND id = $2`, arg(in), arg(id))
		return err
	})
	return changed, err
}

// SetSCIMGroupRole implements scim.GroupStore.
func (s *Store) SetSCIMGroupRole(
	ctx context.Context, in workspace.ID, by workspace.UserID, id scim.GroupID, role people.Role, permit func(people.Role) error,
) (out scim.Group, changed []workspace.UserID, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := lockLimit(ctx, tx, in, scimLock); err != nil {
			return err
		}
		actor, err := lockActor(ctx, tx, in, people.Actor{User: by})
		if err == nil {
			err = permit(actor.Actor)
		}
		if err == nil {
			_, err = scimGroupIn(ctx, tx, in, id)
		}
		if err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, `UPDATE scim_groups SET role = $3 WHERE workspace_id = $1 AND id = $2 AND role IS DISTINCT FROM $3`,
			arg(in), arg(id), emptyNull(string(role))); err != nil {
			return err
		}
		// For everybody: the first group with a role makes people without one members.
		if changed, err = applyGroupRoles(ctx, tx, in, nil); err == nil {
			out, err = scimGroupIn(ctx, tx, in, id)
		}
		return err
	})
	return out, changed, err
}
