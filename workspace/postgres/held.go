package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
)

// hold creates missing rows of records, gives all of them a new version, and marks them as
// pending by a write of the workspace. The records must exist in the global dataset. Call
// it before the change of overlays or memberships, in the same transaction: the rows stay
// locked until its end, and the version is taken under the lock, so the write that commits
// later has the higher version (docs/decisions/008-projection-versions.md).
//
// All writers lock rows in the order of their ids, so two of them cannot deadlock. A writer
// that locks existing rows before it creates others breaks this order and takes
// exclusiveLock first.
func hold(ctx context.Context, tx pgx.Tx, in workspace.ID, dataset string, ids []uuid.UUID) error {
	_, err := tx.Exec(ctx, holdRecords, arg(in), dataset, ids)
	return err
}

// The version of a new row is taken before its lock. That is safe: a new row has no
// earlier write, and if another transaction creates the row first, this becomes an
// update.
const holdRecords = `
	INSERT INTO held_records (workspace_id, dataset, record_id, version)
	SELECT $1, $2, id, nextval('held_version') FROM (SELECT DISTINCT unnest($3::uuid[]) AS id ORDER BY id) ids
	WHERE ` + sharedLock + `
	ON CONFLICT ON CONSTRAINT held_records_pkey DO UPDATE
	SET own_change = true, present = true, stub_since = NULL, ` + bump

// bumpExisting is hold without creating rows. It returns the records that have a row.
func bumpExisting(ctx context.Context, tx pgx.Tx, in workspace.ID, dataset string, ids []uuid.UUID) ([]uuid.UUID, error) {
	rows, err := tx.Query(ctx, bumpExistingRecords, arg(in), dataset, ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

const bumpExistingRecords = `
	INSERT INTO held_records (workspace_id, dataset, record_id, version)
	SELECT $1, $2, record_id, nextval('held_version') FROM (
		SELECT record_id FROM held_records WHERE workspace_id = $1 AND dataset = $2 AND record_id = ANY($3) ORDER BY record_id
	) ids
	WHERE ` + sharedLock + `
	ON CONFLICT ON CONSTRAINT held_records_pkey DO UPDATE
	SET own_change = true, ` + bump + `
	RETURNING record_id`

// Advisory locks on the held records of a workspace and dataset ($1, $2), until the
// end of the transaction. Adding members to a View takes the exclusive lock: it
// locks existing rows, reads what holds them, and then creates rows with ids in
// between. All other writes take the shared lock and run concurrently.
const (
	advisoryLockKey = `(hashtextextended('held ' || $2::text, 0) # hashtextextended($1::uuid::text, 0))`
	sharedLock      = `(SELECT pg_advisory_xact_lock_shared` + advisoryLockKey + `) IS NOT NULL`
	exclusiveLock   = `SELECT pg_advisory_xact_lock` + advisoryLockKey
)

// bump gives a row the next version.
const bump = `version = nextval('held_version'), ` + setPendingSince

// setPendingSince sets pending_since, unless the row is already pending.
const setPendingSince = `pending_since = CASE WHEN held_records.version > held_records.projected_version
	THEN held_records.pending_since ELSE clock_timestamp() END`
