package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"atlas/cmd/internal/operator"
	"atlas/internal/devstack/backends"
	"atlas/search/catalog"
	"atlas/service/auth"
	"atlas/workspace"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

// Each folder of releases is an installation as a release left it. upgrade_write_test.go
// writes one.
const releases = "testdata/upgrade"

// longest is the longest retention: changes and events of a release stay, however old it is.
const longest = 10 * 365 * 24 * time.Hour

// The files of a folder. Values that differ between installations, such as the address of the
// service, are placeholders.
const (
	releaseFile  = "release.json"          // a released
	dumpFile     = "postgres.sql.gz"       // a dump of the database
	elasticFile  = "elasticsearch.json.gz" // the requests that made the indices, a written each line
	filesArchive = "files.tar.gz"          // the folders of the commands
)

// released is what clients of a release have, and the answers that they got.
type released struct {
	Workspace workspace.ID      `json:"workspace"`
	User      workspace.UserID  `json:"user"`
	Email     string            `json:"email"`
	Keys      []string          `json:"keys"` // of all forms; the first one may do everything
	Requests  []recordedRequest `json:"asked"`
}

// recordedRequest is a request, which may continue a cursor, and its answer.
type recordedRequest struct {
	ByUser bool            `json:"by_user,omitzero"` // not by the first key
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body,omitzero"`
	Answer json.RawMessage `json:"answer"`
}

// written is a request that changed Elasticsearch.
type written struct {
	Method string `json:"method"`
	Path   string `json:"path"` // with the query
	Type   string `json:"type"`
	Body   string `json:"body"`
}

// placeholders are what differs between installations.
func (w writable) placeholders() map[string]string {
	return map[string]string{
		"@index@": w.config.IndexPrefix, "@held@": w.config.HeldIndexPrefix, "@url@": w.root, "@dir@": w.dir,
	}
}

// settled replaces placeholders. @url@ stays until the service has an address.
func (w writable) settled(text []byte) []byte {
	for placeholder, value := range w.placeholders() {
		if value != "" {
			text = bytes.ReplaceAll(text, []byte(placeholder), []byte(value))
		}
	}
	return text
}

// TestUpgradeFromReleases: the data of an older release is migrated, and this program
// continues with it.
func TestUpgradeFromReleases(t *testing.T) {
	t.Parallel()
	if *writtenRelease != "" {
		writeRelease(t, filepath.Join(releases, *writtenRelease))
	}
	folders := must(os.ReadDir(releases))(t)
	if len(folders) == 0 {
		t.Fatal("no release has a folder")
	}
	for _, f := range folders {
		t.Run(f.Name(), func(t *testing.T) { upgradeFrom(t, filepath.Join(releases, f.Name())) })
	}
}

func upgradeFrom(t *testing.T, folder string) {
	w, of := restore(t, folder)
	before := w.rows()
	for table, rows := range before {
		if rows == 0 {
			t.Errorf("the table %s of the release has no row", table)
		}
	}
	cli := operatorCLI{t, w.config.PostgresSystemURL}
	cli.run(0, "migrate")
	for table, rows := range w.rows() {
		if was, there := before[table]; there && was != rows && table != "goose_db_version" {
			t.Errorf("the table %s had %d rows before the migration, and has %d", table, was, rows)
		}
	}
	w.config.ChangesRetention, w.config.AuditRetention = longest, longest
	w.serve(t)
	w.unpack(filepath.Join(folder, filesArchive))
	waitFor(t, "the server is ready", func() bool { return w.call("GET", "/health/ready", "", "").status == http.StatusOK })

	for _, key := range of.Keys {
		if a := w.call("GET", "/workspace", key, ""); a.status != http.StatusOK {
			t.Errorf("the key %s…: %d %s", key[:15], a.status, a.raw)
		}
	}
	user := must(auth.Mint(testSecret, auth.Claims{User: of.User, Email: of.Email, Name: "Mia"}, time.Hour))(t)
	for _, a := range of.Requests {
		w.repeatRequest(a, user)
	}
	var verified []operator.VerifyReport
	cli.json(&verified, "audit", "verify", "--workspace="+of.Workspace.String())
	if len(verified) != 1 || len(verified[0].Problems) > 0 {
		t.Errorf("the audit log: %+v", verified)
	}

	// An export is resumed: the part that the release wrote stays.
	out := filepath.Join(w.dir, "export", "signals.ndjson")
	begun := contents(t, out)
	w.export(0, "signals", "--out", out)
	if all := contents(t, out); all != w.inOrder(&w.client(w.key).Dataset("signals").Source, everySignal) || !strings.HasPrefix(all, begun) ||
		begun == "" || begun == all {
		t.Errorf("the export had %d bytes and has %d, not the signals", len(begun), len(all))
	}

	// A copy follows, through a delta and then a load. The list of suppressions still applies.
	copied := w.folder("copy")
	delta := w.file(`{"id":"` + firm + `","name":"Came after the upgrade","updated_at":"2026-06-01"}`)
	w.keyed("apply", "--accounts", delta)
	copied.follow(0, "--once")
	copied.equal("after a delta", nil)
	report := strings.ReplaceAll(w.keyed("apply", "--contacts", w.file(suppressed), "--json"), " ", "")
	if !strings.Contains(report, `"suppressed":1`) {
		t.Errorf("a suppressed person comes back: %s", report)
	}
	w.resumesLoad()
	copied.follow(0, "--once")
	copied.equal("after a load", nil)
}

// resumesLoad: a load of the release is resumed, or refused with the remedy.
func (w writable) resumesLoad() {
	w.t.Helper()
	args := w.loadArgs(filepath.Join(w.dir, "next"))
	var out, errs syncBuffer
	status := run(w.t.Context(), args, &out, &errs)
	if status == 5 && strings.Contains(errs.String(), "--restart") {
		w.t.Logf("the load is not resumed: %s", errs.String())
		out, errs = syncBuffer{}, syncBuffer{}
		status = run(w.t.Context(), append(args, "--restart"), &out, &errs)
	} else if !strings.Contains(strings.ReplaceAll(out.String(), " ", ""), `"resumed":1`) {
		w.t.Errorf("the load began anew: %s%s", out.String(), errs.String())
	}
	if status != 0 || !strings.Contains(strings.ReplaceAll(out.String(), " ", ""), `"switched":true`) {
		w.t.Fatalf("the load: status %d\n%s%s", status, out.String(), errs.String())
	}
	if a := w.search(catalog.Accounts, `{"filters":{"name":{"value":"The next load"}}}`); len(a.ids(w.t)) != 1 {
		w.t.Errorf("what the load has is not served: %s", a.raw)
	}
}

// loadArgs are those of the load that a release began.
func (w writable) loadArgs(dir string) []string {
	return []string{
		"index", "load", dir, "--work-dir", filepath.Join(w.dir, "load"), "--json",
		"--suppression-key", suppressionKey, "--suppression-dir", filepath.Join(w.dir, "suppress"),
		"--elasticsearch-url", w.config.ElasticsearchURL[0], "--index-prefix", w.config.IndexPrefix,
		"--held-index-prefix", w.config.HeldIndexPrefix, "--postgres-system-url", w.config.PostgresSystemURL,
	}
}

// repeatRequest repeats a request of a release. The answer may have more members, but not fewer.
func (w writable) repeatRequest(a recordedRequest, user string) {
	w.t.Helper()
	by := w.key
	if a.ByUser {
		by = user
	}
	got := w.call(a.Method, a.Path, by, string(a.Body))
	var want, have any
	if err := errors.Join(json.Unmarshal(a.Answer, &want), json.Unmarshal(got.raw, &have)); err != nil {
		w.t.Fatal(err)
	}
	if got.status != http.StatusOK {
		w.t.Errorf("%s %s %s: %d %s", a.Method, a.Path, a.Body, got.status, got.raw)
	} else if diff := less("", want, have); len(diff) > 0 {
		w.t.Errorf("%s %s %s: the answer lacks, or has another:\n%s", a.Method, a.Path, a.Body, strings.Join(diff, "\n"))
	}
}

// passing are members whose values depend on the time.
var passing = map[string]bool{
	"search_after": true, "next": true, "last_used_at": true, "last_used_from": true, "lag_s": true, "caught_up": true,
	"checked_at": true, "failing_since": true, // a domain is looked up again after hours
	"new_count": true, // what a View's alert found is deleted after months
}

// less lists what a JSON value lacks of another.
func less(at string, want, have any) (lacks []string) {
	switch want := want.(type) {
	case map[string]any:
		object, _ := have.(map[string]any)
		for name, value := range want {
			if passing[name] {
				continue
			}
			if got, there := object[name]; there {
				lacks = append(lacks, less(at+"/"+name, value, got)...)
			} else {
				lacks = append(lacks, at+"/"+name+" is gone")
			}
		}
	case []any:
		list, _ := have.([]any)
		if len(list) != len(want) {
			return append(lacks, fmt.Sprintf("%s has %d items, not %d", at, len(list), len(want)))
		}
		for i := range want {
			lacks = append(lacks, less(fmt.Sprint(at, "/", i), want[i], list[i])...)
		}
	default:
		if !reflect.DeepEqual(want, have) {
			lacks = append(lacks, at+": "+cmp.Diff(want, have))
		}
	}
	return lacks
}

// restore creates an installation from a folder, before migration and start.
func restore(t *testing.T, folder string) (w writable, of released) {
	t.Helper()
	d := pgtest.Empty(t, "")
	must(postgres.Prepare(t.Context(), d.Server, d.Name))(t)
	w = installed(t, d)
	if err := json.Unmarshal([]byte(contents(t, filepath.Join(folder, releaseFile))), &of); err != nil {
		t.Fatal(err)
	}
	w.key, w.pro.ID = of.Keys[0], of.Workspace
	conn := must(pgx.Connect(t.Context(), d.Admin))(t)
	must(conn.Exec(t.Context(), string(w.settled(unzipped(t, filepath.Join(folder, dumpFile)))), pgx.QueryExecModeSimpleProtocol))(t)
	// An upgrade leaves the transactions' numbers as they are; here they may be behind.
	must(conn.Exec(t.Context(), `
		DO $$
		DECLARE
			last xid8 := (SELECT max(xid::text::bigint)::text::xid8 FROM (
				SELECT xid FROM public.workspace_changes UNION ALL SELECT xid FROM public.audit_events) all_of_them);
		BEGIN
			WHILE pg_current_xact_id() <= last LOOP
				COMMIT;
			END LOOP;
		END
		$$`, pgx.QueryExecModeSimpleProtocol))(t)
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(w.settled(unzipped(t, filepath.Join(folder, elasticFile)))) {
		var write written
		if err := json.Unmarshal(line, &write); err != nil {
			t.Fatal(err)
		}
		w.repeatWrite(write)
	}
	// Indices are known by ids that Elasticsearch gives.
	all := must(directElastic(t).Indices(t.Context(), w.config.HeldIndexPrefix+"*"))(t)
	for name, index := range all {
		for _, d := range catalog.Held {
			if generation := w.config.Names().HeldGenerationOf(string(d), name); generation != "" {
				execute(t, w.database(), fmt.Sprintf(
					`UPDATE held_generations SET index_uuid = '%s' WHERE dataset = '%s' AND generation = '%s'`, index.UUID, d, generation,
				))
			}
		}
	}
	return w, of
}

// installed is an installation on a database, with indices of its own and nothing in it.
func installed(t *testing.T, d *pgtest.Databases) writable {
	t.Helper()
	s := &service{t: t, log: &syncBuffer{}, config: testConfig(t, d)}
	s.config.IndexPrefix = ownPrefix(t)
	s.config.ChangesRetention = 10 * 365 * 24 * time.Hour // the feed of a release does not expire
	if err := s.config.Check(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteHeld(t, s.config) })
	return writable{s, t.TempDir()}
}

func (w writable) database() string {
	return strings.TrimPrefix(must(url.Parse(w.config.PostgresSystemURL))(w.t).Path, "/")
}

// repeatWrite repeats a request to Elasticsearch.
func (w writable) repeatWrite(write written) {
	w.t.Helper()
	r := must(http.NewRequestWithContext(
		w.t.Context(), write.Method, backends.Elasticsearch(w.t)+write.Path, strings.NewReader(write.Body),
	))(w.t)
	if write.Type != "" {
		r.Header.Set("Content-Type", write.Type)
	}
	res := must(http.DefaultClient.Do(r))(w.t)
	defer res.Body.Close()
	if said := must(io.ReadAll(res.Body))(w.t); res.StatusCode >= 300 {
		w.t.Fatalf("%s %s: %d %s", write.Method, write.Path, res.StatusCode, said)
	}
}

// rows counts the rows of each table.
func (w writable) rows() map[string]int {
	w.t.Helper()
	conn := administer(w.t, w.database())
	defer func() { _ = conn.Close(w.t.Context()) }()
	counts := map[string]int{}
	tables := must(conn.Query(w.t.Context(), `SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'`))(w.t)
	for _, table := range must(pgx.CollectRows(tables, pgx.RowTo[string]))(w.t) {
		var n int
		if err := conn.QueryRow(w.t.Context(), `SELECT count(*) FROM `+pgx.Identifier{table}.Sanitize()).Scan(&n); err != nil {
			w.t.Fatal(err)
		}
		counts[table] = n
	}
	return counts
}

// unpack writes the files of the commands into the folder, with their former times.
func (w writable) unpack(archive string) {
	w.t.Helper()
	files := tar.NewReader(bytes.NewReader(unzipped(w.t, archive)))
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			w.t.Fatal(err)
		}
		path := filepath.Join(w.dir, filepath.Clean("/"+header.Name))
		content := w.settled(must(io.ReadAll(files))(w.t))
		if err := errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600), os.Chtimes(path, header.ModTime, header.ModTime),
		); err != nil {
			w.t.Fatal(err)
		}
	}
}

func unzipped(t *testing.T, path string) []byte {
	t.Helper()
	file := must(os.Open(path))(t)
	defer file.Close()
	return must(io.ReadAll(must(gzip.NewReader(file))(t)))(t)
}
