package alerts_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"atlas/internal/timer"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/workspace/alerts"
	"atlas/workspace/views"
)

const (
	oneSearch, oneStep = 40 * time.Millisecond, time.Millisecond
	pacedViews         = 1250
)

// timed are Views that one changed record matches, on backends that take a fixed time.
type timed struct {
	alerts.Watches
	alerts.Searcher
	worked   time.Duration
	unpaused time.Duration
	longest  time.Duration
	steps    int
}

func (w *timed) work(d time.Duration) {
	time.Sleep(d)
	w.worked += d
	w.unpaused += d
	w.longest = max(w.longest, w.unpaused)
}

func (*timed) WatchedViews(context.Context) (all []alerts.Watched, err error) {
	for n := range pacedViews {
		all = append(all, alerts.Watched{
			View: views.View{Dataset: catalog.Accounts}, Definition: []byte(strconv.Itoa(n)), State: alerts.Watching,
		})
	}
	return all, nil
}

func (*timed) KnownMatches(_ context.Context, all []alerts.Watched) ([][]byte, error) {
	packed, err := alerts.Set{}.Pack()
	known := make([][]byte, len(all))
	for i := range known {
		known[i] = packed
	}
	return known, err
}

func (w *timed) StepWatched(context.Context, alerts.Watched, alerts.Step, time.Time) (bool, error) {
	w.work(oneStep)
	w.steps++
	return true, nil
}

func (w *timed) MatchingViews(_ context.Context, vs []views.View, among []uuid.UUID) ([][]uuid.UUID, error) {
	w.work(oneSearch)
	found := make([][]uuid.UUID, len(vs))
	for i := range found {
		found[i] = among
	}
	return found, nil
}

func (*timed) TidyWatched(context.Context, time.Time) error         { return nil }
func (*timed) HeldChanged(context.Context) ([]alerts.HeldOf, error) { return nil, nil }
func (*timed) FeedHead(context.Context) (p changes.Position, t time.Time, err error) {
	return p, t, nil
}

func (*timed) ChangesAfter(context.Context, catalog.Dataset, changes.Position, int) (changes.Page, bool, error) {
	return changes.Page{Entries: []changes.Entry{{Change: changes.Change{ID: uuid.New()}}}, Next: changes.Position{Seq: 1}}, true, nil
}

// Between searches and some steps the processors are left to others, for three times as long as the work
// took.
func TestComparisonLeavesTimeToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backends := &timed{}
		w := &alerts.Watcher{Watches: backends, Feed: backends, Search: backends}
		w.Pause = func(ctx context.Context, d time.Duration) error {
			backends.unpaused = 0
			return timer.Sleep(ctx, d)
		}
		began := time.Now()
		fatal(t, w.Look(t.Context()))
		if want := 3*oneSearch + pacedViews*oneStep; backends.worked != want {
			t.Fatalf("it worked for %v instead of %v", backends.worked, want)
		}
		if took := time.Since(began); took != 4*backends.worked {
			t.Errorf("%v of work took %v: others have less than three quarters of the time", backends.worked, took)
		}
		if backends.longest > oneSearch {
			t.Errorf("it worked for %v at a stretch", backends.longest)
		}
	})
}

// A server that stops does not wait, and what it has stored stays.
func TestPauseEndsWithTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopped := errors.New("stopped")
		ctx, stop := context.WithCancelCause(t.Context())
		backends := &timed{}
		w := &alerts.Watcher{Watches: backends, Feed: backends, Search: backends}
		time.AfterFunc(oneSearch+oneSearch/2, func() { stop(stopped) })
		began := time.Now()
		if err := w.Look(ctx); !errors.Is(err, stopped) {
			t.Errorf("it ends with %v", err)
		}
		if took := time.Since(began); backends.steps > 0 || took > 10*oneSearch {
			t.Errorf("it took %v and stored %d steps", took, backends.steps)
		}
	})
}
