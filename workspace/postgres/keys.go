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
)

var _ people.KeyStore = (*System)(nil)

// keyColumns are the columns of keys k and their workspaces, the default one first. uses has
// the columns for when the key was revoked, when it was last used, and from where.
func keyColumns(uses string) string {
	return `k.id, k.name, k.scopes, k.restricted, k.expires_at, k.created_at, k.secret_hash, k.daily_credits, k.requests_per_second,
	       k.networks, k.form, k.workspace_id, k.created_by, k.created_by_key, k.old_hash, k.old_until,
	       ARRAY(SELECT g.workspace_id FROM api_key_workspaces g WHERE g.key_id = k.id ORDER BY g.position),
	       ARRAY(SELECT g.workspace_id FROM api_key_workspaces g WHERE g.key_id = k.id AND g.revoked_at IS NOT NULL ORDER BY g.position),
	       NOT EXISTS (SELECT FROM api_key_workspaces g WHERE g.key_id = k.id AND g.position = 1),
	       ` + uses
}

func keyQuery(condition string) string {
	return `SELECT ` + keyColumns(`k.revoked_at, k.last_used_at, k.last_network`) + ` FROM api_keys k WHERE ` + condition
}

func scanKey(row pgx.Row) (k workspace.KeyRecord, err error) {
	var hash, oldHash []byte
	var granted, ended []uuid.UUID
	var home, maker, makerKey *uuid.UUID
	var network *netip.Prefix
	err = row.Scan((*uuid.UUID)(&k.ID), &k.Name, &k.Scopes, &k.Restricted, &k.ExpiresAt, &k.CreatedAt, &hash,
		&k.Budget.DailyCredits, &k.Budget.RequestsPerSecond, &k.Networks, &k.Form, &home, &maker, &makerKey, &oldHash, &k.OldUntil,
		&granted, &ended, &k.DefaultDeleted, &k.RevokedAt, &k.LastUsedAt, &network)
	if err != nil {
		return workspace.KeyRecord{}, err
	}
	copy(k.Hash[:], hash) // 32 bytes, by a check constraint
	copy(k.OldHash[:], oldHash)
	k.Workspaces, k.EndedIn = idsOf(granted), idsOf(ended)
	for to, id := range map[*uuid.UUID]*uuid.UUID{
		(*uuid.UUID)(&k.Home): home, (*uuid.UUID)(&k.CreatedBy): maker, (*uuid.UUID)(&k.CreatedByKey): makerKey,
	} {
		if id != nil {
			*to = *id
		}
	}
	if network != nil {
		k.LastNetwork = *network
	}
	if len(k.Networks) == 0 {
		k.Networks = nil
	}
	return k, nil
}

func idsOf(list []uuid.UUID) (ids []workspace.ID) {
	for _, id := range list {
		ids = append(ids, workspace.ID(id))
	}
	return ids
}

// orNull is an argument that is null for the zero id.
func orNull[T ~[16]byte](id T) *uuid.UUID {
	if u := uuid.UUID(id); u != uuid.Nil {
		return &u
	}
	return nil
}

func unknownKey(cause error) *fault.Error {
	return fault.Wrap(cause, fault.NotFound, "there is no API key with this id")
}

// KeyByID implements workspace.KeyStore and auth.Store.
func (s *System) KeyByID(ctx context.Context, id workspace.KeyID) (workspace.KeyRecord, error) {
	k, err := scanKey(s.pool.QueryRow(ctx, keyQuery(`k.id = $1`), arg(id)))
	k, err = orNotFound(k, err, unknownKey)
	return k, toFault(err)
}

// InsertKey implements workspace.KeyStore.
func (s *System) InsertKey(ctx context.Context, k workspace.KeyRecord) error {
	granted := make([]uuid.UUID, len(k.Workspaces))
	for i, id := range k.Workspaces {
		if err := id.Check(); err != nil {
			return err
		}
		granted[i] = arg(id)
	}
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := insertKey(ctx, tx, k); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO api_key_workspaces (workspace_id, key_id, position)
			SELECT granted.id, $1, granted.position FROM unnest($2::uuid[]) WITH ORDINALITY AS granted (id, position)`,
			arg(k.ID), granted)
		return err
	}))
}

// insertKey adds a key. A trigger grants a key with a home access to it.
func insertKey(ctx context.Context, tx pgx.Tx, k workspace.KeyRecord) error {
	networks := k.Networks
	if networks == nil {
		networks = []netip.Prefix{}
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO api_keys (id, name, secret_hash, scopes, restricted, expires_at, created_at, daily_credits, requests_per_second,
			networks, form, workspace_id, created_by, created_by_key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		arg(k.ID), k.Name, k.Hash[:], k.Scopes, k.Restricted, k.ExpiresAt, k.CreatedAt, k.Budget.DailyCredits, k.Budget.RequestsPerSecond,
		networks, int(k.Form), orNull(k.Home), orNull(k.CreatedBy), orNull(k.CreatedByKey))
	return err
}

// Keys implements workspace.KeyStore.
func (s *System) Keys(ctx context.Context, of workspace.ID) ([]workspace.Key, error) {
	condition, args := `true`, []any{}
	if !of.IsZero() {
		condition = `k.id IN (SELECT key_id FROM api_key_workspaces WHERE workspace_id = $1)`
		args = append(args, arg(of))
	}
	return collect(ctx, s, collectKey, keyQuery(condition)+` ORDER BY k.created_at DESC, k.id DESC`, args...)
}

func collectKey(row pgx.CollectableRow) (workspace.Key, error) {
	k, err := scanKey(row)
	return k.Key, err
}

// UpdateKey implements workspace.KeyStore.
func (s *System) UpdateKey(ctx context.Context, id workspace.KeyID, c people.KeyChange) (workspace.Key, error) {
	var networks []netip.Prefix // null: unchanged
	if c.Networks != nil {
		networks = append([]netip.Prefix{}, *c.Networks...)
	}
	tag, err := s.pool.Exec(ctx, `
		UPDATE api_keys SET revoked_at = coalesce(revoked_at, $2), restricted = coalesce($3, restricted),
		       daily_credits = coalesce($4, daily_credits), requests_per_second = coalesce($5, requests_per_second),
		       networks = coalesce($6, networks)
		WHERE id = $1`, arg(id), c.RevokeAt, c.Restricted, c.DailyCredits, c.RequestsPerSecond, networks)
	if err != nil {
		return workspace.Key{}, toFault(err)
	}
	if tag.RowsAffected() == 0 {
		return workspace.Key{}, unknownKey(pgx.ErrNoRows)
	}
	k, err := s.KeyByID(ctx, id)
	return k.Key, err
}

// rotateKey gives a key another secret. The previous one stays valid until $3.
const rotateKey = `UPDATE api_keys SET old_hash = secret_hash, old_until = $3, secret_hash = $2, form = $4
	WHERE id = $1 AND revoked_at IS NULL`

// endMade ends the keys that a key made; a trigger ends those that these made. A secret that
// ends at once must leave no access.
const endMade = `UPDATE api_keys SET revoked_at = $2 WHERE created_by_key = $1 AND revoked_at IS NULL`

// RotateKey implements people.KeyStore.
func (s *System) RotateKey(
	ctx context.Context, id workspace.KeyID, hash workspace.SecretHash, now time.Time, grace time.Duration,
) (workspace.Key, error) {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, rotateKey, arg(id), hash[:], now.Add(grace), int(workspace.Checked))
		if err == nil && tag.RowsAffected() == 0 {
			return fault.New(fault.NotFound, "there is no API key with this id that is not revoked")
		}
		if err == nil && grace == 0 {
			_, err = tx.Exec(ctx, endMade, arg(id), now)
		}
		return err
	})
	if err != nil {
		return workspace.Key{}, toFault(err)
	}
	k, err := s.KeyByID(ctx, id)
	return k.Key, err
}
