package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/book"
)

// lockLimit locks one limit of a workspace until the end of the transaction. All
// transactions that add limited rows take this lock, so each counts the rows of the
// previous one. Lock order: after rows of members and held records, before rows of what is
// limited.
func lockLimit(ctx context.Context, tx pgx.Tx, in workspace.ID, name string) error {
	_, err := tx.Exec(ctx, lockLimitStatement, arg(in), name)
	return err
}

const (
	lockLimitStatement = `SELECT pg_advisory_xact_lock` + limitLockKey
	limitLockKey       = `(hashtextextended('bound ' || $2::text, 0) # hashtextextended($1::uuid::text, 0))`
)

// rowLimit is the maximum number of rows of one kind in a workspace.
type rowLimit struct {
	// name identifies the limit in its lock. items and advice are for LimitError.
	name, items, advice string
	max                 int
	// rows is a table and a condition that selects the rows that count. $1 is the
	// workspace, $2 and up are args.
	rows string
	args []any
}

// lockAndCheckLimit locks a limit and returns fault.LimitReached when there is no
// room for another row.
func lockAndCheckLimit(ctx context.Context, tx pgx.Tx, in workspace.ID, l rowLimit) error {
	if err := lockLimit(ctx, tx, in, l.name); err != nil {
		return err
	}
	return checkLimit(ctx, tx, in, l)
}

// checkLimit is lockAndCheckLimit for a locked limit.
func checkLimit(ctx context.Context, tx pgx.Tx, in workspace.ID, l rowLimit) error {
	var count int
	args := append([]any{arg(in)}, l.args...)
	err := tx.QueryRow(ctx, `SELECT count(*) FROM `+l.rows, args...).Scan(&count)
	if err == nil && count >= l.max {
		err = workspace.LimitError(l.max, l.items, l.advice)
	}
	return err
}

// additionBucket is the width of the time buckets that count book additions.
const additionBucket = 10 * time.Minute

// recordAdditions counts records that are new to a book, and returns how many the limit had
// room for. If these are fewer, the transaction must roll back. It must be the last statement:
// other additions of the workspace wait from here to the commit.
func recordAdditions(ctx context.Context, tx pgx.Tx, in workspace.ID, a book.Additions, added int) (room int64, err error) {
	var before int64
	var batch pgx.Batch
	batch.Queue(lockLimitStatement, arg(in), "book")
	batch.Queue(`SELECT coalesce(sum(added), 0) FROM book_additions WHERE workspace_id = $1 AND span > $2`, arg(in), lastExpiredBucket(a)).
		QueryRow(func(row pgx.Row) error { return row.Scan(&before) })
	batch.Queue(`
		WITH forgotten AS (DELETE FROM book_additions WHERE workspace_id = $1 AND span <= $4)
		INSERT INTO book_additions AS b (workspace_id, span, added) VALUES ($1, $2, $3)
		ON CONFLICT ON CONSTRAINT book_additions_pkey DO UPDATE SET added = b.added + excluded.added`,
		arg(in), a.At.Truncate(additionBucket), added, lastExpiredBucket(a))
	err = tx.SendBatch(ctx, &batch).Close()
	return max(int64(a.Most)-before, 0), err
}

// lastExpiredBucket returns the last bucket that lies outside the window entirely.
func lastExpiredBucket(a book.Additions) time.Time {
	return a.At.Add(-workspace.AdditionWindow - additionBucket)
}
