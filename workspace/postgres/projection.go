package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/held"
)

// Every statement here runs for one workspace, under its row-level security policies.

// HeldFreshness says what a search of a dataset's held records must wait for.
func (s *Store) HeldFreshness(ctx context.Context, in workspace.ID, d catalog.Dataset) (f held.Freshness, err error) {
	var projected *time.Time
	// One statement reads one state. Each EXISTS reads one entry of a partial index
	// that has only matching rows. Marks are compared with projected_version because
	// servers of the previous release do not clear them.
	err = s.queryRow(ctx, in, `
		SELECT EXISTS (SELECT FROM held_records
		               WHERE workspace_id = $1 AND dataset = $2 AND version > projected_version AND own_change),
		       (SELECT projected_at FROM projectors WHERE workspace_id = $1),
		       coalesce(g.generation, ''),
		       NOT coalesce(g.marked, true) OR EXISTS (SELECT FROM held_records
		               WHERE workspace_id = $1 AND dataset = $2 AND lost_version IS NOT NULL AND lost_version > projected_version),
		       EXISTS (SELECT FROM held_records
		               WHERE workspace_id = $1 AND dataset = $2 AND view_deleted_version IS NOT NULL AND view_deleted_version > projected_version)
		FROM (SELECT) one LEFT JOIN held_generations g ON g.dataset = $2 AND g.serving`,
		[]any{arg(in), string(d)}, &f.Pending, &projected, &f.Generation, &f.Filling, &f.ViewDeleted)
	if projected != nil {
		f.ProjectedAt = *projected
	}
	return f, err
}

// A deadline more than 2 ttl ahead dates from before the clock was set back. It is ignored:
// otherwise it would block others for as long as the clock jumped.
const acquireProjector = `
	INSERT INTO projectors AS p (workspace_id, holder, deadline) VALUES ($1, $2, clock_timestamp() + $3::interval)
	ON CONFLICT ON CONSTRAINT projectors_pkey DO UPDATE SET holder = excluded.holder, deadline = clock_timestamp() + $3::interval
	WHERE p.deadline IS NULL OR p.deadline <= clock_timestamp() OR p.deadline > clock_timestamp() + 2 * $3::interval
	   OR p.holder = excluded.holder
	RETURNING true`

// memberships are the Static Views that contain a held record h.
const memberships = `ARRAY(SELECT v.view_id FROM view_records v
	WHERE v.workspace_id = h.workspace_id AND v.dataset = h.dataset AND v.record_id = h.record_id)`

// pendingHeld reads version, overlay and memberships in one statement, so they are
// consistent. A workspace's own writes come first.
var pendingHeld = `
	SELECT h.dataset, h.record_id, h.version, h.digest, ` + memberships + `, ` + overlayColumns + `
	FROM held_records h LEFT JOIN overlays o USING (workspace_id, dataset, record_id)
	WHERE h.workspace_id = $1 AND h.version > h.projected_version AND (h.own_change OR NOT $2)
	ORDER BY h.own_change DESC, h.version LIMIT $3`

// PendingHeld takes the lease of the workspace's projector for ttl, or extends it
// for the same holder, and reads up to limit pending records; with ownOnly only
// those that a write of the workspace made pending.
func (s *Store) PendingHeld(
	ctx context.Context,
	in workspace.ID,
	holder string,
	ttl time.Duration,
	ownOnly bool,
	limit int,
) (pending held.Pending, err error) {
	if err := in.Check(); err != nil {
		return pending, err
	}
	var batch pgx.Batch
	batch.Queue(setWorkspaceAsync, in.String())
	batch.Queue(acquireProjector, arg(in), holder, ttl).Query(func(rows pgx.Rows) error {
		pending.Leased = rows.Next()
		rows.Close()
		return rows.Err()
	})
	batch.Queue(pendingHeld, arg(in), ownOnly, limit).Query(func(rows pgx.Rows) (err error) {
		pending.Records, err = collectHeld(rows)
		return err
	})
	batch.Queue(`SELECT count(DISTINCT dataset) = $1 FROM held_generations`, len(catalog.Held)).QueryRow(func(row pgx.Row) error {
		return row.Scan(&pending.Indexed)
	})
	if err := s.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return held.Pending{}, toFault(err)
	}
	return pending, nil
}

func collectHeld(rows pgx.Rows) (records []held.Record, err error) {
	var h held.Record
	o := newOverlayScan()
	_, err = pgx.ForEachRow(rows, o.targets(&h.Dataset, &h.Record, &h.Version, &h.Digest, &h.Views), func() error {
		h.Overlay = o.scanned()
		records = append(records, h)
		return nil
	})
	return records, err
}

const selectGenerations = `SELECT dataset, generation, serving, coalesce(index_uuid, ''), marked, folding FROM held_generations ORDER BY dataset, generation`

func collectGeneration(row pgx.CollectableRow) (g held.Generation, err error) {
	return g, row.Scan(&g.Dataset, &g.Generation, &g.Serving, &g.IndexUUID, &g.LostMarked, &g.Folding)
}

// lockHeld locks rows in the order that every writer uses.
const lockHeld = `
	SELECT FROM held_records h JOIN jsonb_to_recordset($2) AS r(dataset text, record_id uuid) USING (dataset, record_id)
	WHERE h.workspace_id = $1 ORDER BY h.dataset, h.record_id FOR UPDATE OF h`

// heldRow is an element of the JSON array that statements read as a table.
type heldRow struct {
	Dataset catalog.Dataset `json:"dataset"`
	Record  uuid.UUID       `json:"record_id"`
	Version int64           `json:"version"`
	Digest  *string         `json:"digest"` // hex
	Present bool            `json:"present"`
	Unheld  bool            `json:"unheld"`
	Written bool            `json:"written"`
	Refusal *string         `json:"refusal"`
	Score   *int            `json:"score"`
	Trend   *string         `json:"trend"`
	At      *time.Time      `json:"at"`
}

func marshalRows(rows []heldRow) (string, error) {
	list, err := json.Marshal(rows)
	if err != nil {
		return "", fault.Wrap(err, fault.Internal, "something went wrong on our side")
	}
	return string(list), nil
}

func marshalRecords(records []held.Record) (string, error) {
	rows := make([]heldRow, len(records))
	for i, r := range records {
		rows[i] = heldRow{Dataset: r.Dataset, Record: r.Record, Version: r.Version}
	}
	return marshalRows(rows)
}

// ClaimHeld extends the lease and clears the digests of records whose documents are about
// to be sent: until FinishHeld it is unknown which document is in Elasticsearch. It returns
// the versions to send the documents with. A document is sent with the version that was
// read, or with a new one if a document with that version was sent before and not
// acknowledged: that request may still arrive, and of two documents with one version the
// later wins.
//
// It also returns the generations to write to. They are read after the versions were taken:
// RegisterGeneration may return a lower version than one taken here, and then the
// registered generation is among them.
func (s *Store) ClaimHeld(
	ctx context.Context,
	in workspace.ID,
	holder string,
	ttl time.Duration,
	records []held.Record,
) (held.Claim, error) {
	list, err := marshalRecords(records)
	if err != nil {
		return held.Claim{}, err
	}
	if err := in.Check(); err != nil {
		return held.Claim{}, err
	}
	claim := held.Claim{Versions: make(map[uuid.UUID]int64, len(records))}
	var batch pgx.Batch
	batch.Queue(setWorkspace, in.String(), "", "")
	batch.Queue(`UPDATE projectors SET deadline = clock_timestamp() + $3::interval
		WHERE workspace_id = $1 AND holder = $2 AND deadline > clock_timestamp()`, arg(in), holder, ttl).Exec(func(tag pgconn.CommandTag) error {
		claim.Leased = tag.RowsAffected() == 1
		return nil
	})
	if len(records) > 0 {
		batch.Queue(lockHeld, arg(in), list)
		batch.Queue(claimHeld, arg(in), list, holder).Query(func(rows pgx.Rows) error { return collectVersions(rows, claim.Versions) })
		batch.Queue(selectGenerations).Query(func(rows pgx.Rows) (err error) {
			claim.Generations, err = pgx.CollectRows(rows, collectGeneration)
			return err
		})
	}
	err = s.pool.SendBatch(ctx, &batch).Close()
	if err != nil || !claim.Leased {
		return held.Claim{}, toFault(err)
	}
	return claim, nil
}

// collectVersions adds rows of record id and version.
func collectVersions(rows pgx.Rows, to map[uuid.UUID]int64) error {
	var record uuid.UUID
	var version int64
	_, err := pgx.ForEachRow(rows, []any{&record, &version}, func() error {
		to[record] = version
		return nil
	})
	return err
}

// Nothing is claimed without the lease. A row that changed after it was read is sent with the version that was read,
// because searches may wait for it. Its newer version is higher than that of any
// late request. New versions are taken under the row's lock.
const claimHeld = `
	WITH claimed AS MATERIALIZED (
		SELECT h.dataset, h.record_id, CASE WHEN h.version = r.version AND coalesce(h.attempted_version, h.version) >= r.version
		       THEN nextval('held_version') ELSE r.version END AS version
		FROM jsonb_to_recordset($2) AS r(dataset text, record_id uuid, version bigint)
		JOIN held_records h ON h.workspace_id = $1 AND h.dataset = r.dataset AND h.record_id = r.record_id
		WHERE EXISTS (SELECT FROM projectors WHERE workspace_id = $1 AND holder = $3 AND deadline > clock_timestamp())
	)
	UPDATE held_records h SET digest = NULL, version = greatest(h.version, c.version),
		attempted_version = greatest(coalesce(h.attempted_version, 0), c.version)
	FROM claimed c WHERE h.workspace_id = $1 AND h.dataset = c.dataset AND h.record_id = c.record_id
	RETURNING h.record_id, c.version`

// FinishHeld stores the results of a projection. A row that changed meanwhile stays
// pending. A late result of a projector that lost its lease changes nothing: a
// document that was sent must be the row's last attempt, and one that was not sent
// must have the digest of the row. If documents were sent, searches of the workspace
// refresh the index.
//
// The commit does not wait for the disk. A crash of Postgres may undo it: then the
// rows are pending again, and documents that were sent get new versions, because
// ClaimHeld is on the disk.
func (s *Store) FinishHeld(ctx context.Context, in workspace.ID, f held.Finish) error {
	if err := in.Check(); err != nil {
		return err
	}
	rows := make([]heldRow, len(f.Results))
	for i, p := range f.Results {
		rows[i] = heldRow{
			Dataset: p.Dataset,
			Record:  p.Record,
			Version: p.Version,
			Digest:  hexOrNull(p.Digest),
			Present: p.Present,
			Unheld:  p.Unheld,
			Written: p.Written,
		}
		if p.Refusal != "" {
			rows[i].Refusal = &p.Refusal
		}
		if p.Score != nil {
			rows[i].Score, rows[i].Trend, rows[i].At = &p.Score.Score, &p.Score.Trend, &p.Score.At
		}
	}
	list, err := marshalRows(rows)
	if err != nil {
		return err
	}
	var batch pgx.Batch
	batch.Queue(setWorkspaceAsync, in.String())
	batch.Queue(finishProjector, arg(in), f.Written, f.Release)
	batch.Queue(lockHeld, arg(in), list)
	batch.Queue(finishStale, arg(in), list)
	batch.Queue(finishHeld, arg(in), list)
	if f.Written {
		batch.Queue(compareWritten, arg(in), list, alerts.HeldKeys())
	}
	return toFault(s.pool.SendBatch(ctx, &batch).Close())
}

// finishProjector locks the projector's row before the held rows, as ClaimHeld does.
const finishProjector = `
	UPDATE projectors p SET
		projected_at = CASE WHEN $2 THEN clock_timestamp() ELSE p.projected_at END,
		holder = CASE WHEN p.holder <> $3 THEN p.holder END,
		deadline = CASE WHEN p.holder <> $3 THEN p.deadline END
	WHERE p.workspace_id = $1`

// finishStale updates rows that changed after they were read. Their documents are
// at least as new as the projected ones and will be written again.
const finishStale = `
	UPDATE held_records h SET
		projected_version = r.version, projected_at = clock_timestamp(),
		lost_version = CASE WHEN h.lost_version > r.version THEN h.lost_version END,
		view_deleted_version = CASE WHEN h.view_deleted_version > r.version THEN h.view_deleted_version END
	FROM jsonb_to_recordset($2) AS r(dataset text, record_id uuid, version bigint)
	WHERE h.workspace_id = $1 AND h.dataset = r.dataset AND h.record_id = r.record_id
	  AND h.version > r.version AND h.projected_version < r.version`

// finishHeld updates rows that did not change. Only these get the computed score: for
// others it would differ from the score in the document. A stub that was rewritten gets its
// full time: another attempt to write it can still arrive, and would re-create it after its
// deletion.
const finishHeld = `
	WITH finished AS (
		UPDATE held_records h SET
			projected_version = r.version, projected_at = clock_timestamp(), own_change = false,
			digest = decode(r.digest, 'hex'), present = r.present, refusal = r.refusal,
			stub_since = CASE WHEN r.unheld AND r.written THEN clock_timestamp() WHEN r.unheld THEN coalesce(h.stub_since, clock_timestamp()) END,
			lost_version = NULL, view_deleted_version = NULL
		FROM jsonb_to_recordset($2) AS r(dataset text, record_id uuid, version bigint, digest text, present boolean, unheld boolean,
		     written boolean, refusal text)
		WHERE h.workspace_id = $1 AND h.dataset = r.dataset AND h.record_id = r.record_id AND h.version = r.version
		  AND CASE WHEN r.written THEN h.attempted_version = r.version ELSE h.digest = decode(r.digest, 'hex') END
		RETURNING h.dataset, h.record_id
	)
	UPDATE overlays o SET atlas_score = r.score, atlas_trend = r.trend, scored_at = r.at
	FROM jsonb_to_recordset($2) AS r(dataset text, record_id uuid, score integer, trend text, at timestamptz)
	JOIN finished USING (dataset, record_id)
	WHERE o.workspace_id = $1 AND o.dataset = r.dataset AND o.record_id = r.record_id AND r.score IS NOT NULL`

// ReleaseProjector releases the lease if holder has it.
func (s *Store) ReleaseProjector(ctx context.Context, in workspace.ID, holder string) error {
	return s.query(ctx, in, `UPDATE projectors SET holder = NULL, deadline = NULL WHERE workspace_id = $1 AND holder = $2`,
		[]any{arg(in), holder}, func(pgx.Rows) error { return nil })
}

// ClaimStubs lists records whose documents have been stubs for longer than age. It clears
// their digests because the caller deletes the documents: the next projection of such a
// record rewrites its document.
func (s *Store) ClaimStubs(ctx context.Context, in workspace.ID, age time.Duration, limit int) (records []held.Record, err error) {
	err = s.query(ctx, in, `
		WITH stubs AS (
			SELECT dataset, record_id FROM held_records
			WHERE workspace_id = $1 AND stub_since < clock_timestamp() - $2::interval AND version = projected_version
			ORDER BY dataset, record_id LIMIT $3 FOR UPDATE
		), claimed AS (
			UPDATE held_records h SET digest = NULL FROM stubs
			WHERE h.workspace_id = $1 AND h.dataset = stubs.dataset AND h.record_id = stubs.record_id
			RETURNING h.dataset, h.record_id, h.version
		)
		SELECT dataset, record_id, version FROM claimed ORDER BY dataset, record_id`, []any{arg(in), age, limit}, func(rows pgx.Rows) error {
		records, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h held.Record, err error) {
			return h, row.Scan(&h.Dataset, &h.Record, &h.Version)
		})
		return err
	})
	return records, err
}

// ForgetHeld deletes the rows of stubs whose documents were deleted, except rows
// that are held again.
func (s *Store) ForgetHeld(ctx context.Context, in workspace.ID, records []held.Record) error {
	list, err := marshalRecords(records)
	if err != nil {
		return err
	}
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockHeld, arg(in), list); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			DELETE FROM held_records h USING jsonb_to_recordset($2) AS r(dataset text, record_id uuid, version bigint)
			WHERE h.workspace_id = $1 AND h.dataset = r.dataset AND h.record_id = r.record_id
			  AND h.version = r.version AND h.stub_since IS NOT NULL`, arg(in), list)
		return err
	})
}

// BumpHeld gives records new versions and makes them pending. It is for records
// whose documents have higher versions than their rows.
func (s *Store) BumpHeld(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) error {
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		_, err := bumpExisting(ctx, tx, in, string(d), records)
		return err
	})
}

// HeldVersions returns the current versions of records that have a row.
func (s *Store) HeldVersions(
	ctx context.Context,
	in workspace.ID,
	d catalog.Dataset,
	records []uuid.UUID,
) (versions map[uuid.UUID]int64, err error) {
	versions = map[uuid.UUID]int64{}
	err = s.query(ctx, in, `SELECT record_id, version FROM held_records WHERE workspace_id = $1 AND dataset = $2 AND record_id = ANY($3)`,
		[]any{arg(in), string(d), records}, func(rows pgx.Rows) error { return collectVersions(rows, versions) })
	return versions, err
}
