package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/indexer/erasure"
	"atlas/internal/fault"
)

// lockErasureRequests makes transactions wait for each other: two at once must not pass one limit.
const lockErasureRequests = `SELECT pg_advisory_xact_lock(7034034037)`

// AddErasureRequest adds a request, which is due at once: fault.TooManyRequests beyond
// ofNetwork requests from its network in an hour, or ofAll in total.
func (s *System) AddErasureRequest(ctx context.Context, r erasure.Request, ofNetwork, ofAll int) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockErasureRequests); err != nil {
			return err
		}
		var network, all int
		if err := tx.QueryRow(ctx, `
			SELECT count(*) FILTER (WHERE network = $1), count(*) FROM erasure_requests WHERE created_at > $2`,
			r.Network, r.Created.Add(-time.Hour)).Scan(&network, &all); err != nil {
			return err
		}
		if network >= ofNetwork || all >= ofAll {
			busy := fault.New(fault.TooManyRequests, "too many letters were asked for in the last hour: try again in an hour")
			busy.RetryAfter = time.Hour
			return busy
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO erasure_requests (id, address, digest, network, created_at, run_at) VALUES ($1, $2, $3, $4, $5, $5)`,
			r.ID, r.Sealed, r.Digest[:], r.Network, r.Created)
		return err
	}))
}

// ErasureRequest returns a request whose address was not looked up yet: fault.NotFound.
func (s *System) ErasureRequest(ctx context.Context, id uuid.UUID) (r erasure.Request, err error) {
	var digest []byte
	err = s.pool.QueryRow(ctx, `SELECT id, address, digest, network, created_at FROM erasure_requests WHERE id = $1 AND address IS NOT NULL`, id).
		Scan(&r.ID, &r.Sealed, &digest, &r.Network, &r.Created)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, fault.New(fault.NotFound, "nobody asked for this")
	}
	copy(r.Digest[:], digest)
	return r, toFault(err)
}

// ClaimErasureLetters implements removal.RequestStore. A repetition returns the same.
func (s *System) ClaimErasureLetters(
	ctx context.Context, id uuid.UUID, now, after time.Time, ofLane int,
) (due time.Time, mine bool, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockErasureRequests); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `
			WITH r AS (
				SELECT id, digest, coalesce(first, network IS NOT NULL AND NOT EXISTS (
					SELECT FROM erasure_requests o WHERE o.network = q.network AND o.sent_at > $2::timestamptz - interval '24 hours')) AS first
				FROM erasure_requests q WHERE id = $1)
			UPDATE erasure_requests q SET first = r.first, sent_at = coalesce(q.sent_at, greatest($2::timestamptz, (
				SELECT sent_at + interval '1 hour' FROM erasure_requests o WHERE o.sent_at IS NOT NULL AND o.first = r.first
				ORDER BY sent_at DESC OFFSET $4 LIMIT 1)))
			FROM r WHERE q.id = r.id AND NOT EXISTS (
				SELECT FROM erasure_requests o WHERE o.digest = r.digest AND o.id <> r.id AND o.sent_at > $3)
			RETURNING q.sent_at`, id, now, after, ofLane-1).Scan(&due)
		if mine = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return due, mine, toFault(err)
}
