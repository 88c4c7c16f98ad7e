package index

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"atlas/indexer"
	"atlas/internal/devstack/backends"
	"atlas/search/searchtest"
)

func TestMain(m *testing.M) { backends.Main(m) }

// Without a terminal, progress is at least a line of JSON for each phase; Prometheus gets
// the same while a load runs.
func TestLoadProgressAndMetrics(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	metrics, stop, err := serveLoadMetrics(address)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var lines bytes.Buffer
	shown := &loadProgress{to: &lines}
	dir := t.TempDir()
	var accounts strings.Builder
	for i := range 300 {
		fmt.Fprintf(&accounts, `{"id":"10000000-0000-4000-8000-%012x","name":"Firm %d"}`+"\n", i, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "accounts.ndjson"), []byte(accounts.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	es := searchtest.NewClient(t, backends.Elasticsearch(t))
	o := indexer.Options{Dir: dir, AllowMissing: true, Elastic: es, TempDir: t.TempDir(), Progress: func(p indexer.Progress) {
		metrics.take(p)
		shown.show(p)
	}}
	o.Names.Prefix = fmt.Sprintf("progress-%x-", rand.Uint64())
	t.Cleanup(func() { searchtest.DeleteIndices(t, es, o.Names.Prefix+"*") })
	if _, err := indexer.Load(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var phases []string
	for line := range strings.Lines(lines.String()) {
		var p struct {
			Phase string
			Share *float64
		}
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if len(phases) == 0 || phases[len(phases)-1] != p.Phase {
			phases = append(phases, p.Phase)
		}
	}
	if got := strings.Join(phases, " "); got != "read index finish" {
		t.Errorf("%s in %s", got, &lines)
	}
	res, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`(?m)^atlas_load_documents_total 300$`, `(?m)^atlas_load_bytes_total [1-9]`, `(?m)^atlas_load_retries_total 0$`,
		`(?m)^atlas_load_dead_letters_total 0$`,
		`(?m)^atlas_load_batch_bytes 4.194304e\+06$`, `(?m)^atlas_load_phase\{phase="finish"\} 1$`,
		`(?m)^atlas_load_phase\{phase="read"\} 0$`, `(?m)^atlas_load_phase_seconds `,
		`(?m)^atlas_load_phase_done `, `(?m)^atlas_load_phase_size `, `(?m)^process_resident_memory_bytes `,
	} {
		if !regexp.MustCompile(want).Match(body) {
			t.Errorf("%s is not in\n%s", want, body)
		}
	}
	documented, err := os.ReadFile("../../../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`(?m)^atlas_load_\w+`).FindAllString(string(body), -1) {
		if !bytes.Contains(documented, []byte(name)) {
			t.Errorf("docs/data.md does not have %s", name)
		}
	}
}
