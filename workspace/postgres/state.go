package postgres

import (
	"context"
	"time"

	"atlas/workspace/jobs"
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

// DueJobs counts the jobs of some kinds that are due and not claimed by a server, and
// returns since when the first of them is due.
func (s *System) DueJobs(ctx context.Context, kinds []jobs.Kind) (due int64, oldest time.Duration, err error) {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return s.backlog(
		ctx,
		`SELECT run_at AS since FROM jobs WHERE kind = ANY($2) AND state = 'pending' AND run_at <= clock_timestamp()`,
		names,
	)
}

// backlog counts the rows of a query with the column since. Its arguments begin at $2.
func (s *System) backlog(ctx context.Context, sql string, args ...any) (n int64, oldest time.Duration, err error) {
	err = toFault(s.pool.QueryRow(ctx, `
		SELECT count(*), coalesce(clock_timestamp() - min(since), '0') FROM (`+sql+` LIMIT $1) backlog`, append([]any{maxBacklogCount}, args...)...).Scan(&n, &oldest))
	return n, oldest, err
}
