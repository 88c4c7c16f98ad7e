package indexer_test

import (
	"bytes"
	"compress/gzip"
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
	"strings"
	"testing"
	"time"

	"atlas/indexer"
	"atlas/indexer/generate"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/internal/elastic/elastictest"
	"atlas/mappings"
	"atlas/search/searchtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(victimDir) != "" {
		os.Exit(victim())
	}
	backends.Main(m)
}

// world is a place of its own in the test's Elasticsearch.
type world struct {
	elastic *elastic.Client
	names   mappings.Names
	temp    string
}

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{
		searchtest.NewClient(t, backends.Elasticsearch(t)),
		mappings.Names{Prefix: "load-" + strings.ToLower(rand.Text())[:12] + "-"}, t.TempDir(),
	}
	t.Cleanup(func() { searchtest.DeleteIndices(t, w.elastic, w.names.Prefix+"*") })
	return w
}

// options load a folder into the world.
func (w world) options(dir string) indexer.Options {
	return indexer.Options{
		Dir: dir, Elastic: w.elastic, Names: w.names, TempDir: w.temp, Now: func() time.Time { return loadedAt },
		Retry: elastic.Retry{For: 30 * time.Second, First: time.Millisecond, Max: 50 * time.Millisecond},
	}
}

// loadedAt is the time of every load of the tests.
var loadedAt = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func (w world) load(t *testing.T, o indexer.Options) indexer.Report {
	t.Helper()
	report, err := indexer.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Switched {
		t.Error("not switched")
	}
	w.wantClean(t)
	return report
}

// wantClean checks that no temporary file except dead letters and no unfinished index
// remains.
func (w world) wantClean(t *testing.T) {
	t.Helper()
	for _, dir := range w.workDirs(t) {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || entries[0].Name() != "dead-letters.ndjson" {
			t.Errorf("temporary files stay: %s %v %v", dir, entries, err)
		}
	}
	for index, aliases := range w.indices(t) {
		for _, alias := range aliases {
			if strings.HasSuffix(alias, "-loading") {
				t.Errorf("%s stays unfinished", index)
			}
		}
	}
}

// workDirs lists the folders that loads left.
func (w world) workDirs(t *testing.T) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(w.temp, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func (w world) indices(t *testing.T) map[string][]string {
	t.Helper()
	indices, err := w.elastic.Aliases(t.Context(), w.names.Prefix+"*")
	if err != nil {
		t.Fatal(err)
	}
	return indices
}

// answer is the part of a search's answer that tests read.
type answer struct {
	Shards struct{ Failed int } `json:"_shards"`
	Hits   struct {
		Total struct{ Value int64 }
		Hits  []struct {
			Index  string          `json:"_index"`
			ID     string          `json:"_id"`
			Source json.RawMessage `json:"_source"`
		}
	}
}

func (w world) search(t *testing.T, datasets, body string) answer {
	t.Helper()
	a, err := w.trySearch(t.Context(), datasets, body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (w world) trySearch(ctx context.Context, datasets, body string) (answer, error) {
	var aliases []string
	for d := range strings.SplitSeq(datasets, ",") {
		aliases = append(aliases, w.names.Alias(d))
	}
	res, err := w.elastic.Do(ctx, elastictest.Request{
		Method: http.MethodPost, Path: "/" + strings.Join(aliases, ",") + "/_search", Body: []byte(body),
		Query: url.Values{"track_total_hits": {"true"}},
	})
	if err != nil {
		return answer{}, err
	}
	var a answer
	if err := json.Unmarshal(res.Body, &a); err != nil {
		return answer{}, err
	}
	if a.Shards.Failed > 0 {
		return a, fmt.Errorf("%d shards failed", a.Shards.Failed)
	}
	return a, nil
}

// record returns the public record of an id.
func (w world) record(t *testing.T, dataset, id string) map[string]any {
	t.Helper()
	a := w.search(t, dataset, fmt.Sprintf(`{"query":{"term":{"id":%q}}}`, id))
	if len(a.Hits.Hits) != 1 {
		t.Fatalf("%s %s is there %d times", dataset, id, len(a.Hits.Hits))
	}
	var r map[string]any
	if err := json.Unmarshal(a.Hits.Hits[0].Source, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// related returns how many records of a dataset have a child with an id nested.
func (w world) related(t *testing.T, dataset, child, childID string) int64 {
	t.Helper()
	return w.search(
		t, dataset,
		fmt.Sprintf(`{"query":{"nested":{"path":"ix.%s","query":{"term":{"ix.%s.id":%q}}}}}`, child, child, childID),
	).Hits.Total.Value
}

func account(n int) string { return id(1, n) }
func contact(n int) string { return id(2, n) }
func project(n int) string { return id(3, n) }
func signal(n int) string  { return id(4, n) }

// id makes a UUID of a dataset's number and a record's.
func id(dataset, n int) string {
	return fmt.Sprintf("%x%07x-0000-4000-8000-%012x", dataset, n, n)
}

// folder writes dataset files; a name without an ending gets ".ndjson".
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if !strings.Contains(name, ".") {
			name += ".ndjson"
		}
		write(t, filepath.Join(dir, name), []byte(content))
	}
	return dir
}

// generated is a folder of generated records.
func generated(t *testing.T, records int64, seed uint64) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if _, err := generate.Generate(t.Context(), generate.Options{Records: records, Seed: seed, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }

func gzipped(t *testing.T, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// simple is a small folder without anything odd; size is the number of
// accounts.
func simple(size int) map[string]string {
	files := map[string]string{"contacts": "", "projects": "", "signals": ""}
	for i := range size {
		files["accounts"] += fmt.Sprintf(`{"id":%q,"name":"Firm %d"}`+"\n", account(i), i)
	}
	return files
}

// related is a folder with size records of each dataset, linked to each other.
func related(size int) map[string]string {
	files := map[string]string{}
	for i := range size {
		firm, person, site := account(i), contact(i), project(i)
		files["accounts"] += fmt.Sprintf(`{"id":%q,"name":"Firm %d"}`+"\n", firm, i)
		files["contacts"] += fmt.Sprintf(`{"id":%q,"name":"Person %d","account_id":%q}`+"\n", person, i, firm)
		files["projects"] += fmt.Sprintf(`{"id":%q,"name":"Site %d","account_ids":[%q],"contact_ids":[%q]}`+"\n", site, i, firm, person)
		files["signals"] += fmt.Sprintf(`{"id":%q,"signal_type":"permit_filed","title":"Permit %d","project_id":%q,"occurred_at":"2024-01-01","detected_at":"2024-01-01"}`+"\n", signal(i), i, site)
	}
	return files
}

// through returns a client whose requests first pass through a function, which may answer them
// itself, and whose answers after may change.
func through(
	t *testing.T, before func(w http.ResponseWriter, r *http.Request, body []byte) bool,
	after func(r *http.Request, answer []byte) []byte,
) *elastic.Client {
	t.Helper()
	return searchtest.NewClient(t, proxy(t, before, after))
}

// proxy is through, for another process.
func proxy(
	t *testing.T, before func(w http.ResponseWriter, r *http.Request, body []byte) bool,
	after func(r *http.Request, answer []byte) []byte,
) string {
	t.Helper()
	to, err := url.Parse(backends.Elasticsearch(t))
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	// A client that ends its request on purpose is no news.
	forward.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	if after != nil {
		forward.ModifyResponse = func(res *http.Response) error {
			body, err := io.ReadAll(res.Body)
			if err != nil {
				return err
			}
			body = after(res.Request, body)
			res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			res.Header.Set("Content-Length", fmt.Sprint(len(body)))
			return nil
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if before == nil || !before(w, r, body) {
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func isBulk(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/_bulk") }
