package changes_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/query"
)

// quiet is a feed in which nothing is published. It counts how often it is asked.
type quiet struct {
	at    changes.Position
	asked atomic.Int64
}

func (q *quiet) FeedHead(context.Context) (changes.Position, time.Time, error) {
	q.asked.Add(1)
	return q.at, time.Time{}, nil
}

func (q *quiet) FeedAt(context.Context, time.Time) (changes.Position, bool, error) {
	return q.at, true, nil
}

func (q *quiet) ChangesAfter(context.Context, catalog.Dataset, changes.Position, int) (changes.Page, bool, error) {
	return changes.Page{Next: q.at, CaughtUp: true}, true, nil
}

func (q *quiet) ChangesOf(context.Context, catalog.Dataset, uuid.UUID, int) ([]changes.Entry, error) {
	return nil, nil
}

// Many requests that wait ask the store as often as one.
func TestWaitingAsksOnceForAll(t *testing.T) {
	t.Parallel()
	store := &quiet{at: changes.Position{Publication: uuid.New(), Seq: 7}}
	r := &changes.Reader{Store: store}
	began := time.Now()
	var waiting sync.WaitGroup
	for range 500 {
		waiting.Go(func() {
			at, err := r.Wait(
				t.Context(), query.ChangesRequest{FeedRequest: query.FeedRequest{Wait: 2 * time.Second}}, store.at,
				func() bool { return false },
			)
			if at != store.at || err != nil {
				t.Errorf("%+v, %v", at, err)
			}
		})
	}
	waiting.Wait()
	took := time.Since(began)
	if most := int64(took/(500*time.Millisecond)) + 2; took < 2*time.Second || store.asked.Load() > most {
		t.Errorf("asked %d times in %v, at most %d are enough", store.asked.Load(), took, most)
	}
}
