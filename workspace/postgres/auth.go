package postgres

import (
	"context"
	"net/netip"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

// Role returns a user's role in a workspace: fault.NotFound when they are not a
// member or the workspace does not exist.
func (s *System) Role(ctx context.Context, in workspace.ID, user workspace.UserID) (role people.Role, err error) {
	if err := in.Check(); err != nil {
		return "", err
	}
	err = s.pool.QueryRow(ctx, `SELECT role FROM members WHERE workspace_id = $1 AND user_id = $2`, arg(in), arg(user)).Scan(&role)
	if noRows(err) {
		return "", fault.Wrap(err, fault.NotFound, "the user is not a member of the workspace")
	}
	return role, toFault(err)
}

// OnlyWorkspace returns the workspace of a user who is a member of exactly one:
// fault.NotFound for none or several.
func (s *System) OnlyWorkspace(ctx context.Context, user workspace.UserID) (workspace.ID, error) {
	scan := func(row pgx.CollectableRow) (id workspace.ID, err error) {
		err = row.Scan((*uuid.UUID)(&id))
		return id, err
	}
	ids, err := collect(ctx, s, scan, `SELECT workspace_id FROM members WHERE user_id = $1 LIMIT 2`, arg(user))
	if err != nil {
		return workspace.ID{}, err
	}
	if len(ids) != 1 {
		return workspace.ID{}, fault.New(fault.NotFound, "the user is not in exactly one workspace")
	}
	return ids[0], nil
}

// TouchKey records a use of a key in a workspace from a network, invalid if that is unknown,
// and reports whether it is the first use of the key. It writes nothing if a use there was
// recorded less than a minute ago, by the clock of Postgres: a server whose clock is ahead
// would block the others.
func (s *System) TouchKey(ctx context.Context, id workspace.KeyID, in workspace.ID, from netip.Prefix) (first bool, err error) {
	if err := in.Check(); err != nil {
		return false, err
	}
	var network *netip.Prefix
	if from.IsValid() {
		network = &from
	}
	const due = `(before.last_used_at IS NULL OR before.last_used_at NOT BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp())`
	err = s.pool.QueryRow(ctx, `
		WITH here AS (
			UPDATE api_key_workspaces before SET last_used_at = clock_timestamp(), last_network = $3
			WHERE key_id = $1 AND workspace_id = $2 AND `+due+`)
		UPDATE api_keys k SET last_used_at = clock_timestamp(), last_network = $3
		FROM (SELECT id, last_used_at FROM api_keys WHERE id = $1 FOR UPDATE) before
		WHERE k.id = before.id AND `+due+`
		RETURNING before.last_used_at IS NULL`, arg(id), arg(in), network).Scan(&first)
	if noRows(err) {
		return false, nil
	}
	return first, toFault(err)
}
