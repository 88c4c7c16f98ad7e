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
)

// Links to erase one contact.

var errNoErasureLink = fault.New(fault.NotFound, "this link was used, has expired, or is not complete")

// AddErasureLink adds a link. Unused links of the contact end when its e-mail is due.
func (s *System) AddErasureLink(ctx context.Context, l erasure.Link) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := knowKey(ctx, tx, l.Address); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE erasure_links SET expires_at = $2 WHERE contact_id = $1 AND used_at IS NULL AND expires_at > $2`,
			l.Contact, l.Due); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO erasure_links (id, contact_id, normalization, key, digest, made_by, created_at, expires_at, run_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			l.ID, l.Contact, l.Address.Normalization, l.Address.Key, l.Address.Digest[:], l.By, l.Created, l.Expires, l.Due); err != nil {
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

// UseErasureLink marks a link as used, and adds suppressions and the records to be erased
// because of them, in one transaction: fault.NotFound if the link was used or has expired.
func (s *System) UseErasureLink(
	ctx context.Context, id uuid.UUID, now time.Time, list []erasure.Suppression, records []erasure.Record,
) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// Of two concurrent calls the second waits here, and finds it used.
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
		_, err = addSuppressions(ctx, tx, list, records, false)
		return err
	}))
}

// ClaimErasures returns used links whose contacts may not be erased yet, and reserves them for
// the caller up to `until`.
func (s *System) ClaimErasures(ctx context.Context, now, until time.Time) ([]uuid.UUID, error) {
	return collect(ctx, s, pgx.RowTo[uuid.UUID], `
		UPDATE erasure_links SET erase_at = $2 WHERE used_at IS NOT NULL AND erase_at <= $1 RETURNING id`, now, until)
}

// PutOffErasures postpones the next attempt.
func (s *System) PutOffErasures(ctx context.Context, links []uuid.UUID, until time.Time) error {
	_, err := s.pool.Exec(ctx, `UPDATE erasure_links SET erase_at = $2 WHERE id = ANY ($1)`, links, until)
	return toFault(err)
}

// EndErasures deletes links whose erasures are complete.
func (s *System) EndErasures(ctx context.Context, links []uuid.UUID) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM erasure_links WHERE id = ANY ($1)`, links)
	return toFault(err)
}

// ForgetErasureLinks deletes links that expired unused, and requests and mailings that are a
// day old.
func (s *System) ForgetErasureLinks(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM erasure_links WHERE expires_at < clock_timestamp() AND used_at IS NULL`)
	if err == nil {
		_, err = s.pool.Exec(ctx, `
			DELETE FROM erasure_requests
			WHERE created_at < clock_timestamp() - interval '1 day' AND (sent_at IS NULL OR sent_at < clock_timestamp() - interval '1 day')`)
	}
	return toFault(err)
}
