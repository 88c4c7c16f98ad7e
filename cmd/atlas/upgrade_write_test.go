package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atlas/client"
	"atlas/indexer/generate"
	"atlas/internal/devstack/backends"
	"atlas/service/auth"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

var writtenRelease = flag.String("release", "", "TestUpgradeFromReleases first writes the folder of this release, such as 1.0, anew")

// everySignal is what the export of a release asks for.
var everySignal = client.Search{}

// suppressed is a line of a suppressed person.
const suppressed = `{"id":"` + person + `","name":"Ada Gone","email":"ada@gone.example","updated_at":"2026-02-01"}`

// writeRelease writes the folder of a release:
//
//	bin/atlas-dev stack run -- go test ./cmd/atlas -run TestUpgradeFromReleases -release 1.0
//
// The folder of a release that is out stays as it is.
func writeRelease(t *testing.T, folder string) {
	w := installed(t, pgtest.New(t))
	record := w.recordElastic()
	of := w.inhabit(record)
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o750)); err != nil {
		t.Fatal(err)
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	for table, rows := range w.rows() {
		if rows == 0 {
			t.Errorf("the table %s has no row: inhabit or fillTables must make one", table)
		}
	}
	address := must(url.Parse(backends.Postgres(t)))(t)
	address.Path = "/" + w.database()
	dump := must(exec.CommandContext(t.Context(), "pg_dump", "--inserts", "--rows-per-insert=50", address.String()).Output())(t)
	var lines [][]byte
	for line := range bytes.Lines(dump) {
		// Not commands of psql, comments, and what only newer servers know.
		if text := string(line); !strings.HasPrefix(text, `\`) && !strings.HasPrefix(text, "--") &&
			!strings.HasPrefix(text, "SET transaction_timeout") {
			lines = append(lines, line)
		}
	}
	w.zip(filepath.Join(folder, dumpFile), bytes.Join(lines, nil))
	w.zip(filepath.Join(folder, promisedFile), []byte(strings.Join(promised(t), "\n")+"\n"))
	w.zip(filepath.Join(folder, elasticFile), record.bytes(t))
	w.pack(filepath.Join(folder, filesArchive), "next", "load", "export", "copy")
	answers := must(json.MarshalIndent(of, "", " "))(t)
	if err := os.WriteFile(filepath.Join(folder, releaseFile), append(w.portable(answers), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

// inhabit gives the installation records, people, keys, and every kind of object, and sends
// the requests that a client may continue.
func (w writable) inhabit(record *recorder) (of released) {
	t, ctx := w.t, w.t.Context()
	data, next := filepath.Join(w.dir, "data"), filepath.Join(w.dir, "next")
	for _, dir := range []string{data, next} {
		must(generate.Generate(ctx, generate.Options{Records: 60, Seed: 5, Dir: dir}))(t)
	}
	w.append(data, "accounts", `{"id":"`+other+`","name":"Will be merged","updated_at":"2026-01-01"}`)
	w.append(data, "contacts", strings.Replace(suppressed, "2026-02", "2026-01", 1), "no record")
	more := spread(0, 4, "") // so many that the load is served
	w.append(next, "accounts", append(more, `{"id":"`+tower+`","name":"The next load","updated_at":"2026-01-01"}`, "no record")...)
	for n := range 4 {
		w.append(next, "signals", event(10+n, time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC)))
	}
	w.index(0, "load", data)
	w.suppress(0, "add", "--email", "ada@gone.example", "--all", "--reason", "asked for it")

	system := must(postgres.OpenSystem(ctx, w.config.PostgresSystemURL, postgres.Options{}))(t)
	t.Cleanup(system.Close)
	w.directory = people.NewDirectory(system, system.Clock().Now)
	w.pro = must(w.directory.CreateWorkspace(ctx, "Fixture", workspace.Pro, 0))(t)
	w.key = w.newKey(people.NewKey{Name: "all", Workspaces: []workspace.ID{w.pro.ID}, Scopes: workspace.AllScopes()})
	mia := must(w.directory.AddMember(ctx, w.pro.ID, people.Member{Email: "mia@example.com", Name: "Mia", Role: people.Owner}))(t)
	must(w.directory.AddMember(ctx, w.pro.ID, people.Member{Email: "nora@example.com", Name: "Nora", Role: people.MemberRole}))(t)
	id, secret, err := workspace.ParseKey(w.key)
	if err != nil {
		t.Fatal(err)
	}
	of = released{
		Workspace: w.pro.ID, User: mia.ID, Email: mia.Email,
		Keys: []string{w.key, "atlas_" + secret.Text(id)}, // the older form
	}
	w.serve(t)
	user := must(auth.Mint(testSecret, auth.Claims{User: mia.ID, Email: mia.Email, Name: mia.Name}, time.Hour))(t)
	c := conversation{w, user, &of}

	first := map[string]string{}
	for _, d := range []string{"accounts", "contacts", "projects", "signals"} {
		first[d] = c.member(c.ok(false, "POST", "/data/"+d+"/changes", `{}`), "metadata", "next")
	}
	ofWorkspace := c.member(c.ok(false, "POST", "/workspace/changes", `{}`), "metadata", "next")
	for _, kind := range []string{"permit_issued", "permit_filed", "stage_changed"} {
		c.ok(false, "POST", "/workspace/signal-subscriptions/upsert", `{"signal_type":"`+kind+`"}`)
	}
	view := c.inhabitWorkspace()
	w.keyed("apply", "--accounts", w.file(
		`{"id":"`+firm+`","name":"Firm","updated_at":"2026-02-01"}`, `{"id":"`+other+`","merged_into":"`+firm+`","updated_at":"2026-02-01"}`,
	), "--signals", w.file(event(1, time.Now()), event(2, time.Now()), event(3, time.Now())))
	ids := c.ids("accounts")
	w.keyed("apply", "--accounts", w.file(`{"id":"`+ids[len(ids)-1]+`","deleted":true,"updated_at":"`+time.Now().Format(time.RFC3339)+`"}`))
	w.eventually("signals arrive", func() bool {
		return strings.Contains(string(w.call("POST", "/workspace/signal-queue/search", w.key, `{"dry_run":true}`).raw), `"count":3`)
	})
	c.ok(false, "POST", "/workspace/signal-queue/dismiss/batch", `{"ids":["40000000-0000-4000-8000-000000000003"]}`)
	for _, d := range []string{"accounts", "contacts", "projects"} {
		w.eventually("the book is projected", func() bool { return w.call("POST", "/workspace/"+d+"/search", w.key, `{}`).status == 200 })
	}
	rotated := c.member(c.ok(false, "POST", "/workspace/api-keys/"+c.member(
		c.ok(false, "POST", "/workspace/api-keys", `{"name":"rotated","scopes":["data:read","workspace:read"],"expires_in_days":3650}`), "data", "api_key", "id",
	)+"/rotate", `{}`), "data", "api_key", "secret")
	of.Keys = append(of.Keys, rotated)

	if err := os.Mkdir(filepath.Join(w.dir, "export"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.export(4, "signals", "--max-credits", "5", "--out", filepath.Join(w.dir, "export", "signals.ndjson"))
	w.folder("copy").follow(0, "--once")
	w.interruptLoad(record, next)
	w.fillTables(of)
	c.converse(view, first["accounts"], ofWorkspace)
	return of
}

// fillTables adds a row to each table that nothing else fills.
func (w writable) fillTables(of released) {
	w.t.Helper()
	in, user := of.Workspace.String(), of.User.String()
	signIn(w.t, w.database(), in)
	execute(w.t, w.database(), `
		INSERT INTO leases VALUES ('of the fixture', 'nobody', '2020-01-01');
		INSERT INTO credit_notices VALUES ('`+in+`', 80, now());
		INSERT INTO data_merge_moves VALUES ('accounts', '`+other+`', now(), '2100-01-01') ON CONFLICT DO NOTHING;
		INSERT INTO signal_digests VALUES ('`+in+`', 'daily', now(), '2100-01-01') ON CONFLICT DO NOTHING;
		INSERT INTO unsubscribed_users VALUES ('`+in+`', '`+user+`', now());
		INSERT INTO webhook_positions (source) VALUES ('fixture');
		INSERT INTO records_delivered VALUES ('`+in+`', '2026-01-01 10:00Z', 'user', '`+user+`', 'search_projects', 25, 1);
		INSERT INTO failed_sign_ins VALUES ('2026-01-01 10:00Z', 'expired', '203.0.113.0/24', 2);
		INSERT INTO member_sign_outs VALUES ('`+in+`', '`+user+`', '2020-01-01');
		INSERT INTO deleted_workspaces VALUES (gen_random_uuid(), '{}', '2026-01-01', '2026-01-01');
		INSERT INTO erasure_links (id, contact_id, normalization, key, digest, created_at, expires_at, state, run_at)
			VALUES (gen_random_uuid(), '`+person+`', 2, 1, sha256('x'), '2026-01-01', '2026-01-02', 'done', '2026-01-01');
		INSERT INTO erasure_requests (id, digest, created_at, sent_at, state, run_at)
			VALUES (gen_random_uuid(), sha256('x'), '2026-01-01', '2100-01-01', 'done', '2026-01-01');
		INSERT INTO view_alert_changes VALUES ('`+in+`', 'accounts', '`+other+`', 0, 1) ON CONFLICT DO NOTHING;
		INSERT INTO view_alert_entries SELECT workspace_id, view_id, 1, now(), 1, ARRAY[view_id] FROM view_alerts;
		INSERT INTO merged_overlays VALUES ('`+in+`', 'accounts', '`+other+`', '`+firm+`', now(), '{"notes": "before"}') ON CONFLICT DO NOTHING;
		INSERT INTO suppressed_records VALUES ('contacts', '`+person+`', '{}', now()) ON CONFLICT DO NOTHING;
		UPDATE identity_providers SET required = false;
		UPDATE watched_views SET latest = 1;
		UPDATE jobs SET state = 'done', ended_at = created_at, lease = NULL`)
}

// interruptLoad begins a load and stops it when it has written a part of its documents.
func (w writable) interruptLoad(record *recorder, next string) {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	defer stop()
	record.beforeBulk(stop)
	var out, errs syncBuffer
	if status := run(ctx, append(w.loadArgs(next), "--senders=1"), &out, &errs); status == 0 || status == 2 {
		w.t.Fatalf("the load was not interrupted: %d %s%s", status, out.String(), errs.String())
	}
	record.beforeBulk(nil)
	if _, err := os.Stat(filepath.Join(w.dir, "load", "checkpoint.json")); err != nil {
		w.t.Fatalf("the load left no work folder: %v %s", err, errs.String())
	}
}

// append adds lines to a data file, and gives all files of the folder a time that archives
// keep.
func (w writable) append(dir, name string, lines ...string) {
	w.t.Helper()
	file := must(os.OpenFile(filepath.Join(dir, name+".ndjson"), os.O_APPEND|os.O_WRONLY, 0o600))(w.t)
	_, err := file.WriteString(strings.Join(lines, "\n") + "\n")
	if err := errors.Join(err, file.Close()); err != nil {
		w.t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, path := range must(filepath.Glob(filepath.Join(dir, "*")))(w.t) {
		if err := os.Chtimes(path, at, at); err != nil {
			w.t.Fatal(err)
		}
	}
}

// portable puts placeholders in place of what differs between installations.
func (w writable) portable(text []byte) []byte {
	for placeholder, value := range w.placeholders() {
		text = bytes.ReplaceAll(text, []byte(value), []byte(placeholder))
	}
	return text
}

func (w writable) zip(path string, content []byte) {
	w.t.Helper()
	var b bytes.Buffer
	z := must(gzip.NewWriterLevel(&b, gzip.BestCompression))(w.t)
	_, err := z.Write(w.portable(content))
	if err := errors.Join(err, z.Close(), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// pack writes folders of the installation into an archive.
func (w writable) pack(path string, folders ...string) {
	w.t.Helper()
	var b bytes.Buffer
	archive := tar.NewWriter(&b)
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(w.dir, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = w.portable(content)
			name, err := filepath.Rel(w.dir, path)
			if err != nil {
				return err
			}
			header := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), ModTime: info.ModTime().Truncate(time.Second)}
			if err := archive.WriteHeader(header); err != nil {
				return err
			}
			_, err = archive.Write(content)
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.zip(path, b.Bytes())
}
