package postgres_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/postgres"
)

const testKind jobs.Kind = "test"

// queue adds a job whose payload is its name.
func (w *world) queue(t *testing.T, in workspace.ID, lane uuid.UUID, order, name string) jobs.New {
	t.Helper()
	j := jobs.New{
		ID: jobs.IDFor(lane, name), Workspace: in, Kind: testKind, Lane: lane, Order: order,
		Payload: json.RawMessage(strconv.Quote(name)), RunAt: w.now,
	}
	fatal(t, w.system.AddJobs(t.Context(), []jobs.New{j}, w.now))
	return j
}

const testHold = time.Minute

// claim takes up to 10 jobs of each lane that is due.
func (w *world) claim(t *testing.T) []jobs.Job {
	t.Helper()
	lanes, err := w.system.DueLanes(t.Context(), testKind, w.now, uuid.UUID{}, 100)
	fatal(t, err)
	var claims []jobs.LaneClaim
	for _, l := range lanes {
		claims = append(claims, jobs.LaneClaim{Lane: l, Limit: 10})
	}
	all, err := w.system.ClaimJobs(t.Context(), testKind, claims, w.now, w.now.Add(testHold))
	fatal(t, err)
	return all
}

func jobNames(all []jobs.Job) (out []string) {
	for _, j := range all {
		var name string
		_ = json.Unmarshal(j.Payload, &name)
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func wantJobs(t *testing.T, what string, got []jobs.Job, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, jobNames(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (w *world) end(t *testing.T, j jobs.Job, s jobs.State, in time.Duration) {
	t.Helper()
	fatal(t, w.system.EndJobs(t.Context(), []jobs.Ended{{Job: j, State: s, RunAt: w.now.Add(in), At: w.now, Status: 503, Error: "no"}}))
}

func TestJobsOfOneOrderRunOneAfterTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lane, other := uuid.New(), uuid.New()
	w.queue(t, w.one.ID, lane, "r", "r1")
	w.queue(t, w.one.ID, lane, "r", "r2")
	w.queue(t, w.one.ID, lane, "r", "r3")
	w.queue(t, w.one.ID, lane, "s", "s1")
	w.queue(t, w.one.ID, lane, "", "free 1")
	w.queue(t, w.one.ID, lane, "", "free 2")
	w.queue(t, w.two.ID, other, "r", "other r1")
	first := w.claim(t)
	wantJobs(t, "the first of each order", first, "free 1", "free 2", "other r1", "r1", "s1")
	wantJobs(t, "while they are taken", w.claim(t))
	r1 := first[slices.Index(jobNamesInOrder(first), "r1")]
	// A failure blocks the following jobs, and nothing else.
	w.end(t, r1, jobs.Pending, time.Hour)
	wantJobs(t, "while r1 waits", w.claim(t))
	if due, err := w.system.DueLanes(t.Context(), testKind, w.now, uuid.UUID{}, 10); err != nil || len(due) != 0 {
		t.Errorf("lanes that are looked at while all wait: %v, %v", due, err)
	}
	for _, j := range first {
		if j.ID != r1.ID {
			w.end(t, j, jobs.Done, 0)
		}
	}
	w.queue(t, w.one.ID, lane, "r", "r4")
	w.queue(t, w.one.ID, lane, "s", "s2")
	wantJobs(t, "added meanwhile", w.claim(t), "s2")
	w.now = w.now.Add(time.Hour)
	retried := w.claim(t)
	wantJobs(t, "after the pause", retried, "r1", "s2") // the lease of s2 has ended
	if retried[slices.Index(jobNamesInOrder(retried), "r1")].Attempts != 1 {
		t.Errorf("attempts: %+v", retried)
	}
	for want, state := range map[string]jobs.State{"r2": jobs.Done} {
		w.end(t, retried[slices.Index(jobNamesInOrder(retried), "r1")], state, 0)
		wantJobs(t, "after the end of the one before", w.claim(t), want)
	}
}

func jobNamesInOrder(all []jobs.Job) (out []string) {
	for _, j := range all {
		out = append(out, jobNames([]jobs.Job{j})...)
	}
	return out
}

// A job that failed permanently no longer blocks the following ones.
func TestFailedJobsLetTheNextRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lane := uuid.New()
	w.queue(t, w.one.ID, lane, "r", "r1")
	w.queue(t, w.one.ID, lane, "r", "r2")
	w.end(t, w.claim(t)[0], jobs.Failed, 0)
	wantJobs(t, "after a failure for good", w.claim(t), "r2")
}

func TestLeasesOfJobsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue(t, w.one.ID, uuid.New(), "", "a")
	lost := w.claim(t)[0]
	w.now = w.now.Add(testHold - time.Millisecond)
	wantJobs(t, "before the lease ends", w.claim(t))
	w.now = w.now.Add(time.Millisecond)
	taken := w.claim(t)
	wantJobs(t, "when the lease has ended", taken, "a")
	w.end(t, lost, jobs.Failed, 0)
	all, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: testKind}, 10)
	fatal(t, err)
	if len(all) != 1 || all[0].State != jobs.Pending || all[0].Attempts != 0 {
		t.Errorf("who lost the lease ended the job: %+v", all)
	}
	w.end(t, taken[0], jobs.Done, 0)
	w.end(t, taken[0], jobs.Failed, 0)
	if all, err = w.system.Jobs(t.Context(), postgres.JobFilter{State: jobs.Done}, 10); err != nil || len(all) != 1 || all[0].Attempts != 1 {
		t.Errorf("the job is not done once: %+v, %v", all, err)
	}
}

// A server that lost the lease of a job does not postpone jobs that wait for it.
func TestLostLeasesPutOffNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lane := uuid.New()
	w.queue(t, w.one.ID, lane, "r", "r1")
	w.queue(t, w.one.ID, lane, "r", "r2")
	lost := w.claim(t)[0]
	w.now = w.now.Add(testHold)
	taken := w.claim(t)[0]
	w.end(t, lost, jobs.Pending, time.Hour)
	w.end(t, taken, jobs.Done, 0)
	next := w.claim(t)
	wantJobs(t, "after the first", next, "r2")
	w.queue(t, w.one.ID, lane, "r", "r3")
	w.queue(t, w.one.ID, lane, "r", "r4")
	w.end(t, next[0], jobs.Done, 0)
	lost = w.claim(t)[0]
	w.now = w.now.Add(testHold)
	w.end(t, w.claim(t)[0], jobs.Done, 0)
	w.end(t, lost, jobs.Pending, time.Hour)
	wantJobs(t, "after the third", w.claim(t), "r4")
}

func TestAddingAJobTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lane := uuid.New()
	w.queue(t, w.one.ID, lane, "", "a")
	w.end(t, w.claim(t)[0], jobs.Done, 0)
	w.queue(t, w.one.ID, lane, "", "a")
	wantJobs(t, "a job that was done", w.claim(t))
	if err := w.system.AddJobs(t.Context(), []jobs.New{{ID: jobs.NewID(), Kind: testKind}}, w.now); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a job of no workspace: %v", err)
	}
}

func TestOperatorsSeeAndRetryJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	lane := uuid.New()
	for _, name := range []string{"done", "failed", "waits", "due"} {
		w.queue(t, w.one.ID, lane, "", name)
	}
	for _, j := range w.claim(t) {
		switch name := jobNames([]jobs.Job{j})[0]; name {
		case "done", "failed":
			w.end(t, j, jobs.State(name), 0)
		case "waits":
			w.end(t, j, jobs.Pending, time.Hour)
		case "due":
			w.end(t, j, jobs.Pending, 0)
		}
	}
	counts, err := w.system.CountJobs(ctx, postgres.JobFilter{}, w.now)
	fatal(t, err)
	want := []postgres.JobCount{
		{Kind: testKind, State: jobs.Pending, Count: 2, Due: 1, Oldest: w.now, Late: &w.now},
		{Kind: testKind, State: jobs.Failed, Count: 1, Oldest: w.now}, {Kind: testKind, State: jobs.Done, Count: 1, Oldest: w.now},
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if n, err := w.system.RetryJobs(ctx, postgres.JobFilter{Workspace: w.two.ID}, w.now); err != nil || n != 0 {
		t.Errorf("of another workspace: %d, %v", n, err)
	}
	n, err := w.system.RetryJobs(ctx, postgres.JobFilter{Workspace: w.one.ID}, w.now)
	if err != nil || n != 3 {
		t.Errorf("%d jobs are tried again, %v", n, err)
	}
	wantJobs(t, "tried again", w.claim(t), "due", "failed", "waits")
	if n, err := w.system.RetryJobs(ctx, postgres.JobFilter{}, w.now); err != nil || n != 0 {
		t.Errorf("%d taken jobs are tried again, %v", n, err)
	}
	_, err = w.system.Pool().Exec(ctx, `UPDATE jobs SET ended_at = clock_timestamp() - interval '2 days' WHERE state = 'done'`)
	fatal(t, err)
	fatal(t, w.system.ForgetJobs(ctx, 24*time.Hour))
	if all, err := w.system.Jobs(ctx, postgres.JobFilter{}, 10); err != nil || len(all) != 3 {
		t.Errorf("%d jobs are left, %v", len(all), err)
	}
}

// Row-level security keeps the jobs of other workspaces from the application's role.
func TestJobsAreUnderPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.queue(t, w.two.ID, uuid.New(), "", "a")
	n, err := w.app.CountAll(ctx, w.one.ID, "jobs")
	if err != nil || n != 0 {
		t.Errorf("another workspace sees %d jobs, %v", n, err)
	}
	for name, sql := range map[string]string{
		"update": `UPDATE jobs SET attempts = 5`, "delete": `DELETE FROM jobs`,
	} {
		fatal(t, w.app.InWorkspace(ctx, w.one.ID, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, sql)
			if err == nil && tag.RowsAffected() != 0 {
				err = errors.New("changed " + tag.String())
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return nil
		}))
	}
	if err := w.app.InWorkspace(ctx, w.one.ID, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO jobs (workspace_id, id, kind, lane, payload, run_at, created_at) VALUES ($1, $2, 'k', $2, '{}', now(), now())`, w.two.ID.String(), uuid.New())
		return err
	}); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a job for another workspace: %v", err)
	}
}
