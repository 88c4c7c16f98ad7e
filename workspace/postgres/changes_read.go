package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/search/catalog"
	"atlas/search/changes"
)

// FeedHead returns the end of the feed, and when it was published: zero if nothing was.
func (s *Store) FeedHead(ctx context.Context) (changes.Position, time.Time, error) {
	return s.position(ctx, `SELECT f.latest, f.head, p.published_at FROM data_feed f LEFT JOIN data_publications p ON p.id = f.latest`)
}

// FeedAt returns the position in the feed at a time, and whether it is known: earlier
// publications are before it, later ones after it.
func (s *Store) FeedAt(ctx context.Context, at time.Time) (p changes.Position, known bool, err error) {
	// The publication before the first later one, because a clock may have been set back.
	p, _, err = s.position(ctx, `
		SELECT id, head, published_at FROM data_publications
		WHERE head < coalesce((SELECT min(head) FROM data_publications WHERE published_at > $1), 9223372036854775807) ORDER BY head DESC LIMIT 1`, at)
	if noRows(err) {
		err = s.pool.QueryRow(ctx, `SELECT forgotten = 0 FROM data_feed`).Scan(&known)
		return changes.Position{}, known, toFault(err)
	}
	return p, err == nil, err
}

func (s *Store) position(ctx context.Context, sql string, args ...any) (p changes.Position, published time.Time, err error) {
	var id uuid.NullUUID
	var at *time.Time
	err = s.pool.QueryRow(ctx, sql, args...).Scan(&id, &p.Seq, &at)
	p.Publication = id.UUID
	if at != nil {
		published = *at
	}
	if noRows(err) {
		return p, published, err
	}
	return p, published, toFault(err)
}

// ChangesAfter returns at most limit changes of a dataset after a position in the feed. known
// is false if the feed no longer has all changes after it.
func (s *Store) ChangesAfter(
	ctx context.Context,
	d catalog.Dataset,
	after changes.Position,
	limit int,
) (page changes.Page, known bool, err error) {
	head, published, err := s.FeedHead(ctx)
	if err != nil {
		return page, false, err
	}
	page.Next, page.CaughtUp, page.PublishedAt = head, true, published
	if after.Seq < head.Seq {
		if err := s.readChanges(ctx, d, after, head, limit, &page); err != nil {
			return page, false, err
		}
	}
	// This reads after the rows, so that none of them was deleted in between.
	err = s.pool.QueryRow(ctx, `
		SELECT $2 >= forgotten AND $2 <= $3 AND ($1::uuid = '00000000-0000-0000-0000-000000000000' OR EXISTS (SELECT FROM data_publications WHERE id = $1))
		FROM data_feed`, after.Publication, after.Seq, head.Seq).Scan(&known)
	return page, known, toFault(err)
}

// readChanges reads the rows of the page. A record that was deleted or re-added after the page
// is shown as such; its other later changes come on later pages.
func (s *Store) readChanges(ctx context.Context, d catalog.Dataset, after, head changes.Position, limit int, page *changes.Page) error {
	rows, err := s.pool.Query(ctx, `
		SELECT seq, record_id, op, into_id, changed FROM data_changes WHERE dataset = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4`,
		string(d), after.Seq, head.Seq, limit)
	if err != nil {
		return toFault(err)
	}
	places := make(map[uuid.UUID]int, limit)
	e, into, count := changes.Entry{}, uuid.NullUUID{}, 0
	_, err = pgx.ForEachRow(rows, []any{&e.Seq, &e.ID, &e.Op, &into, &e.Fields}, func() error {
		e.Dataset, e.Into = d, into.UUID
		count++
		if i, repeated := places[e.ID]; repeated {
			page.Entries[i].Change = page.Entries[i].Then(e.Change)
		} else {
			places[e.ID] = len(page.Entries)
			page.Entries = append(page.Entries, e)
		}
		e.Fields = nil
		return nil
	})
	if err != nil || count == 0 {
		return toFault(err)
	}
	if err := s.setPublished(ctx, page); err != nil {
		return err
	}
	if count < limit || e.Seq == head.Seq {
		return nil
	}
	page.Next.Seq, page.CaughtUp, page.PublishedAt = e.Seq, false, page.Entries[len(page.Entries)-1].At
	var gone, there []uuid.UUID // as in the page
	for _, e := range page.Entries {
		if e.Op == changes.Upsert {
			there = append(there, e.ID)
		} else {
			gone = append(gone, e.ID)
		}
	}
	// Of the existing records only those matter that are deleted later. They are few, and have
	// an index of their own.
	rows, err = s.pool.Query(ctx, `
		WITH again AS (
			SELECT DISTINCT record_id AS id FROM data_changes
			WHERE dataset = $1 AND op <> 'upsert' AND record_id = ANY ($4::uuid[]) AND seq > $2 AND seq <= $3
			UNION ALL SELECT unnest($5::uuid[]))
		SELECT again.id, later.op, later.into_id FROM again
		CROSS JOIN LATERAL (SELECT op, into_id FROM data_changes WHERE dataset = $1 AND record_id = again.id AND seq > $2 AND seq <= $3 ORDER BY seq DESC LIMIT 1) later`,
		string(d), e.Seq, head.Seq, there, gone)
	if err != nil {
		return toFault(err)
	}
	var later changes.Change
	_, err = pgx.ForEachRow(rows, []any{&later.ID, &later.Op, &into}, func() error {
		e := &page.Entries[places[later.ID]]
		e.Op, e.Into = later.Op, into.UUID
		return nil
	})
	return toFault(err)
}

// ChangesOf returns the stored changes of a record, the latest first.
func (s *Store) ChangesOf(ctx context.Context, d catalog.Dataset, id uuid.UUID, limit int) ([]changes.Entry, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT c.seq, c.op, c.into_id, c.changed, p.published_at FROM data_feed f JOIN data_changes c ON c.seq > f.forgotten AND c.seq <= f.head
		CROSS JOIN LATERAL (SELECT published_at FROM data_publications WHERE head >= c.seq ORDER BY head LIMIT 1) p
		WHERE c.dataset = $1 AND c.record_id = $2 ORDER BY c.seq DESC LIMIT $3`, string(d), id, limit)
	if err != nil {
		return nil, toFault(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e changes.Entry, err error) {
		var into uuid.NullUUID
		err = row.Scan(&e.Seq, &e.Op, &into, &e.Fields, &e.At)
		e.Dataset, e.ID, e.Into = d, id, into.UUID
		return e, err
	})
	return list, toFault(err)
}

// setPublished sets when the entries were published.
func (s *Store) setPublished(ctx context.Context, page *changes.Page) error {
	first, last := page.Entries[0].Seq, page.Entries[len(page.Entries)-1].Seq
	rows, err := s.pool.Query(ctx, `
		SELECT head, published_at FROM data_publications
		WHERE head >= $1 AND head <= (SELECT min(head) FROM data_publications WHERE head >= $2) ORDER BY head`, first, last)
	if err != nil {
		return toFault(err)
	}
	var head int64
	var at time.Time
	i := 0
	_, err = pgx.ForEachRow(rows, []any{&head, &at}, func() error {
		for ; i < len(page.Entries) && page.Entries[i].Seq <= head; i++ {
			page.Entries[i].At = at
		}
		return nil
	})
	return toFault(err)
}
