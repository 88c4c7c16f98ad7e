package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/audit"
)

var _ audit.Store = (*Store)(nil)

// visibleChanges selects the changes of a workspace ($1) that readers see: those of
// transactions before every transaction in progress. Changes that become visible later follow
// these in the order of (xid, seq). A long transaction delays the changes after it.
const visibleChanges = `FROM workspace_changes WHERE workspace_id = $1 AND xid < pg_snapshot_xmin(pg_current_snapshot())`

const (
	changePosition = `xid, seq, at`
	changeColumns  = changePosition + `, kind, op, id, coalesce(dataset, ''), view_id, by_user, by_key, changed`
	newestFirst    = ` ORDER BY xid DESC, seq DESC`
	oldestFirst    = ` ORDER BY xid, seq`
)

// changeRow is a change and its position.
type changeRow struct {
	audit.Change
	place audit.Position
}

func collectChange(row pgx.CollectableRow) (c changeRow, err error) {
	var dataset string
	var view, user, key *uuid.UUID
	err = row.Scan(&c.place.Transaction, &c.place.Seq, &c.place.At, &c.Kind, &c.Op, &c.ID, &dataset, &view, &user, &key, &c.Fields)
	c.place.At = c.place.At.UTC()
	c.At, c.Dataset = c.place.At, catalog.Dataset(dataset)
	for to, id := range map[*uuid.UUID]*uuid.UUID{&c.View: view, (*uuid.UUID)(&c.By.User): user, (*uuid.UUID)(&c.By.Key): key} {
		if id != nil {
			*to = *id
		}
	}
	return c, err
}

func collectPosition(row pgx.CollectableRow) (p audit.Position, err error) {
	err = row.Scan(&p.Transaction, &p.Seq, &p.At)
	p.At = p.At.UTC()
	return p, err
}

// LastChange implements audit.Store.
func (s *Store) LastChange(ctx context.Context, in workspace.ID) (audit.Position, error) {
	p, err := queryOne(ctx, s, in, collectPosition, `SELECT `+changePosition+` `+visibleChanges+newestFirst+` LIMIT 1`, arg(in))
	if noRows(err) {
		return audit.Position{}, nil
	}
	return p, err
}

// ChangesSince implements audit.Store. Times and positions have different orders, so it returns
// the position before the first change with a later time.
func (s *Store) ChangesSince(ctx context.Context, in workspace.ID, at time.Time) (p audit.Position, known bool, err error) {
	var before *time.Time
	var transaction, first *uint64
	var seq *int64
	err = s.queryRow(ctx, in, `
		SELECT f.xid, p.* FROM (VALUES (1)) one
		LEFT JOIN LATERAL (SELECT xid, seq `+visibleChanges+` AND at > $2 `+oldestFirst+` LIMIT 1) f ON true
		LEFT JOIN LATERAL (SELECT `+changePosition+` `+visibleChanges+`
			AND (xid, seq) < (coalesce(f.xid, '18446744073709551615'), coalesce(f.seq, 9223372036854775807)) `+newestFirst+` LIMIT 1) p ON true`,
		[]any{arg(in), at}, &first, &transaction, &seq, &before)
	switch {
	case err != nil:
		return p, false, err
	case before != nil:
		return audit.Position{Transaction: *transaction, Seq: *seq, At: before.UTC()}, true, nil
	}
	// A workspace begins with transaction 0.
	return p, first == nil || *first == 0, nil
}

// WorkspaceChanges implements audit.Store.
func (s *Store) WorkspaceChanges(
	ctx context.Context,
	in workspace.ID,
	after audit.Position,
	limit int,
) (page audit.Page, known bool, err error) {
	if err := in.Check(); err != nil {
		return page, false, err
	}
	var rows []changeRow
	var batch pgx.Batch
	batch.Queue(setWorkspace, in.String(), "", "")
	batch.Queue(
		`SELECT `+changeColumns+` `+visibleChanges+` AND (xid, seq) > ($2, $3) `+oldestFirst+` LIMIT $4`, arg(in),
		after.Transaction, after.Seq, limit+1,
	).
		Query(func(found pgx.Rows) (err error) {
			rows, err = pgx.CollectRows(found, collectChange)
			return err
		})
	// This reads after the rows, so that none of these was deleted in between. A change of a
	// transaction that has not begun yet is of another Postgres, from whose dump this one was
	// restored: its order means nothing.
	batch.Queue(`
		SELECT CASE WHEN $2::xid8 = '0' AND $3 = 0 THEN EXISTS (SELECT FROM workspace_changes WHERE workspace_id = $1 AND xid = '0')
		            ELSE EXISTS (SELECT FROM workspace_changes WHERE workspace_id = $1 AND xid = $2 AND seq = $3 AND at = $4) END
		   AND NOT EXISTS (SELECT FROM workspace_changes WHERE workspace_id = $1 AND xid >= pg_snapshot_xmax(pg_current_snapshot()))`,
		arg(in), after.Transaction, after.Seq, after.At).
		QueryRow(func(row pgx.Row) error { return row.Scan(&known) })
	if err := s.pool.SendBatch(ctx, &batch).Close(); err != nil || !known {
		return page, false, toFault(err)
	}
	page.Next, page.CaughtUp = after, len(rows) <= limit
	if rows = rows[:min(limit, len(rows))]; len(rows) > 0 {
		page.Next = rows[len(rows)-1].place
	}
	page.Changes = latest(rows)
	if !page.CaughtUp {
		err = s.setLatest(ctx, in, page)
	}
	return page, true, err
}

// latest has each subject of the rows once, with its latest change and the fields of all of
// them.
func latest(rows []changeRow) []audit.Change {
	list := make([]audit.Change, 0, len(rows))
	seen := make(map[audit.Subject]int, len(rows))
	for _, row := range slices.Backward(rows) {
		i, repeated := seen[row.Subject]
		switch {
		case !repeated:
			seen[row.Subject] = len(list)
			list = append(list, row.Change)
		case list[i].Op == audit.Upsert && row.Op == audit.Upsert:
			list[i].Fields = slices.Compact(slices.Sorted(slices.Values(slices.Concat(list[i].Fields, row.Fields))))
		}
	}
	slices.Reverse(list)
	return list
}

// setLatest replaces the changes of a page whose subjects were deleted or re-added since.
func (s *Store) setLatest(ctx context.Context, in workspace.ID, page audit.Page) error {
	ids := make([]uuid.UUID, len(page.Changes))
	places := make(map[audit.Subject]int, len(page.Changes))
	for i, c := range page.Changes {
		ids[i], places[c.Subject] = c.ID, i
	}
	later, err := queryAll(ctx, s, in, collectChange, `
		SELECT DISTINCT ON (kind, id, dataset, view_id) `+changeColumns+` `+visibleChanges+` AND id = ANY($2) AND (xid, seq) > ($3, $4)
		ORDER BY kind, id, dataset, view_id, xid DESC, seq DESC`, arg(in), ids, page.Next.Transaction, page.Next.Seq)
	for _, c := range later {
		if i, ok := places[c.Subject]; ok && page.Changes[i].Op != c.Op {
			page.Changes[i] = c.Change
		}
	}
	return err
}

// WorkspaceHistory implements audit.Store.
func (s *Store) WorkspaceHistory(ctx context.Context, in workspace.ID, id uuid.UUID, limit int) ([]audit.Change, error) {
	rows, err := queryAll(
		ctx,
		s,
		in,
		collectChange,
		`SELECT `+changeColumns+` `+visibleChanges+` AND id = $2 `+newestFirst+` LIMIT $3`,
		arg(in),
		id,
		limit,
	)
	return changesOf(rows), err
}

// RecordHistory implements audit.Store.
func (s *Store) RecordHistory(
	ctx context.Context, in workspace.ID, d catalog.Dataset, id uuid.UUID, limit, offset int,
) ([]audit.Change, error) {
	rows, err := queryAll(
		ctx, s, in, collectChange,
		`SELECT `+changeColumns+` `+visibleChanges+` AND id = $2 AND dataset = $3 AND kind IN ('overlay', 'membership') `+
			newestFirst+` LIMIT $4 OFFSET $5`,
		arg(in), id, string(d), limit, offset,
	)
	return changesOf(rows), err
}

func changesOf(rows []changeRow) []audit.Change {
	list := make([]audit.Change, len(rows))
	for i, row := range rows {
		list[i] = row.Change
	}
	return list
}

// StoredChanges returns at most limit changes of a workspace after a position that are later
// than since, in order.
func (s *System) StoredChanges(
	ctx context.Context,
	in workspace.ID,
	since time.Time,
	after audit.Position,
	limit int,
) ([]audit.Change, audit.Position, error) {
	if err := in.Check(); err != nil {
		return nil, after, err
	}
	rows, err := collect(
		ctx,
		s,
		collectChange,
		`SELECT `+changeColumns+` `+visibleChanges+` AND at > $2 AND (xid, seq) > ($3, $4) `+oldestFirst+` LIMIT $5`,
		arg(in),
		since,
		after.Transaction,
		after.Seq,
		limit,
	)
	if len(rows) > 0 {
		after = rows[len(rows)-1].place
	}
	return changesOf(rows), after, err
}

// ChangesStoredSince returns the time since which all changes of a workspace are stored, zero
// if all are.
func (s *System) ChangesStoredSince(ctx context.Context, in workspace.ID) (at time.Time, err error) {
	if err := in.Check(); err != nil {
		return at, err
	}
	var first uint64
	err = s.pool.QueryRow(ctx, `SELECT xid, at FROM workspace_changes WHERE workspace_id = $1`+oldestFirst+` LIMIT 1`, arg(in)).
		Scan(&first, &at)
	if noRows(err) || err == nil && first == 0 {
		return time.Time{}, nil
	}
	return at, toFault(err)
}

// changesAtOnce is how many changes of workspaces a statement deletes or moves.
const changesAtOnce = 10_000

// ForgetWorkspaceChanges deletes the changes that are older than age. Of each workspace it
// leaves the latest of these: its position is valid as long as all later changes are stored.
func (s *System) ForgetWorkspaceChanges(ctx context.Context, age time.Duration) error {
	return s.inEach(
		ctx,
		`(SELECT at FROM workspace_changes WHERE workspace_id = w.id ORDER BY xid, seq OFFSET 1 LIMIT 1) < clock_timestamp() - $1::interval`,
		[]any{age},
		`
		WITH kept AS (
			SELECT xid, seq FROM workspace_changes WHERE workspace_id = $2 AND at >= clock_timestamp() - $1::interval`+oldestFirst+` LIMIT 1
		), base AS (
			SELECT xid, seq FROM workspace_changes
			WHERE workspace_id = $2 AND (xid, seq) < (coalesce((SELECT xid FROM kept), '18446744073709551615'), coalesce((SELECT seq FROM kept), 9223372036854775807))`+newestFirst+` LIMIT 1
		)
		DELETE FROM workspace_changes WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM workspace_changes
			WHERE workspace_id = $2 AND (xid, seq) < ((SELECT xid FROM base), (SELECT seq FROM base))`+oldestFirst+` LIMIT $3))`,
		age,
	)
}

// SettleWorkspaceChanges puts the changes of another Postgres, from whose dump this one was
// restored, before all others, which invalidates earlier positions. It moves the ones of
// transactions that have not begun yet last: as long as there are any, it is not done.
func (s *System) SettleWorkspaceChanges(ctx context.Context) error {
	var last int64
	if err := s.pool.QueryRow(ctx, `SELECT last_value FROM workspace_changes_seq`).Scan(&last); err != nil {
		return toFault(err)
	}
	return s.inEach(
		ctx,
		`EXISTS (SELECT FROM workspace_changes WHERE workspace_id = w.id AND xid >= pg_snapshot_xmax(pg_current_snapshot()))`,
		nil,
		`
		UPDATE workspace_changes SET xid = '1' WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM workspace_changes WHERE workspace_id = $2 AND xid > '1' AND seq <= $1`+oldestFirst+` LIMIT $3))`,
		last,
	)
}

// inEach runs a statement in each workspace w that meets a condition, until it changes fewer
// than changesAtOnce rows. The arguments of the statement are value, the workspace and
// changesAtOnce.
func (s *System) inEach(ctx context.Context, condition string, args []any, statement string, value any) error {
	in, err := collect(ctx, s, pgx.RowTo[uuid.UUID], `SELECT w.id FROM workspaces w WHERE `+condition, args...)
	if err != nil {
		return err
	}
	for _, id := range in {
		for changed := int64(changesAtOnce); changed == changesAtOnce; {
			tag, err := s.pool.Exec(ctx, statement, value, id, changesAtOnce)
			if err != nil {
				return toFault(err)
			}
			changed = tag.RowsAffected()
		}
	}
	return nil
}
