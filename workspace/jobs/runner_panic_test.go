package jobs

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// oneJob is a queue of a job that is due until it ended.
type oneJob struct {
	manyLanes
	mu    sync.Mutex
	ended []Ended
}

func (q *oneJob) DueLanes(context.Context, Kind, time.Time, uuid.UUID, int) ([]uuid.UUID, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ended) > 0 {
		return nil, nil
	}
	return []uuid.UUID{laneOf(1)}, nil
}

func (q *oneJob) EndJobs(_ context.Context, ended []Ended) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = append(q.ended, ended...)
	return nil
}

// A panic in a handler is a failed attempt: the process and its slots continue.
func TestPanicIsAFailedAttempt(t *testing.T) {
	t.Parallel()
	q := &oneJob{}
	r := NewRunner(
		q,
		Handler{Slots: 1, LaneSlots: 1, Timeout: time.Minute, Run: func(context.Context, Job) Result { panic("secret of a payload") }},
		Options{Log: slog.New(slog.DiscardHandler)},
	)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		q.mu.Lock()
		ended := len(q.ended)
		q.mu.Unlock()
		if ended > 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the attempt has no end")
		}
	}
	stop()
	<-done
	if e := q.ended[0]; e.State != Pending || e.Error != "an error in the service" || r.free() != 1 {
		t.Errorf("%+v, %d slots free", e, r.free())
	}
}
