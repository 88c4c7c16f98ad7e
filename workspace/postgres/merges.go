package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/search/catalog"
	"atlas/search/changes"
)

// Merges of global records. The feed publishes them, and its publications maintain the
// table of them.

// publication is a part of the feed that is published at once: the changes after a
// position, up to another, on a generation.
type publication struct {
	after, upto int64
	generation  string
	switched    bool // a switch of generations, not a delta
}

// applyMerges applies a publication to the tables of merges. A merge ends when its record is
// published as existing.
func applyMerges(ctx context.Context, tx pgx.Tx, t publication) error {
	const publishedOf = `EXISTS (SELECT FROM data_changes c
		WHERE c.dataset = m.dataset AND c.record_id = m.record_id AND c.seq > $1 AND c.seq <= $2 AND c.op <> 'merge')`
	if _, err := tx.Exec(ctx, `DELETE FROM data_merges m WHERE `+publishedOf, t.after, t.upto); err != nil {
		return err
	}
	if !t.switched {
		if _, err := tx.Exec(
			ctx, `DELETE FROM data_generation_merges m WHERE m.generation = $3 AND `+publishedOf, t.after, t.upto,
			t.generation,
		); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `
		WITH merged AS MATERIALIZED (
			SELECT DISTINCT ON (c.dataset, c.record_id) c.dataset, c.record_id, c.into_id FROM data_changes c
			WHERE c.dataset = ANY($5) AND c.op = 'merge' AND c.seq > $1 AND c.seq <= $2 AND NOT EXISTS (
				SELECT FROM data_changes l WHERE l.dataset = c.dataset AND l.record_id = c.record_id AND l.seq > c.seq AND l.seq <= $2 AND l.op <> 'merge')
			ORDER BY c.dataset, c.record_id, c.seq DESC
		), of_generation AS (
			INSERT INTO data_generation_merges AS m (generation, dataset, record_id, into_id)
			SELECT $3, dataset, record_id, into_id FROM merged WHERE NOT $4
			ON CONFLICT ON CONSTRAINT data_generation_merges_pkey DO UPDATE SET into_id = excluded.into_id
		), kept AS (
			INSERT INTO data_merges AS m (dataset, record_id, into_id, merged_at)
			SELECT dataset, record_id, into_id, clock_timestamp() FROM merged `+onMergeConflict+`
		)
		`+toMove+` FROM merged WHERE dataset <> 'signals' `+onMoveConflict,
		t.after, t.upto, t.generation, t.switched, datasetNames())
	return err
}

// takeMergesOf adds the merges of a generation that the feed did not publish because it was
// started over.
func takeMergesOf(ctx context.Context, tx pgx.Tx, generation string) error {
	_, err := tx.Exec(ctx, `
		WITH kept AS (
			INSERT INTO data_merges AS m (dataset, record_id, into_id, merged_at)
			SELECT dataset, record_id, into_id, clock_timestamp() FROM data_generation_merges WHERE generation = $1 `+onMergeConflict+`
			WHERE m.into_id <> excluded.into_id RETURNING m.dataset, m.record_id
		)
		`+toMove+` FROM kept WHERE dataset <> 'signals' `+onMoveConflict, generation)
	return err
}

const (
	onMergeConflict = `ON CONFLICT ON CONSTRAINT data_merges_pkey DO UPDATE SET into_id = excluded.into_id, merged_at = excluded.merged_at`
	toMove          = `INSERT INTO data_merge_moves AS m (dataset, record_id, published_at, due_at) SELECT dataset, record_id, clock_timestamp(), clock_timestamp()`
	onMoveConflict  = `ON CONFLICT ON CONSTRAINT data_merge_moves_pkey DO UPDATE SET published_at = excluded.published_at, due_at = excluded.due_at`
)

func datasetNames() []string {
	names := make([]string, len(catalog.Datasets))
	for i, d := range catalog.Datasets {
		names[i] = string(d)
	}
	return names
}

// MergedInto returns the final targets of those records that were merged. Re-added records
// may be among them. Records whose merges form a circle are not.
func (s *Store) MergedInto(ctx context.Context, d catalog.Dataset, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error) {
	rows, err := s.reader(ctx).Query(ctx, mergedInto, string(d), ids)
	if err != nil {
		return nil, toFault(err)
	}
	return collectMerges(rows)
}

// mergedInto follows merges to their ends. A circle is refused when it is written, but
// switches between generations can each publish one merge of a circle.
const mergedInto = `
	WITH RECURSIVE way AS (
		SELECT record_id, into_id, 1 AS steps FROM data_merges WHERE dataset = $1 AND record_id = ANY($2)
		UNION ALL
		SELECT w.record_id, m.into_id, w.steps + 1 FROM way w JOIN data_merges m ON m.dataset = $1 AND m.record_id = w.into_id
	) CYCLE into_id SET circle USING path
	SELECT record_id, into_id FROM (SELECT DISTINCT ON (record_id) record_id, into_id, circle FROM way ORDER BY record_id, steps DESC) ends WHERE NOT circle`

// Merges returns the direct target of each record that was merged. The target may have been
// merged since.
func (s *System) Merges(ctx context.Context, d catalog.Dataset, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error) {
	rows, err := s.pool.Query(ctx, `SELECT record_id, into_id FROM data_merges WHERE dataset = $1 AND record_id = ANY($2)`, string(d), ids)
	if err != nil {
		return nil, toFault(err)
	}
	return collectMerges(rows)
}

// GenerationMerges is Merges in a generation.
func (s *System) GenerationMerges(
	ctx context.Context,
	generation string,
	d catalog.Dataset,
	ids []uuid.UUID,
) (map[uuid.UUID]uuid.UUID, error) {
	rows, err := s.pool.Query(
		ctx,
		`SELECT record_id, into_id FROM data_generation_merges WHERE generation = $1 AND dataset = $2 AND record_id = ANY($3)`,
		generation,
		string(d),
		ids,
	)
	if err != nil {
		return nil, toFault(err)
	}
	return collectMerges(rows)
}

func collectMerges(rows pgx.Rows) (map[uuid.UUID]uuid.UUID, error) {
	merges := map[uuid.UUID]uuid.UUID{}
	var id, into uuid.UUID
	_, err := pgx.ForEachRow(rows, []any{&id, &into}, func() error {
		merges[id] = into
		return nil
	})
	return merges, toFault(err)
}

// HasGenerationMerges reports whether a generation has merges of a dataset.
func (s *System) HasGenerationMerges(ctx context.Context, generation string, d catalog.Dataset) (has bool, err error) {
	err = s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM data_generation_merges WHERE generation = $1 AND dataset = $2)`, generation, string(d)).Scan(&has)
	return has, toFault(err)
}

// UnpublishedMerges returns at most limit merges of a generation that the feed has neither
// published nor written.
func (s *System) UnpublishedMerges(
	ctx context.Context,
	generation string,
	d catalog.Dataset,
	after uuid.UUID,
	limit int,
) (list []changes.Change, err error) {
	err = s.inLong(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT g.record_id, g.into_id FROM data_generation_merges g
			WHERE g.generation = $1 AND g.dataset = $2 AND g.record_id > $3
			  AND NOT EXISTS (SELECT FROM data_merges m WHERE m.dataset = $2 AND m.record_id = g.record_id AND m.into_id = g.into_id)
			  AND NOT EXISTS (SELECT FROM data_changes c WHERE c.dataset = $2 AND c.record_id = g.record_id AND c.seq > (SELECT head FROM data_feed))
			ORDER BY g.record_id LIMIT $4`, generation, string(d), after, limit)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (changes.Change, error) {
			c := changes.Change{Dataset: d, Op: changes.Merge}
			return c, row.Scan(&c.ID, &c.Into)
		})
		return err
	})
	return list, err
}

// NoteMerges stores merges of a generation that is not served yet. With first set it
// removes those that an earlier attempt stored.
func (s *System) NoteMerges(ctx context.Context, generation string, d catalog.Dataset, merges []changes.Change, first bool) error {
	return s.inLong(ctx, func(tx pgx.Tx) error {
		if first {
			if _, err := tx.Exec(ctx, `DELETE FROM data_generation_merges WHERE generation = $1 AND dataset = $2`, generation, string(d)); err != nil {
				return err
			}
		}
		ids, intos := make([]uuid.UUID, len(merges)), make([]uuid.UUID, len(merges))
		for i, m := range merges {
			ids[i], intos[i] = m.ID, m.Into
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO data_generation_merges AS m (generation, dataset, record_id, into_id)
			SELECT $1, $2, id, into_id FROM unnest($3::uuid[], $4::uuid[]) r (id, into_id)
			ON CONFLICT ON CONSTRAINT data_generation_merges_pkey DO UPDATE SET into_id = excluded.into_id`, generation, string(d), ids, intos)
		return err
	})
}

// ForgetGenerationMerges removes the merges of all generations except some.
func (s *System) ForgetGenerationMerges(ctx context.Context, but []string) error {
	return s.inLong(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM data_generation_merges WHERE generation <> ALL($1)`, but)
		return err
	})
}
