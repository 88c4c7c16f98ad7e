package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// PoolState is the state of a pool of connections.
type PoolState struct {
	InUse, Idle, Limit int
	// Waits is how often a connection was waited for, and Waited for how long.
	Waits    int64
	Waited time.Duration
}

// Connections tells the state of the connections.
func (s *Store) Connections() PoolState { return poolState(s.pool) }

// Connections is Store.Connections of the system role.
func (s *System) Connections() PoolState { return poolState(s.pool) }

func poolState(pool *pgxpool.Pool) PoolState {
	state := pool.Stat()
	return PoolState{
		InUse: int(state.AcquiredConns()), Idle: int(state.IdleConns()), Limit: int(state.MaxConns()),
		Waits: state.EmptyAcquireCount(), Waited: state.EmptyAcquireWaitTime(),
	}
}

// maxBacklogCount is how far a backlog is counted: who watches one needs no
// exact count of a large one, and counting it would slow what works it off.
const maxBacklogCount = 100_000

// PendingHeld counts the records that are pending, up to 100,000, and tells how
// long the oldest of those counted has been.
func (s *System) PendingHeld(ctx context.Context) (pending int64, oldest time.Duration, err error) {
	err = toFault(s.pool.QueryRow(ctx, `
		SELECT count(*), coalesce(clock_timestamp() - min(pending_since), '0')
		FROM (SELECT pending_since FROM held_records WHERE version > projected_version LIMIT $1) pending`,
		maxBacklogCount).Scan(&pending, &oldest))
	return pending, oldest, err
}

// DueEmails counts the letters of open invitations that are due, up to 100,000,
// and tells how long the oldest of those counted has been.
func (s *System) DueEmails(ctx context.Context) (due int64, oldest time.Duration, err error) {
	err = toFault(s.pool.QueryRow(ctx, `
		SELECT count(*), coalesce(clock_timestamp() - min(next_attempt_at), '0')
		FROM (SELECT next_attempt_at FROM invitations
		      WHERE next_attempt_at <= clock_timestamp() AND expires_at > clock_timestamp() AND `+invitationOpen+` LIMIT $1) due`,
		maxBacklogCount).Scan(&due, &oldest))
	return due, oldest, err
}
