package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
)

// AnswerRetention is how long answers of requests are stored, within the limits of a workspace.
const AnswerRetention = 24 * time.Hour

// The limits of stored answers per workspace. ForgetAnswers deletes the oldest beyond them.
const (
	maxAnswers     = 100_000
	maxAnswerBytes = 128 << 20
)

// Once runs do and stores its answer, unless that is nil. Everything that methods of the store
// change with the context of do is one transaction, with the answer. If the answer of an
// earlier call is stored, Once returns that instead, and replayed is true. part is 0, or from 1
// the position of an item in a batch; when part 0 is stored, the others are deleted. Errors:
// those of do, after which nothing is changed; fault.IdempotencyConflict;
// fault.IdempotencyInProgress while another call changes something, and for a part once part 0
// is stored.
//
// The transaction begins with the first change. Earlier reads of do are outside of it, as
// without Once. If do fails there because of what another call has just changed, Once returns
// the answer of that call.
func (s *Store) Once(
	ctx context.Context,
	in workspace.ID,
	o workspace.Once,
	part int,
	do func(context.Context) ([]byte, error),
) (answer []byte, replayed bool, err error) {
	e := &effect{store: s, in: in, once: o, part: part}
	err = s.query(ctx, in, selectAnswer, e.id(), e.read)
	if err != nil || e.stored != nil {
		return e.stored, err == nil, err
	}
	defer e.rollback()
	answer, err = do(context.WithValue(ctx, effectKey{}, e))
	if e.stored != nil {
		return e.stored, true, nil // another call stored it meanwhile
	}
	if err != nil && e.refused == nil && !e.begun() && s.query(ctx, in, selectAnswer, e.id(), e.read) == nil && e.stored != nil {
		return e.stored, true, nil
	}
	if err = errors.Join(e.refused, err); err != nil {
		return nil, false, err
	}
	return answer, false, toFault(e.commit(ctx, answer))
}

type effectKey struct{}

// effect is the transaction of a call of Once.
type effect struct {
	store *Store
	in    workspace.ID
	once  workspace.Once
	part  int

	mu sync.Mutex
	tx pgx.Tx // nil: nothing has been changed yet
	// stored is the answer of an earlier call. refused is why there is neither an answer nor a
	// transaction, even if do ignores the error.
	stored  []byte
	refused error
}

func effectOf(ctx context.Context, in workspace.ID) *effect {
	e, _ := ctx.Value(effectKey{}).(*effect)
	if e == nil || e.in != in {
		return nil
	}
	return e
}

// selectAnswer also selects part 0: once that is stored, the others are gone.
const selectAnswer = `SELECT part, request, answer FROM stored_answers
	WHERE workspace_id = $1 AND key = $2 AND part IN (0, $3) AND stored_at > clock_timestamp() - interval '24 hours'`

func (e *effect) id() []any { return []any{arg(e.in), e.once.Key[:], e.part} }

// read reads the row of selectAnswer, if there is one.
func (e *effect) read(rows pgx.Rows) error {
	for rows.Next() {
		var part int
		var request, answer []byte
		if err := rows.Scan(&part, &request, &answer); err != nil {
			return err
		}
		switch {
		case !bytes.Equal(request, e.once.Request[:]):
			return fault.KeyConflict()
		case part != e.part:
			return fault.KeyInProgress(time.Second)
		}
		e.stored = answer
	}
	return rows.Err()
}

// lock is the number of the advisory lock of the call.
func (e *effect) lock() int64 {
	n := binary.BigEndian.Uint64(e.once.Key[:8]) ^ binary.BigEndian.Uint64(e.in[8:])
	return int64(n) + int64(e.part) // #nosec G115 -- any number will do
}

// run runs fn in the transaction of the call, which begins with the first run. It undoes the
// changes of a failed fn.
func (e *effect) run(ctx context.Context, fn func(pgx.Tx) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tx != nil {
		return pgx.BeginFunc(ctx, e.tx, fn)
	}
	tx, err := e.begin(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if e.tx == nil {
			_ = tx.Rollback(context.WithoutCancel(ctx))
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	e.tx = tx
	return nil
}

// errAnswered ends a call after another one stored the answer first.
var errAnswered = fault.New(fault.Internal, "an answer is stored")

func (e *effect) begin(ctx context.Context) (_ pgx.Tx, err error) {
	tx, err := e.store.pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback(context.WithoutCancel(ctx))
		}
	}()
	alone := false
	var batch pgx.Batch
	batch.Queue(setWorkspace, settings(ctx, e.in)...)
	batch.Queue(`SELECT pg_try_advisory_xact_lock($1)`, e.lock()).QueryRow(func(row pgx.Row) error { return row.Scan(&alone) })
	// An answer that another call committed before it released the lock.
	batch.Queue(selectAnswer, e.id()...).Query(e.read)
	err = tx.SendBatch(ctx, &batch).Close()
	switch {
	case fault.CodeOf(err) == fault.IdempotencyConflict || fault.CodeOf(err) == fault.IdempotencyInProgress:
		e.refused = err
	case err == nil && e.stored != nil:
		err = errAnswered
	case err == nil && !alone:
		err = fault.KeyInProgress(time.Second)
		e.refused = err
	}
	return tx, err
}

func (e *effect) commit(ctx context.Context, answer []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	const insert = `INSERT INTO stored_answers (workspace_id, key, part, request, answer, bytes) VALUES ($1, $2, $3, $4, $5, octet_length($5::bytea))
		ON CONFLICT ON CONSTRAINT stored_answers_pkey DO UPDATE SET request = excluded.request, answer = excluded.answer, bytes = excluded.bytes, stored_at = excluded.stored_at`
	store := func(tx pgx.Tx) error {
		if answer == nil {
			return nil
		}
		var batch pgx.Batch // one round trip
		batch.Queue(insert, append(e.id(), e.once.Request[:], answer)...)
		if e.part == 0 {
			batch.Queue(`DELETE FROM stored_answers WHERE workspace_id = $1 AND key = $2 AND part > 0`, arg(e.in), e.once.Key[:])
		}
		return tx.SendBatch(ctx, &batch).Close()
	}
	if e.tx == nil {
		if answer == nil {
			return nil
		}
		return e.store.inWorkspace(ctx, e.in, store)
	}
	if err := store(e.tx); err != nil {
		return err
	}
	return e.tx.Commit(ctx)
}

// rollback undoes what was not committed.
func (e *effect) rollback() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tx != nil {
		_ = e.tx.Rollback(context.Background())
	}
}

// begun reports whether something has been changed.
func (e *effect) begun() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tx != nil
}

// reader reads data of no workspace, in the transaction of the call if there is one: with a
// second connection, all calls could wait for one.
func (s *Store) reader(ctx context.Context) interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
} {
	if e, _ := ctx.Value(effectKey{}).(*effect); e != nil && e.begun() {
		return e.tx
	}
	return s.pool
}

// change is query for a statement that changes something.
func (s *Store) change(ctx context.Context, in workspace.ID, sql string, args []any, read func(pgx.Rows) error) error {
	if effectOf(ctx, in) == nil {
		return s.query(ctx, in, sql, args, read)
	}
	return s.queryInEffect(ctx, in, sql, args, read)
}

// queryInEffect is query in the transaction of the call.
func (s *Store) queryInEffect(ctx context.Context, in workspace.ID, sql string, args []any, read func(pgx.Rows) error) error {
	none := false
	err := s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		if err := read(rows); err != nil {
			none = noRows(err)
			return err
		}
		rows.Close()
		return rows.Err()
	})
	if none {
		return pgx.ErrNoRows
	}
	return err
}

// changeOne is queryOne for a statement that changes something.
func changeOne[T any](ctx context.Context, s *Store, in workspace.ID, scan pgx.RowToFunc[T], sql string, args ...any) (v T, err error) {
	err = s.change(ctx, in, sql, args, func(rows pgx.Rows) error {
		v, err = pgx.CollectExactlyOneRow(rows, scan)
		return err
	})
	return v, err
}

// ForgetAnswers deletes answers that are older than AnswerRetention, and for each workspace the
// oldest beyond its limits.
func (s *System) ForgetAnswers(ctx context.Context) error {
	const atOnce = 10_000
	old := `
		DELETE FROM stored_answers WHERE ctid = ANY (ARRAY(
			SELECT k.ctid FROM workspaces w
			JOIN stored_answers k ON k.workspace_id = w.id AND k.stored_at <= clock_timestamp() - $1::interval
			LIMIT $2))`
	// The first part only reads an index.
	beyond := `
		WITH full_workspaces AS (
			SELECT workspace_id FROM stored_answers GROUP BY workspace_id HAVING count(*) > $1 OR sum(bytes) > $2)
		DELETE FROM stored_answers WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM (
				SELECT k.ctid, row_number() OVER newest AS n, sum(k.bytes) OVER newest AS size
				FROM stored_answers k JOIN full_workspaces USING (workspace_id)
				WINDOW newest AS (PARTITION BY k.workspace_id ORDER BY k.stored_at DESC, k.key, k.part)) k
			WHERE n > $1 OR size > $2
			LIMIT $3))`
	for _, statement := range []struct {
		sql  string
		args []any
	}{{old, []any{AnswerRetention, atOnce}}, {beyond, []any{maxAnswers, maxAnswerBytes, atOnce}}} {
		for deleted := int64(atOnce); deleted == atOnce; {
			tag, err := s.pool.Exec(ctx, statement.sql, statement.args...)
			if err != nil {
				return toFault(err)
			}
			deleted = tag.RowsAffected()
		}
	}
	return nil
}
