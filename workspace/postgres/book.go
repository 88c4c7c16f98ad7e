package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/search/query"
	"atlas/workspace"
)

var _ workspace.BookStore = (*Store)(nil)

// overlayColumns, of a table named o. Score, trend and their time are there for
// accounts only.
const overlayColumns = `o.record_id, o.icp_tier, o.workspace_status, o.notes, o.tags,
	coalesce(o.atlas_score, 0), coalesce(o.atlas_trend, ''), coalesce(o.scored_at, 'epoch'), o.created_at, o.updated_at`

func overlayTargets(o *workspace.Overlay) []any {
	return []any{&o.Record, &o.ICPTier, &o.Status, &o.Notes, &o.Tags, &o.Score, &o.Trend, &o.ScoredAt, &o.CreatedAt, &o.UpdatedAt}
}

func collectOverlays(rows pgx.Rows) (map[uuid.UUID]workspace.Overlay, error) {
	overlays := map[uuid.UUID]workspace.Overlay{}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o workspace.Overlay, err error) {
		return o, row.Scan(overlayTargets(&o)...)
	})
	for _, o := range list {
		// Those of before may be told apart by case or Unicode's form alone.
		o.Tags = workspace.DistinctTags(o.Tags)
		overlays[o.Record] = o
	}
	return overlays, err
}

const selectOverlays = `SELECT ` + overlayColumns + ` FROM overlays o
	WHERE o.workspace_id = $1 AND o.dataset = $2 AND o.record_id = ANY($3)`

// Overlays implements workspace.BookStore.
func (s *Store) Overlays(ctx context.Context, in workspace.ID, d query.Dataset, records []uuid.UUID) (overlays map[uuid.UUID]workspace.Overlay, err error) {
	err = s.query(ctx, in, selectOverlays, []any{arg(in), string(d), records}, func(rows pgx.Rows) error {
		overlays, err = collectOverlays(rows)
		return err
	})
	return overlays, err
}

// UpsertOverlays implements workspace.BookStore.
func (s *Store) UpsertOverlays(ctx context.Context, in workspace.ID, d query.Dataset, changes []workspace.OverlayUpsert, a workspace.Additions) ([]workspace.OverlayOutcome, error) {
	outcomes := make([]workspace.OverlayOutcome, len(changes))
	refused := map[uuid.UUID]bool{}
	for {
		var made []workspace.OverlayUpsert
		var positions []int
		for i, c := range changes {
			if outcomes[i].Refused = refused[c.Fresh.Record]; !outcomes[i].Refused {
				made, positions = append(made, c), append(positions, i)
			}
		}
		if len(made) == 0 {
			return outcomes, nil
		}
		var results []workspace.Overlay
		err := s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) (err error) {
			results, err = upsertOverlays(ctx, tx, in, d, made, a)
			return err
		})
		// What is refused must not be held either: the transaction has to go.
		if full, ok := errors.AsType[bookFull](err); ok {
			for _, id := range full {
				refused[id] = true
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		for j, i := range positions {
			outcomes[i].Overlay = results[j]
		}
		return outcomes, nil
	}
}

// bookFull are the records that are too many in a transaction.
type bookFull []uuid.UUID

func (f bookFull) Error() string {
	return "no room for " + strconv.Itoa(len(f)) + " records in the book"
}

func upsertOverlays(ctx context.Context, tx pgx.Tx, in workspace.ID, d query.Dataset, changes []workspace.OverlayUpsert, a workspace.Additions) ([]workspace.Overlay, error) {
	ids := make([]uuid.UUID, len(changes))
	for i, c := range changes {
		ids[i] = c.Fresh.Record
	}
	if err := hold(ctx, tx, in, string(d), ids); err != nil {
		return nil, err
	}
	// The rows are locked: what is read now is what the changes are made to.
	rows, err := tx.Query(ctx, selectOverlays, arg(in), string(d), ids)
	if err != nil {
		return nil, err
	}
	overlays, err := collectOverlays(rows)
	if err != nil {
		return nil, err
	}
	fresh := missing(ids, overlays)
	results := make([]workspace.Overlay, len(changes))
	changed := map[uuid.UUID]bool{}
	for i, c := range changes {
		next, different := c.Fresh, true
		if current, kept := overlays[c.Fresh.Record]; kept {
			if next, different = c.Change.Apply(current); different && c.Fresh.UpdatedAt.After(next.UpdatedAt) {
				next.UpdatedAt = c.Fresh.UpdatedAt
			}
		}
		overlays[next.Record], results[i] = next, next
		changed[next.Record] = changed[next.Record] || different
	}
	var writes []overlayRow
	for id, different := range changed {
		if different {
			writes = append(writes, rowOf(d, overlays[id]))
		}
	}
	if err := writeOverlays(ctx, tx, in, d, writes); err != nil || len(fresh) == 0 {
		return results, err
	}
	room, err := addToBook(ctx, tx, in, a, len(fresh))
	if err == nil && room < int64(len(fresh)) {
		err = bookFull(fresh[room:])
	}
	return results, err
}

// missing are the ids without an overlay, each once.
func missing(ids []uuid.UUID, overlays map[uuid.UUID]workspace.Overlay) (fresh []uuid.UUID) {
	seen := map[uuid.UUID]bool{}
	for _, id := range ids {
		if _, kept := overlays[id]; !kept && !seen[id] {
			seen[id] = true
			fresh = append(fresh, id)
		}
	}
	return fresh
}

// overlayRow is an overlay as it is handed to the database, many at once.
type overlayRow struct {
	Record    uuid.UUID  `json:"record_id"`
	ICPTier   *string    `json:"icp_tier"`
	Status    *string    `json:"workspace_status"`
	Notes     *string    `json:"notes"`
	Tags      []string   `json:"tags"`
	Score     *int       `json:"atlas_score"`
	Trend     *string    `json:"atlas_trend"`
	ScoredAt  *time.Time `json:"scored_at"`
	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt time.Time  `json:"updated_at"`
}

func rowOf(d query.Dataset, o workspace.Overlay) overlayRow {
	row := overlayRow{Record: o.Record, ICPTier: o.ICPTier, Status: o.Status, Notes: o.Notes, Tags: o.Tags, CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt}
	if d == query.Accounts {
		row.Score, row.Trend, row.ScoredAt = &o.Score, &o.Trend, &o.ScoredAt
	}
	return row
}

func writeOverlays(ctx context.Context, tx pgx.Tx, in workspace.ID, d query.Dataset, overlays []overlayRow) error {
	if len(overlays) == 0 {
		return nil
	}
	rows, err := json.Marshal(overlays)
	if err != nil {
		return fault.Wrap(err, fault.Internal, "an overlay cannot be written")
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO overlays AS o (workspace_id, dataset, record_id, icp_tier, workspace_status, notes, tags,
		                           atlas_score, atlas_trend, scored_at, created_at, updated_at)
		SELECT $1, $2, record_id, icp_tier, workspace_status, notes, tags, atlas_score, atlas_trend, scored_at, created_at, updated_at
		FROM jsonb_to_recordset($3) AS r(record_id uuid, icp_tier text, workspace_status text, notes text, tags text[],
		     atlas_score integer, atlas_trend text, scored_at timestamptz, created_at timestamptz, updated_at timestamptz)
		ON CONFLICT ON CONSTRAINT overlays_pkey DO UPDATE SET
			icp_tier = excluded.icp_tier, workspace_status = excluded.workspace_status, notes = excluded.notes,
			tags = excluded.tags, updated_at = excluded.updated_at`, arg(in), string(d), string(rows))
	return err
}

// DeleteOverlays implements workspace.BookStore.
func (s *Store) DeleteOverlays(ctx context.Context, in workspace.ID, d query.Dataset, records []uuid.UUID) error {
	return s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		held, err := bumpExisting(ctx, tx, in, string(d), records)
		if err != nil || len(held) == 0 {
			return err // what has an overlay is held
		}
		_, err = tx.Exec(ctx, `DELETE FROM overlays WHERE workspace_id = $1 AND dataset = $2 AND record_id = ANY($3)`, arg(in), string(d), held)
		return err
	})
}
