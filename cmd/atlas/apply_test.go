package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/cmd/internal/server"
	"atlas/indexer/delta"
	"atlas/indexer/generation"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/search/catalog"
	"atlas/workspace/postgres"
)

// writable is a service with its own global records, and the commands that write them.
type writable struct {
	*service
	dir string
}

func startWritable(t *testing.T, change ...func(*server.Config)) writable {
	t.Helper()
	es, err := elastic.New(elastic.Config{Addresses: []string{backends.Elasticsearch(t)}})
	if err != nil {
		t.Fatal(err)
	}
	prefix := "e2e-" + strings.ToLower(uuid.NewString()[:8]) + "-"
	t.Cleanup(func() { deleteIndices(t, es, prefix) })
	change = append(change, func(c *server.Config) { c.IndexPrefix = prefix })
	return writable{start(t, 0, change...), t.TempDir()}
}

// index runs a command of `atlas index`, which must exit with a status.
func (w writable) index(want int, args ...string) (stdout, stderr string) {
	w.t.Helper()
	work := filepath.Join(w.dir, "work")
	if args[0] == "load" {
		work = filepath.Join(w.dir, "load")
	}
	if args[0] != "rollback" {
		args = append(args, "--work-dir", work)
	}
	args = append([]string{"index"}, append(args, "--elasticsearch-url", w.config.ElasticsearchURL[0], "--index-prefix", w.config.IndexPrefix,
		"--held-index-prefix", w.config.HeldIndexPrefix, "--postgres-system-url", w.config.PostgresSystemURL)...)
	var out bytes.Buffer
	var errs syncBuffer // its progress and its log
	if code := run(w.t.Context(), args, &out, &errs); code != want {
		w.t.Fatalf("atlas %s: status %d, want %d\n%s%s", strings.Join(args, " "), code, want, &out, &errs)
	}
	return out.String(), errs.String()
}

// file writes lines to a new file.
func (w writable) file(lines ...string) string {
	w.t.Helper()
	dir, err := os.MkdirTemp(w.dir, "")
	if err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join(dir, "lines.ndjson")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// load loads files, by dataset.
func (w writable) load(files map[string]string) {
	w.t.Helper()
	dir := w.t.TempDir()
	for d, lines := range files {
		if err := os.WriteFile(filepath.Join(dir, d+".ndjson"), []byte(lines), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	w.index(0, "load", dir, "--allow-missing")
}

// eventually waits for a change that happens in the background.
func (w writable) eventually(what string, condition func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatal("it does not become true that", what)
		}
	}
}

const (
	firm   = "10000000-0000-4000-8000-000000000001"
	other  = "10000000-0000-4000-8000-000000000002"
	person = "20000000-0000-4000-8000-000000000001"
	tower  = "30000000-0000-4000-8000-000000000001"
)

func event(n int, at time.Time) string {
	return fmt.Sprintf(`{"id":"40000000-0000-4000-8000-%012d","title":"Issued","signal_type":"permit_issued","occurred_at":%q,"detected_at":%q,"updated_at":%q,"project_id":%q,"account_ids":[%q]}`,
		n, at.Format(time.RFC3339), at.Format(time.RFC3339), at.Format(time.RFC3339), tower, firm)
}

// Held records follow a delta: values, score, relations, deleted and restored records.
func TestHeldRecordsFollowDeltas(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	w.load(map[string]string{
		"accounts": `{"id":"` + firm + `","name":"Firm","updated_at":"2024-01-01"}` + "\n" + `{"id":"` + other +
			`","name":"Other","updated_at":"2024-01-01"}`,
		"contacts": `{"id":"` + person + `","name":"Person","account_id":"` + firm + `","updated_at":"2024-01-01"}`,
		"projects": `{"id":"` + tower + `","name":"Tower","updated_at":"2024-01-01"}`,
	})
	for path, body := range map[string]string{
		"accounts": `{"account_id":"` + firm + `","icp_tier":"tier_1","tags":["mine"]}`,
		"projects": `{"project_id":"` + tower + `","tags":["mine"]}`,
	} {
		if a := w.call("POST", "/workspace/"+path+"/upsert", w.key, body); a.status != 200 {
			t.Fatalf("%s", a.raw)
		}
	}
	type row struct {
		ID    string
		Name  string
		Score int `json:"atlas_score"`
		Count int `json:"signals_count"`
	}
	rows := func(d catalog.Dataset, body string) (rows []row) {
		t.Helper()
		a := w.call("POST", "/workspace/"+string(d)+"/search", w.key, body)
		if a.status != 200 {
			t.Fatalf("%s", a.raw)
		}
		if err := json.Unmarshal(a.body.Data, &rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	before := rows(catalog.Accounts, `{}`)
	if len(before) != 1 {
		t.Fatalf("%+v", before)
	}

	now := time.Now().UTC()
	out, _ := w.index(0, "apply", "--signals", w.file(event(1, now), event(2, now)),
		"--accounts", w.file(`{"id":"`+firm+`","name":"New Firm","updated_at":"2024-02-01"}`),
		"--projects",
		w.file(`{"id":"`+tower+`","name":"New Tower","account_ids":["`+firm+`"],"contact_ids":["`+person+`"],"updated_at":"2024-02-01"}`))
	if !strings.Contains(out, "4 records changed") {
		t.Errorf("%s", out)
	}
	// Recency alone gives 30 points.
	w.eventually("the held account follows", func() bool {
		found := rows(catalog.Accounts, fmt.Sprintf(`{"query":"new firm","filters":{"atlas_score":{"value":[%d,100]}},"relations":{"has_signal":{},"has_project":{}}}`, before[0].Score+25))
		return len(found) == 1 && found[0].Score > before[0].Score+25
	})
	w.eventually("the held project follows", func() bool {
		return len(rows(catalog.Projects, `{"query":"new tower","filters":{"signals_count":{"value":2}}}`)) == 1
	})
	// All workspaces see a contact that a project names.
	if a := w.search(catalog.Contacts, `{"filters":{"projects_count":{"value":1}}}`); len(a.ids(t)) != 1 {
		t.Errorf("%s", a.raw)
	}

	w.index(0, "apply", "--accounts", w.file(`{"id":"`+firm+`","deleted":true,"updated_at":"2024-03-01"}`))
	w.eventually("the deleted account leaves the book", func() bool { return len(rows(catalog.Accounts, `{}`)) == 0 })
	if a := w.call("GET", "/workspace/accounts/"+firm, w.key, ""); a.status != 404 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	w.index(0, "apply", "--accounts", w.file(`{"id":"`+firm+`","name":"Late","updated_at":"2024-02-15"}`))
	if a := w.call("GET", "/data/accounts/"+firm, w.key, ""); a.status != 404 {
		t.Errorf("an older version brings it back: %d %s", a.status, a.raw)
	}
	w.index(0, "apply", "--accounts", w.file(`{"id":"`+firm+`","name":"Back","updated_at":"2024-04-01"}`))
	w.eventually("the account is in the book again", func() bool {
		found := rows(catalog.Accounts, `{"query":"back","filters":{"tags":{"value":"mine"},"signals_count":{"value":2}}}`)
		return len(found) == 1 && found[0].ID == firm
	})
}

// Dead letters are corrected and applied. Lines that fail again are written to a new
// file, and the exit status says so.
func TestRetryCommand(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	w.load(map[string]string{"accounts": `{"id":"` + firm + `","name":"Firm","updated_at":"2024-01-01"}`})
	rejects := filepath.Join(w.dir, "rejects.ndjson")
	changes := w.file(
		`{"id":"`+firm+`","name":"","updated_at":"2024-02-01"}`, `{"id":"`+other+`","name":"Other"`,
		`{"id":"`+person+`","deleted":"yes"}`, `{"id":"`+firm+`","name":"First"}`,
	)
	if _, errs := w.index(
		3, "apply", "--accounts", changes, "--strict", "--dead-letters", rejects,
	); !strings.Contains(errs, "lines.ndjson:1: name: required") {
		t.Errorf("%s", errs)
	}
	left, err := os.ReadFile(rejects)
	if err != nil || bytes.Count(left, []byte("\n")) != 3 {
		t.Fatalf("%v %s", err, left)
	}
	// Correct one line, complete the truncated one, and keep the third.
	mended := strings.Replace(string(left), `"name":""`, `"name":"Mended","updated_at":"2099-01-01","phone":"1"`, 1)
	mended = strings.Replace(mended, `,"updated_at":"2024-02-01"`, "", 1)
	mended = strings.Replace(mended, `\"name\":\"Other\"`, `\"name\":\"Other\"}`, 1)
	again := filepath.Join(w.dir, "again.ndjson")
	out, _ := w.index(3, "retry", w.file(mended), "--dead-letters", again, "--json")
	var report delta.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if !report.Finished || report.Changed() != 2 || report.LeftOut() != 1 || report.DeadLetters != again {
		t.Errorf("%s", out)
	}
	if a := w.search(catalog.Accounts, `{}`); !bytes.Contains(a.raw, []byte("Mended")) || len(a.ids(t)) != 2 {
		t.Errorf("%s", a.raw)
	}
	if left, err = os.ReadFile(again); err != nil || bytes.Count(left, []byte("\n")) != 1 ||
		!bytes.Contains(left, []byte("must be true or false")) {
		t.Errorf("%v %s", err, left)
	}
	if _, errs := w.index(2, "apply"); !strings.Contains(errs, "give a folder") {
		t.Errorf("%s", errs)
	}
}

// A delta waits for a load in progress, reports it, and then continues. Without waiting, it
// names the holder of the lease.
func TestDeltaWaitsForALoad(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	w.load(map[string]string{"accounts": `{"id":"` + firm + `","name":"Firm","updated_at":"2024-01-01"}`})
	system, err := postgres.OpenSystem(t.Context(), w.config.PostgresSystemURL, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer system.Close()
	changes := w.file(`{"id":"` + firm + `","name":"New"}`)
	working, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- system.WithLease(t.Context(), generation.LeaseName, "a load", time.Minute, func(ctx context.Context) error {
			close(working)
			<-end
			return nil
		})
	}()
	<-working
	if _, errs := w.index(1, "apply", "--accounts", changes, "--wait", "0s"); !strings.Contains(errs, "a load") {
		t.Errorf("%s", errs)
	}
	var out syncBuffer
	applied, metrics := make(chan int, 1), freeAddress(t)
	go func() {
		applied <- run(
			t.Context(),
			[]string{"index", "apply", "--accounts", changes, "--metrics-listen", metrics, "--work-dir", filepath.Join(w.dir, "work"),
				"--elasticsearch-url", w.config.ElasticsearchURL[0], "--index-prefix", w.config.IndexPrefix,
				"--postgres-system-url", w.config.PostgresSystemURL}, &out, &out,
		)
	}()
	w.eventually("the delta says that it waits", func() bool { return strings.Contains(out.String(), "waiting: ") })
	select {
	case code := <-applied:
		t.Fatalf("it did not wait: %d %s", code, out.String())
	default:
	}
	if body := metricsAt(t, metrics); !bytes.Contains(body, []byte("process_resident_memory_bytes")) {
		t.Errorf("metrics of the delta: %s", body)
	}
	close(end)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if code := <-applied; code != 0 || !strings.Contains(out.String(), "1 records changed") {
		t.Errorf("%d %s", code, out.String())
	}
}
