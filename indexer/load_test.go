package indexer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"atlas/indexer"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	signalLine := func(n int, project string, accounts []string, detected string) string {
		b, err := json.Marshal(accounts)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"id":%q,"signal_type":"permit_filed","title":"Signal %d","project_id":%q,"account_ids":%s,"occurred_at":"2024-01-01","detected_at":%q}`,
			signal(n), n, project, b, detected)
	}
	dir := folder(t, map[string]string{
		"accounts": lines(
			`{"id":"`+account(1)+`","name":"Ångström Builders","domains":["angstrom.example"],"updated_at":"2024-02-01"}`,
			``,
			`{"id":"`+account(2)+`","name":"old","updated_at":"2024-01-01"}`,
			`{"id":"`+account(2)+`","name":"newest","updated_at":"2024-03-01","projects_count":99}`,
			`{"id":"`+account(2)+`","name":"middle","updated_at":"2024-02-01"}`,
			`{"id":"`+account(3)+`","name":"first line","updated_at":"2024-01-01"}`,
			`{"id":"`+account(3)+`","name":"later line","updated_at":"2024-01-01"}`,
			`{"id":"`+account(4)+`"}`,
			`{"id":"no uuid","name":"x"}`,
			`{"id":"`+account(5)+`","name":"x","nmae":"typo"}`,
			`{"id":"`+account(6)+`","name":7,"account_types":["wizard"]}`,
			`{"id":"`+account(7)+`","name":"cut`,
			`not json at all`,
			`{"id":"`+account(8)+`","name":"`+strings.Repeat("x", 1001)+`"}`,
			`{"id":"`+account(9)+`","name":"twice","name":"twice"}`,
			"{\"id\":\""+account(10)+"\",\"name\":\"bad \xff bytes\"}",
			`{"id":"`+account(11)+`","name":"`+strings.Repeat("x", 5<<20)+`"}`,
		),
		"contacts.ndjson.gz": string(gzipped(t, lines(
			`{"id":"`+contact(1)+`","name":"Ann","account_id":"`+account(1)+`","created_at":"2024-01-01"}`,
			`{"id":"`+contact(2)+`","name":"Ben","account_id":"`+account(77)+`"}`,
			`{"id":"`+contact(3)+`","name":"Cy"}`,
		))),
		"projects": lines(
			`{"id":"`+project(1)+`","name":"Mill","account_ids":["`+account(1)+`","`+account(1)+`","`+account(2)+
				`"],"contact_ids":["`+contact(1)+`"],"created_at":"2024-01-01"}`,
			`{"id":"`+project(2)+`","name":"Quay","account_ids":["`+account(1)+`","`+account(99)+`"],"contact_ids":["`+
				contact(98)+`"],"last_signal_at":"1999-01-01"}`,
		),
		"signals": lines(
			signalLine(1, project(1), []string{account(1)}, "2024-05-01"),
			signalLine(2, project(1), []string{account(1), account(2)}, "2024-06-01"),
			signalLine(3, project(66), nil, "2024-07-01"),
		),
		"notes.txt": "not a dataset",
	})
	below := filepath.Join(dir, "below")
	if err := errors.Join(os.Mkdir(below, 0o700), os.WriteFile(filepath.Join(below, "accounts.ndjson"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	var phases []indexer.Phase
	o := w.options(dir)
	o.DeadLetters = filepath.Join(t.TempDir(), "rejects.ndjson")
	o.Progress = func(p indexer.Progress) {
		if len(phases) == 0 || phases[len(phases)-1] != p.Phase {
			phases = append(phases, p.Phase)
		}
		if p.Total > 0 && p.Done > p.Total {
			t.Errorf("%+v", p)
		}
	}
	report := w.load(t, o)

	if diff := cmp.Diff([]indexer.Phase{indexer.Reading, indexer.Indexing, indexer.Ending}, phases); diff != "" {
		t.Error(diff)
	}
	want := []indexer.DatasetReport{
		{Dataset: catalog.Accounts, File: "accounts.ndjson", Lines: 16, Rejected: 10, Replaced: 3, Records: 3, Documents: 3},
		{Dataset: catalog.Contacts, File: "contacts.ndjson.gz", Lines: 3, Records: 3, Documents: 3, Dangling: 1},
		{Dataset: catalog.Projects, File: "projects.ndjson", Lines: 2, Records: 2, Documents: 2, Dangling: 2},
		{Dataset: catalog.Signals, File: "signals.ndjson", Lines: 3, Records: 3, Documents: 3, Dangling: 1},
	}
	if diff := cmp.Diff(
		want, report.Datasets, cmpopts.IgnoreFields(indexer.DatasetReport{}, "Seconds", "ReadSeconds", "IndexSeconds"),
	); diff != "" {
		t.Error(diff)
	}
	type at struct {
		Line  int64
		Field string
	}
	var problems []at
	for _, p := range report.Problems {
		if p.File != "accounts.ndjson" || p.Reason == "" {
			t.Errorf("%+v", p)
		}
		problems = append(problems, at{p.Line, p.Field})
	}
	wantProblems := []at{
		{8, "name"}, {9, "id"}, {10, "nmae"}, {11, "name"}, {11, "account_types"}, {12, ""}, {13, ""}, {14, "name"},
		{15, ""}, {16, ""}, {17, ""},
	}
	if diff := cmp.Diff(wantProblems, problems); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(
		[]string{"below is a folder and was ignored; load the files that it has from " + below, "notes.txt is no dataset file and was ignored"},
		report.Notes,
	); diff != "" {
		t.Error(diff)
	}
	wantRejects(t, o.DeadLetters, []int64{8, 9, 10, 11, 12, 13, 14, 15, 16, 17})

	// Derived fields, the winners of repeated ids, and values that are given only once.
	derived := func(dataset, id string, fields ...string) map[string]any {
		r, some := w.record(t, dataset, id), map[string]any{}
		for _, f := range fields {
			some[f] = r[f]
		}
		return some
	}
	for _, c := range []struct {
		dataset, id string
		want        map[string]any
	}{
		{"accounts", account(1), map[string]any{
			"name": "Ångström Builders", "projects_count": 2., "contacts_count": 1., "signals_count": 2.,
			"last_activity_at": "2024-06-01T00:00:00.000Z", "updated_at": "2024-02-01T00:00:00.000Z",
			"created_at": "2026-03-04T05:06:07.000Z",
		}},
		{"accounts", account(2), map[string]any{
			"name": "newest", "projects_count": 1., "contacts_count": 0., "signals_count": 1.,
			"last_activity_at": "2024-06-01T00:00:00.000Z",
		}},
		{"accounts", account(3), map[string]any{"name": "later line", "projects_count": 0., "signals_count": 0., "last_activity_at": nil}},
		{"projects", project(1), map[string]any{"signals_count": 2., "last_signal_at": "2024-06-01T00:00:00.000Z"}},
		{"projects", project(2), map[string]any{"signals_count": 0., "last_signal_at": nil, "account_ids": []any{account(1), account(99)}}},
		{"contacts", contact(1), map[string]any{"projects_count": 1.}},
		{"contacts", contact(2), map[string]any{"projects_count": 0., "account_id": account(77)}},
	} {
		var fields []string
		for f := range c.want {
			fields = append(fields, f)
		}
		if diff := cmp.Diff(c.want, derived(c.dataset, c.id, fields...)); diff != "" {
			t.Errorf("%s %s: %s", c.dataset, c.id, diff)
		}
	}
	for _, c := range []struct {
		dataset, child, id string
		want               int64
	}{
		{"accounts", "projects", project(1), 2}, {"accounts", "projects", project(2), 1}, {"accounts", "signals", signal(2), 2},
		{"accounts", "contacts", contact(1), 1}, {"accounts", "contacts", contact(2), 0},
		{"contacts", "projects", project(1), 1}, {"projects", "signals", signal(3), 0},
	} {
		if got := w.related(t, c.dataset, c.child, c.id); got != c.want {
			t.Errorf("%d %s have %s %s, want %d", got, c.dataset, c.child, c.id, c.want)
		}
	}
	// The fragment of a project has its derived values.
	a := w.search(t, "accounts", `{"query":{"nested":{"path":"ix.projects","query":{"term":{"ix.projects.signals_count":2}}}}}`)
	if a.Hits.Total.Value != 2 {
		t.Errorf("%d accounts have a project with two signals", a.Hits.Total.Value)
	}
}

// wantRejects checks that a rejects file has exactly these lines, each with its content.
func wantRejects(t *testing.T, path string, want []int64) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64]bool{}
	for line := range strings.Lines(string(raw)) {
		var r struct {
			Dataset, File, Text string
			Line                int64
			Problems            []struct{ Field, Reason string }
			Record              json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		const tooLong = 17
		if r.File == "" || r.Dataset == "" || len(r.Problems) == 0 || (r.Text == "" && r.Record == nil) != (r.Line == tooLong) {
			t.Errorf("%.300s", line)
		}
		got[r.Line] = true
	}
	wanted := map[int64]bool{}
	for _, n := range want {
		wanted[n] = true
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// A parent of 1,200 signals: all are counted, the newest 1,000 are nested, ties
// by id.
func TestNewestChildrenAreNested(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const all = 1_200
	files := simple(1)
	var b strings.Builder
	for i := range all {
		// In no order; the oldest 300 share a time, so that ids decide.
		n := i * 7 % all
		minute := max(n, 300)
		fmt.Fprintf(&b, `{"id":%q,"signal_type":"permit_filed","title":"t","occurred_at":"2024-01-01","account_ids":[%q],"detected_at":"2024-01-01T%02d:%02d:00Z"}`+"\n",
			signal(n), account(0), minute/60, minute%60)
	}
	files["signals"] = b.String()
	w.load(t, w.options(folder(t, files)))
	r := w.record(t, "accounts", account(0))
	if r["signals_count"] != float64(all) || r["last_activity_at"] != "2024-01-01T19:59:00.000Z" {
		t.Errorf("%v %v", r["signals_count"], r["last_activity_at"])
	}
	// 1199 down to 301 are 899; of the 301 that share a time the first 101 by
	// id, 0 to 100, fill up the thousand.
	for n, want := range map[int]int64{1199: 1, 301: 1, 0: 1, 100: 1, 101: 0, 300: 0} {
		if got := w.related(t, "accounts", "signals", signal(n)); got != want {
			t.Errorf("signal %d is nested %d times, want %d", n, got, want)
		}
	}
}

func TestInputsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, w.options(folder(t, simple(3))))
	before := w.indices(t)
	with := func(name string, content []byte) string {
		files := simple(2)
		delete(files, strings.SplitN(name, ".", 2)[0])
		dir := folder(t, files)
		write(t, filepath.Join(dir, name), content)
		return dir
	}
	good := gzipped(t, strings.Repeat(`{"id":"`+contact(1)+`","name":"Ann"}`+"\n", 3000))
	missing := simple(1)
	delete(missing, "signals")
	twice := folder(t, simple(1))
	write(t, filepath.Join(twice, "accounts.ndjson.gz"), gzipped(t, ""))
	for name, c := range map[string]struct{ dir, says string }{
		"cut gzip":     {with("contacts.ndjson.gz", good[:len(good)-10]), "contacts.ndjson.gz is cut short"},
		"damaged gzip": {with("contacts.ndjson.gz", append(good[:len(good)-6:len(good)-6], 1, 2, 3, 4, 5, 6)), "contacts.ndjson.gz is damaged"},
		"no gzip":      {with("contacts.ndjson.gz", []byte(`{"id":"x"}`)), "holds no gzip data"},
		"another dataset": {
			with("contacts.ndjson", []byte(lines(`{"id":"`+signal(1)+`","title":"x"}`, `{"id":"`+signal(2)+`","title":"x"}`))),
			"none of its 2 lines is a record of contacts",
		},
		"one bad line":    {with("contacts.ndjson", []byte(`{"id":"x"}`)), "its only line is no record of contacts"},
		"one line, blank": {with("contacts.ndjson", []byte("\n garbage \n\n")), "its only line is no record of contacts"},
		"missing":         {folder(t, missing), "no file of signals"},
		"two of one":      {twice, "holds both accounts.ndjson and accounts.ndjson.gz"},
		"nothing":         {t.TempDir(), "holds no dataset file"},
		"no folder":       {filepath.Join(t.TempDir(), "absent"), "cannot be read"},
	} {
		report, err := indexer.Load(t.Context(), w.options(c.dir))
		if fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), c.says) || report.Switched {
			t.Errorf("%s: %v", name, err)
		}
		w.wantClean(t)
	}
	if diff := cmp.Diff(before, w.indices(t)); diff != "" {
		t.Error(diff)
	}
	if n := w.search(t, "accounts", `{}`).Hits.Total.Value; n != 3 {
		t.Errorf("%d accounts are served", n)
	}
}

func TestMissingMayBeAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, w.options(folder(t, map[string]string{
		"accounts": lines(`{"id":"` + account(1) + `","name":"A"}`), "projects": "", "signals": "",
		"contacts": lines(`{"id":"` + contact(1) + `","name":"C","account_id":"` + account(1) + `"}`),
	})))
	o := w.options(folder(t, map[string]string{"accounts": lines(`{"id":"` + account(1) + `","name":"A"}`)}))
	o.AllowMissing = true
	report := w.load(t, o)
	if len(report.Notes) != 3 {
		t.Errorf("%q", report.Notes)
	}
	// All four switch together: a dataset without a file is empty.
	if n := w.search(t, "contacts", `{}`).Hits.Total.Value; n != 0 {
		t.Errorf("%d contacts are served", n)
	}
	if r := w.record(t, "accounts", account(1)); r["contacts_count"] != 0. {
		t.Errorf("%v", r)
	}
}
