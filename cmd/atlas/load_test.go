package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atlas/indexer"
	"atlas/internal/devstack/backends"
	"atlas/search/catalog"
	"atlas/workspace/postgres/pgtest"
)

// accountsFolder writes a folder with only accounts.
func accountsFolder(t *testing.T, dir string, accounts int) {
	t.Helper()
	for _, d := range catalog.Datasets {
		var b strings.Builder
		for i := range accounts {
			if d == catalog.Accounts {
				fmt.Fprintf(&b, `{"id":"10000000-0000-4000-8000-%012x","name":"Firm %d"}`+"\n", i, i)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, string(d)+".ndjson"), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The exit statuses of a load that scripts distinguish, and its messages.
func TestLoadStatuses(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	dir, temp := t.TempDir(), t.TempDir()
	place := []string{
		"--temp-dir", temp, "--elasticsearch-url", backends.Elasticsearch(t), "--index-prefix", ownPrefix(t),
		"--postgres-system-url", database.System,
	}
	load := func(status int, args ...string) (report indexer.Report, said string) {
		t.Helper()
		var out bytes.Buffer
		var errs syncBuffer // its progress and its log
		if got := run(t.Context(), append(append([]string{"index", "load", dir, "--json"}, args...), place...), &out, &errs); got != status {
			t.Fatalf("status %d, want %d: %s", got, status, &errs)
		}
		if err := json.Unmarshal(out.Bytes(), &report); err != nil {
			t.Fatalf("%v in %s", err, &out)
		}
		return report, errs.String()
	}
	accountsFolder(t, dir, 20)
	load(0)

	accountsFolder(t, dir, 17)
	report, said := load(4)
	if report.Switched || report.WorkDir == "" || len(report.Shares) != 4 ||
		!strings.Contains(said, "accounts would go from 20 records to 17 (85.0 %)") || !strings.Contains(said, "--force") {
		t.Errorf("%+v: %s", report, said)
	}
	accountsFolder(t, dir, 16)
	if report, said = load(5); report.Switched || !strings.Contains(said, "accounts.ndjson has") || !strings.Contains(said, "--restart") {
		t.Errorf("%+v: %s", report, said)
	}
	if report, _ = load(0, "--restart", "--force"); !report.Switched || report.Documents() != 16 {
		t.Errorf("%+v", report)
	}
	if report, _ = load(0, "--min-share", "1"); !report.Switched || report.Documents() != 16 {
		t.Errorf("%+v", report)
	}
	var out bytes.Buffer
	var errs syncBuffer // its progress and its log
	if got := run(
		t.Context(),
		append([]string{"index", "load", dir, "--min-share", "1.5", "--checkpoint-records", "0"}, place...), &out,
		&errs,
	); got != 2 ||
		!strings.Contains(errs.String(), "--min-share must be 0 to 1") || !strings.Contains(errs.String(), "--checkpoint-records must be 1") {
		t.Errorf("status %d: %s", got, &errs)
	}
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	return free.Addr().String()
}

// metricsAt reads the metrics as Prometheus would.
func metricsAt(t *testing.T, address string) []byte {
	t.Helper()
	res, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
