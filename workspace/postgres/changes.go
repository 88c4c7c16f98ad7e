package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/changes"
)

// The statements of the writer of the feed of changes of global records. One process at a
// time writes: the one with the lease of writers of global records. A process that lost the
// lease is refused, because its name is no longer that of the writer.

// errOtherWriter means that the caller is no longer the writer of the feed.
var errOtherWriter = fault.New(fault.Internal, "another process has gone on with the feed of changes")

// FeedState returns the state of the feed.
func (s *System) FeedState(ctx context.Context) (state changes.State, err error) {
	var writer, origin *string
	var marked string
	err = s.pool.QueryRow(ctx, `SELECT head, tail, latest, publishing, accepted, abandoned, writer, origin, generation, marked, arrival, arrived FROM data_feed`).
		Scan(
			&state.Head, &state.Tail, &state.Latest, &state.Publishing, &state.Accepted, &state.Abandoned, &writer,
			&origin, &state.Generation, &marked, &state.Arrival, &state.Arrived,
		)
	if writer != nil {
		state.Writer = *writer
	}
	if marked != "" {
		state.Marked = strings.Split(marked, ",")
	}
	if origin != nil {
		state.Switch, state.Origin = true, *origin
	}
	return state, toFault(err)
}

// BeginChanges makes writer the writer of the feed. It removes unpublished changes of an
// earlier writer, unless that has the same name and resume is set. origin is that of a switch
// of generations; nil for a delta. It fails if another delta is the writer: it began after
// the caller settled the feed.
func (s *System) BeginChanges(ctx context.Context, writer string, origin *string, resume bool) error {
	state, err := s.FeedState(ctx)
	switch {
	case err != nil:
		return err
	case resume && state.Writer == writer:
		// The next publication contains more than the prepared one would have.
		_, err := s.pool.Exec(ctx, `UPDATE data_feed SET `+abandons+` WHERE writer = $1 AND publishing IS NOT NULL`, writer)
		return toFault(err)
	case state.Writer != "" && state.Writer != writer && !state.Switch:
		return errOtherWriter
	}
	// These are not visible to anybody, so it need not be one transaction.
	if state.Tail > state.Head {
		if err := s.deleteChanges(ctx, `seq > (SELECT head FROM data_feed)`); err != nil {
			return err
		}
	}
	tag, err := s.pool.Exec(ctx, `
		UPDATE data_feed SET tail = head, writer = $1, origin = $2, `+abandons+`
		WHERE coalesce(writer, '') = $3 AND tail = $4 AND head = $5`, writer, origin, state.Writer, state.Tail, state.Head)
	if err == nil && tag.RowsAffected() == 0 {
		return errOtherWriter
	}
	return toFault(err)
}

// abandons abandons the publication in progress. Elasticsearch may have its id.
const abandons = `publishing = NULL, abandoned = CASE WHEN publishing IS NULL THEN abandoned ELSE abandoned || publishing END`

// MarkFeed stores which generations have marks on their search aliases while they are
// served.
func (s *System) MarkFeed(ctx context.Context, generations []string) error {
	_, err := s.pool.Exec(ctx, `UPDATE data_feed SET marked = $1`, strings.Join(generations, ","))
	return toFault(err)
}

// AppendChanges writes changes. They are not published before Publish. Without changes it
// checks that the caller is the writer.
func (s *System) AppendChanges(ctx context.Context, writer string, list []changes.Change) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var tail int64
		err := tx.QueryRow(ctx, `UPDATE data_feed SET tail = tail + $2 WHERE writer = $1 RETURNING tail`, writer, len(list)).Scan(&tail)
		if errors.Is(err, pgx.ErrNoRows) {
			return errOtherWriter
		}
		if err != nil || len(list) == 0 {
			return err
		}
		first := tail - int64(len(list)) + 1
		datasets, ids, ops, fields := make(
			[]string,
			len(list),
		), make(
			[]uuid.UUID,
			len(list),
		), make(
			[]string,
			len(list),
		), make(
			[]*string,
			len(list),
		)
		intos := make([]uuid.NullUUID, len(list))
		for i, c := range list {
			datasets[i], ids[i], ops[i] = string(c.Dataset), c.ID, string(c.Op)
			intos[i] = uuid.NullUUID{UUID: c.Into, Valid: c.Op == changes.Merge}
			if c.Fields != nil {
				joined := strings.Join(c.Fields, ",")
				fields[i] = &joined
			}
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO data_changes (dataset, seq, record_id, op, changed, into_id)
			SELECT dataset, $1 + place - 1, id, op, string_to_array(fields, ','), into_id
			FROM unnest($2::text[], $3::uuid[], $4::text[], $5::text[], $6::uuid[]) WITH ORDINALITY AS c (dataset, id, op, fields, into_id, place)`,
			first, datasets, ids, ops, fields, intos)
		return err
	}))
}

// UnpublishedChanges returns unpublished changes of a dataset, at most limit after a
// position.
func (s *System) UnpublishedChanges(ctx context.Context, d catalog.Dataset, after int64, limit int) ([]changes.Entry, error) {
	return collect(ctx, s, func(row pgx.CollectableRow) (e changes.Entry, err error) {
		e.Dataset = d
		err = row.Scan(&e.Seq, &e.ID, &e.Op)
		return e, err
	}, `SELECT seq, record_id, op FROM data_changes
		WHERE dataset = $1 AND seq > greatest($2, (SELECT head FROM data_feed)) ORDER BY seq LIMIT $3`, string(d), after, limit)
}

// PreparePublication stores the id of the next publication, unless one is stored already,
// and returns it.
func (s *System) PreparePublication(ctx context.Context, writer string) (id uuid.UUID, err error) {
	err = s.pool.QueryRow(ctx, `UPDATE data_feed SET publishing = coalesce(publishing, $2) WHERE writer = $1 RETURNING publishing`, writer, uuid.New()).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return id, errOtherWriter
	}
	return id, toFault(err)
}

// Publish publishes the changes of the writer under the prepared id, and ends its work.
func (s *System) Publish(ctx context.Context, writer string, id uuid.UUID) error {
	return s.inLong(ctx, func(tx pgx.Tx) error {
		var t publication
		err := tx.QueryRow(ctx, `
			WITH before AS (SELECT head, origin FROM data_feed WHERE writer = $1 FOR UPDATE)
			UPDATE data_feed f SET head = f.tail, latest = f.publishing, publishing = NULL, accepted = NULL, abandoned = '{}', `+ended+`
			FROM before WHERE f.writer = $1 AND f.publishing = $2
			RETURNING before.head, f.head, f.generation, before.origin IS NOT NULL`, writer, id).Scan(&t.after, &t.upto, &t.generation, &t.switched)
		if errors.Is(err, pgx.ErrNoRows) {
			return errOtherWriter
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, publishLatest); err != nil {
			return err
		}
		if err := applyMerges(ctx, tx, t); err != nil {
			return err
		}
		// A re-added signal arrives a second time, so its dismissal is deleted. This comes
		// last, because requests wait for these rows.
		_, err = tx.Exec(ctx, `
			DELETE FROM dismissed_signals WHERE signal_id IN (
				SELECT record_id FROM data_changes WHERE dataset = 'signals' AND op <> 'upsert' AND seq > $1 AND seq <= $2)`, t.after, t.upto)
		return err
	})
}

// inLong runs a transaction whose statements may take minutes: they read as many changes
// or merges as there are records.
func (s *System) inLong(ctx context.Context, do func(pgx.Tx) error) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '5min'`); err != nil {
			return err
		}
		return do(tx)
	}))
}

// publishLatest adds the latest publication of the feed.
const publishLatest = `INSERT INTO data_publications (id, head, published_at) SELECT latest, head, clock_timestamp() FROM data_feed`

// ended ends the work of the writer and publishes a switch. All arrivals are visible then,
// except with a switch that did not happen: its load may continue.
const ended = `writer = NULL, origin = NULL, generation = CASE WHEN f.origin IS NULL THEN f.generation ELSE f.writer END,
	arrived = CASE WHEN f.origin = f.writer THEN f.arrived ELSE f.arrival END`

// EndChanges ends the work of a writer that wrote nothing.
func (s *System) EndChanges(ctx context.Context, writer string) error {
	_, err := s.pool.Exec(ctx, `UPDATE data_feed f SET `+abandons+`, `+ended+` WHERE writer = $1 AND head = tail`, writer)
	return toFault(err)
}

// NextArrival returns the arrival of the new signals of a writer, in whole milliseconds:
// now, but later than all earlier arrivals.
func (s *System) NextArrival(ctx context.Context) (at time.Time, err error) {
	err = s.pool.QueryRow(ctx, `UPDATE data_feed SET arrival = `+newest+` RETURNING arrival`).Scan(&at)
	return at, toFault(err)
}

// StartFeedOver expires all positions in the feed and ends the work of its writer. id is the
// new publication, accepted the last one in Elasticsearch, generation the one that searches
// use. All arrivals become visible, even those that an older Postgres does not have.
func (s *System) StartFeedOver(ctx context.Context, id, accepted uuid.UUID, generation string) error {
	return s.inLong(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
			UPDATE data_feed SET forgotten = tail + 1, head = tail + 1, tail = tail + 1, latest = $1, accepted = $2, `+abandons+`, writer = NULL, origin = NULL, generation = $3,
				arrival = `+newest+`, arrived = `+newest,
			id, accepted, generation); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM data_publications`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, publishLatest); err != nil {
			return err
		}
		return takeMergesOf(ctx, tx, generation)
	})
}

// newest is a time that is not before any arrival.
const newest = `greatest(date_trunc('milliseconds', clock_timestamp()), arrival + interval '1 millisecond')`

// ForgetChanges deletes changes that were published longer ago than age, and those before
// the feed was last started over.
func (s *System) ForgetChanges(ctx context.Context, age time.Duration) error {
	// The last publication of that age: a cursor from then still has all following changes.
	if _, err := s.pool.Exec(ctx, `
		UPDATE data_feed SET forgotten = old.head
		FROM (SELECT max(head) AS head FROM data_publications WHERE published_at < clock_timestamp() - $1::interval) old
		WHERE old.head > forgotten`, age); err != nil {
		return toFault(err)
	}
	if _, err := s.pool.Exec(ctx, `DELETE FROM data_publications WHERE head < (SELECT forgotten FROM data_feed)`); err != nil {
		return toFault(err)
	}
	return s.deleteChanges(ctx, `seq <= (SELECT forgotten FROM data_feed)`)
}

// deleteChanges deletes the changes that meet a condition, in several statements. By ctid,
// because a join on seq would read the whole table each time.
func (s *System) deleteChanges(ctx context.Context, condition string) error {
	const atOnce = 10_000
	for _, d := range catalog.Datasets {
		for deleted := int64(atOnce); deleted == atOnce; {
			tag, err := s.pool.Exec(ctx, `
				DELETE FROM data_changes WHERE ctid = ANY (ARRAY(
					SELECT ctid FROM data_changes WHERE dataset = $1 AND `+condition+` ORDER BY seq LIMIT $2))`, string(d), atOnce)
			if err != nil {
				return toFault(err)
			}
			deleted = tag.RowsAffected()
		}
	}
	return nil
}
