package indexer_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/indexer"
)

// The documents of a dataset are sent while the last request of the previous dataset is in
// flight. A load that ends there is resumed after the last complete acknowledgement, with the
// same outcome.
func TestDatasetsOverlap(t *testing.T) {
	t.Parallel()
	w, fresh := newWorld(t), newWorld(t)
	dir := generated(t, 400, 4)
	want := fresh.load(t, fresh.options(dir))

	ctx, end := context.WithCancel(t.Context())
	defer end()
	next := make(chan struct{})
	var held atomic.Bool
	var once sync.Once
	o := w.options(dir)
	o.BatchBytes, o.Senders = 2<<10, 2
	o.Elastic = through(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if !isBulk(r) || !strings.Contains(r.URL.Path, "signals") || held.Swap(true) {
			return false
		}
		select {
		case <-next:
			end()
			<-r.Context().Done()
		case <-time.After(20 * time.Second):
			t.Error("projects wait for the last signals")
		}
		return false
	}, func(r *http.Request, answer []byte) []byte {
		if isBulk(r) && strings.Contains(r.URL.Path, "projects") {
			once.Do(func() { close(next) })
		}
		return answer
	})
	if _, err := indexer.Load(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	report := w.load(t, w.options(dir))
	if report.Resumed != 1 {
		t.Errorf("resumed %d times", report.Resumed)
	}
	wantSameLoad(t, w, report, fresh, want)
}

// The documents of a dataset become searchable while the next ones are written.
func TestDatasetsAreRefreshedEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refreshed := make(chan struct{})
	var once sync.Once
	o := w.options(generated(t, 400, 4))
	o.Elastic = through(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/_refresh") && strings.Contains(r.URL.Path, "signals"):
			once.Do(func() { close(refreshed) })
		case isBulk(r) && strings.Contains(r.URL.Path, "accounts"):
			select {
			case <-refreshed:
			case <-time.After(20 * time.Second):
				t.Error("signals are not searchable before accounts are written")
			}
		}
		return false
	}, nil)
	w.load(t, o)
}

// With links of so many ranges that their files are merged before they are read, the outcome is
// the same, whatever is in flight.
func TestLinksOfManyRanges(t *testing.T) {
	t.Parallel()
	w, fresh := newWorld(t), newWorld(t)
	dir := generated(t, 400, 4)
	want := fresh.load(t, fresh.options(dir))
	o := w.options(dir)
	o.CheckpointRecords, o.Workers = 2, 2
	o.Elastic = through(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if isBulk(r) {
			time.Sleep(10 * time.Millisecond)
		}
		return false
	}, nil)
	wantSameLoad(t, w, w.load(t, o), fresh, want)
}
