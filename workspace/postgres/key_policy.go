package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/people"
)

var _ people.KeyPolicyStore = (*Store)(nil)

// KeyPolicy implements people.KeyPolicyStore.
func (s *Store) KeyPolicy(ctx context.Context, in workspace.ID) (p people.KeyPolicy, err error) {
	err = s.inWorkspace(ctx, in, func(tx pgx.Tx) (err error) {
		p, err = keyPolicy(ctx, tx, in)
		return err
	})
	return p, err
}

func keyPolicy(ctx context.Context, tx pgx.Tx, in workspace.ID) (p people.KeyPolicy, err error) {
	err = tx.QueryRow(ctx, `
		SELECT scopes, coalesce(max_days, 0), networks, coalesce(max_daily_credits, 0), updated_at, coalesce(updated_by, $2)
		FROM key_policies WHERE workspace_id = $1`, arg(in), uuid.Nil).
		Scan(&p.Scopes, &p.MaxDays, &p.Networks, &p.MaxDailyCredits, &p.UpdatedAt, &p.UpdatedBy)
	if noRows(err) {
		return people.KeyPolicy{}, nil
	}
	return p, err
}

// lockedKeyPolicy is keyPolicy, and prevents changes until the end of the transaction. Lock
// order: before rows of members and keys.
func lockedKeyPolicy(ctx context.Context, tx pgx.Tx, in workspace.ID) (people.KeyPolicy, error) {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock_shared`+limitLockKey, arg(in), policyLock); err != nil {
		return people.KeyPolicy{}, err
	}
	return keyPolicy(ctx, tx, in)
}

// policyLock names the lock of the policy of a workspace, like the names of limits.
const policyLock = "key policy"

// SetKeyPolicy implements people.KeyPolicyStore.
func (s *Store) SetKeyPolicy(
	ctx context.Context, in workspace.ID, by workspace.UserID, p people.KeyPolicy, permit func(people.Role) error,
) error {
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if err := lockLimit(ctx, tx, in, policyLock); err != nil {
			return err
		}
		maker, _, err := lockKeys(ctx, tx, in, people.KeyMaker{User: by}, workspace.KeyID{})
		if err != nil {
			return err
		}
		if err := permit(maker.Role); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO key_policies (workspace_id, scopes, max_days, networks, max_daily_credits, updated_at, updated_by)
			VALUES ($1, $2, NULLIF($3, 0), $4, NULLIF($5::bigint, 0), $6, $7)
			ON CONFLICT (workspace_id) DO UPDATE SET scopes = excluded.scopes, max_days = excluded.max_days, networks = excluded.networks,
				max_daily_credits = excluded.max_daily_credits, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
			arg(in), p.Scopes, p.MaxDays, p.Networks, p.MaxDailyCredits, p.UpdatedAt, arg(by))
		return err
	})
}
