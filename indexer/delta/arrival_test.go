package delta_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/searchtest"
)

// arrivals are the arrivals of the served signals by id, and the last published one.
type arrivals struct {
	of   map[string]int64
	mark int64
}

func (w *world) arrivals(t *testing.T) arrivals {
	t.Helper()
	a := arrivals{of: map[string]int64{}}
	state, err := w.system.FeedState(t.Context())
	fatal(t, err)
	a.mark = state.Arrived.UnixMilli()
	hits, err := elastic.Hits[any](t.Context(), w.elastic, w.names.Alias(string(catalog.Signals)), map[string]any{
		"size": 10_000, "docvalue_fields": []string{document.ArrivedField},
	})
	fatal(t, err)
	for _, hit := range hits {
		a.of[hit.ID], _ = hit.Long(document.ArrivedField)
	}
	return a
}

// wantArrivals compares the arrivals with those before, once the feed was settled: signals that
// existed have the same arrival, others a later one than everything published. After a rollback
// neither need hold. Signals that a resumed delta was writing when it ended may get a later
// arrival.
func (w *world) wantArrivals(t *testing.T, before arrivals, rolledBack, resumed bool, when string) arrivals {
	t.Helper()
	now := w.arrivals(t)
	for id, at := range now.of {
		was, there := before.of[id]
		switch {
		case at == 0 || at > now.mark:
			t.Errorf("%s: %s arrived at %d, and %d is the published arrival", when, id, at, now.mark)
		case rolledBack:
		case there && at != was && (!resumed || at <= before.mark):
			t.Errorf("%s: %s arrived at %d, and before at %d", when, id, at, was)
		case !there && at <= before.mark:
			t.Errorf("%s: %s is new and arrived at %d, where %d was published", when, id, at, before.mark)
		}
	}
	return now
}

func signalLine(n int, title string) string {
	return fmt.Sprintf(`{"id":"%s","signal_type":"permit_filed","title":"%s","occurred_at":"2026-01-01T00:00:00Z"}`, signal(n), title)
}

// A signal has the same arrival as long as it exists, and a new one if it was deleted and
// re-added.
func TestArrivals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	load := func(lines ...string) {
		t.Helper()
		_, err := indexer.Load(t.Context(), w.loadOptions(t, map[catalog.Dataset]string{catalog.Signals: strings.Join(lines, "\n")}))
		fatal(t, err)
	}
	apply := func(lines ...string) {
		t.Helper()
		o := w.options(t, map[catalog.Dataset]string{catalog.Signals: strings.Join(lines, "\n")})
		o.Feed = w.feed(t)
		w.apply(t, o)
	}
	gone := fmt.Sprintf(`{"id":"%s","deleted":true}`, signal(1))
	first := w.arrivalsAfter(t, arrivals{}, func() { load(signalLine(1, "A"), signalLine(2, "B")) })
	if first.of[signal(1)] != first.of[signal(2)] {
		t.Errorf("a load has two arrivals: %v", first)
	}
	second := w.arrivalsAfter(t, first, func() { apply(signalLine(1, "A"), signalLine(2, "C"), signalLine(3, "D")) })
	third := w.arrivalsAfter(t, second, func() { load(signalLine(2, "C"), signalLine(1, "E"), signalLine(3, "D"), signalLine(4, "F")) })
	away := w.arrivalsAfter(t, third, func() { apply(gone) })
	w.arrivalsAfter(t, away, func() { apply(signalLine(1, "E")) })
}

func (w *world) arrivalsAfter(t *testing.T, before arrivals, do func()) arrivals {
	t.Helper()
	do()
	return w.wantArrivals(t, before, false, false, "")
}

// A resumed load reuses what it has filled, unless another writer has changed records
// meanwhile: a subscription that began after that change would miss its signals.
func TestArrivalsOfAResumedLoad(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(t *testing.T, w *world){
		"nothing": func(*testing.T, *world) {},
		"a delta": func(t *testing.T, w *world) {
			o := w.options(t, map[catalog.Dataset]string{catalog.Signals: signalLine(2, "B")})
			o.Feed = w.feed(t)
			w.apply(t, o)
		},
		"a load": func(t *testing.T, w *world) {
			_, err := indexer.Load(
				t.Context(),
				w.loadOptions(t, map[catalog.Dataset]string{catalog.Signals: signalLine(1, "A") + "\n" + signalLine(2, "B")}),
			)
			fatal(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, err := indexer.Load(t.Context(), w.loadOptions(t, map[catalog.Dataset]string{catalog.Signals: signalLine(1, "A")}))
			fatal(t, err)
			o := w.loadOptions(t, map[catalog.Dataset]string{
				catalog.Signals: signalLine(1, "A") + "\n" + signalLine(2, "B") + "\n" + signalLine(3, "C"),
			})
			o.CheckpointRecords = 1
			var writes atomic.Int64
			err = w.interruptedLoad(t, o, func(r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/_bulk") {
					writes.Add(1)
				}
				return writes.Load() > 2
			})
			if !errors.Is(err, errStopped) {
				t.Fatal(err)
			}
			meanwhile(t, w)
			before := w.arrivals(t)
			report, err := indexer.Load(t.Context(), o)
			fatal(t, err)
			anew := slices.ContainsFunc(report.Notes, func(note string) bool { return strings.Contains(note, "filled anew") })
			if anew != (name != "nothing") {
				t.Errorf("filled anew: %v (%q)", anew, report.Notes)
			}
			w.wantArrivals(t, before, false, false, name)
		})
	}
}

// A delta lost its lease, and others settled the feed before it wrote: its signals arrive
// when it is reapplied, later than the published ones.
func TestArrivalsOfADeltaThatWritesLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := indexer.Load(t.Context(), w.loadOptions(t, map[catalog.Dataset]string{catalog.Signals: signalLine(1, "A")}))
	fatal(t, err)
	o := w.options(t, map[catalog.Dataset]string{catalog.Signals: signalLine(1, "B") + "\n" + signalLine(2, "C")})
	o.Feed = w.feed(t)
	var before arrivals
	var settled sync.Once
	o.Elastic = searchtest.NewClient(t, proxy(t, func(_ http.ResponseWriter, r *http.Request, body []byte) []byte {
		if isBulk(r) {
			settled.Do(func() {
				if err := w.feed(t).Settle(t.Context(), ""); err != nil {
					t.Error(err)
				}
				before = w.arrivals(t)
			})
		}
		return body
	}, nil))
	if _, err := delta.Apply(t.Context(), o); err == nil {
		t.Error("the delta does not notice")
	}
	o.Elastic = w.elastic
	_, err = delta.Apply(t.Context(), o)
	fatal(t, err)
	w.wantArrivals(t, before, false, false, "applied again")
}

// Signals of an index that has no arrivals have none in the next one.
func TestArrivalsAfterAnOlderVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, d := range catalog.Datasets {
		body, err := mappings.Index(string(d), mappings.Settings{})
		fatal(t, err)
		var index map[string]any
		fatal(t, json.Unmarshal(body, &index))
		ix := index["mappings"].(map[string]any)["properties"].(map[string]any)[document.IX].(map[string]any)["properties"].(map[string]any)
		delete(ix, document.Arrived)
		index["aliases"] = map[string]any{w.names.Alias(string(d)): map[string]any{}}
		body, err = json.Marshal(index)
		fatal(t, err)
		fatal(t, w.elastic.EnsureIndex(t.Context(), w.names.Generation(string(d), "20200101t000000z-000000"), body))
	}
	var batch elastic.Batch
	record, problems := document.Parse(catalog.Signals, []byte(signalLine(1, "A")), time.Now())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	batch.Index(signal(1), document.Build(record, document.None{}))
	_, err := w.elastic.Bulk(t.Context(), w.names.Alias(string(catalog.Signals)), &batch, retry)
	fatal(t, err)
	fatal(t, w.elastic.Refresh(t.Context(), w.names.Alias(string(catalog.Signals))))

	_, err = indexer.Load(
		t.Context(),
		w.loadOptions(t, map[catalog.Dataset]string{catalog.Signals: signalLine(1, "A") + "\n" + signalLine(2, "B")}),
	)
	fatal(t, err)
	if now := w.arrivals(t); now.of[signal(1)] != 0 || now.of[signal(2)] == 0 {
		t.Errorf("arrivals: %v", now)
	}
	o := w.options(t, map[catalog.Dataset]string{catalog.Signals: signalLine(1, "C")})
	o.Feed = w.feed(t)
	if _, err := delta.Apply(context.WithoutCancel(t.Context()), o); err != nil {
		t.Fatal(err)
	}
	if now := w.arrivals(t); now.of[signal(1)] != 0 {
		t.Errorf("an upsert of a signal without arrival has one: %v", now)
	}
}
