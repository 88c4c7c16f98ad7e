package delta_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/searchtest"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(victimOptions) != "" {
		os.Exit(victim())
	}
	backends.Main(m)
}

// world is a place of its own in the test's backends.
type world struct {
	elastic       *elastic.Client
	names         mappings.Names
	system        *postgres.System
	databases     *pgtest.Databases
	store         string // Postgres as the system role
	work          string
	notifications *notifications
}

func newWorld(t *testing.T) *world {
	t.Helper()
	databases := pgtest.New(t)
	w := &world{
		elastic: searchtest.NewClient(t, backends.Elasticsearch(t)),
		names:   mappings.Names{Prefix: "delta-" + strings.ToLower(rand.Text())[:12] + "-"},
		system:  databases.OpenSystem(t, postgres.Options{MaxConns: 4}), databases: databases, store: databases.System,
		work: t.TempDir(), notifications: &notifications{},
	}
	t.Cleanup(func() { searchtest.DeleteIndices(t, w.elastic, w.names.Prefix+"*") })
	return w
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// retry is short, so that deliberate outages end soon.
var retry = elastic.Retry{For: 30 * time.Second, First: time.Millisecond, Max: 50 * time.Millisecond}

// load loads files, by dataset, as a new generation.
func (w *world) load(t *testing.T, files map[catalog.Dataset]string) indexer.Report {
	t.Helper()
	dir := t.TempDir()
	for _, d := range catalog.Datasets {
		write(t, filepath.Join(dir, string(d)+".ndjson"), files[d])
	}
	report, err := indexer.Load(t.Context(), indexer.Options{Dir: dir, Elastic: w.elastic, Names: w.names, TempDir: t.TempDir(), Retry: retry})
	fatal(t, err)
	return report
}

func write(t *testing.T, path, content string) {
	t.Helper()
	fatal(t, os.WriteFile(path, []byte(content), 0o600))
}

// engine reads the served records, through a client.
func (w *world) engine(c *elastic.Client) *search.Engine {
	return &search.Engine{Elastic: c, Names: w.names, Timeout: 30 * time.Second}
}

// options apply files of lines, by dataset, to the world.
func (w *world) options(t *testing.T, files map[catalog.Dataset]string) delta.Options {
	t.Helper()
	o := delta.Options{
		Elastic: w.elastic, Names: w.names, Live: w.engine(w.elastic), Tombstones: w.system, Listener: w.notifications,
		WorkDir: w.work, Retry: retry,
	}
	dir := t.TempDir()
	for _, d := range catalog.Datasets {
		if lines, ok := files[d]; ok {
			path := filepath.Join(dir, string(d)+".ndjson")
			write(t, path, lines)
			o.Files = append(o.Files, delta.File{Dataset: d, Path: path})
		}
	}
	return o
}

func (w *world) apply(t *testing.T, o delta.Options) delta.Report {
	t.Helper()
	report, err := delta.Apply(t.Context(), o)
	fatal(t, err)
	if !report.Finished {
		t.Error("not finished")
	}
	w.wantClean(t)
	return report
}

// wantClean fails unless nothing of a delta is left but the lock.
func (w *world) wantClean(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(w.work)
	fatal(t, err)
	for _, f := range left {
		if f.Name() != "lock" && f.Name() != "dead-letters" {
			t.Errorf("%s stays in the work folder", f.Name())
		}
	}
	if marks := w.marks(t); len(marks) > 0 {
		t.Errorf("marks stay: %v", marks)
	}
}

// marks are the aliases of unfinished deltas on the served generation.
func (w *world) marks(t *testing.T) (marks []string) {
	t.Helper()
	indices, err := w.elastic.Aliases(t.Context(), w.names.Prefix+"*")
	fatal(t, err)
	for index, aliases := range indices {
		served := slices.ContainsFunc(catalog.Datasets, func(d catalog.Dataset) bool {
			return strings.HasPrefix(index, w.names.Alias(string(d))+"-") && slices.Contains(aliases, w.names.Alias(string(d)))
		})
		for _, alias := range aliases {
			if served && strings.Contains(alias, "-delta-20") {
				marks = append(marks, alias)
			}
		}
	}
	return marks
}

// notifications is a listener that remembers.
type notifications struct {
	mu  sync.Mutex
	ids map[string]int
}

func (l *notifications) Changed(_ context.Context, _ catalog.Dataset, ids []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids == nil {
		l.ids = map[string]int{}
	}
	for _, id := range ids {
		l.ids[id]++
	}
	return nil
}

// take returns the notifications since the last call.
func (l *notifications) take() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := l.ids
	l.ids = nil
	return ids
}

// stored is a document of an index. The digest covers all that it has, including nested
// children, which cannot be read back.
type stored struct {
	Public string
	Digest int64
}

// documents reads all documents of the served generation.
func (w *world) documents(t *testing.T) map[catalog.Dataset]map[string]stored {
	t.Helper()
	all := map[catalog.Dataset]map[string]stored{}
	for _, d := range catalog.Datasets {
		all[d] = map[string]stored{}
		hits, err := elastic.Hits[any](t.Context(), w.elastic, w.names.Alias(string(d)), map[string]any{
			"size": 10_000, "docvalue_fields": []string{document.DigestField},
		})
		fatal(t, err)
		for _, hit := range hits {
			record, err := document.FromPublic(d, hit.Source)
			fatal(t, err)
			digest, _ := hit.Long(document.DigestField)
			all[d][hit.ID] = stored{string(record.AppendPublic(nil)), digest}
		}
	}
	return all
}

// record returns a public record, nil when it is not there.
func (w *world) record(t *testing.T, d catalog.Dataset, id string) map[string]any {
	t.Helper()
	found, err := w.engine(w.elastic).Lookup(t.Context(), d, []string{id})
	fatal(t, err)
	if found[id] == nil {
		return nil
	}
	var r map[string]any
	fatal(t, json.Unmarshal(found[id], &r))
	return r
}

func account(n int) string { return id(1, n) }
func contact(n int) string { return id(2, n) }
func project(n int) string { return id(3, n) }
func signal(n int) string  { return id(4, n) }

// id makes a UUID of a dataset's number and a record's.
func id(dataset, n int) string { return fmt.Sprintf("%x%07x-0000-4000-8000-%012x", dataset, n, n) }

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }

// proxy passes requests on to Elasticsearch. before may change the body, or answer itself
// by returning nil; after gets the answer.
func proxy(t *testing.T, before func(w http.ResponseWriter, r *http.Request, body []byte) []byte, after func(r *http.Request)) string {
	t.Helper()
	to, err := url.Parse(backends.Elasticsearch(t))
	fatal(t, err)
	forward := httputil.NewSingleHostReverseProxy(to)
	// A client that ends its request on purpose is no news.
	forward.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if before != nil {
			if body = before(w, r, append(make([]byte, 0, len(body)), body...)); body == nil {
				return
			}
		}
		// A request is executed even if the client disconnects.
		r = r.WithContext(context.WithoutCancel(r.Context()))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		forward.ServeHTTP(w, r)
		if after != nil {
			after(r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func isBulk(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/_bulk") }
