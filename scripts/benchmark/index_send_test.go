package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer"
)

// bulkSink takes documents as Elasticsearch does, and stores their ids in the order of
// arrival. While a request of one index is in progress, another of it must not come.
type bulkSink struct {
	*httptest.Server
	t     *testing.T
	lock  sync.Mutex
	ids   map[string]map[string]int // by index
	order []string                  // of indices, as their first document came
	under map[string]int
}

func newBulkSink(t *testing.T) *bulkSink {
	t.Helper()
	s := &bulkSink{t: t, ids: map[string]map[string]int{}, under: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.take))
	t.Cleanup(s.Close)
	return s
}

func (s *bulkSink) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	w.Header().Set("X-Elastic-Product", "Elasticsearch")
	w.Header().Set("Content-Type", "application/json")
	index, bulk := strings.CutSuffix(strings.Trim(r.URL.Path, "/"), "/_bulk")
	if !bulk {
		_, _ = w.Write([]byte(`{}`)) // a greeting
		return
	}
	s.lock.Lock()
	if s.ids[index] == nil {
		s.ids[index], s.order = map[string]int{}, append(s.order, index)
	}
	s.under[index]++
	for other, n := range s.under {
		if other != index && n > 0 {
			s.t.Errorf("%s is sent while %s is", index, other)
		}
	}
	var items []string
	lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
	for i := 0; i+1 < len(lines); i += 2 {
		id := strings.TrimSuffix(strings.SplitN(string(lines[i]), `"_id":"`, 2)[1], `"}}`)
		s.ids[index][id]++
		items = append(items, fmt.Sprintf(`{"index":{"_id":%q,"status":201}}`, id))
	}
	s.lock.Unlock()
	answer := `{"errors":false}`
	if r.URL.Query().Get("filter_path") == "" {
		answer = `{"took":1,"errors":false,"items":[` + strings.Join(items, ",") + `]}`
	}
	s.lock.Lock()
	s.under[index]--
	s.lock.Unlock()
	_, _ = w.Write([]byte(answer))
}

// documentsFile is a file of so many documents, a few in each frame.
func documentsFile(t *testing.T, name string, documents int) string {
	t.Helper()
	f, err := createBuilt(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	var batch []indexer.Document
	for i := range documents {
		batch = append(batch, indexer.Document{ID: fmt.Sprintf("%s-%d", name, i), JSON: []byte(`{"ix":{}}`)})
		if len(batch) == 7 || i == documents-1 {
			if err := f.add(batch); err != nil {
				t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	return f.path
}

// Both ways send all of one file before anything of the next, each into its own
// index, every document once.
func TestSendGoesFileAfterFile(t *testing.T) {
	t.Parallel()
	files := []string{documentsFile(t, "signals", 100), documentsFile(t, "accounts", 31)}
	for _, way := range []string{bareWay, esutilWay} {
		sink := newBulkSink(t)
		c := &sendCmd{Way: way, Files: files, Indices: []string{"first", "second"}, URL: sink.URL, Connections: 3, BatchBytes: 200}
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		sent, err := c.send(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		if len(sent) != 2 || sent[0].Documents != 100 || sent[1].Documents != 31 || sent[0].Seconds <= 0 {
			t.Errorf("%s: %+v", way, sent)
		}
		if d := cmp.Diff([]string{"first", "second"}, sink.order); d != "" {
			t.Errorf("%s: %s", way, d)
		}
		for i, name := range []string{"signals", "accounts"} {
			ids := sink.ids[c.Indices[i]]
			for n := range sent[i].Documents {
				if got := ids[fmt.Sprintf("%s-%d", name, n)]; got != 1 {
					t.Errorf("%s: %s-%d came %d times", way, name, n, got)
				}
			}
			if int64(len(ids)) != sent[i].Documents {
				t.Errorf("%s: %d documents in %s", way, len(ids), c.Indices[i])
			}
		}
	}
}

func TestSendNamesTheFileThatFails(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"errors":true}`))
	}))
	defer refusing.Close()
	path := documentsFile(t, "contacts", 3)
	c := &sendCmd{Way: bareWay, Files: []string{path}, Indices: []string{"one"}, URL: refusing.URL, Connections: 1, BatchBytes: 200}
	if _, err := c.send(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("refused documents: %v", err)
	}
	if c.Indices = append(c.Indices, "two"); c.Validate() == nil {
		t.Error("an index without a file is accepted")
	}
}
