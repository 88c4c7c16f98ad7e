package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/workspace"
)

// lockLimit makes those who add to one bound of a workspace wait for each other,
// until the end of the transaction: who counts next sees what was added. It is
// taken after row locks on members and held records, and before any on what is
// bounded.
func lockLimit(ctx context.Context, tx pgx.Tx, in workspace.ID, what string) error {
	_, err := tx.Exec(ctx, lockLimitStatement, arg(in), what)
	return err
}

const lockLimitStatement = `SELECT pg_advisory_xact_lock(hashtextextended('bound ' || $2::text, 0) # hashtextextended($1::uuid::text, 0))`

// rowLimit is a number of rows that a workspace may have.
type rowLimit struct {
	// name names the bound, for its lock; things are what is bounded, and advice
	// says what to do where there are too many.
	name, items, advice string
	max                 int
	// rows are those that count: a table and a condition on $1, the workspace, and
	// on args from $2 on.
	rows string
	args []any
}

// lockAndCheckLimit locks a bound and returns fault.LimitReached where there is no room for
// one more.
func lockAndCheckLimit(ctx context.Context, tx pgx.Tx, in workspace.ID, b rowLimit) error {
	if err := lockLimit(ctx, tx, in, b.name); err != nil {
		return err
	}
	return checkLimit(ctx, tx, in, b)
}

// checkLimit is oneMore with the bound locked.
func checkLimit(ctx context.Context, tx pgx.Tx, in workspace.ID, b rowLimit) error {
	var count int
	args := append([]any{arg(in)}, b.args...)
	err := tx.QueryRow(ctx, `SELECT count(*) FROM `+b.rows, args...).Scan(&count)
	if err == nil && count >= b.max {
		err = workspace.LimitError(b.max, b.items, b.advice)
	}
	return err
}

// additionBucket is the step in which what is added to books is counted.
const additionBucket = 10 * time.Minute

// recordAdditions counts records that are new to a book, and returns how many there was
// room for; where it is fewer the transaction must go back. It comes last in its
// transaction: others of the workspace that add wait from here to the commit.
func recordAdditions(ctx context.Context, tx pgx.Tx, in workspace.ID, a workspace.Additions, added int) (room int64, err error) {
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

// lastExpiredBucket is the last one that is out of the window as a whole.
func lastExpiredBucket(a workspace.Additions) time.Time {
	return a.At.Add(-workspace.AdditionWindow - additionBucket)
}
