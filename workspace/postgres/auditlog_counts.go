package postgres

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/auditlog"
)

var _ auditlog.CountStore = (*System)(nil)

// AddDelivered implements auditlog.CountStore. It leaves out deleted workspaces.
func (s *System) AddDelivered(ctx context.Context, all []auditlog.Delivered, threshold int64) error {
	var in, principals []uuid.UUID
	var hours []time.Time
	var kinds, operations []string
	var records, requests []int64
	for _, d := range all {
		in, principals = append(in, arg(d.Workspace)), append(principals, d.By.ID)
		hours, kinds, operations = append(hours, d.Hour), append(kinds, string(d.By.Kind)), append(operations, d.Operation)
		records, requests = append(records, d.Records), append(requests, d.Requests)
	}
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// If two servers do this at once, the second sees the counts and events of the
		// first.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(7034034035)`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO records_delivered AS r (workspace_id, hour, principal_kind, principal_id, operation, records, requests)
			SELECT d.* FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::uuid[], $5::text[], $6::bigint[], $7::bigint[])
				d (workspace_id, hour, principal_kind, principal_id, operation, records, requests)
			JOIN workspaces w ON w.id = d.workspace_id
			ON CONFLICT ON CONSTRAINT records_delivered_pkey
			DO UPDATE SET records = r.records + excluded.records, requests = r.requests + excluded.requests`,
			in, hours, kinds, principals, operations, records, requests); err != nil || threshold <= 0 {
			return err
		}
		// The actor of the event is who read.
		rows, err := tx.Query(ctx, `
			WITH above AS (
				SELECT workspace_id, hour, principal_kind, principal_id, sum(records) AS records FROM records_delivered
				WHERE (workspace_id, hour, principal_id) IN (SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::uuid[]))
				GROUP BY 1, 2, 3, 4 HAVING sum(records) > $4 AND NOT bool_or(reported)
			), marked AS (
				UPDATE records_delivered r SET reported = true FROM above a
				WHERE r.workspace_id = a.workspace_id AND r.hour = a.hour AND r.principal_id = a.principal_id
			)
			SELECT workspace_id, hour, principal_kind, principal_id, records::bigint FROM above`, in, hours, principals, threshold)
		if err != nil {
			return err
		}
		above, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d auditlog.Delivered, err error) {
			err = row.Scan((*uuid.UUID)(&d.Workspace), &d.Hour, &d.By.Kind, &d.By.ID, &d.Records)
			return d, err
		})
		if err != nil {
			return err
		}
		for _, d := range above {
			actor := ""
			if d.By.Kind != auditlog.Service {
				actor = string(d.By.Kind) + ":" + d.By.ID.String()
			}
			if _, err := tx.Exec(ctx, setAuthor, actor, ""); err != nil {
				return err
			}
			details := map[string]any{"hour": d.Hour.UTC(), "records": d.Records, "threshold": threshold}
			if _, err := tx.Exec(ctx, `SELECT audit_add($1, 'reads.above_threshold', $2, $3, '{}', $4)`,
				arg(d.Workspace), string(d.By.Kind), nullable(d.By.ID), details); err != nil {
				return err
			}
		}
		return nil
	}))
}

func collectDelivered(row pgx.CollectableRow) (d auditlog.Delivered, err error) {
	err = row.Scan((*uuid.UUID)(&d.Workspace), &d.Hour, &d.By.Kind, &d.By.ID, &d.Operation, &d.Records, &d.Requests)
	d.Hour = d.Hour.UTC()
	return d, err
}

// Delivered returns the records delivered to principals of a workspace, the latest hour
// first.
func (s *Store) Delivered(ctx context.Context, in workspace.ID, q auditlog.DeliveredQuery) ([]auditlog.Delivered, error) {
	return queryAll(ctx, s, in, collectDelivered, `
		SELECT workspace_id, hour, principal_kind, principal_id, operation, records, requests FROM records_delivered
		WHERE workspace_id = $1 AND ($2::uuid IS NULL OR principal_id = $2) AND ($3::timestamptz IS NULL OR hour >= $3)
			AND ($4::timestamptz IS NULL OR hour < $4)
		ORDER BY hour DESC, principal_id, operation LIMIT $5 OFFSET $6`,
		arg(in), nullable(q.Principal), timeOrNull(q.Since), timeOrNull(q.Until), q.Limit, q.Offset)
}

// timeOrNull is an argument that is null for the zero time.
func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// networksOfAMinute is how many networks of a minute failed_sign_ins distinguishes: whoever
// has a /32 of IPv6 has 65,536 of them.
const networksOfAMinute = 1000

// AddRefused implements auditlog.CountStore.
func (s *System) AddRefused(ctx context.Context, all []auditlog.Refused) error {
	var minutes []time.Time
	var reasons []string
	var networks []netip.Prefix
	var times []int64
	for _, r := range all {
		minutes, reasons = append(minutes, r.Minute), append(reasons, r.Reason)
		networks, times = append(networks, r.Network), append(times, r.Times)
	}
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// If two servers do this at once, the second counts the networks that the first has
		// added.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(7034034036)`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			WITH given AS (
				SELECT * FROM unnest($1::timestamptz[], $2::text[], $3::cidr[], $4::bigint[]) g (minute, reason, network, times)
			), known AS (
				SELECT DISTINCT minute, network FROM failed_sign_ins WHERE minute = ANY ($1) AND network <> '0.0.0.0/0'
			), fresh AS (
				SELECT minute, network, row_number() OVER (PARTITION BY minute ORDER BY sum(times) DESC, network) AS place
				FROM given WHERE network <> '0.0.0.0/0' AND (minute, network) NOT IN (SELECT * FROM known) GROUP BY 1, 2
			), named AS (
				SELECT * FROM known UNION ALL
				SELECT minute, network FROM fresh WHERE place + (SELECT count(*) FROM known k WHERE k.minute = fresh.minute) <= $5
			)
			INSERT INTO failed_sign_ins AS f (minute, reason, network, times)
			SELECT g.minute, g.reason, coalesce(t.network, '0.0.0.0/0'), sum(g.times) FROM given g LEFT JOIN named t USING (minute, network)
			GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
			ON CONFLICT ON CONSTRAINT failed_sign_ins_pkey DO UPDATE SET times = f.times + excluded.times`,
			minutes, reasons, networks, times, networksOfAMinute)
		return err
	}))
}

// FailedSignIns returns the sign-ins that were refused since a time, the latest first.
func (s *System) FailedSignIns(ctx context.Context, since time.Time, limit int) ([]auditlog.Refused, error) {
	return collect(ctx, s, func(row pgx.CollectableRow) (r auditlog.Refused, err error) {
		err = row.Scan(&r.Minute, &r.Reason, &r.Network, &r.Times)
		r.Minute = r.Minute.UTC()
		return r, err
	}, `SELECT minute, reason, network, times FROM failed_sign_ins WHERE minute >= $1 ORDER BY minute DESC, times DESC, reason, network LIMIT $2`,
		since, limit)
}

// ForgetCounts implements auditlog.CountStore.
func (s *System) ForgetCounts(ctx context.Context, before time.Time) error {
	if err := s.deleteOld(ctx, `records_delivered WHERE hour < $1`, before); err != nil {
		return err
	}
	return s.deleteOld(ctx, `failed_sign_ins WHERE minute < $1`, before)
}

// deleteAtOnce is how many rows one statement of deleteOld deletes: far fewer than the
// timeout of statements permits.
const deleteAtOnce = 10_000

// deleteOld deletes rows in batches. from is a table with the condition whose argument is
// $1.
func (s *System) deleteOld(ctx context.Context, from string, args ...any) error {
	table, _, _ := strings.Cut(from, " ")
	sql := `DELETE FROM ` + table + ` WHERE ctid = ANY (ARRAY(SELECT ctid FROM ` + from + ` LIMIT ` + strconv.Itoa(deleteAtOnce) + `))`
	for {
		tag, err := s.pool.Exec(ctx, sql, args...)
		if err != nil || tag.RowsAffected() < deleteAtOnce {
			return toFault(err)
		}
	}
}
