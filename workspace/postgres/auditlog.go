package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/auditlog"
)

var (
	_ auditlog.Store  = (*System)(nil)
	_ auditlog.Source = (*System)(nil)
)

// setAuthor sets the author and the origin of changes outside of a workspace, until the end of
// the transaction.
const setAuthor = `SELECT set_config('atlas.actor', $1, true), set_config('atlas.origin', $2, true)`

// auditOwn writes an event of the workspace of the transaction. Triggers write most events
// (migration 00041); this is for changes of which no trigger sees a row, and the function
// accepts no others.
func auditOwn(ctx context.Context, tx pgx.Tx, action, kind string, id uuid.UUID, details map[string]any) error {
	if details == nil {
		details = map[string]any{}
	}
	_, err := tx.Exec(ctx, `SELECT audit_own($1, $2, $3, $4)`, action, kind, id, details)
	return err
}

// AddEvent adds an event of a user or a key to the logs of their workspaces, or without any to
// the log of the installation.
func (s *System) AddEvent(ctx context.Context, by workspace.Author, action, kind string, id uuid.UUID, details map[string]any) error {
	if details == nil {
		details = map[string]any{}
	}
	places := `SELECT workspace_id FROM members WHERE user_id = $5`
	who := arg(by.User)
	if !by.Key.IsZero() {
		places, who = `SELECT workspace_id FROM api_key_workspaces WHERE key_id = $5 AND revoked_at IS NULL`, arg(by.Key)
	}
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, setAuthor, by.Text(), workspace.OriginIn(ctx).Text()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			WITH places AS (`+places+`)
			SELECT audit_add(p.workspace_id, $1, $2, $3, '{}', $4) FROM (
				SELECT workspace_id FROM places UNION ALL SELECT NULL WHERE NOT EXISTS (SELECT FROM places)) p`,
			action, kind, nullable(id), details, who)
		return err
	}))
}

const auditColumns = `e.id, e.workspace_id, e.xid, e.at, e.action, e.principal_kind, e.principal_id, e.network, coalesce(e.request_id, ''),
	e.object_kind, e.object_id, e.fields, e.details, coalesce(e.number, 0), e.previous, e.digest`

// auditValues are the values for the placeholders in the details of an event e.
const auditValues = `(SELECT jsonb_object_agg(d.value, v.value) FROM jsonb_each_text(e.details) d
	JOIN audit_values v ON v.digest = decode(substr(d.value, 8), 'hex') WHERE d.value ~ '^sha256:[0-9a-f]{64}$')`

func collectEvent(row pgx.CollectableRow) (e auditlog.Event, err error) {
	var in, principal, object *uuid.UUID
	var network *netip.Prefix
	var details, previous, digest []byte
	var values map[string]string
	into := []any{
		&e.ID, &in, &e.Transaction, &e.At, &e.Action, &e.By.Kind, &principal, &network, &e.Request,
		&e.ObjectKind, &object, &e.Fields, &details, &e.Number, &previous, &digest,
	}
	if len(row.FieldDescriptions()) > len(into) {
		into = append(into, &values)
	}
	if err := row.Scan(into...); err != nil {
		return e, err
	}
	e.At, e.Details, e.Values = e.At.UTC(), json.RawMessage(details), values
	copy(e.Previous[:], previous) // 32 bytes by check constraints
	copy(e.Digest[:], digest)
	for to, id := range map[*uuid.UUID]*uuid.UUID{(*uuid.UUID)(&e.Chain): in, &e.By.ID: principal, &e.ObjectID: object} {
		if id != nil {
			*to = *id
		}
	}
	if network != nil {
		e.Network = *network
	}
	return e, nil
}

// selectEvents is the statement of a query. The chain is $1, null for the installation.
func selectEvents(chain *uuid.UUID, q auditlog.Query) (sql string, args []any) {
	args = []any{chain}
	var where strings.Builder
	where.WriteString(`e.workspace_id IS NOT DISTINCT FROM $1`)
	if chain != nil {
		where.Reset()
		where.WriteString(`e.workspace_id = $1`) // which has an index
	}
	and := func(condition string, value any) {
		args = append(args, value)
		where.WriteString(` AND ` + strings.ReplaceAll(condition, "?", "$"+strconv.Itoa(len(args))))
	}
	if len(q.Actions) > 0 {
		and(`(e.action = ANY (?) OR split_part(e.action, '.', 1) = ANY (?))`, q.Actions)
	}
	if q.Principal != uuid.Nil {
		and(`e.principal_id = ?`, q.Principal)
	}
	if q.Object != uuid.Nil {
		and(`e.object_id = ?`, q.Object)
	}
	if !q.Since.IsZero() {
		and(`e.at >= ?`, q.Since)
	}
	if !q.Until.IsZero() {
		and(`e.at < ?`, q.Until)
	}
	order := `e.id DESC`
	switch {
	case q.Oldest:
		and(`e.number > ?`, q.After)
		order = `e.number`
	case q.After > 0:
		and(`e.id < ?`, q.After)
	}
	args = append(args, q.Limit)
	return `SELECT ` + auditColumns + `, ` + auditValues + ` FROM audit_events e WHERE ` + where.String() +
		` ORDER BY ` + order + ` LIMIT $` + strconv.Itoa(len(args)), args
}

// AuditEvents returns events of a workspace.
func (s *Store) AuditEvents(ctx context.Context, in workspace.ID, q auditlog.Query) ([]auditlog.Event, error) {
	id := arg(in)
	sql, args := selectEvents(&id, q)
	return queryAll(ctx, s, in, collectEvent, sql, args...)
}

// EventsOf returns events of a workspace, or of the installation for the zero id.
func (s *System) EventsOf(ctx context.Context, chain workspace.ID, q auditlog.Query) ([]auditlog.Event, error) {
	sql, args := selectEvents(nullable(chain), q)
	return collect(ctx, s, collectEvent, sql, args...)
}

// ofChain is a condition on events e of the chain $1.
const ofChain = `coalesce(e.workspace_id, '00000000-0000-0000-0000-000000000000') = $1`

// ChainedEvents implements auditlog.Source.
func (s *System) ChainedEvents(ctx context.Context, chain workspace.ID, after int64, limit int) ([]auditlog.Event, error) {
	return collect(ctx, s, collectEvent, `SELECT `+auditColumns+` FROM audit_events e
		WHERE `+ofChain+` AND e.number > $2 ORDER BY e.number LIMIT $3`, arg(chain), after, limit)
}

// UnchainedEvents implements auditlog.Source.
func (s *System) UnchainedEvents(ctx context.Context, chain workspace.ID) (n int64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT count(*) FROM audit_events e WHERE `+ofChain+` AND e.number IS NULL`, arg(chain)).Scan(&n)
	return n, toFault(err)
}

const headColumns = `chain, number, digest, checkpoint_number, checkpoint_digest, checkpoint_at, signature`

func collectHead(row pgx.CollectableRow) (h auditlog.Head, err error) {
	var digest, checkpoint []byte
	var at *time.Time
	err = row.Scan((*uuid.UUID)(&h.Chain), &h.Number, &digest, &h.Checkpoint.Number, &checkpoint, &at, &h.Checkpoint.Signature)
	copy(h.Digest[:], digest)
	copy(h.Checkpoint.Digest[:], checkpoint)
	if at != nil {
		h.Checkpoint.At = at.UTC()
	}
	return h, err
}

// AuditHead implements auditlog.Source. A chain without events has the zero head.
func (s *System) AuditHead(ctx context.Context, chain workspace.ID) (auditlog.Head, error) {
	heads, err := collect(ctx, s, collectHead, `SELECT `+headColumns+` FROM audit_chains WHERE chain = $1`, arg(chain))
	if err != nil || len(heads) == 0 {
		return auditlog.Head{Chain: chain}, err
	}
	return heads[0], nil
}

// AuditHeads returns the heads of all chains, the installation's first.
func (s *System) AuditHeads(ctx context.Context) ([]auditlog.Head, error) {
	return collect(ctx, s, collectHead, `SELECT `+headColumns+` FROM audit_chains ORDER BY chain`)
}

// UnloggedHeads implements auditlog.Store.
func (s *System) UnloggedHeads(ctx context.Context, limit int) ([]auditlog.Head, error) {
	return collect(ctx, s, collectHead, `SELECT `+headColumns+` FROM audit_chains WHERE logged < number ORDER BY chain LIMIT $1`, limit)
}

// MarkLogged implements auditlog.Store.
func (s *System) MarkLogged(ctx context.Context, heads []auditlog.Head) error {
	var chains []uuid.UUID
	var numbers []int64
	for _, h := range heads {
		chains, numbers = append(chains, arg(h.Chain)), append(numbers, h.Number)
	}
	_, err := s.pool.Exec(ctx, `UPDATE audit_chains c SET logged = greatest(logged, t.number)
		FROM unnest($1::uuid[], $2::bigint[]) t (chain, number) WHERE c.chain = t.chain`, chains, numbers)
	return toFault(err)
}

// sealLock prevents two servers from sealing at once: one can have lost its lease without
// knowing it.
const sealLock = `SELECT pg_advisory_xact_lock(7034034034)`

// unsealed are the events of ended transactions, in their order: no uncommitted event can come
// before one of them. Transactions that have not begun yet are those of another Postgres, from
// whose dump this one was restored.
const unsealed = `SELECT ` + auditColumns + ` FROM audit_events e WHERE e.number IS NULL
	AND (e.xid < pg_snapshot_xmin(pg_current_snapshot()) OR e.xid >= pg_snapshot_xmax(pg_current_snapshot()))
	ORDER BY e.xid, e.id LIMIT $1`

// SealEvents implements auditlog.Store. Webhooks that chose the events get a delivery for
// each, in the same transaction.
func (s *System) SealEvents(ctx context.Context, limit int, now time.Time) (sealed int, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sealLock); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, unsealed, limit)
		if err != nil {
			return err
		}
		events, err := pgx.CollectRows(rows, collectEvent)
		if sealed = len(events); err != nil || sealed == 0 {
			return err
		}
		if err := seal(ctx, tx, events); err != nil {
			return err
		}
		return deliverEvents(ctx, tx, events, now)
	})
	return sealed, toFault(err)
}

func seal(ctx context.Context, tx pgx.Tx, events []auditlog.Event) error {
	heads := map[workspace.ID]auditlog.Head{}
	chains := make([]uuid.UUID, len(events))
	for i, e := range events {
		chains[i] = arg(e.Chain)
	}
	rows, err := tx.Query(ctx, `SELECT `+headColumns+` FROM audit_chains WHERE chain = ANY ($1) FOR UPDATE`, chains)
	if err != nil {
		return err
	}
	known, err := pgx.CollectRows(rows, collectHead)
	if err != nil {
		return err
	}
	for _, h := range known {
		heads[h.Chain] = h
	}
	var ids, numbers []int64
	var previous, digests [][]byte
	for i := range events {
		e := &events[i]
		h := heads[e.Chain]
		if err := e.Follow(h.Number, h.Digest); err != nil {
			return err
		}
		h.Number, h.Digest = e.Number, e.Digest
		heads[e.Chain] = h
		ids, numbers = append(ids, e.ID), append(numbers, e.Number)
		previous, digests = append(previous, e.Previous[:]), append(digests, e.Digest[:])
	}
	if _, err := tx.Exec(ctx, `
		UPDATE audit_events e SET number = s.number, previous = s.previous, digest = s.digest
		FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[]) s (id, number, previous, digest) WHERE e.id = s.id`,
		ids, numbers, previous, digests); err != nil {
		return err
	}
	var ends [][]byte
	chains, numbers = nil, nil
	for chain, h := range heads {
		chains, numbers, ends = append(chains, arg(chain)), append(numbers, h.Number), append(ends, h.Digest[:])
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO audit_chains (chain, number, digest) SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bytea[])
		ON CONFLICT ON CONSTRAINT audit_chains_pkey DO UPDATE SET number = excluded.number, digest = excluded.digest`, chains, numbers, ends)
	return err
}

// forgetAtOnce is how many events of a chain one transaction checks and deletes.
const forgetAtOnce = 2000

// ForgetEvents implements auditlog.Store. The checkpoint changes in the transaction that
// deletes, so a chain is always complete.
func (s *System) ForgetEvents(ctx context.Context, retention time.Duration, sign func(h *auditlog.Head, was auditlog.Checkpoint)) error {
	var now time.Time
	if err := s.pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return toFault(err)
	}
	before := now.Add(-retention)
	chains, err := collect(ctx, s, collectHead, `SELECT `+headColumns+` FROM audit_chains c WHERE (
		SELECT e.at FROM audit_events e WHERE coalesce(e.workspace_id, '00000000-0000-0000-0000-000000000000') = c.chain
			AND e.number > c.checkpoint_number ORDER BY e.number LIMIT 1) < $1`, before)
	if err != nil {
		return err
	}
	var failed []error
	for _, h := range chains {
		for more := true; more && ctx.Err() == nil; {
			if more, err = s.forgetEvents(ctx, h.Chain, before, now, sign); err != nil {
				failed = append(failed, err)
			}
		}
	}
	return errors.Join(append(failed, s.deleteOld(ctx, `audit_values WHERE at < $1`, before))...)
}

// forgetEvents deletes the first events of a chain, up to the first that is not old enough,
// so that the rest has no gap. It signs nothing that it has not checked.
func (s *System) forgetEvents(
	ctx context.Context,
	chain workspace.ID,
	before, now time.Time,
	sign func(h *auditlog.Head, was auditlog.Checkpoint),
) (more bool, err error) {
	problem := ""
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+headColumns+` FROM audit_chains WHERE chain = $1 FOR UPDATE`, arg(chain))
		if err != nil {
			return err
		}
		h, err := pgx.CollectExactlyOneRow(rows, collectHead)
		if err != nil {
			return err
		}
		rows, err = tx.Query(ctx, `SELECT `+auditColumns+` FROM audit_events e WHERE `+ofChain+` AND e.number > $2 ORDER BY e.number LIMIT $3`,
			arg(chain), h.Checkpoint.Number, forgetAtOnce)
		if err != nil {
			return err
		}
		events, err := pgx.CollectRows(rows, collectEvent)
		if err != nil {
			return err
		}
		was := h.Checkpoint
		number, digest := was.Number, was.Digest
		for _, e := range events {
			if problem, err = e.Check(number, digest); err != nil || problem != "" {
				problem = fmt.Sprintf("event %d: %s", e.Number, problem)
				return err
			}
			if !e.At.Before(before) {
				break
			}
			number, digest = e.Number, e.Digest
		}
		if number > h.Number || number == h.Number && digest != h.Digest {
			problem = fmt.Sprintf("event %d: it is not the one that was chained last", number)
			return nil
		}
		if number == was.Number {
			return nil
		}
		more = number-was.Number == forgetAtOnce
		h.Checkpoint = auditlog.Checkpoint{Number: number, Digest: digest, At: now.UTC().Truncate(time.Microsecond)}
		sign(&h, was)
		if _, err := tx.Exec(ctx, `DELETE FROM audit_events e WHERE `+ofChain+` AND e.number <= $2`, arg(chain), number); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE audit_chains SET checkpoint_number = $2, checkpoint_digest = $3, checkpoint_at = $4, signature = $5 WHERE chain = $1`,
			arg(chain), number, digest[:], h.Checkpoint.At, h.Checkpoint.Signature)
		return err
	})
	if err == nil && problem != "" {
		return false, fmt.Errorf("%w: nothing of %s is deleted: %s", ErrBrokenChain, chain, problem)
	}
	return more, toFault(err)
}

// EraseAuditValue deletes a value, or all values that contain it, from the values of events,
// regardless of case, and returns their number. The chains remain valid. Each of these chains
// gets an event audit.erased, without the value.
func (s *System) EraseAuditValue(ctx context.Context, value string, containing bool) (erased int64, err error) {
	which := `lower(value) = lower($1)`
	if containing {
		which = `strpos(lower(value), lower($1)) > 0`
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			WITH gone AS (DELETE FROM audit_values WHERE `+which+` RETURNING workspace_id) SELECT workspace_id, count(*) FROM gone GROUP BY 1`, value)
		if err != nil {
			return err
		}
		type place struct {
			In     *uuid.UUID
			Values int64
		}
		places, err := pgx.CollectRows(rows, pgx.RowToStructByPos[place])
		if err != nil {
			return err
		}
		for _, p := range places {
			if _, err := tx.Exec(ctx, `SELECT audit_add($1, 'audit.erased', 'audit_value', NULL, '{}', $2)`,
				p.In, map[string]any{"values": p.Values}); err != nil {
				return err
			}
			erased += p.Values
		}
		return nil
	})
	return erased, toFault(err)
}
