package postgres

import (
	"context"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/scim"
)

var (
	_ scim.TokenStore  = (*Store)(nil)
	_ scim.TokenStore  = (*System)(nil)
	_ scim.TokenLookup = (*System)(nil)
)

const scimTokenColumns = `t.id, t.name, t.created_by, t.created_at, t.expires_at, t.revoked_at, t.last_used_at, t.last_network` // #nosec G101 -- names

// scanSCIMToken scans a token, and more columns after its own.
func scanSCIMToken(row pgx.Row, more ...any) (t scim.Token, err error) {
	var by *uuid.UUID
	var network *netip.Prefix
	err = row.Scan(append([]any{
		(*uuid.UUID)(&t.ID), &t.Name, &by, &t.CreatedAt, &t.ExpiresAt, &t.RevokedAt, &t.LastUsedAt, &network,
	}, more...)...)
	if by != nil {
		t.CreatedBy = workspace.UserID(*by)
	}
	if network != nil {
		t.LastNetwork = *network
	}
	return t, err
}

// SCIMTokens implements scim.TokenStore.
func (s *Store) SCIMTokens(ctx context.Context, in workspace.ID, since time.Time, limit, offset int) ([]scim.Token, error) {
	return queryAll(ctx, s, in, collectSCIMToken, listSCIMTokens, arg(in), since, limit, offset)
}

// SCIMTokens implements scim.TokenStore, for operators.
func (s *System) SCIMTokens(ctx context.Context, in workspace.ID, since time.Time, limit, offset int) ([]scim.Token, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	return collect(ctx, s, collectSCIMToken, listSCIMTokens, arg(in), since, limit, offset)
}

const listSCIMTokens = `SELECT ` + scimTokenColumns + ` FROM scim_tokens t
	WHERE t.workspace_id = $1 AND least(t.expires_at, t.revoked_at) > $2
	ORDER BY t.created_at DESC, t.id DESC LIMIT $3 OFFSET $4` // #nosec G101 -- names

func collectSCIMToken(row pgx.CollectableRow) (scim.Token, error) { return scanSCIMToken(row) }

// InsertSCIMToken implements scim.TokenStore.
func (s *Store) InsertSCIMToken(
	ctx context.Context, in workspace.ID, by workspace.UserID, r scim.TokenRecord, permit func(people.Role) error,
) error {
	return insertSCIMToken(ctx, s, in, people.Actor{User: by}, r, permit)
}

// InsertSCIMToken implements scim.TokenStore, for operators.
func (s *System) InsertSCIMToken(
	ctx context.Context, in workspace.ID, _ workspace.UserID, r scim.TokenRecord, permit func(people.Role) error,
) error {
	return insertSCIMToken(ctx, s, in, people.OperatorActor, r, permit)
}

func insertSCIMToken(
	ctx context.Context, s transactor, in workspace.ID, by people.Actor, r scim.TokenRecord, permit func(people.Role) error,
) error {
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := lockPermitted(ctx, tx, in, by, permit); err != nil {
			return err
		}
		err := lockAndCheckLimit(ctx, tx, in, rowLimit{
			name: "scim tokens", items: "tokens of SCIM", advice: "revoke one first", max: scim.MaxTokens,
			rows: `scim_tokens WHERE workspace_id = $1 AND revoked_at IS NULL AND expires_at > $2`, args: []any{r.CreatedAt},
		})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO scim_tokens (workspace_id, id, name, secret_hash, created_by, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`, arg(in), arg(r.ID), r.Name, r.Hash[:], orNull(by.User), r.CreatedAt, r.ExpiresAt)
		return err
	})
}

// lockPermitted locks the row of a user, and calls permit with their role.
func lockPermitted(ctx context.Context, tx pgx.Tx, in workspace.ID, by people.Actor, permit func(people.Role) error) error {
	actor, err := lockActor(ctx, tx, in, by)
	if err != nil {
		return err
	}
	return permit(actor.Actor)
}

// RevokeSCIMToken implements scim.TokenStore.
func (s *Store) RevokeSCIMToken(
	ctx context.Context, in workspace.ID, by workspace.UserID, id scim.TokenID, now time.Time, permit func(people.Role) error,
) error {
	return revokeSCIMToken(ctx, s, in, people.Actor{User: by}, id, now, permit)
}

// RevokeSCIMToken implements scim.TokenStore, for operators.
func (s *System) RevokeSCIMToken(
	ctx context.Context, in workspace.ID, _ workspace.UserID, id scim.TokenID, now time.Time, permit func(people.Role) error,
) error {
	return revokeSCIMToken(ctx, s, in, people.OperatorActor, id, now, permit)
}

func revokeSCIMToken(
	ctx context.Context, s transactor, in workspace.ID, by people.Actor, id scim.TokenID, now time.Time, permit func(people.Role) error,
) error {
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := lockPermitted(ctx, tx, in, by, permit); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `UPDATE scim_tokens SET revoked_at = coalesce(revoked_at, $3) WHERE workspace_id = $1 AND id = $2`,
			arg(in), arg(id), now)
		if err == nil && tag.RowsAffected() == 0 {
			return unknownSCIMToken(nil)
		}
		return err
	})
}

func unknownSCIMToken(cause error) *fault.Error {
	return fault.Wrap(cause, fault.NotFound, "the workspace has no token of SCIM with this id")
}

// SCIMTokenByID implements scim.TokenLookup.
func (s *System) SCIMTokenByID(ctx context.Context, id scim.TokenID) (r scim.TokenRecord, err error) {
	var hash []byte
	r.Token, err = scanSCIMToken(s.pool.QueryRow(ctx, `
		SELECT `+scimTokenColumns+`, t.workspace_id, t.secret_hash, w.plan FROM scim_tokens t JOIN workspaces w ON w.id = t.workspace_id
		WHERE t.id = $1`, arg(id)), (*uuid.UUID)(&r.Workspace), &hash, &r.Plan)
	copy(r.Hash[:], hash) // 32 bytes, by a check constraint
	r, err = orNotFound(r, err, unknownSCIMToken)
	return r, toFault(err)
}

// TouchSCIMToken implements scim.TokenLookup. The time is that of Postgres.
func (s *System) TouchSCIMToken(ctx context.Context, id scim.TokenID, from netip.Prefix) error {
	var network *netip.Prefix
	if from.IsValid() {
		network = &from
	}
	_, err := s.pool.Exec(ctx, `
		UPDATE scim_tokens SET last_used_at = clock_timestamp(), last_network = $2
		WHERE id = $1 AND (last_used_at IS NULL OR last_used_at NOT BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp())`,
		arg(id), network)
	return toFault(err)
}
