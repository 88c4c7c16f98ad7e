package postgres

import (
	"context"
	"time"
)

// PoolState is the state of a connection pool.
type PoolState struct {
	InUse, Idle, Limit int
	// Waits counts how often a caller waited for a connection, Waited is the total
	// time of these waits.
	Waits  int64
	Waited time.Duration
}

// Connections returns the state of the pool.
func (d database) Connections() PoolState {
	state := d.pool.Stat()
	return PoolState{
		InUse: int(state.AcquiredConns()), Idle: int(state.IdleConns()), Limit: int(state.MaxConns()),
		Waits: state.EmptyAcquireCount(), Waited: state.EmptyAcquireWaitTime(),
	}
}

// maxBacklogCount is where counting a backlog stops. Monitoring needs no exact
// count of a large backlog, and counting would slow its processing.
const maxBacklogCount = 100_000

// PendingHeld counts the pending held records, up to maxBacklogCount. oldest is how
// long the oldest of those counted has been pending.
func (s *System) PendingHeld(ctx context.Context) (pending int64, oldest time.Duration, err error) {
	return s.backlog(ctx, `SELECT pending_since AS since FROM held_records WHERE version > projected_version`)
}

// DueJobs counts the jobs that are due and that no server has taken, and returns since
// when the first of them is.
func (s *System) DueJobs(ctx context.Context) (due int64, oldest time.Duration, err error) {
	return s.backlog(ctx, `SELECT run_at AS since FROM jobs WHERE state = 'pending' AND run_at <= clock_timestamp()`)
}

// backlog counts the rows of a query with the column since.
func (s *System) backlog(ctx context.Context, sql string) (n int64, oldest time.Duration, err error) {
	err = toFault(s.pool.QueryRow(ctx, `
		SELECT count(*), coalesce(clock_timestamp() - min(since), '0') FROM (`+sql+` LIMIT $1) backlog`, maxBacklogCount).Scan(&n, &oldest))
	return n, oldest, err
}
