package jobs

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/uuid"
)

// manyLanes is a queue of lanes that are always due.
type manyLanes struct{ n int }

func laneOf(n int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:], uint64(n)) // #nosec G115 -- not negative
	return id
}

func (q manyLanes) DueLanes(_ context.Context, _ Kind, _ time.Time, after uuid.UUID, limit int) (due []uuid.UUID, err error) {
	for n := int(binary.BigEndian.Uint64(after[:])) + 1; n <= q.n && len(due) < limit; n++ { // #nosec G115 -- a small number
		due = append(due, laneOf(n))
	}
	return due, nil
}

func (q manyLanes) ClaimJobs(_ context.Context, _ Kind, lanes []LaneClaim, _, _ time.Time) (all []Job, err error) {
	for _, l := range lanes {
		for range l.Limit {
			all = append(all, Job{New: New{Lane: l.Lane}})
		}
	}
	return all, nil
}

func (q manyLanes) EndJobs(context.Context, []Ended) error { return nil }

// With more lanes than are read at once, and fewer slots, each lane has its turn.
func TestLaterLanesHaveTheirTurn(t *testing.T) {
	t.Parallel()
	ran, release := make(chan uuid.UUID), make(chan struct{}, 2)
	r := NewRunner(manyLanes{maxLanes + 1}, Handler{Slots: 1, LaneSlots: 1, Timeout: time.Minute, Run: func(_ context.Context, j Job) Result {
		ran <- j.Lane
		<-release
		return Result{}
	}}, Options{})
	take := func(after, want uuid.UUID) {
		t.Helper()
		if at, err := r.take(t.Context(), after); err != nil || at != want {
			t.Fatalf("after %s: at %s, %v; want %s", after, at, err, want)
		}
	}
	end := func() {
		release <- struct{}{}
		<-r.ended
		r.attempt.Wait()
	}
	page := laneOf(maxLanes)
	take(uuid.UUID{}, page)
	<-ran
	take(page, page) // no slot is free
	end()
	take(page, uuid.UUID{})
	if got := <-ran; got != laneOf(maxLanes+1) {
		t.Errorf("%s had the turn of the last lane", got)
	}
	end()
}
