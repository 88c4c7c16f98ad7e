package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/search/changes"
	"atlas/search/query"
)

// FeedHead returns the end of the feed, and when it was told: zero if nothing was.
func (s *Store) FeedHead(ctx context.Context) (changes.Position, time.Time, error) {
	return s.position(ctx, `SELECT f.latest, f.head, p.published_at FROM data_feed f LEFT JOIN data_publications p ON p.id = f.latest`)
}

// FeedAt returns the place in the feed of a time, and whether it is known: what was told
// before is behind it, what was told later after it.
func (s *Store) FeedAt(ctx context.Context, at time.Time) (p changes.Position, known bool, err error) {
	// Of several publications at one time the last one counts.
	p, _, err = s.position(ctx, `SELECT id, head, published_at FROM data_publications WHERE published_at <= $1 ORDER BY head DESC LIMIT 1`, at)
	if noRows(err) {
		err = s.pool.QueryRow(ctx, `SELECT forgotten = 0 FROM data_feed`).Scan(&known)
		return changes.Position{}, known, toFault(err)
	}
	return p, err == nil, err
}

func (s *Store) position(ctx context.Context, sql string, args ...any) (p changes.Position, told time.Time, err error) {
	var id uuid.NullUUID
	var at *time.Time
	err = s.pool.QueryRow(ctx, sql, args...).Scan(&id, &p.Seq, &at)
	p.Publication = id.UUID
	if at != nil {
		told = *at
	}
	if noRows(err) {
		return p, told, err
	}
	return p, told, toFault(err)
}

// ChangesAfter returns the part of a dataset's feed after a position, of at most limit
// changes. known is false if the feed does not have all that followed the position.
func (s *Store) ChangesAfter(ctx context.Context, d query.Dataset, after changes.Position, limit int) (page changes.Page, known bool, err error) {
	head, told, err := s.FeedHead(ctx)
	if err != nil {
		return page, false, err
	}
	page.Next, page.CaughtUp, page.Told = head, true, told
	if after.Seq < head.Seq {
		if err := s.readChanges(ctx, d, after, head, limit, &page); err != nil {
			return page, false, err
		}
	}
	// After the rows were read, so that none of them was forgotten in between.
	err = s.pool.QueryRow(ctx, `
		SELECT $2 >= forgotten AND $2 <= $3 AND ($1::uuid = '00000000-0000-0000-0000-000000000000' OR EXISTS (SELECT FROM data_publications WHERE id = $1))
		FROM data_feed`, after.Publication, after.Seq, head.Seq).Scan(&known)
	return page, known, toFault(err)
}

func (s *Store) readChanges(ctx context.Context, d query.Dataset, after, head changes.Position, limit int, page *changes.Page) error {
	rows, err := s.pool.Query(ctx, `
		WITH page AS MATERIALIZED (
			SELECT seq, record_id FROM data_changes WHERE dataset = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4
		)
		SELECT r.first, r.record_id, c.op, CASE WHEN NOT c.every_field THEN c.changed END, t.last, t.changes,
		       (SELECT p.published_at FROM data_publications p WHERE p.head >= r.first ORDER BY p.head LIMIT 1)
		FROM (SELECT record_id, min(seq) AS first FROM page GROUP BY record_id) r
		CROSS JOIN (SELECT max(seq) AS last, count(*) AS changes FROM page) t
		CROSS JOIN LATERAL (
			SELECT (array_agg(op ORDER BY seq DESC))[1] AS op, bool_or(op = 'upsert' AND changed IS NULL) AS every_field,
			       coalesce(array_agg(DISTINCT field ORDER BY field) FILTER (WHERE field IS NOT NULL), '{}') AS changed
			FROM data_changes LEFT JOIN LATERAL unnest(changed) field ON true
			WHERE dataset = $1 AND record_id = r.record_id AND seq > $2 AND seq <= $3
		) c
		ORDER BY r.first`, string(d), after.Seq, head.Seq, limit)
	if err != nil {
		return toFault(err)
	}
	var last, count int64
	page.Entries, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e changes.Entry, err error) {
		e.Dataset = d
		err = row.Scan(&e.Seq, &e.ID, &e.Op, &e.Fields, &last, &count, &e.At)
		return e, err
	})
	if err != nil {
		return toFault(err)
	}
	if count == int64(limit) && last < head.Seq {
		page.Next.Seq, page.CaughtUp, page.Told = last, false, page.Entries[len(page.Entries)-1].At
	}
	return nil
}
