package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
)

// hold marks records as held and pending by the workspace's own write, creating
// their rows, and keeps those rows locked until the end of the transaction. It
// comes before any change of overlays or memberships, in the same transaction:
// the version is taken under the lock, so that of two writes the later to commit
// has the higher one (docs/decisions/008-projection-versions.md). Rows are locked in
// the order of ids, so that two writes wait for each other and never for a
// circle. The records must be there in the global dataset.
//
// One who locks rows that are there before making others cannot keep to that
// order, and has a lock of its own: see addingAlone.
func hold(ctx context.Context, tx pgx.Tx, in workspace.ID, dataset string, ids []uuid.UUID) error {
	_, err := tx.Exec(ctx, holdRecords, arg(in), dataset, ids)
	return err
}

// The version of a new row is taken before its lock; but such a row has no
// write before it, and one that comes in between makes this an update.
const holdRecords = `
	INSERT INTO held_records (workspace_id, dataset, record_id, version)
	SELECT $1, $2, id, nextval('held_version') FROM (SELECT DISTINCT unnest($3::uuid[]) AS id ORDER BY id) ids
	WHERE ` + sharedLock + `
	ON CONFLICT ON CONSTRAINT held_records_pkey DO UPDATE
	SET own_change = true, present = true, stub_since = NULL, ` + bump

// bumpExisting is hold for those of the records that have a row already, and
// returns them: what takes something away makes no rows.
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

// A workspace's writes of held records of a dataset ($1, $2) go on side by side,
// but for one that adds members: that one locks the rows there are, looks what
// holds them, and makes further ones, of ids in between. Both last as long as the
// transaction.
const (
	advisoryLockKey = `(hashtextextended('held ' || $2::text, 0) # hashtextextended($1::uuid::text, 0))`
	sharedLock      = `(SELECT pg_advisory_xact_lock_shared` + advisoryLockKey + `) IS NOT NULL`
	exclusiveLock   = `SELECT pg_advisory_xact_lock` + advisoryLockKey
)

// bump takes the next version for a row.
const bump = `version = nextval('held_version'), ` + keepPendingSince

// keepPendingSince keeps the time of a row that is pending already.
const keepPendingSince = `pending_since = CASE WHEN held_records.version > held_records.projected_version
	THEN held_records.pending_since ELSE clock_timestamp() END`
