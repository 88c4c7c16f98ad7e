package indexer_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer"
	"atlas/internal/elastic"
	"atlas/internal/elastic/elastictest"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

// generations lists the generations there are, and the one that every dataset
// serves.
func (w world) generations(t *testing.T) (all []string, served string) {
	t.Helper()
	for index, aliases := range w.indices(t) {
		for _, d := range catalog.Datasets {
			g := w.names.GenerationOf(string(d), index)
			if g == "" {
				continue
			}
			if !slices.Contains(all, g) {
				all = append(all, g)
			}
			if slices.Contains(aliases, w.names.Alias(string(d))) {
				if served != "" && served != g {
					t.Errorf("%s and %s are served together", served, g)
				}
				served = g
			}
		}
	}
	slices.Sort(all)
	return all, served
}

// While loads follow one another, a search over all four datasets never fails
// and never sees two generations.
func TestSwitchIsAtomic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// Each load has as many records in each dataset, so a mixture shows.
	files := func(size int) map[string]string {
		files := map[string]string{}
		for i := range size {
			files["accounts"] += `{"id":"` + account(i) + `","name":"A"}` + "\n"
			files["contacts"] += `{"id":"` + contact(i) + `","name":"C"}` + "\n"
			files["projects"] += `{"id":"` + project(i) + `","name":"P"}` + "\n"
			files["signals"] += `{"id":"` + signal(i) + `","title":"S","signal_type":"permit_filed","occurred_at":"2024-01-01"}` + "\n"
		}
		return files
	}
	now := loadedAt
	load := func(size int) indexer.Report {
		o := w.options(folder(t, files(size)))
		now = now.Add(time.Second)
		at := now
		o.Now = func() time.Time { return at }
		return w.load(t, o)
	}
	first := load(1)
	ctx, cancel := context.WithCancel(t.Context())
	var searches, sizes = 0, map[int64]bool{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			a, err := w.trySearch(ctx, "accounts,contacts,projects,signals", `{"size":100}`)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			searches++
			sizes[a.Hits.Total.Value] = true
			seen := map[string]bool{}
			for _, hit := range a.Hits.Hits {
				for _, d := range catalog.Datasets {
					if g := w.names.GenerationOf(string(d), hit.Index); g != "" {
						seen[g] = true
					}
				}
			}
			if len(seen) != 1 || a.Hits.Total.Value%4 != 0 {
				t.Errorf("%d hits of generations %v", a.Hits.Total.Value, seen)
			}
		}
	})
	second := load(2)
	third := load(3)
	fourth := load(4)
	cancel()
	wg.Wait()
	if searches < 10 || len(sizes) < 2 {
		t.Errorf("%d searches saw %v", searches, sizes)
	}
	all, served := w.generations(t)
	if diff := cmp.Diff([]string{third.Generation, fourth.Generation}, all); diff != "" || served != fourth.Generation {
		t.Error(served, diff)
	}
	gone := func(r, of indexer.Report) {
		want := []string{}
		for _, d := range catalog.Datasets {
			want = append(want, w.names.Generation(string(d), of.Generation))
		}
		if diff := cmp.Diff(want, r.Deleted); diff != "" {
			t.Error(diff)
		}
	}
	gone(third, first)
	gone(fourth, second)
	if len(fourth.Previous) != 4 || !strings.HasSuffix(fourth.Previous[0], third.Generation) {
		t.Errorf("%v", fourth.Previous)
	}
}

type listener struct {
	switched []string
	check    func(generation string)
	err      error
}

func (l *listener) Switched(_ context.Context, generation string) error {
	l.switched = append(l.switched, generation)
	l.check(generation)
	return l.err
}

// The listener hears of the switch after searches see it, and its failure does
// not undo it.
func TestListenerHearsAfterTheSwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := &listener{}
	l.check = func(generation string) {
		if _, served := w.generations(t); served != generation {
			t.Errorf("notified of %s while %q is served", generation, served)
		}
	}
	o := w.options(folder(t, simple(1)))
	o.Listener = l
	report := w.load(t, o)
	if diff := cmp.Diff([]string{report.Generation}, l.switched); diff != "" {
		t.Error(diff)
	}
	l.err = errors.New("cannot hear")
	report, err := indexer.Load(t.Context(), o)
	if !errors.Is(err, l.err) || !report.Switched {
		t.Errorf("%v, switched %v", err, report.Switched)
	}
}

// A new generation is merged to one segment a shard after the switch, also when
// Elasticsearch is busy at first.
func TestSegmentsAreMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options(folder(t, simple(3)))
	var refused atomic.Bool
	o.Elastic = through(t, func(rw http.ResponseWriter, r *http.Request, _ []byte) bool {
		first := strings.Contains(r.URL.Path, "accounts") && strings.HasSuffix(r.URL.Path, "/_forcemerge") && !refused.Swap(true)
		if first {
			rw.WriteHeader(http.StatusTooManyRequests)
		}
		return first
	}, nil)
	segments := func(generation string) int {
		var answer []struct{ Segment string }
		res, err := w.elastic.Do(t.Context(), elastictest.Request{
			Method: http.MethodGet, Path: "/_cat/segments/" + w.names.Generation("accounts", generation),
			Query: url.Values{"format": {"json"}, "h": {"segment"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(res.Body, &answer); err != nil {
			t.Fatal(err)
		}
		return len(answer)
	}
	o.Listener = &listener{check: func(generation string) {
		index := w.names.Generation("accounts", generation)
		for range 3 { // a segment each
			_, err := w.elastic.Do(t.Context(), elastictest.Request{
				Method: http.MethodPost, Path: "/" + index + "/_doc", Query: url.Values{"refresh": {"true"}},
				Body: []byte(`{}`),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := segments(generation); n < 2 {
			t.Errorf("%d segments", n)
		}
	}}
	report := w.load(t, o)
	tick, deadline := time.Tick(20*time.Millisecond), time.Now().Add(time.Minute)
	for segments(report.Generation) > 1 {
		if <-tick; time.Now().After(deadline) {
			t.Fatal("the segments are not merged")
		}
	}
}

type lease struct {
	held error
	lost chan error // what is sent ends the work
}

func (l *lease) WithLease(ctx context.Context, name, who string, ttl time.Duration, work func(context.Context) error) error {
	if l.held != nil {
		return l.held
	}
	if name == "" || who == "" || ttl <= 0 {
		return errors.New("a lease of nothing")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		select {
		case err := <-l.lost:
			cancel(err)
		case <-done:
		}
	}()
	defer close(done)
	defer cancel(nil)
	return work(ctx)
}

// Whatever ends a load before its switch, the previous generation remains served, and the
// next load resumes it: the outcome is as if nothing had happened.
func TestEndedLoadsAreResumed(t *testing.T) {
	t.Parallel()
	dir := folder(t, randomFiles(rand.New(rand.NewPCG(1, 2)), 60))
	fresh := newWorld(t)
	want := fresh.load(t, fresh.options(dir))
	for name, c := range map[string]struct {
		end  func(t *testing.T, o indexer.Options) (indexer.Report, error)
		want func(err error) bool
		// stays means that the load can be resumed.
		stays bool
	}{
		"cancelled": {
			end: func(t *testing.T, o indexer.Options) (indexer.Report, error) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				o.Elastic = through(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
					if isBulk(r) {
						cancel()
					}
					return false
				}, nil)
				return indexer.Load(ctx, o)
			},
			want: func(err error) bool { return errors.Is(err, context.Canceled) }, stays: true,
		},
		"lease lost": {
			end: func(t *testing.T, o indexer.Options) (indexer.Report, error) {
				l := &lease{lost: make(chan error)}
				o.Lease = l
				var lost sync.Once
				o.Elastic = through(t, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
					if isBulk(r) {
						lost.Do(func() { l.lost <- errLost })
						<-r.Context().Done()
					}
					return isBulk(r)
				}, nil)
				return indexer.Load(t.Context(), o)
			},
			want: func(err error) bool { return errors.Is(err, errLost) }, stays: true,
		},
		"lease held": {
			end: func(t *testing.T, o indexer.Options) (indexer.Report, error) {
				o.Lease = &lease{held: errLost}
				return indexer.Load(t.Context(), o)
			},
			want: func(err error) bool { return errors.Is(err, errLost) },
		},
		"elasticsearch stays away": {
			end: func(t *testing.T, o indexer.Options) (indexer.Report, error) {
				var bulks atomic.Int64
				o.Elastic = through(t, func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
					if isBulk(r) && bulks.Add(1) > 3 {
						panic(http.ErrAbortHandler)
					}
					return false
				}, nil)
				o.Retry = elastic.Retry{For: 100 * time.Millisecond, First: time.Millisecond, Max: 10 * time.Millisecond}
				return indexer.Load(t.Context(), o)
			},
			want: func(err error) bool { return fault.CodeOf(err) == fault.Unavailable }, stays: true,
		},
		"a document is lost": {
			end: func(t *testing.T, o indexer.Options) (indexer.Report, error) {
				o.Elastic = through(t, nil, func(r *http.Request, answer []byte) []byte {
					if strings.HasSuffix(r.URL.Path, "/_count") && strings.Contains(r.URL.Path, "accounts") {
						return []byte(strings.Replace(string(answer), `"count":`, `"count":1`, 1))
					}
					return answer
				})
				return indexer.Load(t.Context(), o)
			},
			want: func(err error) bool { return err != nil && strings.Contains(err.Error(), "were acknowledged") }, stays: true,
		},
		"the switch is refused": {
			end: func(t *testing.T, o indexer.Options) (indexer.Report, error) {
				o.Elastic = through(t, func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
					if r.URL.Path != "/_aliases" {
						return false
					}
					w.Header().Set("X-Elastic-Product", "Elasticsearch")
					w.WriteHeader(http.StatusBadRequest)
					return true
				}, nil)
				return indexer.Load(t.Context(), o)
			},
			want: func(err error) bool {
				e, ok := errors.AsType[*elastic.Error](err)
				return ok && e.Status == http.StatusBadRequest
			}, stays: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			first := w.load(t, w.options(folder(t, simple(3))))
			o := w.options(dir)
			o.CheckpointRecords, o.BatchBytes = 20, 4<<10
			ended, err := c.end(t, o)
			if !c.want(err) || ended.Switched || c.stays != (ended.WorkDir != "") {
				t.Errorf("%v; switched %v, work folder %q", err, ended.Switched, ended.WorkDir)
			}
			if _, served := w.generations(t); served != first.Generation {
				t.Errorf("%q is served", served)
			}
			if !c.stays {
				w.wantClean(t)
			}
			report := w.load(t, o)
			if c.stays && (report.Resumed != 1 || report.Generation != ended.Generation) {
				t.Errorf("resumed %d times, generation %s after %s", report.Resumed, report.Generation, ended.Generation)
			}
			wantSameLoad(t, w, report, fresh, want)
		})
	}
}

var errLost = errors.New("the lease is another one's")

// The switch happens and its answer is lost: the load detects it, and does not delete the
// served generation.
func TestLostAnswerOfTheSwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options(folder(t, simple(2)))
	var lost atomic.Bool
	o.Elastic = through(t, func(_ http.ResponseWriter, r *http.Request, body []byte) bool {
		if r.URL.Path != "/_aliases" {
			return false
		}
		if !lost.Swap(true) {
			if _, err := w.elastic.Do(r.Context(), elastictest.Request{Method: r.Method, Path: r.URL.Path, Body: body}); err != nil {
				t.Error(err)
			}
		}
		panic(http.ErrAbortHandler)
	}, nil)
	report := w.load(t, o)
	if _, served := w.generations(t); served != report.Generation {
		t.Errorf("%q is served", served)
	}
}

// Requests and items fail in every transient way, and the load still completes.
func TestLoadOutlivesPassingFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options(folder(t, simple(500)))
	o.BatchBytes = 4 << 10
	var n atomic.Int64
	o.Elastic = through(t, func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		if !isBulk(r) {
			return false
		}
		switch n.Add(1) % 4 {
		case 0:
			w.Header().Set("X-Elastic-Product", "Elasticsearch")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		case 1:
			panic(http.ErrAbortHandler)
		}
		return false
	}, func(r *http.Request, answer []byte) []byte {
		if !isBulk(r) {
			return answer
		}
		var a struct {
			Items []map[string]any `json:"items"`
		}
		if err := json.Unmarshal(answer, &a); err != nil {
			t.Error(err)
		}
		for i := range a.Items {
			if i%10 == 3 {
				a.Items[i]["index"] = map[string]any{"status": 503, "error": map[string]any{"type": "unavailable_shards_exception", "reason": "later"}}
			}
		}
		answer, err := json.Marshal(a)
		if err != nil {
			t.Error(err)
		}
		return answer
	})
	report := w.load(t, o)
	if got := report.Datasets[0].Documents; got != 500 || report.LeftOut() != 0 {
		t.Errorf("%d documents, %d left out", got, report.LeftOut())
	}
	if got := w.search(t, "accounts", `{}`).Hits.Total.Value; got != 500 {
		t.Errorf("%d accounts are served", got)
	}
}

// Documents that Elasticsearch refuses are reported with their line and left out. If it refuses
// all of a dataset, the load ends.
func TestRefusedDocuments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// New projects' indices take two nested children a document.
	template := "/_index_template/" + w.names.Prefix + "few"
	_, err := w.elastic.Do(t.Context(), elastictest.Request{Method: http.MethodPut, Path: template, Body: []byte(
		`{"index_patterns":["` + w.names.Prefix + `projects-*"],"priority":500,"template":{"settings":{"index.mapping.nested_objects.limit":2}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := w.elastic.Do(context.Background(), elastictest.Request{Method: http.MethodDelete, Path: template}); err != nil {
			t.Error(err)
		}
	})
	files := map[string]string{"accounts": "", "contacts": ""}
	files["projects"] = lines(`{"id":"`+project(1)+`","name":"One"}`, `{"id":"`+project(2)+`","name":"Two"}`)
	signalsOf := func(p, from, to int) (all string) {
		for i := from; i < to; i++ {
			all += `{"id":"` + signal(i) + `","title":"S","signal_type":"permit_filed","occurred_at":"2024-01-01","project_id":"` + project(p) + `"}` + "\n"
		}
		return all
	}
	files["signals"] = signalsOf(1, 0, 2) + signalsOf(2, 2, 5)
	o := w.options(folder(t, files))
	o.DeadLetters = t.TempDir() + "/rejects.ndjson"
	report := w.load(t, o)
	row := report.Datasets[2]
	if row.Documents != 1 || row.Refused != 1 || row.Lines != 2 || report.LeftOut() != 1 {
		t.Errorf("%+v", row)
	}
	if len(report.Problems) != 1 || report.Problems[0].ID != project(2) || report.Problems[0].Line != 2 ||
		!strings.Contains(report.Problems[0].Reason, "nested") {
		t.Errorf("%+v", report.Problems)
	}
	wantRejects(t, o.DeadLetters, []int64{2})

	files["signals"] = signalsOf(1, 0, 4) + signalsOf(2, 4, 8)
	_, err = indexer.Load(t.Context(), w.options(folder(t, files)))
	if err == nil || !strings.Contains(err.Error(), "refused all 2 documents of projects") {
		t.Errorf("%v", err)
	}
	if _, served := w.generations(t); served != report.Generation {
		t.Errorf("%q is served", served)
	}
}
