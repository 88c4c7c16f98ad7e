package delta_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace/postgres"
)

// victimOptions is the environment variable of a test process that applies a delta and is
// killed.
const victimOptions = "ATLAS_TEST_DELTA"

// victimWork is the task of such a program.
type victimWork struct {
	Files                        []delta.File
	Elastic, Prefix, Work, Store string
	Page                         int
	At                           time.Time
}

func victim() int {
	var v victimWork
	err := json.Unmarshal([]byte(os.Getenv(victimOptions)), &v)
	if err == nil {
		err = v.run()
	}
	fmt.Println("not killed:", err)
	return 1
}

func (v victimWork) run() error {
	es, err := elastic.New(elastic.Config{Addresses: []string{v.Elastic}})
	if err != nil {
		return err
	}
	system, err := postgres.OpenSystem(context.Background(), v.Store, postgres.Options{})
	if err != nil {
		return err
	}
	names := mappings.Names{Prefix: v.Prefix}
	_, err = delta.Apply(context.Background(), delta.Options{
		Files: v.Files, Elastic: es, Names: names, Live: &search.Engine{Elastic: es, Names: names, Timeout: time.Minute},
		Tombstones: system, WorkDir: v.Work, Page: v.Page, Now: func() time.Time { return v.At },
	})
	return err
}

// errStopped is why an interrupted delta ended.
var errStopped = errors.New("interrupted by the test")

// interrupted applies a delta up to the request that stop selects, before or after
// Elasticsearch has executed it.
func (w *world) interrupted(t *testing.T, o delta.Options, stop func(*http.Request) bool, after bool) (delta.Report, error) {
	t.Helper()
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	var ending atomic.Bool
	address := proxy(t, func(_ http.ResponseWriter, r *http.Request, body []byte) []byte {
		if stop(r) {
			if !after {
				end(errStopped)
				return nil
			}
			ending.Store(true)
		}
		return body
	}, func(*http.Request) {
		if ending.Load() {
			end(errStopped)
		}
	})
	o.Elastic = searchtest.NewClient(t, address)
	o.Live = w.engine(o.Elastic)
	if o.Feed != nil {
		through := *o.Feed
		through.Elastic, through.Live = o.Elastic, o.Live
		o.Feed = &through
	}
	return delta.Apply(ctx, o)
}

// begun applies a delta until its first documents are written.
func (w *world) begun(t *testing.T, o delta.Options) {
	t.Helper()
	if _, err := w.interrupted(t, o, isBulk, true); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	if len(w.marks(t)) != len(catalog.Datasets) {
		t.Fatalf("marks: %v", w.marks(t))
	}
}

// Wherever a delta is interrupted, the same call completes it: the served records and the
// report are those of an uninterrupted one.
func TestInterruptedDeltaGoesOn(t *testing.T) {
	t.Parallel()
	w, m := newWorld(t), newModel()
	w.load(t, nil)
	requests := int64(0) // of the longest call, as far as is known; the first round is not stopped
	for round := range 7 {
		lines, when := drawn(int(time.Now().UnixNano()))
		o := w.options(t, byDataset(lines))
		o.Page = 2 + round%4
		at := time.UnixMilli(day(round % 7))
		o.Now = func() time.Time { return at }
		want := m.apply(t, lines, at)
		var report delta.Report
		var stops []int64
		for try := 0; ; try++ {
			stop := int64(-1)
			if round > 0 && try < 3 {
				stop = 1 + rand.Int64N(requests)
			}
			stops = append(stops, stop)
			var err error
			var n atomic.Int64
			report, err = w.interrupted(t, o, func(*http.Request) bool { return n.Add(1) == stop }, rand.IntN(2) == 0)
			requests = max(requests, n.Load())
			if err == nil {
				break
			}
			if !errors.Is(err, errStopped) {
				t.Fatalf("%s: %v", when, err)
			}
		}
		when = fmt.Sprintf("stopped at requests %v, %s", stops, when)
		wantCounts(t, want, report, when)
		w.wantModel(t, m, when)
		w.wantClean(t)
	}
}

// A delta whose process is killed is resumed by the next one.
func TestKilledDeltaGoesOn(t *testing.T) {
	t.Parallel()
	w, m := newWorld(t), newModel()
	w.load(t, nil)
	count := map[string]int64{} // the requests of a delta that is not killed
	for _, kind := range []string{"", "_bulk", "_msearch", "_bulk"} {
		lines, when := drawn(int(time.Now().UnixNano()))
		lines = append(lines, change{
			d: catalog.Accounts, id: account(1), at: day(9),
			fields: fmt.Sprintf(`,"created_at":%q,"name":%q`, dayText(1), when[:20]),
		})
		at := time.UnixMilli(day(3))
		o := w.options(t, byDataset(lines))
		o.Page, o.Now = 3, func() time.Time { return at }
		want := m.apply(t, lines, at)
		if kind == "" {
			var lock sync.Mutex
			_, err := w.interrupted(t, o, func(r *http.Request) bool {
				lock.Lock()
				defer lock.Unlock()
				count[path.Base(r.URL.Path)]++
				return false
			}, false)
			fatal(t, err)
			w.wantModel(t, m, when)
			continue
		}

		ctx, kill := context.WithCancel(t.Context())
		var left atomic.Int64
		left.Store(rand.Int64N(count[kind]))
		address := proxy(t, func(_ http.ResponseWriter, r *http.Request, body []byte) []byte {
			if strings.HasSuffix(r.URL.Path, kind) && left.Add(-1) < 0 {
				kill() // while the request is on its way
			}
			return body
		}, nil)
		work, err := json.Marshal(victimWork{
			Files: o.Files, Elastic: address, Prefix: w.names.Prefix, Work: w.work, Store: w.store, Page: o.Page,
			At: at,
		})
		fatal(t, err)
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), victimOptions+"="+string(work))
		if out, err := cmd.CombinedOutput(); err == nil || len(out) > 0 {
			// It may have finished: the drawn delta needs few requests.
			if !bytes.Contains(out, []byte("not killed: <nil>")) {
				t.Fatalf("%v: %s", err, out)
			}
			want = nil
		}
		kill()
		report := w.apply(t, o)
		if want != nil {
			wantCounts(t, want, report, when)
		}
		w.wantModel(t, m, "killed at "+kind+", "+when)
	}
}

// A delta that was begun on a generation that is not served any more starts
// over on the one that is.
func TestInterruptedDeltaStartsOverOnAnotherGeneration(t *testing.T) {
	t.Parallel()
	w, m := newWorld(t), newModel()
	first, _ := drawn(1)
	m.apply(t, first, time.UnixMilli(day(0)))
	w.load(t, m.files())
	lines, when := drawn(2)
	o := w.options(t, byDataset(lines))
	at := time.UnixMilli(day(3))
	o.Now = func() time.Time { return at }
	w.begun(t, o)
	w.load(t, m.files())
	want := m.apply(t, lines, at)
	report := w.apply(t, o)
	if !report.Resumed || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "starts over") {
		t.Errorf("%+v", report)
	}
	wantCounts(t, want, report, when)
	w.wantModel(t, m, when)
}

// A delta with other files first finishes the interrupted one, and is then applied itself.
func TestInterruptedDeltaIsFinishedFirst(t *testing.T) {
	t.Parallel()
	w, m := newWorld(t), newModel()
	w.load(t, nil)
	at := time.UnixMilli(day(3))
	one, _ := drawn(3)
	o := w.options(t, byDataset(one))
	o.Now = func() time.Time { return at }
	w.begun(t, o)
	// Another work folder does not know what is left to do.
	elsewhere := o
	elsewhere.WorkDir = t.TempDir()
	if _, err := delta.Apply(t.Context(), elsewhere); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "--abandon") {
		t.Fatal(err)
	}
	m.apply(t, one, at)
	two, when := drawn(4)
	o = w.options(t, byDataset(two))
	o.Now = func() time.Time { return at }
	want := m.apply(t, two, at)
	report := w.apply(t, o)
	if report.Resumed || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "finished first") {
		t.Errorf("%+v", report)
	}
	wantCounts(t, want, report, when)
	w.wantModel(t, m, when)

	// Given up, it does not stand in the way.
	three, _ := drawn(5)
	o = w.options(t, byDataset(three))
	w.begun(t, o)
	elsewhere = w.options(t, byDataset(two))
	elsewhere.WorkDir, elsewhere.Abandon = t.TempDir(), true
	if report, err := delta.Apply(t.Context(), elsewhere); err != nil || !report.Finished || len(w.marks(t)) > 0 {
		t.Errorf("%v %+v", err, report)
	}
}

// Loads and deltas keep out of each other's way.
func TestDeltaAndLoadExcludeEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, nil)
	o := w.options(t, map[catalog.Dataset]string{catalog.Accounts: lines(`{"id":"` + account(1) + `","name":"Firm"}`)})
	o.Lease = w.system
	dir := t.TempDir()
	for _, d := range catalog.Datasets {
		write(t, dir+"/"+string(d)+".ndjson", "")
	}
	write(t, dir+"/accounts.ndjson", lines(`{"id":"`+account(1)+`","name":"Loaded"}`))
	loading := indexer.Options{Dir: dir, Elastic: w.elastic, Names: w.names, TempDir: t.TempDir(), Lease: w.system, Retry: retry}
	refused := func(err error) {
		t.Helper()
		if _, ok := errors.AsType[*postgres.LeaseHeldError](err); !ok {
			t.Errorf("%v", err)
		}
	}
	other := func(then func()) string {
		return proxy(t, func(_ http.ResponseWriter, r *http.Request, body []byte) []byte {
			if isBulk(r) {
				then()
			}
			return body
		}, nil)
	}
	whileApplying := o
	whileApplying.Elastic = searchtest.NewClient(t, other(func() {
		_, err := indexer.Load(t.Context(), loading)
		refused(err)
	}))
	if report := w.apply(t, whileApplying); report.Changed() != 1 {
		t.Errorf("%+v", report)
	}
	whileLoading := loading
	whileLoading.Elastic = searchtest.NewClient(t, other(func() {
		_, err := delta.Apply(t.Context(), o)
		refused(err)
	}))
	report, err := indexer.Load(t.Context(), whileLoading)
	if err != nil || !report.Switched {
		t.Errorf("%v %+v", err, report)
	}
}
