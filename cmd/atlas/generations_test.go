package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/cmd/internal/index"
	"atlas/indexer"
	"atlas/indexer/generate"
	"atlas/indexer/generation"
	"atlas/indexer/verify"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/internal/elastic/elastictest"
	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

// An operator manages generations: loads twice, verifies, finds damaged documents,
// rolls back, and deletes.
func TestLookingAfterGenerations(t *testing.T) {
	t.Parallel()
	database := pgtest.New(t)
	es, err := elastic.New(elastic.Config{Addresses: []string{backends.Elasticsearch(t)}})
	if err != nil {
		t.Fatal(err)
	}
	prefix := "e2e-" + strings.ToLower(uuid.NewString()[:8]) + "-"
	t.Cleanup(func() { deleteIndices(t, es, prefix) })
	dir := t.TempDir()
	if _, err := generate.Generate(t.Context(), generate.Options{Records: 300, Seed: 3, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	place := []string{"--elasticsearch-url", backends.Elasticsearch(t), "--index-prefix", prefix}
	atlas := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		if args[1] != "verify" {
			args = append(args, "--postgres-system-url", database.System)
		}
		var out bytes.Buffer
		var errs syncBuffer // its progress and its log
		if code := run(t.Context(), append(args, place...), &out, &errs); code != want {
			t.Fatalf("atlas %s: status %d, want %d\n%s%s", strings.Join(args, " "), code, want, &out, &errs)
		}
		return out.String(), errs.String()
	}
	parsed := func(text string, into any) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	if out, _ := atlas(0, "index", "status"); !strings.Contains(out, "nothing has been loaded yet") {
		t.Error(out)
	}
	load := func() (r indexer.Report) {
		out, _ := atlas(0, "index", "load", dir, "--json", "--temp-dir", t.TempDir())
		parsed(out, &r)
		return r
	}
	first, second := load(), load()

	var verified verify.Report
	out, _ := atlas(0, "index", "verify", dir, "--json")
	if parsed(out, &verified); !verified.Equal || verified.Generation != second.Generation || verified.Datasets[0].Matching != 120 {
		t.Errorf("%+v", verified)
	}
	lost := someID(t, es, prefix+"signals")
	if _, err := es.Do(t.Context(), elastictest.Request{
		Method: http.MethodDelete, Path: "/" + prefix + "signals-" + second.Generation + "/_doc/" + lost,
	}); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "differences.ndjson")
	out, errs := atlas(3, "index", "verify", dir, "--out", list)
	if !strings.Contains(out, "is not equal") || !strings.Contains(errs, "missing signals "+lost) {
		t.Error(out, errs)
	}
	raw, err := os.ReadFile(list)
	var difference verify.Difference
	if parsed(string(raw), &difference); err != nil || difference.ID != lost || difference.Kind != verify.Missing {
		t.Errorf("%v %s", err, raw)
	}
	atlas(0, "index", "verify", dir, "--generation", first.Generation)
	if _, errs := atlas(1, "index", "verify", dir, "--generation", "none"); !strings.Contains(errs, "there is no generation none") ||
		!strings.Contains(errs, second.Generation) {
		t.Error(errs)
	}

	var status index.StatusReport
	out, _ = atlas(0, "index", "status", "--json")
	parsed(out, &status)
	if len(status.Generations) != 2 || status.Generations[0].State != generation.Served ||
		status.Generations[1].Documents != 300 || status.Writing != nil || len(status.Loads) != 0 {
		t.Errorf("%+v", status)
	}
	var back generation.RollbackReport
	out, _ = atlas(0, "index", "rollback", "--json")
	parsed(out, &back)
	if diff := cmp.Diff(
		generation.RollbackReport{Switched: true, From: []string{second.Generation}, To: first.Generation, Documents: 300},
		back,
	); diff != "" {
		t.Error(diff)
	}
	if _, errs := atlas(1, "index", "rollback"); !strings.Contains(errs, second.Generation) {
		t.Error(errs)
	}
	whileHeld(t, database.System, func() {
		if _, errs := atlas(1, "index", "prune", "--keep", "0"); !strings.Contains(errs, "somebody") {
			t.Error(errs)
		}
		if out, _ := atlas(0, "index", "status"); !strings.Contains(out, "being written by somebody") {
			t.Error(out)
		}
	})
	if out, _ := atlas(0, "index", "prune", "--keep", "0", "--dry-run"); !strings.Contains(out, "would delete "+second.Generation) {
		t.Error(out)
	}
	if out, _ := atlas(0, "index", "prune"); !strings.Contains(out, "generations deleted: 0") {
		t.Error(out)
	}
	if out, _ := atlas(0, "index", "prune", "--keep", "0"); !strings.Contains(out, "deleted "+second.Generation) {
		t.Error(out)
	}
	atlas(2, "index", "prune", "--keep", "-1")
	out, _ = atlas(0, "index", "status")
	if !strings.Contains(out, first.Generation) || strings.Contains(out, second.Generation) || !strings.Contains(out, "nobody is loading") {
		t.Error(out)
	}
}

// someID returns the id of a record of an index.
func someID(t *testing.T, es *elastic.Client, index string) string {
	t.Helper()
	res, err := es.Do(t.Context(), elastictest.Request{Method: http.MethodGet, Path: "/" + index + "/_search?size=1&sort=id"})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Hits struct {
			Hits []struct {
				ID string `json:"_id"`
			}
		}
	}
	if err := json.Unmarshal(res.Body, &answer); err != nil || len(answer.Hits.Hits) != 1 {
		t.Fatal(err, string(res.Body))
	}
	return answer.Hits.Hits[0].ID
}

// whileHeld holds the lease of loads while work runs.
func whileHeld(t *testing.T, url string, work func()) {
	t.Helper()
	system, err := postgres.OpenSystem(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer system.Close()
	if ok, err := system.AcquireLease(t.Context(), generation.LeaseName, "somebody", time.Minute); err != nil || !ok {
		t.Fatal(ok, err)
	}
	work()
	if err := system.ReleaseLease(t.Context(), generation.LeaseName, "somebody"); err != nil {
		t.Fatal(err)
	}
}

// deleteIndices deletes the generations of a prefix.
func deleteIndices(t *testing.T, es *elastic.Client, prefix string) {
	t.Helper()
	for _, d := range catalog.Datasets {
		searchtest.DeleteIndices(t, es, prefix+string(d)+"-*")
	}
}

// Records that look the same are listed, as a table, CSV and JSON.
func TestIndexDuplicates(t *testing.T) {
	t.Parallel()
	prefix, es := globalData(t), backends.Elasticsearch(t)
	list := func(args ...string) (out, errs string) {
		var o bytes.Buffer
		var e syncBuffer
		args = append(
			[]string{"index", "duplicates"},
			append(args, "--elasticsearch-url", es, "--index-prefix", prefix, "--temp-dir", t.TempDir())...,
		)
		if code := run(t.Context(), args, &o, &e); code != 0 {
			t.Fatalf("atlas %v: %d %s", args, code, &e)
		}
		return o.String(), e.String()
	}
	for _, dataset := range []string{"accounts", "contacts"} {
		out, errs := list(dataset, "--limit", "0", "--json", "--min-confidence", "0.5")
		var report struct {
			Groups []struct {
				Confidence float64
				Records    []struct{ ID, Name string }
				Links      []struct {
					Reasons []struct{ Field, Verdict string }
				}
			}
			Count   int `json:"group_count"`
			Records int
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil || report.Count != len(report.Groups) || report.Records == 0 ||
			dataset == "accounts" && report.Count == 0 || !strings.Contains(errs, " pairs compared (") {
			t.Fatalf("%v %.300s %s", err, out, errs)
		}
		for _, g := range report.Groups {
			if len(g.Records) < 2 || len(g.Links) != len(g.Records)-1 || g.Confidence < 0.5 || len(g.Links[0].Reasons) == 0 {
				t.Errorf("%+v", g)
			}
		}
		if dataset == "contacts" {
			continue // no two are alike
		}
		first := report.Groups[0].Records
		table, _ := list(dataset, "--limit", "1", "--min-confidence", "0.5")
		if lines := strings.Split(strings.TrimSpace(table), "\n"); len(lines) != 1+len(first) ||
			!strings.HasPrefix(lines[0], "GROUP  CONFIDENCE  ID ") || !strings.Contains(lines[1], first[0].ID) {
			t.Errorf("%s\nwant %+v", table, first)
		}
		text, _ := list(dataset, "--limit", "1", "--min-confidence", "0.5", "--output", "csv")
		rows := must(csv.NewReader(strings.NewReader(text)).ReadAll())(t)
		if len(rows) != 1+len(first) || rows[0][0] != "group" || rows[1][2] != first[0].ID || rows[1][8] == "" {
			t.Errorf("%q", rows)
		}
	}
}
