package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"atlas/indexer"
	"atlas/indexer/generate"
	"atlas/indexer/verify"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/workspace/postgres/pgtest"
)

// TestKilledLoads is the short form of the experiment `scripts/faults kills`.
func TestKilledLoads(t *testing.T) {
	t.Parallel()
	killLoads(t, rand.Uint64(), 2_000, 3)
}

// killLoads runs atlas index load in a process of its own and kills it repeatedly, at
// points that the seed selects, while items and requests fail and three documents are
// always rejected. The result must equal that of an undisturbed load, except for these
// three documents.
func killLoads(t *testing.T, seed uint64, records int64, kills int) (report indexer.Report, failures int) {
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	database := pgtest.New(t)
	dir, temp := t.TempDir(), t.TempDir()
	if _, err := generate.Generate(t.Context(), generate.Options{Records: records, Seed: seed, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	bad := spoil(t, dir)
	faulty := newFaultyElastic(t, random, poison(t, random, dir))
	prefix, cleanPrefix := ownPrefix(t), ownPrefix(t)
	load := []string{"index", "load", dir, "--json", "--checkpoint-records", "100", "--senders", "3"}

	for attempt := range kills + 1 {
		point := faulty.choose(attempt, kills)
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(load, "--temp-dir", temp,
			"--elasticsearch-url", faulty.url, "--index-prefix", prefix, "--postgres-system-url", database.System)...)
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "ATLAS_") }), runAsAtlas+"=1")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		faulty.watch(cmd.Process)
		err := cmd.Wait()
		t.Logf("attempt %d, %s: %v; %s", attempt+1, point, err, lastLine(errs.String()))
		if strings.Contains(errs.String(), "waiting:") {
			t.Errorf("the lease of the process that was killed was waited for: %s", &errs)
		}
		if attempt < kills {
			if err == nil || cmd.ProcessState.ExitCode() != -1 {
				t.Fatalf("was not killed: %v\n%s%s", err, &out, &errs)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%s%s", err, &out, &errs)
		}
		if err := json.Unmarshal(out.Bytes(), &report); err != nil {
			t.Fatalf("%v in %s", err, &out)
		}
	}
	if !report.Switched || report.Resumed == 0 {
		t.Errorf("switched %v, resumed %d times", report.Switched, report.Resumed)
	}
	if failures = faulty.failed(); failures == 0 {
		t.Error("nothing failed")
	} else {
		t.Logf("%d items and requests failed", failures)
	}

	// The same folder, loaded without faults.
	var clean indexer.Report
	cleanTemp := t.TempDir()
	operatorCLI{t, database.System}.json(&clean, append(load, "--temp-dir", cleanTemp, "--elasticsearch-url", faulty.direct, "--index-prefix", cleanPrefix)...)
	want := slices.Clone(clean.Datasets)
	for i := range want {
		n := int64(0)
		for _, p := range faulty.poison {
			if p == want[i].Dataset {
				n++
			}
		}
		want[i].Refused += n
		want[i].Documents -= n
	}
	if diff := cmp.Diff(want, report.Datasets, cmpopts.IgnoreFields(indexer.DatasetReport{}, "Seconds", "ReadSeconds", "IndexSeconds")); diff != "" {
		t.Error(diff)
	}
	letters := deadLetters(t, report.DeadLetters)
	// Other records link to these ids too.
	of := func(id string) string { return `"record":{"id":"` + id + `"` }
	for id := range faulty.poison {
		if n := countOf(letters, of(id)); n != 1 {
			t.Errorf("%d dead letters are of %s, which was refused", n, id)
		}
	}
	letters = slices.DeleteFunc(letters, func(l string) bool {
		return slices.ContainsFunc(keys(faulty.poison), func(id string) bool { return strings.Contains(l, of(id)) })
	})
	if diff := cmp.Diff(deadLetters(t, clean.DeadLetters), letters); diff != "" || len(letters) != bad {
		t.Errorf("%d dead letters of %d bad lines: %s", len(letters), bad, diff)
	}
	faulty.compare(t, cleanPrefix, prefix)
	faulty.verify(t, dir, prefix)
	return report, failures
}

// spoil adds invalid lines and returns their number.
func spoil(t *testing.T, dir string) (lines int) {
	t.Helper()
	for i, d := range query.Datasets {
		path := filepath.Join(dir, string(d)+".ndjson")
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.SplitAfter(string(raw), "\n")
		for n := range i + 2 {
			all[n*len(all)/7] += fmt.Sprintf("{\"id\":\"no uuid %d\"}\n", n)
			lines++
		}
		if err := os.WriteFile(path, []byte(strings.Join(all, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// poison chooses a record of each of three datasets.
func poison(t *testing.T, random *rand.Rand, dir string) map[string]query.Dataset {
	t.Helper()
	chosen := map[string]query.Dataset{}
	for _, d := range []query.Dataset{query.Signals, query.Projects, query.Accounts} {
		raw, err := os.ReadFile(filepath.Join(dir, string(d)+".ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
		for id := ""; len(id) != 36; {
			var r struct{ ID string }
			if err := json.Unmarshal(all[random.IntN(len(all))], &r); err != nil {
				t.Fatal(err)
			}
			if id = r.ID; len(id) == 36 {
				chosen[id] = d
			}
		}
	}
	return chosen
}

// ownPrefix returns an index prefix whose indices are deleted at the end of the test.
func ownPrefix(t *testing.T) string {
	t.Helper()
	es := directElastic(t)
	prefix := fmt.Sprintf("kill-%x-", rand.Uint64())
	t.Cleanup(func() {
		all, err := es.Aliases(context.Background(), prefix+"*")
		if err == nil {
			err = es.DeleteIndices(context.Background(), keys(all)...)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return prefix
}

func directElastic(t *testing.T) *elastic.Client {
	t.Helper()
	return searchtest.NewClient(t, backends.Elasticsearch(t))
}

func keys[V any](m map[string]V) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

func countOf(lines []string, part string) (n int) {
	for _, l := range lines {
		if strings.Contains(l, part) {
			n++
		}
	}
	return n
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func deadLetters(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// faultyElastic is a proxy before Elasticsearch. It disturbs some of the traffic and
// kills the loading process.
type faultyElastic struct {
	url, direct string
	poison      map[string]query.Dataset
	client      http.Client

	mu       sync.Mutex
	random   *rand.Rand
	process  *os.Process
	point    killPoint
	bulks    int
	failures int
}

// killPoint is the point at which a process is killed.
type killPoint struct {
	delay    time.Duration // after its start, if not 0
	bulks    int           // at its _bulk request of this number
	creating bool          // when it creates an index
	// after: Elasticsearch has executed the request, but the process has no answer.
	after bool
	none  bool
}

func (p killPoint) String() string {
	when := "before"
	if p.after {
		when = "after"
	}
	switch {
	case p.none:
		return "not killed"
	case p.delay > 0:
		return fmt.Sprintf("killed after %v", p.delay)
	case p.creating:
		return "killed " + when + " making an index"
	case p.bulks > 0:
		return fmt.Sprintf("killed %s writing batch %d", when, p.bulks)
	default:
		return "killed " + when + " the switch"
	}
}

func newFaultyElastic(t *testing.T, random *rand.Rand, poison map[string]query.Dataset) *faultyElastic {
	f := &faultyElastic{direct: backends.Elasticsearch(t), random: random, poison: poison}
	server := httptest.NewServer(f)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		f.client.CloseIdleConnections()
	})
	f.url = server.URL
	f.client.Transport = &http.Transport{}
	return f
}

// choose chooses where the next process is killed. The last but one is killed at the
// switch, after Elasticsearch executed it. The last is not killed.
func (f *faultyElastic) choose(attempt, kills int) killPoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bulks, f.process = 0, nil
	f.point = killPoint{after: f.random.IntN(2) == 0}
	switch n := f.random.IntN(10); {
	case attempt == kills:
		f.point.none = true
	case attempt == kills-1:
		f.point.after = true
	case attempt == 0 || n < 3:
		f.point.delay = time.Duration(50+f.random.IntN(400)) * time.Millisecond
	case n == 3:
		f.point.creating = true
		fallthrough // if it has no index to create
	default:
		f.point.bulks = 1 + f.random.IntN(6)
	}
	return f.point
}

// watch sets the process that sends the traffic.
func (f *faultyElastic) watch(p *os.Process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.process = p
	if f.point.delay > 0 {
		time.AfterFunc(f.point.delay, func() { _ = p.Kill() })
	}
}

func (f *faultyElastic) failed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failures
}

// number returns the number of the process's _bulk request, 0 for another request.
func (f *faultyElastic) number(r *http.Request) int {
	if !isBulk(r) {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bulks++
	return f.bulks
}

func isBulk(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/_bulk") }

// strikes kills the process if this is its kill point. A switch always kills it: the
// planned point was missed.
func (f *faultyElastic) strikes(r *http.Request, bulk int, after bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.point.after == after &&
		(bulk > 0 && bulk == f.point.bulks ||
			f.point.creating && r.Method == http.MethodPut && strings.Count(r.URL.Path, "/") == 1 ||
			r.URL.Path == "/_aliases")
	if now = now && !f.point.none && f.process != nil; now {
		_ = f.process.Kill()
	}
	return now
}

// chance is true with a probability, in percent.
func (f *faultyElastic) chance(percent int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	hit := f.random.IntN(100) < percent
	if hit {
		f.failures++
	}
	return hit
}

func (f *faultyElastic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	number := f.number(r)
	if f.strikes(r, number, false) {
		panic(http.ErrAbortHandler)
	}
	var status int
	var answer []byte
	switch bulk := number > 0; {
	case bulk && f.chance(2):
		status, answer = http.StatusTooManyRequests, []byte(`{"error":{"type":"es_rejected_execution_exception","reason":"later"}}`)
	case bulk:
		status, answer, err = f.bulk(r, body)
	default:
		status, answer, err = f.forward(r, body)
	}
	if err != nil || f.strikes(r, number, true) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("X-Elastic-Product", "Elasticsearch")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

// forward does not stop when the process ends: the request has been sent.
func (f *faultyElastic) forward(r *http.Request, body []byte) (int, []byte, error) {
	req, err := http.NewRequest(r.Method, f.direct+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", r.Header.Get("Content-Type"))
	if len(body) == 0 {
		req.Header.Del("Content-Type")
	}
	res, err := f.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

type bulkItem struct {
	Index json.RawMessage `json:"index"`
}

// bulk makes one item in ten fail, half of them before and half after Elasticsearch
// executes them. It loses some answers completely.
func (f *faultyElastic) bulk(r *http.Request, body []byte) (int, []byte, error) {
	lines := bytes.SplitAfter(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
	lines[len(lines)-1] = append(slices.Clone(lines[len(lines)-1]), '\n')
	items := make([]bulkItem, len(lines)/2)
	var sent []byte
	var positions []int
	for i := range items {
		var action struct {
			Index struct {
				ID string `json:"_id"`
			}
		}
		if err := json.Unmarshal(lines[2*i], &action); err != nil {
			return 0, nil, err
		}
		switch {
		case f.poison[action.Index.ID] != "":
			items[i].Index = json.RawMessage(`{"status":400,"error":{"type":"document_parsing_exception","reason":"never"}}`)
		case f.chance(5):
			items[i].Index = json.RawMessage(`{"status":429,"error":{"type":"es_rejected_execution_exception","reason":"later"}}`)
		default:
			sent = append(append(sent, lines[2*i]...), lines[2*i+1]...)
			positions = append(positions, i)
		}
	}
	if len(positions) > 0 {
		status, raw, err := f.forward(r, sent)
		if err != nil || status != http.StatusOK {
			return status, raw, err
		}
		if f.chance(3) {
			return 0, nil, errors.New("the answer is lost")
		}
		var answer struct{ Items []bulkItem }
		if err := json.Unmarshal(raw, &answer); err != nil {
			return 0, nil, err
		}
		for n, i := range positions {
			if items[i] = answer.Items[n]; f.chance(5) {
				items[i].Index = json.RawMessage(`{"status":503,"error":{"type":"unavailable_shards_exception","reason":"later"}}`)
			}
		}
	}
	answer, err := json.Marshal(map[string]any{"items": items})
	return http.StatusOK, answer, err
}

// compare checks that two installations have the same documents, except for the poison.
func (f *faultyElastic) compare(t *testing.T, clean, faulty string) {
	t.Helper()
	es := directElastic(t)
	for _, d := range query.Datasets {
		want, got := searchtest.Served(t, es, mappings.Names{Prefix: clean}, d), searchtest.Served(t, es, mappings.Names{Prefix: faulty}, d)
		for id := range f.poison {
			delete(want, id)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", d, diff)
		}
	}
}

// verify checks that atlas index verify misses the poison and nothing else.
func (f *faultyElastic) verify(t *testing.T, dir, prefix string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"index", "verify", dir, "--json", "--temp-dir", t.TempDir(), "--elasticsearch-url", f.direct, "--index-prefix", prefix}, &out, &errs)
	var report verify.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || code != 3 {
		t.Fatalf("verify ended with %d, %v: %s", code, err, &errs)
	}
	var missing []string
	for _, d := range report.Differences {
		missing = append(missing, fmt.Sprint(d.Kind, " ", d.ID))
	}
	slices.Sort(missing)
	var want []string
	for _, id := range keys(f.poison) {
		want = append(want, "missing "+id)
	}
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Error(diff)
	}
}
