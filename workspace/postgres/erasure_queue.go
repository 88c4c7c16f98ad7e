package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace/jobs"
)

// erasureQueue is a queue of jobs for erasure links. Its rows have no workspace, so they are
// not in the table of jobs.
type erasureQueue struct {
	system *System
	table  string
	// ended is what else is set when a job ends in a state, $3.
	ended string
}

// ErasureLetters is the queue of the e-mails of links.
func (s *System) ErasureLetters() jobs.Queue { return erasureQueue{s, "erasure_links", ""} }

// ErasureRequests is the queue of addresses for which a link was requested. An address is
// deleted once it was looked up.
func (s *System) ErasureRequests() jobs.Queue {
	return erasureQueue{s, "erasure_requests", `, address = CASE WHEN $3 = 'pending' THEN address END`}
}

// erasureLane is the only lane of these queues.
var erasureLane = uuid.MustParse("6f0c1a4e-3f0e-4c53-9d0c-2f3b8f6f6a10")

// DueLanes implements jobs.Queue.
func (q erasureQueue) DueLanes(ctx context.Context, _ jobs.Kind, now time.Time, after uuid.UUID, _ int) ([]uuid.UUID, error) {
	if after != uuid.Nil {
		return nil, nil
	}
	return collect(ctx, q.system, pgx.RowTo[uuid.UUID], `
		SELECT $2::uuid WHERE EXISTS (SELECT FROM `+q.table+` WHERE state = 'pending' AND run_at <= $1)`, now, erasureLane)
}

// ClaimJobs implements jobs.Queue.
func (q erasureQueue) ClaimJobs(
	ctx context.Context, kind jobs.Kind, lanes []jobs.LaneClaim, now, until time.Time,
) (all []jobs.Job, err error) {
	lease := uuid.New()
	for _, lane := range lanes {
		claimed, err := collect(ctx, q.system, func(row pgx.CollectableRow) (j jobs.Job, err error) {
			err = row.Scan((*uuid.UUID)(&j.ID), &j.Attempts, &j.CreatedAt)
			j.Kind, j.Lane = kind, lane.Lane
			return j.Claimed(lease), err
		}, `
			UPDATE `+q.table+` SET run_at = $2, lease = $3 WHERE id IN (
				SELECT id FROM `+q.table+` WHERE state = 'pending' AND run_at <= $1 ORDER BY run_at LIMIT $4 FOR UPDATE SKIP LOCKED)
			RETURNING id, attempts, created_at`, now, until, lease, lane.Limit)
		if err != nil {
			return all, err
		}
		all = append(all, claimed...)
	}
	return all, nil
}

// EndJobs implements jobs.Queue.
func (q erasureQueue) EndJobs(ctx context.Context, ended []jobs.Ended) error {
	var batch pgx.Batch
	for _, e := range ended {
		batch.Queue(`
			UPDATE `+q.table+` SET state = $3, run_at = $4, attempts = attempts + 1, lease = NULL`+q.ended+` WHERE id = $1 AND lease = $2`,
			arg(e.Job.ID), e.Job.Lease(), string(e.State), e.RunAt)
	}
	return toFault(q.system.pool.SendBatch(ctx, &batch).Close())
}
