package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/indexer/erasure"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace/jobs"
)

// Links that erase one contact, and the queue of their letters.

var errNoErasureLink = fault.New(fault.NotFound, "this link was used, has expired, or is not complete")

// AddErasureLink adds a link, whose letter is due at once. Links of the contact that were not used
// end.
func (s *System) AddErasureLink(ctx context.Context, l erasure.Link) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := knowKey(ctx, tx, l.Address); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE erasure_links SET expires_at = $2 WHERE contact_id = $1 AND used_at IS NULL AND expires_at > $2`,
			l.Contact, l.Created); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO erasure_links (id, contact_id, normalization, key, digest, made_by, created_at, expires_at, run_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $7)`,
			l.ID, l.Contact, l.Address.Normalization, l.Address.Key, l.Address.Digest[:], l.By, l.Created, l.Expires); err != nil {
			return err
		}
		return auditInstallation(ctx, tx, "person.link_made", "erasure_link", &l.ID, nil)
	}))
}

// ErasureLink returns a link: fault.NotFound.
func (s *System) ErasureLink(ctx context.Context, id uuid.UUID) (l erasure.Link, err error) {
	var digest, check []byte
	l.Address = erasure.Suppression{Dataset: catalog.Contacts, Kind: erasure.Email}
	err = s.pool.QueryRow(ctx, `
		SELECT l.id, l.contact_id, l.normalization, l.key, l.digest, k.digest, l.made_by, l.created_at, l.expires_at, l.used_at
		FROM erasure_links l LEFT JOIN suppression_keys k USING (key) WHERE l.id = $1`, id).
		Scan(&l.ID, &l.Contact, &l.Address.Normalization, &l.Address.Key, &digest, &check, &l.By, &l.Created, &l.Expires, &l.Used)
	if errors.Is(err, pgx.ErrNoRows) {
		return l, errNoErasureLink
	}
	copy(l.Address.Digest[:], digest)
	copy(l.Address.KeyCheck[:], check)
	return l, toFault(err)
}

// UseErasureLink uses a link up and, in the same transaction, adds suppressions and the records to
// be erased because of them: fault.NotFound if it was used or has expired.
func (s *System) UseErasureLink(
	ctx context.Context, id uuid.UUID, now time.Time, list []erasure.Suppression, records []erasure.Record,
) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// Of two at once the second waits here, and finds it used.
		tag, err := tx.Exec(ctx, `UPDATE erasure_links SET used_at = $2, erase_at = $2 WHERE id = $1 AND used_at IS NULL AND expires_at > $2`, id, now)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errNoErasureLink
		}
		if err := auditInstallation(ctx, tx, "person.link_used", "erasure_link", &id, nil); err != nil {
			return err
		}
		_, err = addSuppressions(ctx, tx, list, records)
		return err
	}))
}

// ClaimErasures returns the links that were used and whose contacts may not be erased yet. Until
// `until` nobody else gets them.
func (s *System) ClaimErasures(ctx context.Context, now, until time.Time) ([]uuid.UUID, error) {
	return collect(ctx, s, pgx.RowTo[uuid.UUID], `
		UPDATE erasure_links SET erase_at = $2 WHERE used_at IS NOT NULL AND erase_at <= $1 RETURNING id`, now, until)
}

// PutOffErasures has the next attempt later.
func (s *System) PutOffErasures(ctx context.Context, links []uuid.UUID, until time.Time) error {
	_, err := s.pool.Exec(ctx, `UPDATE erasure_links SET erase_at = $2 WHERE id = ANY ($1)`, links, until)
	return toFault(err)
}

// EndErasures says that nothing is left to erase: the links go.
func (s *System) EndErasures(ctx context.Context, links []uuid.UUID) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM erasure_links WHERE id = ANY ($1)`, links)
	return toFault(err)
}

// ForgetErasureLinks deletes links that expired and were not used.
func (s *System) ForgetErasureLinks(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM erasure_links WHERE expires_at < clock_timestamp() AND used_at IS NULL`)
	return toFault(err)
}

// ErasureLetters is the queue of the letters of links. They are of no workspace, so they are not
// in the table of jobs.
type ErasureLetters struct{ system *System }

// ErasureLetters returns that queue.
func (s *System) ErasureLetters() ErasureLetters { return ErasureLetters{s} }

var _ jobs.Queue = ErasureLetters{}

// letterLane is the only lane of the queue.
var letterLane = uuid.MustParse("6f0c1a4e-3f0e-4c53-9d0c-2f3b8f6f6a10")

// DueLanes implements jobs.Queue.
func (q ErasureLetters) DueLanes(ctx context.Context, _ jobs.Kind, now time.Time, after uuid.UUID, _ int) ([]uuid.UUID, error) {
	if after != uuid.Nil {
		return nil, nil
	}
	return collect(ctx, q.system, pgx.RowTo[uuid.UUID], `
		SELECT $2::uuid WHERE EXISTS (SELECT FROM erasure_links WHERE state = 'pending' AND run_at <= $1)`, now, letterLane)
}

// ClaimJobs implements jobs.Queue.
func (q ErasureLetters) ClaimJobs(
	ctx context.Context, kind jobs.Kind, lanes []jobs.LaneClaim, now, until time.Time,
) (all []jobs.Job, err error) {
	lease := uuid.New()
	for _, lane := range lanes {
		claimed, err := collect(ctx, q.system, func(row pgx.CollectableRow) (j jobs.Job, err error) {
			err = row.Scan((*uuid.UUID)(&j.ID), &j.Attempts, &j.CreatedAt)
			j.Kind, j.Lane = kind, lane.Lane
			return j.Claimed(lease), err
		}, `
			UPDATE erasure_links SET run_at = $2, lease = $3 WHERE id IN (
				SELECT id FROM erasure_links WHERE state = 'pending' AND run_at <= $1 ORDER BY run_at LIMIT $4 FOR UPDATE SKIP LOCKED)
			RETURNING id, attempts, created_at`, now, until, lease, lane.Limit)
		if err != nil {
			return all, err
		}
		all = append(all, claimed...)
	}
	return all, nil
}

// EndJobs implements jobs.Queue.
func (q ErasureLetters) EndJobs(ctx context.Context, ended []jobs.Ended) error {
	var batch pgx.Batch
	for _, e := range ended {
		batch.Queue(`
			UPDATE erasure_links SET state = $3, run_at = $4, attempts = attempts + 1, lease = NULL WHERE id = $1 AND lease = $2`,
			arg(e.Job.ID), e.Job.Lease(), string(e.State), e.RunAt)
	}
	return toFault(q.system.pool.SendBatch(ctx, &batch).Close())
}
