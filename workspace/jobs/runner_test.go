package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"atlas/internal/devstack/backends"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

func TestMain(m *testing.M) {
	backends.Prepare()
	goleak.VerifyTestMain(m)
}

type fixture struct {
	system *postgres.System
	in     workspace.ID
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	system := pgtest.New(t).OpenSystem(t, postgres.Options{MaxConns: 4})
	ws, err := people.NewDirectory(system, nil).CreateWorkspace(t.Context(), "One", workspace.Pro, 0)
	fatal(t, err)
	return fixture{system, ws.ID}
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f fixture) add(t *testing.T, lane uuid.UUID, order string, n int) {
	t.Helper()
	var all []jobs.New
	now := time.Now().Add(-time.Second)
	for range n {
		all = append(all, jobs.New{
			ID: jobs.NewID(), Workspace: f.in, Kind: "test", Lane: lane, Order: order, Payload: json.RawMessage(`{}`),
			RunAt: now,
		})
	}
	fatal(t, f.system.AddJobs(t.Context(), all, now))
}

// run runs a handler until the test ends.
func (f fixture) run(t *testing.T, h jobs.Handler) {
	t.Helper()
	h.Kind, h.Timeout = "test", 10*time.Second
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		jobs.NewRunner(f.system, h, jobs.Options{}).Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func (f fixture) count(t *testing.T, s jobs.State) (n int64) {
	t.Helper()
	counts, err := f.system.CountJobs(t.Context(), postgres.JobFilter{State: s}, time.Now())
	fatal(t, err)
	for _, c := range counts {
		n += c.Count
	}
	return n
}

func (f fixture) wait(t *testing.T, s jobs.State, want int64) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); f.count(t, s) != want; {
		if time.Now().After(end) {
			t.Fatalf("%d jobs are %s, want %d", f.count(t, s), s, want)
		}
	}
}

// Lanes that fail or hang leave slots for the others.
func TestLanesInTroubleDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	good := uuid.New()
	hang := make(chan struct{})
	for range 8 {
		f.add(t, uuid.New(), "", 20) // hang
	}
	var mu sync.Mutex
	hanging := 0
	f.run(t, jobs.Handler{Slots: 8, LaneSlots: 2, Run: func(_ context.Context, j jobs.Job) jobs.Result {
		if j.Lane == good {
			return jobs.Result{}
		}
		if j.Attempts > 0 || j.ID[0]%2 == 0 {
			return jobs.Result{Err: errors.New("dead")}
		}
		mu.Lock()
		hanging++
		first := hanging <= 4
		mu.Unlock()
		if first { // only as many as leave every second slot to lanes that work
			<-hang
		}
		return jobs.Result{Err: errors.New("hung")}
	}})
	defer close(hang)
	f.add(t, good, "", 200)
	f.wait(t, jobs.Done, 200)
}

// Two runners run each job once, and those of one order in their order.
func TestRunnersShareAQueueInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lane := uuid.New()
	for _, order := range []string{"a", "b", "c", ""} {
		f.add(t, lane, order, 25)
	}
	all, err := f.system.Jobs(t.Context(), postgres.JobFilter{}, 1000)
	fatal(t, err)
	want := map[string][]jobs.ID{}
	for _, j := range all {
		want[j.Order] = append(want[j.Order], j.ID)
	}
	var mu sync.Mutex
	got := map[string][]jobs.ID{}
	for range 2 {
		f.run(t, jobs.Handler{Slots: 16, LaneSlots: 8, Pauses: []time.Duration{
			time.Millisecond, time.Millisecond,
		}, Run: func(_ context.Context, j jobs.Job) jobs.Result {
			if j.Attempts == 0 && j.ID[15]%4 == 0 {
				return jobs.Result{Err: errors.New("once")}
			}
			mu.Lock()
			defer mu.Unlock()
			got[j.Order] = append(got[j.Order], j.ID)
			return jobs.Result{}
		}})
	}
	f.wait(t, jobs.Done, 100)
	for order, ids := range want {
		if order == "" {
			slices.SortFunc(ids, compare)
			slices.SortFunc(got[order], compare)
		}
		if !slices.Equal(ids, got[order]) {
			t.Errorf("order %q: %v, want %v", order, got[order], ids)
		}
	}
}

func compare(a, b jobs.ID) int { return strings.Compare(a.String(), b.String()) }

func TestJobsFailForGood(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(t, uuid.New(), "", 1)
	f.run(t, jobs.Handler{Slots: 1, LaneSlots: 1, Pauses: []time.Duration{
		time.Millisecond, time.Millisecond,
	}, Run: func(context.Context, jobs.Job) jobs.Result {
		return jobs.Result{Err: errors.New(strings.Repeat("x", 1000)), Status: 500}
	}})
	f.wait(t, jobs.Failed, 1)
	all, err := f.system.Jobs(t.Context(), postgres.JobFilter{}, 2)
	fatal(t, err)
	if j := all[0]; j.Attempts != 3 || j.Status != 500 || len(j.Error) != 300 || j.EndedAt == nil {
		t.Errorf("%+v", j)
	}
}

// The pauses of a job that is tried for a day: soon, then ever longer.
func TestPausesTakeADay(t *testing.T) {
	t.Parallel()
	var sum, last time.Duration
	for _, p := range jobs.Pauses() {
		if p <= last {
			t.Errorf("%v after %v", p, last)
		}
		sum, last = sum+p, p
	}
	if sum != 24*time.Hour || 10*time.Second+jobs.Pauses()[0]*11/10 > 28*time.Second {
		t.Errorf("%v in all, the first %v", sum, jobs.Pauses()[0])
	}
}
