package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
)

var _ book.Store = (*Store)(nil)

// Overlays implements book.Store.
func (s *Store) Overlays(
	ctx context.Context,
	in workspace.ID,
	d catalog.Dataset,
	records []uuid.UUID,
) (overlays map[uuid.UUID]book.Overlay, err error) {
	err = s.query(ctx, in, selectOverlays, []any{arg(in), string(d), records}, func(rows pgx.Rows) error {
		overlays, err = collectOverlays(rows)
		return err
	})
	return overlays, err
}

// UpsertOverlays implements book.Store.
func (s *Store) UpsertOverlays(
	ctx context.Context,
	in workspace.ID,
	d catalog.Dataset,
	changes []book.OverlayUpsert,
	a book.Additions,
) ([]book.OverlayOutcome, error) {
	outcomes := make([]book.OverlayOutcome, len(changes))
	refused := map[uuid.UUID]bool{}
	for {
		var made []book.OverlayUpsert
		var positions []int
		for i, c := range changes {
			if outcomes[i].Refused = refused[c.Fresh.Record]; !outcomes[i].Refused {
				made, positions = append(made, c), append(positions, i)
			}
		}
		if len(made) == 0 {
			return outcomes, nil
		}
		var results []book.OverlayOutcome
		err := s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) (err error) {
			results, err = upsertOverlays(ctx, tx, in, d, made, a)
			return err
		})
		// Refused records must not be held either: retry without them in a new
		// transaction.
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
			outcomes[i] = results[j]
		}
		return outcomes, nil
	}
}

// bookFull is the error of a transaction that exceeds the limit of the book: the
// records without room.
type bookFull []uuid.UUID

func (f bookFull) Error() string {
	return "no room for " + strconv.Itoa(len(f)) + " records in the book"
}

func upsertOverlays(
	ctx context.Context,
	tx pgx.Tx,
	in workspace.ID,
	d catalog.Dataset,
	changes []book.OverlayUpsert,
	a book.Additions,
) ([]book.OverlayOutcome, error) {
	ids := make([]uuid.UUID, len(changes))
	for i, c := range changes {
		ids[i] = c.Fresh.Record
	}
	if err := hold(ctx, tx, in, string(d), ids); err != nil {
		return nil, err
	}
	// The rows are locked, so the values read here do not change before the update.
	rows, err := tx.Query(ctx, selectOverlays, arg(in), string(d), ids)
	if err != nil {
		return nil, err
	}
	overlays, err := collectOverlays(rows)
	if err != nil {
		return nil, err
	}
	before := maps.Clone(overlays)
	results := make([]book.OverlayOutcome, len(changes))
	changed := map[uuid.UUID]bool{}
	for i, c := range changes {
		next, different := c.Fresh, true
		current, exists := overlays[c.Fresh.Record]
		if results[i] = unexpected(c.Expected, current, exists); results[i].Unexpected {
			continue
		}
		if exists {
			if next, different = c.Change.Apply(current); different {
				next.UpdatedBy = c.Fresh.UpdatedBy
				if c.Fresh.UpdatedAt.After(next.UpdatedAt) {
					next.UpdatedAt = c.Fresh.UpdatedAt
				}
			}
		}
		overlays[next.Record], results[i].Overlay = next, next
		changed[next.Record] = changed[next.Record] || different
	}
	fresh := added(ids, before, overlays)
	var writes []book.Overlay
	for id, different := range changed {
		if different {
			writes = append(writes, overlays[id])
		}
	}
	if err := writeOverlays(ctx, tx, in, d, writes); err != nil || len(fresh) == 0 {
		return results, err
	}
	if err := noteShown(ctx, tx, in, string(d), fresh); err != nil {
		return results, err
	}
	room, err := recordAdditions(ctx, tx, in, a, len(fresh))
	if err == nil && room < int64(len(fresh)) {
		err = bookFull(fresh[room:])
	}
	return results, err
}

// orNone is nil for a record without an overlay.
func orNone(o book.Overlay, exists bool) *book.Overlay {
	if !exists {
		return nil
	}
	return &o
}

// unexpected is the outcome of a change whose record is not as expected.
func unexpected(expected *book.Expectation, current book.Overlay, exists bool) book.OverlayOutcome {
	if expected.Met(orNone(current, exists)) {
		return book.OverlayOutcome{}
	}
	return book.OverlayOutcome{Overlay: current, Unexpected: true, Absent: !exists}
}

// added returns the ids that have an overlay only after the changes, each once.
func added(ids []uuid.UUID, before, after map[uuid.UUID]book.Overlay) (fresh []uuid.UUID) {
	seen := map[uuid.UUID]bool{}
	for _, id := range ids {
		_, was := before[id]
		_, is := after[id]
		if is && !was && !seen[id] {
			seen[id] = true
			fresh = append(fresh, id)
		}
	}
	return fresh
}

// DeleteOverlays implements book.Store.
func (s *Store) DeleteOverlays(
	ctx context.Context, in workspace.ID, d catalog.Dataset, deletions []book.OverlayDeletion,
) (others map[uuid.UUID]*book.Overlay, err error) {
	records := make([]uuid.UUID, len(deletions))
	for i, deletion := range deletions {
		records[i] = deletion.Record
	}
	err = s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error {
		held, err := bumpExisting(ctx, tx, in, string(d), records)
		if err != nil {
			return err
		}
		if others, err = otherThanExpected(ctx, tx, in, d, deletions); err != nil {
			return err
		}
		// Every record with an overlay is held.
		held = slices.DeleteFunc(held, func(id uuid.UUID) bool { _, other := others[id]; return other })
		if len(held) == 0 {
			return nil
		}
		_, err = tx.Exec(
			ctx,
			`DELETE FROM overlays WHERE workspace_id = $1 AND dataset = $2 AND record_id = ANY($3)`,
			arg(in),
			string(d),
			held,
		)
		return err
	})
	return others, err
}

// otherThanExpected returns the overlays of records that are not as expected. The held rows
// are locked.
func otherThanExpected(
	ctx context.Context, tx pgx.Tx, in workspace.ID, d catalog.Dataset, deletions []book.OverlayDeletion,
) (map[uuid.UUID]*book.Overlay, error) {
	expected := map[uuid.UUID]*book.Expectation{}
	for _, deletion := range deletions {
		if deletion.Expected != nil {
			expected[deletion.Record] = deletion.Expected
		}
	}
	if len(expected) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, selectOverlays, arg(in), string(d), slices.Collect(maps.Keys(expected)))
	if err != nil {
		return nil, err
	}
	overlays, err := collectOverlays(rows)
	others := map[uuid.UUID]*book.Overlay{}
	for id, expectation := range expected {
		overlay, exists := overlays[id]
		if now := orNone(overlay, exists); !expectation.Met(now) {
			others[id] = now
		}
	}
	return others, err
}
