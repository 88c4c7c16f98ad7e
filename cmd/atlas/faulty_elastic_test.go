package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer/verify"
	"atlas/internal/devstack/backends"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/search/searchtest"
)

// faultyElastic is a proxy before Elasticsearch. It disturbs some of the traffic and
// kills the loading process.
type faultyElastic struct {
	url, direct string
	poison      map[string]catalog.Dataset
	client      http.Client

	mu      sync.Mutex
	random  *rand.Rand
	process *os.Process
	point   killPoint
	// run counts the requests of the process, and longest those of a load that nothing
	// disturbs: points reach to its end.
	run, longest loadRequests
	// calm: nothing fails, and nobody is killed.
	calm     bool
	failures int
}

// loadRequests counts the requests of a load: before the switch, and from the switch on, when
// it publishes its changes.
type loadRequests struct {
	before, since int
	took          time.Duration
}

// killPoint is the point at which a process is killed.
type killPoint struct {
	delay    time.Duration // after its start, if not 0
	before   int           // at its request of this number, before the switch
	since    int           // at its request of this number, of which the switch is 1
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
	case p.before > 0:
		return fmt.Sprintf("killed %s request %d", when, p.before)
	case p.since == 1:
		return "killed " + when + " the switch"
	default:
		return fmt.Sprintf("killed %s request %d from the switch on", when, p.since)
	}
}

func newFaultyElastic(t *testing.T, random *rand.Rand, poison map[string]catalog.Dataset) *faultyElastic {
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

// measured takes the requests since the last call as those of an undisturbed load.
func (f *faultyElastic) measured(took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.longest, f.calm = f.run, false
	f.longest.took = took
}

// choose chooses where the next process is killed. The last but one is killed at the
// switch, after Elasticsearch executed it, or when it publishes. The last is not killed.
func (f *faultyElastic) choose(attempt, kills int) killPoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run, f.process = loadRequests{}, nil
	f.point = killPoint{after: f.random.IntN(2) == 0}
	switch n := f.random.IntN(10); {
	case attempt == kills:
		f.point.none = true
	case attempt == kills-1:
		f.point.since = 1 + f.random.IntN(f.longest.since)
		f.point.after = f.point.after || f.point.since == 1
	case attempt == 0 || n < 3:
		f.point.delay = time.Duration(1 + f.random.Int64N(int64(f.longest.took)))
	case n == 3:
		f.point.creating = true
		fallthrough // if it has no index to create
	default:
		f.point.before = 1 + f.random.IntN(f.longest.before)
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

// count counts a request and returns how many there are.
func (f *faultyElastic) count(r *http.Request) loadRequests {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.run.since > 0 || isSwitch(r) {
		f.run.since++
	} else {
		f.run.before++
	}
	return f.run
}

func isBulk(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/_bulk") }

func isSwitch(r *http.Request) bool { return r.URL.Path == "/_aliases" && r.Method == http.MethodPost }

// strikes kills the process if this is its kill point. A switch always kills it unless the
// point is later. A missed point is passed to the next process.
func (f *faultyElastic) strikes(r *http.Request, n loadRequests, after bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	creates := r.Method == http.MethodPut && strings.Count(r.URL.Path, "/") == 1
	now := f.point.after == after && (n.since == 0 && n.before == f.point.before ||
		n.since > 0 && n.since == f.point.since || f.point.creating && creates) ||
		isSwitch(r) && f.point.since == 0 && !after
	if now = now && !f.calm && !f.point.none && f.process != nil; now {
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
	number := f.count(r)
	if f.strikes(r, number, false) {
		panic(http.ErrAbortHandler)
	}
	var status int
	var answer []byte
	switch bulk := isBulk(r) && !f.calm; {
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
	for _, d := range catalog.Datasets {
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
	code := run(
		t.Context(),
		[]string{"index", "verify", dir, "--json", "--temp-dir", t.TempDir(), "--elasticsearch-url", f.direct, "--index-prefix", prefix},
		&out, &errs,
	)
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
