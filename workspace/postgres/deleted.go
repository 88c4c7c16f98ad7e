package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/search/catalog"
)

// The statements of deltas of global records: remembered deletions, and making the rows of
// changed records pending.

// TombstoneAge is how long a deletion is remembered.
const TombstoneAge = 7 * 24 * time.Hour

// NoteDeleted stores deletions: record ids with the updated_at of the deletion. Of two
// deletions of a record the later updated_at wins.
func (s *System) NoteDeleted(ctx context.Context, d catalog.Dataset, deleted map[string]time.Time) error {
	ids, times := make([]string, 0, len(deleted)), make([]time.Time, 0, len(deleted))
	for id, at := range deleted {
		ids, times = append(ids, id), append(times, at)
	}
	_, err := s.pool.Exec(ctx, `
		INSERT INTO deleted_records AS t (dataset, record_id, updated_at, noted_at)
		SELECT $1, id::uuid, at, clock_timestamp() FROM unnest($2::text[], $3::timestamptz[]) AS r(id, at) ORDER BY id
		ON CONFLICT ON CONSTRAINT deleted_records_pkey DO UPDATE
		SET updated_at = greatest(t.updated_at, excluded.updated_at), noted_at = excluded.noted_at`,
		string(d), ids, times)
	return toFault(err)
}

// Deleted returns the records that were deleted within TombstoneAge, with the updated_at of
// the deletion. Re-added records may be among them.
func (s *System) Deleted(ctx context.Context, d catalog.Dataset, ids []string) (map[string]time.Time, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT record_id::text, updated_at FROM deleted_records
		WHERE dataset = $1 AND record_id = ANY($2::text[]::uuid[]) AND noted_at > clock_timestamp() - $3::interval`,
		string(d), ids, TombstoneAge)
	if err != nil {
		return nil, toFault(err)
	}
	deleted := map[string]time.Time{}
	var id string
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&id, &at}, func() error {
		deleted[id] = at
		return nil
	})
	return deleted, toFault(err)
}

// ForgetDeleted removes deletions that are older than TombstoneAge.
func (s *System) ForgetDeleted(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM deleted_records WHERE noted_at < clock_timestamp() - $1::interval`, TombstoneAge)
	return toFault(err)
}

// BumpRecords makes the held rows of changed global records pending in every
// workspace.
func (s *System) BumpRecords(ctx context.Context, d catalog.Dataset, ids []string) error {
	records := make([]uuid.UUID, len(ids))
	for i, id := range ids {
		var err error
		if records[i], err = uuid.Parse(id); err != nil {
			return fault.Wrap(err, fault.Internal, "%q is not the id of a record", id)
		}
	}
	// Rows are locked in the order that every writer uses.
	_, err := s.pool.Exec(ctx, `
		INSERT INTO held_records (workspace_id, dataset, record_id, version)
		SELECT workspace_id, dataset, record_id, nextval('held_version') FROM (
			SELECT workspace_id, dataset, record_id FROM held_records
			WHERE dataset = $1 AND record_id = ANY($2) ORDER BY workspace_id, record_id
		) held
		ON CONFLICT ON CONSTRAINT held_records_pkey DO UPDATE SET `+bump,
		string(d), records)
	return toFault(err)
}
