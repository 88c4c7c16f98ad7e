package postgres

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/held"
)

// The statements of projection that cross workspaces: lists of workspaces with
// pending rows, generations of the held indices, and making rows pending after a
// change of global records.

func hexOrNull(b []byte) *string {
	if b == nil {
		return nil
	}
	s := hex.EncodeToString(b)
	return &s
}

func collectWorkspace(row pgx.CollectableRow) (id workspace.ID, err error) {
	return id, row.Scan((*uuid.UUID)(&id))
}

// PendingWorkspaces lists workspaces with pending records except some, longest
// pending first.
func (s *System) PendingWorkspaces(ctx context.Context, except []workspace.ID, limit int) ([]workspace.ID, error) {
	return collect(ctx, s, collectWorkspace, `
		SELECT workspace_id FROM held_records WHERE version > projected_version AND workspace_id <> ALL($1)
		GROUP BY workspace_id ORDER BY min(version) LIMIT $2`, argList(except), limit)
}

// StubWorkspaces lists workspaces with stubs older than age. The order is random, so
// workspaces that cannot be purged do not block others.
func (s *System) StubWorkspaces(ctx context.Context, age time.Duration, limit int) ([]workspace.ID, error) {
	return collect(ctx, s, collectWorkspace, `
		SELECT workspace_id FROM held_records
		WHERE stub_since < clock_timestamp() - $1::interval AND version = projected_version
		GROUP BY workspace_id ORDER BY random() LIMIT $2`, age, limit)
}

// HeldStatus counts the held rows.
func (s *System) HeldStatus(ctx context.Context) (h held.Status, err error) {
	err = toFault(s.pool.QueryRow(ctx, `
		SELECT count(*), count(stub_since), count(*) FILTER (WHERE version > projected_version),
		       count(*) FILTER (WHERE version > projected_version AND own_change),
		       coalesce(clock_timestamp() - min(pending_since) FILTER (WHERE version > projected_version), '0'),
		       count(*) FILTER (WHERE lost_version > projected_version), count(refusal)
		FROM held_records`).Scan(&h.Records, &h.Stubs, &h.Pending, &h.OwnPending, &h.OldestPending, &h.Lost, &h.Refused))
	return h, err
}

// RefusedRecords lists held records whose documents Elasticsearch rejected.
func (s *System) RefusedRecords(ctx context.Context, limit int) ([]held.RefusedRecord, error) {
	return collect(ctx, s, func(row pgx.CollectableRow) (r held.RefusedRecord, err error) {
		return r, row.Scan((*uuid.UUID)(&r.Workspace), &r.Dataset, &r.Record, &r.Refusal)
	}, `
		SELECT workspace_id, dataset, record_id, refusal FROM held_records
		WHERE refusal IS NOT NULL ORDER BY workspace_id, dataset, record_id LIMIT $1`, limit)
}

// Filling lists the datasets whose index replaces a lost one and lacks documents of some
// workspace.
func (s *System) Filling(ctx context.Context) ([]catalog.Dataset, error) {
	return collect(ctx, s, pgx.RowTo[catalog.Dataset], `
		SELECT dataset FROM held_generations g
		WHERE serving AND (NOT marked OR EXISTS (
			SELECT FROM held_records h WHERE h.dataset = g.dataset AND lost_version IS NOT NULL AND lost_version > projected_version))
		ORDER BY dataset`)
}

// HeldGenerations lists the registered generations.
func (s *System) HeldGenerations(ctx context.Context) ([]held.Generation, error) {
	return collect(ctx, s, collectGeneration, selectGenerations)
}

// RegisterGeneration makes every projector write to a generation from now on.
// Records that are projected with a version above since are in it.
func (s *System) RegisterGeneration(ctx context.Context, g held.Generation) (since int64, err error) {
	if _, err := s.pool.Exec(ctx, `
		INSERT INTO held_generations (dataset, generation, serving, index_uuid, folding, created_at) VALUES ($1, $2, false, $3, $4, now())`,
		string(g.Dataset), g.Generation, g.IndexUUID, max(g.Folding, catalog.CaseFolding)); err != nil {
		return 0, toFault(err)
	}
	// A separate statement: a projector that read the generations without this one
	// took its versions before (ClaimHeld).
	err = toFault(s.pool.QueryRow(ctx, `SELECT last_value FROM held_version`).Scan(&since))
	return since, err
}

// ReplaceGenerations registers a generation as the serving one and removes all
// others of its dataset, whose indices are lost. The new index is empty: until
// MarkLost has marked the rows, every workspace counts as filling.
func (s *System) ReplaceGenerations(ctx context.Context, g held.Generation) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM held_generations WHERE dataset = $1`, string(g.Dataset)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO held_generations (dataset, generation, serving, index_uuid, marked, folding, created_at) VALUES ($1, $2, true, $3, false, $4, now())`,
			string(g.Dataset), g.Generation, g.IndexUUID, max(g.Folding, catalog.CaseFolding))
		return err
	}))
}

// MarkLost makes every held record of a generation's dataset pending. It marks records that
// ever had a document as lost until the document is rewritten.
func (s *System) MarkLost(ctx context.Context, g held.Generation) error {
	if err := s.bumpDataset(ctx, g.Dataset, `digest = NULL, lost_version = CASE WHEN held_records.projected_version > 0 THEN t.version END`); err != nil {
		return err
	}
	_, err := s.pool.Exec(
		ctx,
		`UPDATE held_generations SET marked = true WHERE dataset = $1 AND generation = $2`,
		string(g.Dataset),
		g.Generation,
	)
	return toFault(err)
}

// AdoptIndex stores the id of a generation's index if it is unknown. Early releases
// registered generations without it.
func (s *System) AdoptIndex(ctx context.Context, g held.Generation) error {
	_, err := s.pool.Exec(ctx, `UPDATE held_generations SET index_uuid = $3 WHERE dataset = $1 AND generation = $2 AND index_uuid IS NULL`,
		string(g.Dataset), g.Generation, g.IndexUUID)
	return toFault(err)
}

// ServeGeneration stores that a generation serves searches and removes all others of
// its dataset.
func (s *System) ServeGeneration(ctx context.Context, g held.Generation) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM held_generations WHERE dataset = $1 AND generation <> $2`, string(g.Dataset), g.Generation); err != nil {
			return err
		}
		_, err := tx.Exec(
			ctx,
			`UPDATE held_generations SET serving = true WHERE dataset = $1 AND generation = $2`,
			string(g.Dataset),
			g.Generation,
		)
		return err
	}))
}

// DropGeneration removes a generation: projectors stop writing to it.
func (s *System) DropGeneration(ctx context.Context, g held.Generation) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM held_generations WHERE dataset = $1 AND generation = $2`, string(g.Dataset), g.Generation)
	return toFault(err)
}

// Unprojected counts the records of a dataset that have a document but were not
// projected with a version above since. Records that were never projected do not
// count: they are in no generation and pending in any case.
func (s *System) Unprojected(ctx context.Context, d catalog.Dataset, since int64) (n int64, err error) {
	err = toFault(
		s.pool.QueryRow(ctx, `SELECT count(*) FROM held_records WHERE dataset = $1 AND projected_version BETWEEN 1 AND $2`, string(d), since).
			Scan(&n),
	)
	return n, err
}

// bumpPage limits the rows that one statement bumps: writes of these rows wait until
// it ends.
const bumpPage = 1_000

// BumpDataset makes every held record of a dataset pending after a change of global
// records. With rewrite set, documents are written even if they did not change.
func (s *System) BumpDataset(ctx context.Context, d catalog.Dataset, rewrite bool) error {
	if rewrite {
		return s.bumpDataset(ctx, d, `digest = NULL`)
	}
	return s.bumpDataset(ctx, d, `digest = held_records.digest`)
}

// bumpDataset makes the rows of a dataset pending, page by page, and sets further
// columns. The version t.version is taken under the row's lock, so a version that
// a projector claimed before is lower.
func (s *System) bumpDataset(ctx context.Context, d catalog.Dataset, set string) error {
	last := struct{ workspace, record uuid.UUID }{}
	for {
		n := 0
		err := s.pool.QueryRow(ctx, `
			WITH page AS MATERIALIZED (
				SELECT workspace_id, record_id FROM held_records
				WHERE dataset = $1 AND (workspace_id, record_id) > ($2, $3) ORDER BY workspace_id, record_id LIMIT $4 FOR UPDATE
			), t AS MATERIALIZED (
				SELECT workspace_id, record_id, nextval('held_version') AS version FROM page
			), bumped AS (
				UPDATE held_records SET version = t.version, `+setPendingSince+`, `+set+` FROM t
				WHERE held_records.workspace_id = t.workspace_id AND held_records.dataset = $1 AND held_records.record_id = t.record_id
				RETURNING 1
			)
			SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM bumped),
			       (SELECT workspace_id FROM page ORDER BY workspace_id DESC, record_id DESC LIMIT 1),
			       (SELECT record_id FROM page ORDER BY workspace_id DESC, record_id DESC LIMIT 1)`,
			string(d), last.workspace, last.record, bumpPage).Scan(&n, new(int), &nullUUID{&last.workspace}, &nullUUID{&last.record})
		if err != nil {
			return toFault(err)
		}
		if n < bumpPage {
			return nil
		}
	}
}

// nullUUID scans a UUID and ignores null.
type nullUUID struct{ to *uuid.UUID }

// Scan implements sql.Scanner.
func (n *nullUUID) Scan(src any) error {
	if src == nil {
		return nil
	}
	return n.to.Scan(src)
}

// BumpOldScores makes up to limit accounts pending whose score is older than age, or as far
// in the future: a wrong clock made it. It returns their number.
func (s *System) BumpOldScores(ctx context.Context, age time.Duration, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, `
		INSERT INTO held_records (workspace_id, dataset, record_id, version)
		SELECT o.workspace_id, o.dataset, o.record_id, nextval('held_version') FROM (
			SELECT o.workspace_id, o.dataset, o.record_id FROM overlays o
			JOIN held_records h USING (workspace_id, dataset, record_id)
			WHERE (o.scored_at < clock_timestamp() - $1::interval OR o.scored_at > clock_timestamp() + $1::interval) AND h.version = h.projected_version
			ORDER BY o.workspace_id, o.dataset, o.record_id LIMIT $2
		) o
		ON CONFLICT ON CONSTRAINT held_records_pkey DO UPDATE SET `+bump, age, limit)
	return tag.RowsAffected(), toFault(err)
}

// AdvanceVersions moves the sequence of versions beyond past, after Postgres was
// restored from a state older than the documents. It takes all versions in between,
// about a million per second: setval could move the sequence back when another
// session advances it at the same time.
func (s *System) AdvanceVersions(ctx context.Context, past int64) error {
	for {
		var last int64
		err := s.pool.QueryRow(ctx, `
			SELECT coalesce(max(nextval('held_version')), 0) FROM held_version, generate_series(1, least($1 - last_value, $2))`, past, advancePage).Scan(&last)
		if err != nil || last == 0 || last >= past {
			return toFault(err)
		}
	}
}

// advancePage limits the versions that one statement takes.
const advancePage = 1_000_000

// HeldSource returns the generation of global records for which the held records of
// a dataset were last made pending, "" for none.
func (s *System) HeldSource(ctx context.Context, d catalog.Dataset) (generation string, err error) {
	err = toFault(s.pool.QueryRow(ctx, `SELECT coalesce((SELECT generation FROM held_sources WHERE dataset = $1), '')`, string(d)).Scan(&generation))
	return generation, err
}

// SetHeldSource stores the generation that HeldSource returns.
func (s *System) SetHeldSource(ctx context.Context, d catalog.Dataset, generation string) error {
	_, err := s.pool.Exec(ctx, `
		INSERT INTO held_sources (dataset, generation) VALUES ($1, $2)
		ON CONFLICT (dataset) DO UPDATE SET generation = excluded.generation`, string(d), generation)
	return toFault(err)
}
