package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/jobs"
)

var _ jobs.Queue = (*System)(nil)

// addJobs adds jobs of any workspaces. The transaction is the system role's, or names the
// one workspace of the jobs. It returns the number of new jobs.
func addJobs(ctx context.Context, tx pgx.Tx, added []jobs.New, now time.Time) (int64, error) {
	if len(added) == 0 {
		return 0, nil
	}
	n := len(added)
	in, ids, lanes := make([]uuid.UUID, n), make([]uuid.UUID, n), make([]uuid.UUID, n)
	kinds, orders, payloads, due := make([]string, n), make([]string, n), make([]string, n), make([]time.Time, n)
	for i, j := range added {
		if err := j.Workspace.Check(); err != nil {
			return 0, err
		}
		in[i], ids[i], lanes[i] = arg(j.Workspace), arg(j.ID), j.Lane
		kinds[i], orders[i], payloads[i], due[i] = string(j.Kind), j.Order, string(j.Payload), j.RunAt
	}
	tag, err := tx.Exec(ctx, `
		INSERT INTO jobs (workspace_id, id, kind, lane, order_key, payload, run_at, created_at)
		SELECT j.workspace_id, j.id, j.kind, j.lane, j.order_key, j.payload::jsonb, j.run_at, $8
		FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::timestamptz[])
		     WITH ORDINALITY j (workspace_id, id, kind, lane, order_key, payload, run_at, place)
		ORDER BY j.place
		ON CONFLICT ON CONSTRAINT jobs_pkey DO NOTHING`, in, ids, kinds, lanes, orders, payloads, due, now)
	return tag.RowsAffected(), err
}

// AddJobs adds jobs, of any workspaces, in one transaction. Within this package addJobs
// does it in the transaction that causes the jobs.
func (s *System) AddJobs(ctx context.Context, added []jobs.New, now time.Time) error {
	return toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := addJobs(ctx, tx, added, now)
		return err
	}))
}

const jobColumns = `j.workspace_id, j.id, j.kind, j.lane, j.order_key, j.payload, j.run_at, j.state, j.attempts, coalesce(j.status, 0), coalesce(j.error, ''), j.created_at, j.ended_at, j.lease`

func collectJob(row pgx.CollectableRow) (j jobs.Job, err error) {
	var lease uuid.NullUUID
	var payload []byte
	err = row.Scan((*uuid.UUID)(&j.Workspace), (*uuid.UUID)(&j.ID), &j.Kind, &j.Lane, &j.Order, &payload, &j.RunAt,
		&j.State, &j.Attempts, &j.Status, &j.Error, &j.CreatedAt, &j.EndedAt, &lease)
	j.Payload = json.RawMessage(payload)
	return j.Claimed(lease.UUID), err
}

// DueLanes implements jobs.Queue. It steps from lane to lane in the index, so waiting jobs
// cost nothing.
func (s *System) DueLanes(ctx context.Context, kind jobs.Kind, now time.Time, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	return collect(ctx, s, pgx.RowTo[uuid.UUID], `
		WITH RECURSIVE lanes (lane) AS (
			(SELECT lane FROM jobs WHERE kind = $1 AND state = 'pending' AND lane > $3 ORDER BY lane LIMIT 1)
			UNION ALL
			SELECT (SELECT j.lane FROM jobs j WHERE j.kind = $1 AND j.state = 'pending' AND j.lane > l.lane ORDER BY j.lane LIMIT 1)
			FROM lanes l WHERE l.lane IS NOT NULL
		)
		SELECT lane FROM lanes
		WHERE (SELECT j.run_at FROM jobs j WHERE j.kind = $1 AND j.lane = lanes.lane AND j.state = 'pending' ORDER BY j.run_at LIMIT 1) <= $2
		LIMIT $4`, string(kind), now, after, limit)
}

// ClaimJobs implements jobs.Queue: a statement for each lane, all in one round trip. A claim is
// a later run_at. SKIP LOCKED lets servers claim different jobs without waiting. A job is not
// claimed while an earlier one with the same order is pending, claimed or not.
func (s *System) ClaimJobs(ctx context.Context, kind jobs.Kind, lanes []jobs.LaneClaim, now, until time.Time) (all []jobs.Job, err error) {
	lease := uuid.New()
	var batch pgx.Batch
	for _, l := range lanes {
		batch.Queue(`
			WITH due AS MATERIALIZED (
				SELECT c.workspace_id, c.id FROM jobs c
				WHERE c.kind = $1 AND c.lane = $2 AND c.state = 'pending' AND c.run_at <= $3
				  AND (c.order_key = '' OR NOT EXISTS (
				       SELECT FROM jobs e WHERE e.lane = c.lane AND e.order_key = c.order_key AND e.order_key <> ''
				       AND e.seq < c.seq AND e.state = 'pending' AND e.kind = c.kind))
				ORDER BY c.run_at, c.seq LIMIT $4 FOR UPDATE SKIP LOCKED)
			UPDATE jobs j SET run_at = $5, lease = $6 FROM due
			WHERE j.workspace_id = due.workspace_id AND j.id = due.id
			RETURNING `+jobColumns, string(kind), l.Lane, now, l.Limit, until, lease).
			Query(func(rows pgx.Rows) error {
				claimed, err := pgx.CollectRows(rows, collectJob)
				all = append(all, claimed...)
				return err
			})
	}
	if err := s.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, toFault(err) // one transaction: none of them is taken
	}
	return all, nil
}

// EndJobs implements jobs.Queue.
func (s *System) EndJobs(ctx context.Context, ended []jobs.Ended) error {
	n := len(ended)
	in, ids, leases := make([]uuid.UUID, n), make([]uuid.UUID, n), make([]uuid.UUID, n)
	states, statuses, texts := make([]string, n), make([]*int, n), make([]*string, n)
	due, at := make([]time.Time, n), make([]*time.Time, n)
	lanes, kinds, orders := make([]uuid.UUID, n), make([]string, n), make([]string, n)
	for i, e := range ended {
		in[i], ids[i], leases[i] = arg(e.Job.Workspace), arg(e.Job.ID), e.Job.Lease()
		states[i], due[i] = string(e.State), e.RunAt
		if e.Status != 0 {
			statuses[i] = &e.Status
		}
		if e.Error != "" {
			texts[i] = &e.Error
		}
		if e.State != jobs.Pending {
			at[i] = &e.At
		}
		lanes[i], kinds[i], orders[i] = e.Job.Lane, string(e.Job.Kind), e.Job.Order
	}
	var batch pgx.Batch
	batch.Queue(`
		UPDATE jobs j SET state = e.state, run_at = e.run_at, attempts = j.attempts + 1, status = e.status, error = e.error, ended_at = e.ended_at, lease = NULL
		FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[], $6::int[], $7::text[], $8::timestamptz[])
		     e (workspace_id, id, lease, state, run_at, status, error, ended_at)
		WHERE j.workspace_id = e.workspace_id AND j.id = e.id AND j.lease = e.lease AND j.state = 'pending'`,
		in, ids, leases, states, due, statuses, texts, at)
	// Jobs that wait for a job become due together with it, so that reads of due jobs need not
	// skip them each time. A server that lost the lease does not postpone them.
	batch.Queue(`
		UPDATE jobs j SET run_at = e.run_at
		FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::uuid[], $7::uuid[]) e (lane, order_key, kind, state, run_at, workspace_id, id)
		WHERE EXISTS (SELECT FROM jobs k WHERE k.workspace_id = e.workspace_id AND k.id = e.id AND k.state = e.state AND k.lease IS NULL)
		  AND e.order_key <> '' AND j.lane = e.lane AND j.order_key = e.order_key AND j.order_key <> '' AND j.kind = e.kind
		  AND j.state = 'pending' AND j.lease IS NULL AND CASE WHEN e.state = 'pending' THEN j.run_at < e.run_at ELSE j.run_at > e.run_at END`,
		lanes, orders, kinds, states, due, in, ids)
	return toFault(s.pool.SendBatch(ctx, &batch).Close())
}

// ForgetJobs deletes jobs that ended longer ago than age, in several statements.
func (s *System) ForgetJobs(ctx context.Context, age time.Duration) error {
	const atOnce = 10_000
	for deleted := int64(atOnce); deleted == atOnce; {
		tag, err := s.pool.Exec(ctx, `
			DELETE FROM jobs WHERE ctid = ANY (ARRAY(
				SELECT ctid FROM jobs WHERE ended_at < clock_timestamp() - $1::interval ORDER BY ended_at LIMIT $2))`, age, atOnce)
		if err != nil {
			return toFault(err)
		}
		deleted = tag.RowsAffected()
	}
	return nil
}

// JobFilter selects jobs for an operator; zero values select all.
type JobFilter struct {
	Kind      jobs.Kind
	State     jobs.State
	Workspace workspace.ID
	ID        jobs.ID
}

const jobFilter = ` ($1 = '' OR j.kind = $1) AND ($2 = '' OR j.state = $2) AND ($3::uuid IS NULL OR j.workspace_id = $3) AND ($4::uuid IS NULL OR j.id = $4) `

func (f JobFilter) args() []any {
	return []any{string(f.Kind), string(f.State), nullableWorkspace(f.Workspace), nullable(f.ID)}
}

// Jobs lists jobs, those due first first, at most limit.
func (s *System) Jobs(ctx context.Context, f JobFilter, limit int) ([]jobs.Job, error) {
	return collect(
		ctx,
		s,
		collectJob,
		`SELECT `+jobColumns+` FROM jobs j WHERE `+jobFilter+` ORDER BY j.state DESC, j.run_at, j.seq LIMIT $5`,
		append(f.args(), limit)...)
}

// RetryJobs makes pending and failed jobs due now, from the first attempt on, and returns
// their number. A claimed job is not changed.
func (s *System) RetryJobs(ctx context.Context, f JobFilter, now time.Time) (int64, error) {
	tag, err := s.pool.Exec(ctx, `
		UPDATE jobs j SET state = 'pending', run_at = $5, attempts = 0, ended_at = NULL, lease = NULL
		WHERE `+jobFilter+` AND (j.state = 'failed' OR j.state = 'pending' AND (j.lease IS NULL OR j.run_at <= $5))`, append(f.args(), now)...)
	return tag.RowsAffected(), toFault(err)
}

// JobCount is how many jobs of a kind are in a state.
type JobCount struct {
	Kind  jobs.Kind  `json:"kind"`
	State jobs.State `json:"state"`
	Count int64      `json:"count"`
	// Due is how many of them are due and not claimed by a server.
	Due int64 `json:"due"`
	// Oldest is when the oldest of them was added.
	Oldest time.Time `json:"oldest"`
	// Late is since when the first of them is due, nil if none is.
	Late *time.Time `json:"late"`
}

// CountJobs counts the jobs by kind and state.
func (s *System) CountJobs(ctx context.Context, f JobFilter, now time.Time) ([]JobCount, error) {
	return collect(ctx, s, pgx.RowToStructByPos[JobCount], `
		SELECT j.kind, j.state, count(*), count(*) FILTER (WHERE j.state = 'pending' AND j.run_at <= $5), min(j.created_at),
		       min(j.run_at) FILTER (WHERE j.state = 'pending' AND j.run_at <= $5)
		FROM jobs j
		WHERE `+jobFilter+` GROUP BY j.kind, j.state ORDER BY j.kind, j.state DESC`, append(f.args(), now)...)
}
