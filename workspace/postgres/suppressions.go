package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"atlas/indexer/erasure"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/webhooks"
)

// The list of suppressions, and the records that are being erased.

// Suppressions returns the list, including removed entries, in the order of additions.
func (s *System) Suppressions(ctx context.Context) ([]erasure.Suppression, error) {
	return collect(ctx, s, func(row pgx.CollectableRow) (e erasure.Suppression, err error) {
		var digest, check []byte
		var of *uuid.UUID
		err = row.Scan(
			&e.ID,
			&e.Seq,
			&e.Dataset,
			&e.Kind,
			&e.Normalization,
			&e.Key,
			&digest,
			&check,
			&e.Reason,
			&e.By,
			&e.Added,
			&e.Applied,
			&e.Removed,
			&of,
		)
		if of != nil {
			e.Of = *of
		}
		copy(e.Digest[:], digest)
		copy(e.KeyCheck[:], check)
		return e, err
	}, `SELECT s.id, s.seq, s.dataset, s.kind, s.normalization, s.key, s.digest, k.digest, s.reason, s.added_by, s.added_at, s.applied_at,
			s.removed_at, s.of_id
		FROM suppressions s LEFT JOIN suppression_keys k USING (key) ORDER BY s.seq`)
}

// SuppressionsVersion returns the version of the list.
func (s *System) SuppressionsVersion(ctx context.Context) (v erasure.Version, err error) {
	err = s.pool.QueryRow(ctx, `SELECT coalesce(max(seq), 0), count(removed_at) FROM suppressions`).Scan(&v.Through, &v.Removed)
	return v, toFault(err)
}

// AddSuppressions adds suppressions and the records to be erased because of them, in one
// transaction, and returns how many suppressions are new. Error: fault.BadRequest if a key
// number stood for another key before.
//
// A suppression whose digest or id is in the list is not added. If it is removed in list, its
// entry is removed. An entry that belongs to another one comes after it in list. It is added to
// the stored entry with the digest of that one, but not if that was removed.
func (s *System) AddSuppressions(ctx context.Context, list []erasure.Suppression, records []erasure.Record) (added int, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		added, err = addSuppressions(ctx, tx, list, records, false)
		return err
	})
	return added, toFault(err)
}

// ImportSuppressions is AddSuppressions for an exported list: it does not add an id to a
// suppression from which that id was removed.
func (s *System) ImportSuppressions(ctx context.Context, list []erasure.Suppression) (added int, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		added, err = addSuppressions(ctx, tx, list, nil, true)
		return err
	})
	return added, toFault(err)
}

// lockSuppressions lets one transaction write at a time, so that seq has the order of commits:
// whoever has read up to a seq has read everything before it. Nor is anything added to a
// suppression while it is being removed.
const lockSuppressions = `LOCK TABLE suppressions IN SHARE ROW EXCLUSIVE MODE`

// addSuppressions is AddSuppressions, or with releasedStay ImportSuppressions.
func addSuppressions(
	ctx context.Context, tx pgx.Tx, list []erasure.Suppression, records []erasure.Record, releasedStay bool,
) (added int, err error) {
	if _, err := tx.Exec(ctx, lockSuppressions); err != nil {
		return added, err
	}
	in := map[uuid.UUID]uuid.UUID{} // the entry of the list with the digest
	for _, e := range list {
		if err := knowKey(ctx, tx, e); err != nil {
			return added, err
		}
		if of, there := in[e.Of]; there {
			e.Of = of
		}
		tag, err := tx.Exec(ctx, `
			INSERT INTO suppressions (id, dataset, kind, normalization, key, digest, reason, added_by, added_at, removed_at, of_id)
			SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10::timestamptz, $11::uuid
			WHERE $10 IS NOT NULL OR NOT EXISTS (
				SELECT FROM suppressions WHERE removed_at IS NOT NULL AND (id = $11 OR $12 AND of_id = $11
					AND dataset = $2 AND kind = $3 AND normalization = $4 AND key = $5 AND digest = $6))
			ON CONFLICT DO NOTHING`,
			e.ID, string(e.Dataset), string(e.Kind), e.Normalization, e.Key, e.Digest[:], e.Reason, e.By, e.Added, e.Removed, ofArg(e),
			releasedStay)
		if err != nil {
			return added, err
		}
		added += int(tag.RowsAffected())
		if tag.RowsAffected() > 0 {
			details := map[string]any{"dataset": e.Dataset, "kind": e.Kind}
			if e.Of != uuid.Nil {
				details["of"] = e.Of
			}
			if err := auditInstallation(ctx, tx, "suppression.added", "suppression", &e.ID, details); err != nil {
				return added, err
			}
		}
		if tag.RowsAffected() == 0 && e.Removed != nil {
			if _, err := removeSuppressions(ctx, tx, e.ID, *e.Removed, ""); err != nil {
				return added, err
			}
		}
		same, err := uuids(ctx, tx, `
			SELECT id FROM suppressions
			WHERE dataset = $1 AND kind = $2 AND normalization = $3 AND key = $4 AND digest = $5 AND of_id IS NOT DISTINCT FROM $6
				AND removed_at IS NULL`,
			string(e.Dataset), string(e.Kind), e.Normalization, e.Key, e.Digest[:], ofArg(e))
		if err != nil {
			return added, err
		}
		for _, id := range same {
			in[e.ID] = id
		}
	}
	for _, r := range records {
		var because []uuid.UUID
		for _, id := range r.Suppressions {
			if of, there := in[id]; there {
				because = append(because, of)
			}
		}
		if len(because) == 0 { // it was removed meanwhile
			continue
		}
		if _, err := tx.Exec(ctx, noteSuppressed, string(r.Dataset), r.ID, because); err != nil {
			return added, err
		}
	}
	return added, nil
}

func ofArg(e erasure.Suppression) *uuid.UUID {
	if e.Of == uuid.Nil {
		return nil
	}
	return &e.Of
}

// noteSuppressed adds a record to those that are being erased, or suppressions to it.
const noteSuppressed = `
	INSERT INTO suppressed_records AS r (dataset, record_id, suppressions, noted_at)
	SELECT $1::text, $2::uuid, coalesce($3::uuid[], '{}'), clock_timestamp()
	ON CONFLICT (dataset, record_id) DO UPDATE
	SET suppressions = ARRAY(SELECT unnest(r.suppressions) UNION SELECT unnest(excluded.suppressions))`

// knowKey stores which key has the number in a suppression.
func knowKey(ctx context.Context, tx pgx.Tx, e erasure.Suppression) error {
	if e.KeyCheck == (erasure.Digest{}) {
		return nil
	}
	if _, err := tx.Exec(ctx, `INSERT INTO suppression_keys (key, digest) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
		e.Key, e.KeyCheck[:]); err != nil {
		return err
	}
	var digest []byte
	err := tx.QueryRow(ctx, `SELECT digest FROM suppression_keys WHERE key = $1`, e.Key).Scan(&digest)
	if err == nil && !bytes.Equal(digest, e.KeyCheck[:]) {
		return erasure.WrongKey(e.Key)
	}
	return err
}

// RemoveSuppression lets the record be loaded again. It also removes the suppressions that
// belong to this one. What is not erased yet stays. Error: fault.NotFound.
func (s *System) RemoveSuppression(ctx context.Context, id uuid.UUID, by string) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockSuppressions); err != nil {
			return err
		}
		removed, err := removeSuppressions(ctx, tx, id, s.Clock().Now(), by)
		if err == nil && removed == 0 {
			err = fault.New(fault.NotFound, "there is no suppression %s, or it was removed: atlas suppress list lists them", id)
		}
		return err
	}))
}

// removeSuppressions removes a suppression and those that belong to it, and returns their number.
func removeSuppressions(ctx context.Context, tx pgx.Tx, id uuid.UUID, at time.Time, by string) (removed int, err error) {
	all, err := uuids(ctx, tx, `
		UPDATE suppressions SET removed_at = $2, removed_by = $3 WHERE (id = $1 OR of_id = $1) AND removed_at IS NULL RETURNING id`,
		id, at, by)
	if err != nil {
		return 0, err
	}
	for _, one := range all {
		if err := auditInstallation(ctx, tx, "suppression.removed", "suppression", &one, nil); err != nil {
			return 0, err
		}
		if err := dropSuppressed(ctx, tx, one); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}

// auditInstallation writes an event of the installation's log. It has no values of persons.
func auditInstallation(ctx context.Context, tx execer, action, kind string, id *uuid.UUID, details map[string]any) error {
	if details == nil {
		details = map[string]any{}
	}
	_, err := tx.Exec(ctx, `SELECT audit_add(NULL, $1, $2, $3, '{}', $4)`, action, kind, id, details)
	return err
}

// execer is a transaction, or a pool.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// PersonExported writes to the installation's log that data about a person was exported and how
// many records, but not about whom.
func (s *System) PersonExported(ctx context.Context, d catalog.Dataset, kind erasure.Kind, records int) error {
	return toFault(auditInstallation(ctx, s.pool, "person.exported", "person", nil,
		map[string]any{"dataset": d, "kind": kind, "records": records}))
}

// SuppressionsExported writes to the installation's log that the list was exported.
func (s *System) SuppressionsExported(ctx context.Context, entries int) error {
	return toFault(auditInstallation(ctx, s.pool, "suppression.exported", "suppression", nil, map[string]any{"entries": entries}))
}

// dropSuppressed removes records that are being erased only because of one suppression.
func dropSuppressed(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	if _, err := tx.Exec(ctx, `DELETE FROM suppressed_records WHERE suppressions = ARRAY[$1::uuid]`, id); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE suppressed_records SET suppressions = array_remove(suppressions, $1) WHERE $1 = ANY (suppressions)`, id)
	return err
}

// SuppressedRecords returns the records that are being erased.
func (s *System) SuppressedRecords(ctx context.Context) ([]erasure.Record, error) {
	return collect(ctx, s, func(row pgx.CollectableRow) (r erasure.Record, err error) {
		var related []byte
		if err := row.Scan(&r.Dataset, &r.ID, &related, &r.Suppressions); err != nil {
			return r, err
		}
		return r, json.Unmarshal(related, &r.Related)
	}, `SELECT dataset, record_id, related, suppressions FROM suppressed_records ORDER BY dataset, record_id`)
}

// NoteSuppressedRecord adds a record and its related records to those being erased, unless all
// suppressions that are the reason were removed.
func (s *System) NoteSuppressedRecord(ctx context.Context, r erasure.Record) error {
	related, err := json.Marshal(r.Related)
	if err != nil {
		return err
	}
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		live, err := uuids(ctx, tx, `SELECT id FROM suppressions WHERE id = ANY ($1) AND removed_at IS NULL FOR SHARE`, r.Suppressions)
		if err != nil || len(live) == 0 && len(r.Suppressions) > 0 {
			return err
		}
		if _, err := tx.Exec(ctx, noteSuppressed, string(r.Dataset), r.ID, live); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE suppressed_records SET related = $3 WHERE dataset = $1 AND record_id = $2`,
			string(r.Dataset), r.ID, string(related))
		return err
	}))
}

// EndSuppressions stores that records are erased everywhere, and that the list is applied up to
// a position.
func (s *System) EndSuppressions(ctx context.Context, through int64, records []erasure.Record) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// In the order in which others lock them.
		if _, err := tx.Exec(ctx, lockSuppressions); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE suppressions SET applied_at = clock_timestamp() WHERE applied_at IS NULL AND seq <= $1`, through); err != nil {
			return err
		}
		for _, r := range records {
			if _, err := tx.Exec(ctx, `DELETE FROM suppressed_records WHERE dataset = $1 AND record_id = $2`, string(r.Dataset), r.ID); err != nil {
				return err
			}
		}
		return nil
	}))
}

// SuppressedIn returns the position in the list up to which a generation is clean of suppressed
// records.
func (s *System) SuppressedIn(ctx context.Context, generation string) (through int64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT coalesce(max(through), 0) FROM suppressed_generations WHERE generation = $1`, generation).
		Scan(&through)
	return through, toFault(err)
}

// NoteSuppressedIn stores that position.
func (s *System) NoteSuppressedIn(ctx context.Context, generation string, through int64) error {
	_, err := s.pool.Exec(ctx, `
		INSERT INTO suppressed_generations AS g (generation, through) VALUES ($1, $2)
		ON CONFLICT (generation) DO UPDATE SET through = greatest(g.through, excluded.through)`, generation, through)
	return toFault(err)
}

// Unclean reports whether documents of a generation contain values of erased records.
func (s *System) Unclean(ctx context.Context, generation string) (unclean bool, err error) {
	err = s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM suppressed_generations WHERE generation = $1 AND unclean)`, generation).
		Scan(&unclean)
	return unclean, toFault(err)
}

// NoteUnclean stores that documents of a generation contain values of erased records, and
// that nothing can be written there.
func (s *System) NoteUnclean(ctx context.Context, generation string) error {
	_, err := s.pool.Exec(ctx, `
		INSERT INTO suppressed_generations (generation, through, unclean) VALUES ($1, 0, true)
		ON CONFLICT (generation) DO UPDATE SET unclean = true`, generation)
	return toFault(err)
}

// HeldIDs returns the ids of records of a dataset that some workspace holds or held, at most
// limit after one.
func (s *System) HeldIDs(ctx context.Context, d catalog.Dataset, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	return collect(ctx, s, pgx.RowTo[uuid.UUID], `
		SELECT DISTINCT record_id FROM held_records WHERE dataset = $1 AND record_id > $2 ORDER BY record_id LIMIT $3`, string(d), after, limit)
}

// EraseRecord deletes what workspaces have of a record: overlays, memberships in Static Views,
// merges. The changes of each workspace report it, without an author. So do the webhooks of
// those that had it in the book: when the feed publishes the deletion, it is in no book. It is
// idempotent.
func (s *System) EraseRecord(ctx context.Context, d catalog.Dataset, id uuid.UUID) (n erasure.Erased, err error) {
	if err := s.eraseGlobal(ctx, d, id); err != nil {
		return n, err
	}
	holders, err := collect(ctx, s, pgx.RowTo[uuid.UUID], `
		SELECT workspace_id FROM held_records WHERE dataset = $1 AND record_id = $2
		UNION SELECT workspace_id FROM overlays WHERE dataset = $1 AND record_id = $2
		UNION SELECT workspace_id FROM merged_overlays WHERE dataset = $1 AND (record_id = $2 OR into_id = $2)
		ORDER BY 1`, string(d), id)
	if err != nil {
		return n, err
	}
	for _, in := range holders {
		for attempt := 1; ; attempt++ {
			of, err := s.eraseIn(ctx, in, d, id)
			if retry := errors.Is(err, errViewsChanged) || fault.CodeOf(toFault(err)) == fault.Unavailable; retry && attempt < 5 {
				continue
			}
			if err != nil {
				return n, toFault(err)
			}
			n.Overlays, n.Memberships = n.Overlays+of.Overlays, n.Memberships+of.Memberships
			break
		}
	}
	return n, nil
}

// eraseIn erases a record in a workspace.
func (s *System) eraseIn(ctx context.Context, in uuid.UUID, d catalog.Dataset, id uuid.UUID) (n erasure.Erased, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// The Views' rows first, then the held rows, as every write does.
		const viewsOf = `SELECT view_id FROM view_records WHERE workspace_id = $1 AND dataset = $2 AND record_id = $3`
		locked, err := uuids(
			ctx,
			tx,
			`SELECT id FROM views WHERE workspace_id = $1 AND id IN (`+viewsOf+`) ORDER BY id FOR NO KEY UPDATE`,
			in,
			string(d),
			id,
		)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, exclusiveLock, in, string(d)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, bumpExistingRecords, in, string(d), []uuid.UUID{id}); err != nil {
			return err
		}
		now, err := uuids(ctx, tx, viewsOf, in, string(d), id)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(now, func(view uuid.UUID) bool { return !slices.Contains(locked, view) }) {
			return errViewsChanged
		}
		if err := s.notifyErased(ctx, tx, workspace.ID(in), d, id); err != nil {
			return err
		}
		for _, do := range []struct {
			count *int64
			sql   string
		}{
			{nil, `UPDATE views SET members = members - 1 WHERE workspace_id = $1 AND id IN (` + viewsOf + `)`},
			{&n.Memberships, `DELETE FROM view_records WHERE workspace_id = $1 AND dataset = $2 AND record_id = $3`},
			{&n.Overlays, `DELETE FROM overlays WHERE workspace_id = $1 AND dataset = $2 AND record_id = $3`},
			{&n.Overlays, `DELETE FROM merged_overlays WHERE workspace_id = $1 AND dataset = $2 AND (record_id = $3 OR into_id = $3)`},
		} {
			tag, err := tx.Exec(ctx, do.sql, in, string(d), id)
			if err != nil {
				return err
			}
			if do.count != nil {
				*do.count += tag.RowsAffected()
			}
		}
		return nil
	})
	return n, err
}

// notifyErased makes the deliveries for the webhooks of a workspace that has a record in its book.
func (s *System) notifyErased(ctx context.Context, tx pgx.Tx, in workspace.ID, d catalog.Dataset, id uuid.UUID) error {
	var saved bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM overlays WHERE workspace_id = $1 AND dataset = $2 AND record_id = $3)`,
		arg(in), string(d), id).Scan(&saved)
	if err != nil || !saved {
		return err
	}
	hooks, err := webhooksFor(ctx, tx, in, webhooks.RecordDeleted)
	if err != nil {
		return err
	}
	now, place := s.Clock().Now(), "erased "+uuid.NewString() // once: the overlay goes in this transaction
	var added []jobs.New
	for _, h := range hooks {
		j, err := webhooks.NewDelivery(in, h.id, webhooks.RecordDeleted, place, string(d)+":"+id.String(),
			recordData{WorkspaceID: in, Dataset: d, ID: id}, now)
		if err != nil {
			return err
		}
		added = append(added, j)
	}
	_, err = addJobs(ctx, tx, added, now)
	return err
}

// EraseAnswers deletes the stored answers of all workspaces that name one of the records. It
// reads all answers, which takes long but blocks nothing.
func (s *System) EraseAnswers(ctx context.Context, ids []uuid.UUID) (n int64, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '30min'`); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			DELETE FROM stored_answers WHERE EXISTS (
				SELECT FROM unnest($1::uuid[]) id WHERE position(convert_to(id::text, 'UTF8') IN answer) > 0)`, ids)
		n = tag.RowsAffected()
		return err
	})
	return n, toFault(err)
}

// eraseGlobal deletes merges from and to the record.
func (s *System) eraseGlobal(ctx context.Context, d catalog.Dataset, id uuid.UUID) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`DELETE FROM data_merges WHERE dataset = $1 AND (record_id = $2 OR into_id = $2)`,
			`DELETE FROM data_generation_merges WHERE dataset = $1 AND (record_id = $2 OR into_id = $2)`,
			`DELETE FROM data_merge_moves WHERE dataset = $1 AND record_id = $2`,
			`UPDATE data_changes SET op = 'delete', into_id = NULL WHERE dataset = $1 AND op = 'merge' AND (record_id = $2 OR into_id = $2)`,
			`DELETE FROM view_alert_changes WHERE dataset = $1 AND record_id = $2`,
			`DELETE FROM view_alert_entries e USING views v
				WHERE v.workspace_id = e.workspace_id AND v.id = e.view_id AND v.dataset = $1 AND e.record_ids = ARRAY[$2::uuid]`,
			`UPDATE view_alert_entries e SET record_ids = array_remove(record_ids, $2) FROM views v
				WHERE v.workspace_id = e.workspace_id AND v.id = e.view_id AND v.dataset = $1 AND $2 = ANY (e.record_ids)`,
		} {
			if _, err := tx.Exec(ctx, sql, string(d), id); err != nil {
				return err
			}
		}
		return nil
	}))
}
