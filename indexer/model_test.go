package indexer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"atlas/indexer"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/searchtest"
)

// model is a load done in memory.
type model struct {
	records  map[catalog.Dataset]map[string]document.Record
	replaced map[catalog.Dataset]int64
	dangling map[catalog.Dataset]int64
	docs     map[string]string // by id
}

func newModel(t *testing.T, files map[string]string) model {
	m := model{map[catalog.Dataset]map[string]document.Record{}, map[catalog.Dataset]int64{}, map[catalog.Dataset]int64{}, map[string]string{}}
	for _, d := range catalog.Datasets {
		m.records[d] = map[string]document.Record{}
		for line := range strings.Lines(files[string(d)]) {
			r, problems := document.Parse(d, []byte(line), loadedAt)
			if len(problems) > 0 {
				t.Fatal(problems, line)
			}
			before, repeated := m.records[d][r.ID()]
			if repeated {
				m.replaced[d]++
			}
			if !repeated || r.Millis("updated_at") >= before.Millis("updated_at") {
				m.records[d][r.ID()] = r
			}
		}
	}
	indexed := map[catalog.Dataset][]document.Record{}
	for _, d := range catalog.Datasets {
		for _, r := range m.records[d] {
			r.SetFirms(searchtest.FirmNames(maps.Values(m.records[catalog.Accounts])))
			m.docs[r.ID()] = string(document.Build(r, searchtest.Children{
				Parent: d, ID: r.ID(),
				Records: func(child catalog.Dataset) iter.Seq[document.Record] { return slices.Values(indexed[child]) },
			}))
			indexed[d] = append(indexed[d], r)
			for _, rel := range catalog.Relations {
				for _, parent := range r.Parents(rel) {
					if _, ok := m.records[rel.Parent][parent]; rel.Child == d && !ok {
						m.dangling[d]++
					}
				}
			}
		}
	}
	return m
}

// randomFiles makes few ids, so that they repeat, and times that tie.
func randomFiles(r *rand.Rand, size int) map[string]string {
	pick := func(of func(int) string, size int) string { return of(r.IntN(size)) }
	list := func(of func(int) string, most int) string {
		ids := make([]string, r.IntN(most))
		for i := range ids {
			ids[i] = `"` + pick(of, size/2) + `"`
		}
		return "[" + strings.Join(ids, ",") + "]"
	}
	when := func() string {
		return time.UnixMilli(int64(r.IntN(40)-10) * 86_400_000).UTC().Format(time.RFC3339)
	}
	files := map[string]string{}
	for i := range size {
		common := func(of func(int) string) string {
			s := fmt.Sprintf(`{"id":%q,"created_at":%q`, pick(of, size*2/3), when())
			if r.IntN(3) > 0 {
				s += fmt.Sprintf(`,"updated_at":%q`, when())
			}
			return s
		}
		files["accounts"] += common(account) + fmt.Sprintf(`,"name":"Firm é %d"}`, i) + "\n"
		files["contacts"] += common(contact) + fmt.Sprintf(`,"name":"C %d","account_id":%q}`, i, pick(account, size)) + "\n"
		files["projects"] += common(project) +
			fmt.Sprintf(`,"name":"P %d","stories":%d,"account_ids":%s,"contact_ids":%s}`, i, r.IntN(9), list(account, 4), list(contact, 3)) + "\n"
		files["signals"] += common(signal) + fmt.Sprintf(`,"title":"S %d","signal_type":"permit_filed","occurred_at":%q,"detected_at":%q,"project_id":%q,"account_ids":%s}`,
			i, when(), when(), pick(project, size), list(account, 4)) + "\n"
	}
	return files
}

// The sent documents equal those of a model in memory, to the byte: the effective record of
// each id, derived fields, nested children and their order.
func TestLoadEqualsModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for round, size := range []int{3, 12, 60, 300} {
		seed := rand.Uint64()
		files := randomFiles(rand.New(rand.NewPCG(seed, 0)), size)
		want := newModel(t, files)
		var mu sync.Mutex
		sent := map[string]string{}
		o := w.options(folder(t, files))
		o.SortMemory = 4 << 10 // so that much is sorted on disk
		o.BatchBytes = 10 << 10
		o.Workers = 1 + round%3
		o.Elastic = through(t, func(_ http.ResponseWriter, r *http.Request, body []byte) bool {
			if !isBulk(r) {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			parts := bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
			for i := 0; i < len(parts); i += 2 {
				var action struct {
					Index struct {
						ID string `json:"_id"`
					}
				}
				if err := json.Unmarshal(parts[i], &action); err != nil {
					t.Error(err)
				}
				if _, ok := sent[action.Index.ID]; ok {
					t.Errorf("%s is sent twice", action.Index.ID)
				}
				sent[action.Index.ID] = string(parts[i+1])
			}
			return false
		}, nil)
		for id := range want.records[catalog.Signals] {
			want.docs[id] = string(document.WithArrival([]byte(want.docs[id]), loadedAt.Truncate(time.Millisecond).UnixMilli()))
		}
		report := w.load(t, o)
		if diff := gocmp.Diff(want.docs, sent); diff != "" {
			t.Fatalf("seed %d, size %d: %s", seed, size, diff)
		}
		for _, d := range report.Datasets {
			if d.Documents != int64(len(want.records[d.Dataset])) || d.Replaced != want.replaced[d.Dataset] ||
				d.Dangling != want.dangling[d.Dataset] {
				t.Errorf("seed %d, size %d: %+v, want %d documents, %d replaced, %d dangling", seed, size, d,
					len(want.records[d.Dataset]), want.replaced[d.Dataset], want.dangling[d.Dataset])
			}
		}
	}
}

// A load takes no more memory for more records. The documents are dropped on the way:
// Elasticsearch's work is not measured, and would take minutes.
func TestMemoryStaysFlat(t *testing.T) {
	w := newWorld(t)
	dir := generated(t, 40_000, 5)
	o := w.options(dir)
	o.SortMemory, o.BatchBytes, o.Workers = 6<<20, 256<<10, 2
	var mu sync.Mutex
	counts := map[string]int{} // by index
	o.Elastic = through(t, func(w http.ResponseWriter, r *http.Request, body []byte) bool {
		index, loading := strings.CutSuffix(strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")[0], "-loading")
		mu.Lock()
		defer mu.Unlock()
		var answer string
		switch {
		case loading && isBulk(r):
			n := bytes.Count(body, []byte("\n")) / 2
			counts[index] += n
			answer = `{"items":[` + strings.Repeat(`{"index":{"status":201}},`, n-1) + `{"index":{"status":201}}]}`
		case strings.HasSuffix(r.URL.Path, "/_count"):
			answer = fmt.Sprintf(`{"count":%d,"_shards":{"total":1,"failed":0}}`, counts[index])
		default:
			return false
		}
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
		return true
	}, nil)
	runtime.GC()
	var start runtime.MemStats
	runtime.ReadMemStats(&start)
	var peak atomic.Uint64
	o.Progress = func(indexer.Progress) {
		// Live memory, without garbage.
		runtime.GC()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		peak.Store(max(peak.Load(), now.HeapAlloc))
	}
	report := w.load(t, o)
	if report.Documents() != 40_000 {
		t.Errorf("%d documents", report.Documents())
	}
	const most = 48 << 20 // the files have 24 MB, records, links and documents of them 100
	if took := int64(peak.Load()) - int64(start.HeapAlloc); took > most {
		t.Errorf("the load held %d MiB", took>>20)
	} else {
		t.Logf("the load held at most %d MiB", took>>20)
	}
}
