package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
)

// What workspaces hold of a merged record moves to the target of the merge.

// MergeMove is a merge after which workspaces may still hold the merged record.
type MergeMove struct {
	Dataset   catalog.Dataset
	Record    uuid.UUID
	Published time.Time
}

// mergeGrace is how long after the publication of a merge the workspaces are checked a second
// time: a request that began before it can end after the first check.
const mergeGrace = 5 * time.Minute

// MergeMoves lists merges that are due, at most limit.
func (s *System) MergeMoves(ctx context.Context, limit int) ([]MergeMove, error) {
	return collect(ctx, s, func(row pgx.CollectableRow) (m MergeMove, err error) {
		return m, row.Scan(&m.Dataset, &m.Record, &m.Published)
	}, `SELECT dataset, record_id, published_at FROM data_merge_moves WHERE due_at <= clock_timestamp() ORDER BY due_at LIMIT $1`, limit)
}

// Holders lists the workspaces that have a record in the book or a Static View.
func (s *System) Holders(ctx context.Context, d catalog.Dataset, record uuid.UUID) ([]workspace.ID, error) {
	return collect(ctx, s, collectWorkspace, `
		SELECT workspace_id FROM held_records h WHERE dataset = $1 AND record_id = $2 AND (
			EXISTS (SELECT FROM overlays o WHERE o.workspace_id = h.workspace_id AND o.dataset = $1 AND o.record_id = $2)
			OR EXISTS (SELECT FROM view_records r WHERE r.workspace_id = h.workspace_id AND r.dataset = $1 AND r.record_id = $2))
		ORDER BY workspace_id`, string(d), record)
}

// EndMergeMove is called when no workspace holds the merged record, or the merge has ended. The
// merge stays listed for the second check.
func (s *System) EndMergeMove(ctx context.Context, m MergeMove) error {
	_, err := s.pool.Exec(ctx, `
		WITH over AS (
			DELETE FROM data_merge_moves
			WHERE dataset = $1 AND record_id = $2 AND published_at = $3 AND published_at < clock_timestamp() - $4::interval RETURNING 1
		)
		UPDATE data_merge_moves SET due_at = published_at + $4::interval
		WHERE dataset = $1 AND record_id = $2 AND published_at = $3 AND NOT EXISTS (SELECT FROM over)`,
		string(m.Dataset), m.Record, m.Published, mergeGrace)
	return toFault(err)
}

// PutMergeMoveOff makes a merge due after a pause.
func (s *System) PutMergeMoveOff(ctx context.Context, m MergeMove, pause time.Duration) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE data_merge_moves SET due_at = clock_timestamp() + $4::interval WHERE dataset = $1 AND record_id = $2 AND published_at = $3`,
		string(m.Dataset), m.Record, m.Published, pause)
	return toFault(err)
}

// errViewsChanged means that another View got the record while its Views were being locked.
var errViewsChanged = errors.New("another View has the record")

// MoveHeld moves what a workspace holds of a record to another one, in one transaction:
// memberships in Static Views, and the overlay. If both have overlays, the other one's absorbs
// the record's (book.Overlay.Absorb), which is also stored unchanged (MergedOverlays). If the
// workspace does not hold the record, nothing changes.
func (s *Store) MoveHeld(ctx context.Context, in workspace.ID, d catalog.Dataset, from, to uuid.UUID) error {
	if from == to { // moving it would delete it
		return fault.New(fault.Internal, "the record %s of %s cannot become itself", from, d)
	}
	for attempt := 1; ; attempt++ {
		err := s.inWorkspaceRetrying(ctx, in, func(tx pgx.Tx) error { return moveHeld(ctx, tx, in, d, from, to) })
		if !errors.Is(err, errViewsChanged) || attempt == 5 {
			return err
		}
	}
}

func moveHeld(ctx context.Context, tx pgx.Tx, in workspace.ID, d catalog.Dataset, from, to uuid.UUID) error {
	// The Views' rows first, then the held rows, as every write does.
	locked, err := uuids(ctx, tx, `
		SELECT id FROM views WHERE workspace_id = $1 AND id IN (SELECT view_id FROM view_records WHERE workspace_id = $1 AND dataset = $2 AND record_id = $3)
		ORDER BY id FOR NO KEY UPDATE`, arg(in), string(d), from)
	if err != nil {
		return err
	}
	both := []uuid.UUID{from, to}
	if _, err := tx.Exec(ctx, exclusiveLock, arg(in), string(d)); err != nil {
		return err
	}
	held, err := uuids(
		ctx,
		tx,
		`SELECT record_id FROM held_records WHERE workspace_id = $1 AND dataset = $2 AND record_id = ANY($3) ORDER BY record_id FOR UPDATE`,
		arg(in),
		string(d),
		both,
	)
	if err != nil || !slices.Contains(held, from) {
		return err
	}
	views, err := uuids(
		ctx,
		tx,
		`SELECT view_id FROM view_records WHERE workspace_id = $1 AND dataset = $2 AND record_id = $3`,
		arg(in),
		string(d),
		from,
	)
	if err != nil {
		return err
	}
	for _, id := range views {
		if !slices.Contains(locked, id) {
			return errViewsChanged
		}
	}
	rows, err := tx.Query(ctx, selectOverlays, arg(in), string(d), both)
	if err != nil {
		return err
	}
	overlays, err := collectOverlays(rows)
	if err != nil {
		return err
	}
	gone, inBook := overlays[from]
	if !inBook && len(views) == 0 {
		return nil
	}
	if err := hold(ctx, tx, in, string(d), []uuid.UUID{to}); err != nil {
		return err
	}
	if _, err := bumpExisting(ctx, tx, in, string(d), []uuid.UUID{from}); err != nil {
		return err
	}
	if err := moveMemberships(ctx, tx, in, d, from, to); err != nil || !inBook {
		return err
	}
	stays, exists := overlays[to]
	return moveOverlay(ctx, tx, in, d, gone, to, stays, exists)
}

// moveMemberships replaces a record by another in its Static Views.
func moveMemberships(ctx context.Context, tx pgx.Tx, in workspace.ID, d catalog.Dataset, from, to uuid.UUID) error {
	if _, err := tx.Exec(ctx, `
		UPDATE views v SET members = members - 1
		WHERE workspace_id = $1 AND EXISTS (SELECT FROM view_records r WHERE r.workspace_id = $1 AND r.view_id = v.id AND r.record_id = $3 AND r.dataset = $2)
		  AND EXISTS (SELECT FROM view_records r WHERE r.workspace_id = $1 AND r.view_id = v.id AND r.record_id = $4)`, arg(in), string(d), from, to); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `
		INSERT INTO view_records (workspace_id, view_id, dataset, record_id, added_at)
		SELECT workspace_id, view_id, dataset, $4, added_at FROM view_records WHERE workspace_id = $1 AND dataset = $2 AND record_id = $3
		ON CONFLICT ON CONSTRAINT view_records_pkey DO NOTHING`, arg(in), string(d), from, to); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM view_records WHERE workspace_id = $1 AND dataset = $2 AND record_id = $3`, arg(in), string(d), from)
	return err
}

// moveOverlay moves an overlay to another record, which may have one.
func moveOverlay(
	ctx context.Context,
	tx pgx.Tx,
	in workspace.ID,
	d catalog.Dataset,
	gone book.Overlay,
	to uuid.UUID,
	stays book.Overlay,
	exists bool,
) error {
	var now time.Time
	if err := tx.QueryRow(ctx, `SELECT date_trunc('milliseconds', clock_timestamp())`).Scan(&now); err != nil {
		return err
	}
	next := gone
	if exists {
		next = stays.Absorb(gone, now)
		if _, err := tx.Exec(ctx, `
			INSERT INTO merged_overlays (workspace_id, dataset, record_id, into_id, merged_at, overlay) VALUES ($1, $2, $3, $4, $5, $6)`,
			arg(in), string(d), gone.Record, to, now, string(appendOverlay(nil, d, &gone))); err != nil {
			return err
		}
	}
	from := gone.Record
	next.Record, next.UpdatedAt, next.UpdatedBy = to, now, workspace.UserID{}
	if err := writeOverlays(ctx, tx, in, d, []book.Overlay{next}); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM overlays WHERE workspace_id = $1 AND dataset = $2 AND record_id = $3`, arg(in), string(d), from)
	return err
}

func uuids(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]uuid.UUID, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// MergedOverlay is the last overlay of a record that was merged into one that also had an
// overlay in the workspace.
type MergedOverlay struct {
	Dataset  catalog.Dataset `json:"dataset"`
	Record   uuid.UUID       `json:"record_id"`
	Into     uuid.UUID       `json:"into_id"`
	MergedAt time.Time       `json:"merged_at"`
	Overlay  map[string]any  `json:"overlay"`
}

// MergedOverlays lists them, the latest first.
func (s *Store) MergedOverlays(ctx context.Context, in workspace.ID, limit int) ([]MergedOverlay, error) {
	return queryAll(ctx, s, in, collectMergedOverlay, mergedOverlays, arg(in), limit)
}

// MergedOverlays is that of Store, for the operator.
func (s *System) MergedOverlays(ctx context.Context, in workspace.ID, limit int) ([]MergedOverlay, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	return collect(ctx, s, collectMergedOverlay, mergedOverlays, arg(in), limit)
}

const mergedOverlays = `SELECT dataset, record_id, into_id, merged_at, overlay FROM merged_overlays
	WHERE workspace_id = $1 ORDER BY merged_at DESC, dataset, record_id LIMIT $2`

func collectMergedOverlay(row pgx.CollectableRow) (m MergedOverlay, err error) {
	return m, row.Scan(&m.Dataset, &m.Record, &m.Into, &m.MergedAt, &m.Overlay)
}
