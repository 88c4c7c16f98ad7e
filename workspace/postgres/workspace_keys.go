package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/people"
)

var _ people.WorkspaceKeyStore = (*Store)(nil)

// keysHere selects the keys that may act in a workspace ($1), or could before they ended, as
// the workspace sees them: when they ended for it, and when and from where they were last used
// in it.
var keysHere = `SELECT ` + keyColumns(`coalesce(k.revoked_at, here.revoked_at), here.last_used_at, here.last_network`) + `
	FROM api_keys k JOIN api_key_workspaces here ON here.key_id = k.id AND here.workspace_id = $1`

// WorkspaceKeys implements people.WorkspaceKeyStore.
func (s *Store) WorkspaceKeys(ctx context.Context, in workspace.ID, ended time.Time, limit, offset int) ([]workspace.Key, error) {
	return queryAll(ctx, s, in, collectKey, keysHere+`
		WHERE least(coalesce(k.revoked_at, here.revoked_at), k.expires_at) IS NULL
			OR least(coalesce(k.revoked_at, here.revoked_at), k.expires_at) >= $2
		ORDER BY k.created_at DESC, k.id DESC LIMIT $3 OFFSET $4`, arg(in), ended, limit, offset)
}

// keysOfKey are the keys made in a workspace ($1) since a time ($2) that descend, like a key
// ($3), from the same key that a person made.
const keysOfKey = `(
	WITH RECURSIVE up AS (
		SELECT id, created_by_key FROM api_keys WHERE id = $3
		UNION SELECT k.id, k.created_by_key FROM api_keys k JOIN up ON k.id = up.created_by_key
	), down AS (
		SELECT id FROM up WHERE created_by_key IS NULL
		UNION SELECT k.id FROM api_keys k JOIN down ON k.created_by_key = down.id AND k.workspace_id = $1
	)
	SELECT FROM api_keys k JOIN down ON down.id = k.id WHERE k.created_by_key IS NOT NULL AND k.created_at > $2) made`

// AddKey implements people.WorkspaceKeyStore.
func (s *Store) AddKey(
	ctx context.Context, in workspace.ID, by people.KeyMaker, now time.Time,
	make func(people.LockedMaker) (workspace.KeyRecord, error),
) (k workspace.Key, err error) {
	live := rowLimit{
		name: "keys", items: "API keys", advice: "revoke one first", max: people.MaxKeys, args: []any{now},
		rows: `api_keys WHERE workspace_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
	}
	since := now.Add(-people.EndedKeysFor)
	// Keys made by keys are counted separately, so that a stolen one cannot use up what people
	// may make.
	made := []rowLimit{{
		name: "keys", items: "API keys in 30 days", advice: "make another later", max: people.MaxMadeKeys,
		args: []any{since, by.Key.IsZero()}, rows: `api_keys WHERE workspace_id = $1 AND created_at > $2 AND (created_by_key IS NULL) = $3`,
	}}
	if !by.Key.IsZero() {
		made = append(made, rowLimit{
			name: "keys", items: "API keys made by one API key in 30 days", advice: "let a person make it", max: people.MaxKeysOfKey,
			args: []any{since, arg(by.Key)}, rows: keysOfKey,
		})
	}
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		maker, _, err := lockKeys(ctx, tx, in, by, workspace.KeyID{})
		if err != nil {
			return err
		}
		record, err := make(maker)
		if err != nil {
			return err
		}
		if err := lockAndCheckLimit(ctx, tx, in, live); err != nil {
			return err
		}
		for _, limit := range made {
			if err := checkLimit(ctx, tx, in, limit); err != nil {
				return err
			}
		}
		k = record.Key
		return insertKey(ctx, tx, record)
	})
	return k, err
}

// ChangeKey implements people.WorkspaceKeyStore.
func (s *Store) ChangeKey(
	ctx context.Context, in workspace.ID, by people.KeyMaker, id workspace.KeyID, now time.Time,
	change func(people.LockedMaker, workspace.KeyRecord) (workspace.KeyRecord, error),
) (out workspace.Key, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		maker, k, err := lockKeys(ctx, tx, in, by, id)
		switch {
		case err != nil:
			return err
		case k == nil:
			return unknownKey(pgx.ErrNoRows)
		}
		changed, err := change(maker, *k)
		if err != nil {
			return err
		}
		out = changed.Key
		if changed.Home != in {
			_, err := tx.Exec(ctx, `UPDATE api_key_workspaces SET revoked_at = coalesce(revoked_at, $3) WHERE workspace_id = $1 AND key_id = $2`,
				arg(in), arg(id), changed.RevokedAt)
			return err
		}
		var old []byte
		if changed.OldUntil != nil {
			old = changed.OldHash[:]
		}
		_, err = tx.Exec(ctx, `
			UPDATE api_keys SET secret_hash = $3, old_hash = $4, old_until = $5, form = $6, expires_at = $7, revoked_at = $8
			WHERE workspace_id = $1 AND id = $2`,
			arg(in), arg(id), changed.Hash[:], old, changed.OldUntil, int(changed.Form), changed.ExpiresAt, changed.RevokedAt)
		if err == nil && changed.Hash != k.Hash && !changed.OldUntil.After(now) {
			_, err = tx.Exec(ctx, endMade, arg(id), now)
		}
		return err
	})
	return out, err
}

// lockKeys locks the policy of the workspace, a maker of keys and a key until the end of the
// transaction: members before keys, keys in the order of their ids. k is nil if the workspace
// has no such key.
func lockKeys(
	ctx context.Context, tx pgx.Tx, in workspace.ID, by people.KeyMaker, id workspace.KeyID,
) (maker people.LockedMaker, k *workspace.KeyRecord, err error) {
	if maker.Policy, err = lockedKeyPolicy(ctx, tx, in); err != nil {
		return maker, nil, err
	}
	if !by.User.IsZero() {
		err := tx.QueryRow(ctx, `SELECT role FROM members WHERE workspace_id = $1 AND user_id = $2 FOR SHARE`, arg(in), arg(by.User)).Scan(&maker.Role)
		if err != nil && !noRows(err) {
			return maker, nil, err
		}
	}
	ids := []uuid.UUID{arg(by.Key), arg(id)}
	// First the locks: what is read then stays valid while they are held.
	if _, err := tx.Exec(ctx, `SELECT FROM api_keys WHERE id = ANY ($1) ORDER BY id FOR UPDATE`, ids); err != nil {
		return maker, nil, err
	}
	if _, err := tx.Exec(ctx, `SELECT FROM api_key_workspaces WHERE workspace_id = $1 AND key_id = ANY ($2) ORDER BY key_id FOR UPDATE`,
		arg(in), ids); err != nil {
		return maker, nil, err
	}
	rows, err := tx.Query(ctx, keysHere+` WHERE k.id = ANY ($2)`, arg(in), ids)
	if err != nil {
		return maker, nil, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (workspace.KeyRecord, error) { return scanKey(row) })
	for _, one := range found {
		if one.ID == by.Key {
			maker.Key = &one
		}
		if one.ID == id {
			k = &one
		}
	}
	return maker, k, err
}
