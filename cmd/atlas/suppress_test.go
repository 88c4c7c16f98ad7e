package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/client"
	"atlas/cmd/internal/server"
	"atlas/indexer/eraser"
	"atlas/internal/devstack/backends"
)

// The person of the tests, with values that nobody else has.
const (
	ada      = "20000000-0000-4000-8000-00000000ada1"
	adaName  = "Adalgisa Quillfeather"
	adaEmail = "adalgisa@quillfeather.example"
	adaPhone = "+1 403 555 0917"
)

const suppressionKey = "1:0123456789abcdef0123456789abcdef"

// suppress runs a command of `atlas suppress` and checks its exit status.
func (w writable) suppress(want int, args ...string) (stdout, stderr string) {
	w.t.Helper()
	var out bytes.Buffer
	var errs syncBuffer
	if code := run(w.t.Context(), w.suppressArgs(args...), &out, &errs); code != want {
		w.t.Fatalf("atlas suppress %s: status %d, want %d\n%s%s", strings.Join(args, " "), code, want, &out, &errs)
	}
	return out.String(), errs.String()
}

func (w writable) suppressArgs(args ...string) []string {
	return append(
		append([]string{"suppress"}, args...),
		"--elasticsearch-url", w.config.ElasticsearchURL[0], "--index-prefix", w.config.IndexPrefix,
		"--held-index-prefix", w.config.HeldIndexPrefix, "--postgres-system-url", w.config.PostgresSystemURL,
		"--suppression-key", suppressionKey, "--suppression-dir", filepath.Join(w.dir, "suppress"), "--folder", w.dir,
	)
}

// person runs `atlas person export`.
func (w writable) person(args ...string) string {
	w.t.Helper()
	var out bytes.Buffer
	var errs syncBuffer
	if code := run(w.t.Context(), append([]string{"person", "export"}, w.suppressArgs(args...)[1:]...), &out, &errs); code != 0 {
		w.t.Fatalf("atlas person export: status %d\n%s%s", code, &out, &errs)
	}
	return out.String()
}

// keyed runs `atlas index` with the key of the list.
func (w writable) keyed(args ...string) string {
	w.t.Helper()
	out, _ := w.index(0, append(args, "--suppression-key", suppressionKey, "--suppression-dir", filepath.Join(w.dir, "suppress"))...)
	return out
}

// verify compares a folder with the served generation: suppressed lines are not differences.
func (w writable) verify(dir string) {
	w.t.Helper()
	var out bytes.Buffer
	var errs syncBuffer
	if code := run(w.t.Context(), []string{
		"index", "verify", dir, "--allow-missing", "--elasticsearch-url", w.config.ElasticsearchURL[0], "--index-prefix", w.config.IndexPrefix,
		"--postgres-system-url", w.config.PostgresSystemURL, "--suppression-key", suppressionKey, "--temp-dir", w.t.TempDir(),
	}, &out, &errs); code != 0 {
		w.t.Errorf("verify: status %d\n%s%s", code, &out, &errs)
	}
}

func adaLine(id, rest string) string {
	return fmt.Sprintf(
		`{"id":%q,"name":%q,"email":%q,"phone":%q,"account_id":%q%s}`,
		id,
		adaName,
		"Adalgisa@Quillfeather.example",
		adaPhone,
		firm,
		rest,
	)
}

// people writes the files of a load with the person.
func (w writable) people() string { return w.peopleAs(ada) }

func (w writable) peopleAs(ada string) string {
	w.t.Helper()
	dir := w.t.TempDir()
	for d, lines := range map[string]string{
		"accounts": `{"id":"` + firm + `","name":"Quarry Builders"}`,
		"contacts": adaLine(ada, "") + "\n" + `{"id":"` + person + `","name":"Bob","email":"bob@quarry.example","account_id":"` + firm + `"}` +
			"\n" + strings.Replace(adaLine(ada, `,"wrong":1`), ada, "20000000-0000-4000-8000-00000000ada9", 1),
		"projects": `{"id":"` + tower + `","name":"Tower","account_ids":["` + firm + `"],"contact_ids":["` + ada + `","` + person + `"]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, d+".ndjson"), []byte(lines), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	return dir
}

// A person is erased during a load, a delta, a rollback and a follower, and is nowhere
// afterwards: in no answer, in no store, and no load restores the person.
func TestErasedPerson(t *testing.T) {
	t.Parallel()
	w := startWritable(t, func(c *server.Config) { c.Webhooks.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	first := w.people()
	w.index(0, "load", first, "--allow-missing", "--dead-letters", filepath.Join(w.dir, "letters.ndjson"))
	w.index(0, "load", w.people(), "--force", "--allow-missing", "--dead-letters", filepath.Join(w.dir, "letters.ndjson"))
	start := w.changes("contacts", `{}`)

	// The workspace's data on the person.
	ok := func(method, path, body string, header ...string) answer {
		t.Helper()
		a := w.call(method, path, w.key, body, header...)
		if a.status != http.StatusOK {
			t.Fatalf("%s %s: %d %s", method, path, a.status, a.raw)
		}
		return a
	}
	own := strings.Split(strings.SplitN(string(ok("POST", "/workspace/changes", `{}`).raw), `"next":"`, 2)[1], `"`)[0]
	const again = "0b8e7d1c-3f43-4a9b-9d92-51ab0c0ffee1"
	ok("POST", "/workspace/contacts/upsert", `{"contact_id":"`+ada+`","notes":"Call her","tags":["a"]}`, "Idempotency-Key", again)
	view := ok("POST", "/workspace/views/upsert", `{"dataset":"contact","view_type":"static","name":"Persons"}`)
	viewID := strings.Split(strings.SplitN(string(view.raw), `"id":"`, 2)[1], `"`)[0]
	ok("POST", "/workspace/views/"+viewID+"/records/add", `{"record_id":"`+ada+`"}`)
	search := `{"query":"Quillfeather","limit":5}`
	found := ok("POST", "/data/contacts/search", search, "Idempotency-Key", again+"2")
	if !bytes.Contains(found.raw, []byte(adaName)) {
		t.Fatalf("before: %s", found.raw)
	}
	follower := filepath.Join(w.dir, "copy")
	copied := followed{w, "folder", []string{"--dir", follower}, nil, nil}
	follow := func() {
		t.Helper()
		if status, _, said := copied.atlas("follow", "contacts", "--dir", follower, "--once"); status != 0 {
			t.Fatalf("follow: %d %s", status, said)
		}
	}
	follow()
	if left := w.inFiles(follower); len(left) == 0 {
		t.Fatal("the copy does not have the person")
	}
	if left := w.everywhere(); len(left) < 3 {
		t.Fatalf("the test finds only %v", left)
	}
	around := w.surround()
	moved := w.file(adaLine(ada, `,"city":"Banff"`))
	w.keyed("apply", "--contacts", moved)
	around.reported(ada)
	w.wantAnswers("before", viewID, true)

	// A dry run names ids, never values.
	out, said := w.suppress(0, "add", "--email", adaEmail, "--dry-run")
	if out != ada+" of contacts\n" || strings.Contains(out+said, "Quill") {
		t.Errorf("dry run: %s%s", out, said)
	}
	ok("GET", "/data/contacts/"+ada, "")

	// All stored data, in one file.
	out = w.person("--email", adaEmail)
	for _, want := range []string{adaPhone, "Call her", viewID, `"accounts": [`, firm} {
		if !strings.Contains(out, want) && !strings.Contains(out, strings.ReplaceAll(want, ": ", ":")) {
			t.Errorf("the export has no %s: %s", want, out)
		}
	}
	redisOf := []string{"--redis-url", w.config.RedisURL, "--redis-prefix", w.config.RedisPrefix}
	out, _ = w.suppress(3, append([]string{"report", "--email", adaEmail}, redisOf...)...)
	if !strings.Contains(out, "elasticsearch") || strings.Contains(out, "Quill") {
		t.Errorf("report: %s", out)
	}

	// Everything at once.
	delta := w.file(adaLine(ada, `,"title":"Boss"`), adaLine("20000000-0000-4000-8000-00000000ada2", ""))
	var all sync.WaitGroup
	all.Go(func() { w.keyed("apply", "--contacts", delta) })
	all.Go(func() {
		w.keyed("load", w.people(), "--force", "--allow-missing", "--dead-letters", filepath.Join(w.dir, "letters2.ndjson"))
	})
	all.Go(func() { w.suppress(0, "add", "--email", adaEmail, "--all", "--reason", "asked for it") })
	all.Wait()
	w.keyed("rollback")
	follow()
	w.wantErased("after a rollback", viewID, search)
	w.keyed("load", w.people(), "--force", "--allow-missing", "--dead-letters", filepath.Join(w.dir, "letters2.ndjson"))
	if said := w.keyed("apply", "--contacts", delta, "--json"); !strings.Contains(said, `"suppressed": 2`) &&
		!strings.Contains(said, `"suppressed":2`) {
		t.Errorf("a delta: %s", said)
	}
	// Another spelling, also in a line of invalid JSON: left out, and in no dead letter.
	unusual := `{"id":"20000000-0000-4000-8000-00000000ada3","name":"X","email":"Ａdalgisa@quill\u200bfeather。example"}`
	unusual = strings.ReplaceAll(unusual, `\u200b`, "\u200b")
	if said := w.keyed("apply", "--contacts", w.file(unusual, strings.TrimSuffix(unusual, "}")), "--json"); !strings.Contains(
		strings.ReplaceAll(said, " ", ""), `"suppressed":2`,
	) {
		t.Errorf("unusual spellings: %s", said)
	}
	w.verify(w.people())
	w.suppress(0, "add", "--email", adaEmail) // a repetition changes nothing
	events, _ := operatorCLI{t, w.config.PostgresSystemURL}.run(0, "audit", "list", "--action=suppression,person", "--json")
	for _, want := range []string{"suppression.added", "person.exported", `"operator"`, "suppress add"} {
		if !strings.Contains(events, want) || strings.Contains(events, "uill") {
			t.Errorf("the audit log has no %s: %s", want, events)
		}
	}
	follow()
	w.wantErased("after a load", viewID, search)
	w.wantAnswers("after a load", viewID, false)
	around.wantErased(ada)
	// A replay has no record: only its id was stored.
	for _, a := range []answer{
		w.call("POST", "/data/contacts/search", w.key, search, "Idempotency-Key", again+"2"),
		w.call("POST", "/workspace/contacts/upsert", w.key, `{"contact_id":"`+ada+`","notes":"Call her","tags":["a"]}`, "Idempotency-Key", again),
	} {
		if bytes.Contains(a.raw, []byte("Quillfeather")) || bytes.Contains(a.raw, []byte("Call her")) {
			t.Errorf("a repetition: %d %s", a.status, a.raw)
		}
	}
	p := w.changes("contacts", `{"cursor":"`+start.meta.Next+`"}`)
	last := ""
	for _, c := range p.items {
		if c.ID == ada {
			last = c.Op
			if c.Record != nil {
				t.Errorf("the feed has the record: %v", c)
			}
		}
	}
	if last != "delete" {
		t.Errorf("the feed: %s", p.raw)
	}
	if a := ok("POST", "/workspace/changes", `{"cursor":"`+own+`"}`); !bytes.Contains(a.raw, []byte(ada)) ||
		!bytes.Contains(a.raw, []byte(`"op":"delete"`)) {
		t.Errorf("the workspace is not notified: %s", a.raw)
	}
	if left := w.everywhere(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if left := append(w.inFiles(follower), w.inFiles(filepath.Join(w.dir, "work"))...); len(left) > 0 {
		t.Errorf("left in files: %v", left)
	}
	for _, name := range []string{"letters.ndjson", "letters2.ndjson"} {
		if left := w.inFiles(filepath.Join(w.dir, name)); len(left) > 0 {
			t.Errorf("left in dead letters: %v", left)
		}
	}
	for _, path := range []string{follower, filepath.Dir(delta), filepath.Dir(moved)} { // their owners' files
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	w.suppress(0, append([]string{"report", "--email", adaEmail}, redisOf...)...)
	if out = w.person("--email", adaEmail); strings.Contains(out, adaPhone) || !strings.Contains(out, `true`) {
		t.Errorf("the export of an erased person: %s", out)
	}
	// Text that people wrote elsewhere stays, and is reported.
	ok("POST", "/workspace/contacts/upsert", `{"contact_id":"`+person+`","notes":"Knows `+adaName+`"}`)
	ok("POST", "/workspace/boards/upsert", `{"name":"B","tiles":[{"kind":"chart","title":"T","dataset":"contacts","of":"data",
		"request":{"query":"`+adaName+`","facets":[{"field":"role"}]}}]}`)
	out, _ = w.suppress(3, "report", "--name", adaName, "--firm", "Quarry Builders")
	if !strings.Contains(out, "overlays.notes") || !strings.Contains(out, "boards.tiles") ||
		strings.Count(out, "people of a workspace wrote it") != 2 ||
		strings.Contains(out, "Quill") {
		t.Errorf("report: %s", out)
	}
	out, _ = w.suppress(0, "list")
	if !strings.Contains(out, "email") || !strings.Contains(out, "asked for it") || strings.Contains(out, "Quill") ||
		strings.Contains(out, "not finished") {
		t.Errorf("list: %s", out)
	}
}

// wantErased fails unless no answer has the person, within a minute.
func (w writable) wantErased(when, view, search string) {
	w.t.Helper()
	// The search text is repeated among the words that are not found.
	named := func(a answer, body string) bool {
		return bytes.Contains(a.raw, []byte(adaPhone)) || bytes.Contains(a.raw, []byte("Call her")) ||
			bytes.Contains(bytes.ToLower(a.raw), []byte("adalgisa")) && !strings.Contains(strings.ToLower(body), "adalgisa")
	}
	for what, r := range map[string]struct {
		method, path, body string
		status             int
	}{
		"get":              {"GET", "/data/contacts/" + ada, "", http.StatusNotFound},
		"get in the book":  {"GET", "/workspace/contacts/" + ada, "", http.StatusNotFound},
		"search":           {"POST", "/data/contacts/search", search, http.StatusOK},
		"by address":       {"POST", "/data/contacts/search", `{"filters":{"email":{"value":"` + adaEmail + `"}}}`, http.StatusOK},
		"suggest":          {"POST", "/data/contacts/suggest", `{"prefix":"quillf"}`, http.StatusOK},
		"match":            {"POST", "/data/contacts/match", `{"inputs":[{"ref":"1","name":"` + adaName + `","email":"` + adaEmail + `"}]}`, http.StatusOK},
		"related":          {"GET", "/data/accounts/" + firm + "?include=contacts", "", http.StatusOK},
		"by a related one": {"POST", "/data/accounts/search", `{"relations":{"has_contact":{"name":{"value":"Quillfeather"}}}}`, http.StatusOK},
		"book":             {"POST", "/workspace/contacts/search", `{}`, http.StatusOK},
		"View":             {"POST", "/workspace/views/" + view + "/records/search", `{}`, http.StatusOK},
		"into the book":    {"POST", "/workspace/contacts/upsert", `{"contact_id":"` + ada + `"}`, http.StatusNotFound},
	} {
		var a answer
		w.eventually(when+", "+what, func() bool {
			a = w.call(r.method, r.path, w.key, r.body)
			if a.status != r.status && a.status != http.StatusNotFound && a.status < 500 {
				w.t.Fatalf("%s, %s: %d %s", when, what, a.status, a.raw)
			}
			return a.status == r.status && !named(a, r.body) && (a.status != http.StatusOK || !bytes.Contains(a.raw, []byte(ada)))
		})
		if bytes.Contains(a.raw, []byte("merged_into")) {
			w.t.Errorf("%s, %s: %s", when, what, a.raw)
		}
	}
}

// A value of several records erases none of them without confirmation.
func TestSuppressSeveral(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	w.load(map[string]string{"contacts": adaLine(ada, "") + "\n" + adaLine("20000000-0000-4000-8000-00000000ada2", "")})
	out, said := w.suppress(2, "add", "--email", adaEmail)
	if strings.Count(out, "of contacts") != 2 || !strings.Contains(said, "--all") {
		t.Errorf("%s%s", out, said)
	}
	if out, _ = w.suppress(0, "list"); strings.Contains(out, "email") {
		t.Errorf("list: %s", out)
	}
	out, _ = w.suppress(0, "add", "--phone", adaPhone, "--all")
	if !strings.Contains(out, "records erased: 2") {
		t.Errorf("%s", out)
	}
	for _, bad := range []struct {
		status int
		args   []string
	}{
		{2, []string{"add"}}, {2, []string{"add", "--name", adaName}}, {2, []string{"add", "--id", ada, "--email", adaEmail}},
		{1, []string{"add", "--email", "x"}}, {1, []string{"add", "--dataset", "accounts", "--email", adaEmail}}, {1, []string{"remove", firm}},
	} {
		if _, said := w.suppress(bad.status, bad.args...); strings.Contains(said, "Quill") {
			t.Errorf("%v: %s", bad, said)
		}
	}
}

// A backup from before an erasure has the person again, until the list is imported.
func TestRestoredList(t *testing.T) {
	t.Parallel()
	i := install(t)
	w := writable{i.service, t.TempDir()}
	c := i.client(i.key)
	person := must(c.Contacts.Search(t.Context(), client.Search{Limit: 1}))(t).Records[0]
	must(c.Book.Contacts.Upsert(t.Context(), client.ContactUpsert{ContactID: person.ID, Tags: []string{"kept"}}))(t)
	i.follow("### Making a backup")
	w.suppress(0, "add", "--id", person.ID)
	list := filepath.Join(w.dir, "suppressions.ndjson")
	w.suppress(0, "export", list)
	if text := contents(t, list); strings.Contains(text, person.ID) || person.Email != "" && strings.Contains(text, person.Email) {
		t.Errorf("the list has values: %s", text)
	}
	i.process.terminate()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		conn := must(pgx.Connect(ctx, backends.Postgres(t)))(t)
		defer func() { _ = conn.Close(ctx) }()
		if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+i.database+"_before WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	i.follow("### Postgres was lost", 0)
	i.follow("### Elasticsearch was lost", 0) // a load that knows no list
	has := func() (indexed, overlays int) {
		t.Helper()
		es := directElastic(t)
		e := eraser.Eraser{Elastic: es}
		indexed = len(must(e.Mentions(t.Context(), i.config.IndexPrefix+"*", person.Name))(t))
		conn := must(pgx.Connect(t.Context(), i.config.PostgresSystemURL))(t)
		defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM overlays WHERE record_id = $1`, person.ID).Scan(&overlays); err != nil {
			t.Fatal(err)
		}
		return indexed, overlays
	}
	if indexed, overlays := has(); indexed == 0 || overlays != 1 {
		t.Fatalf("after the restore %d documents and %d overlays", indexed, overlays)
	}
	w.suppress(0, "import", list)
	w.suppress(0, "import", list) // a repetition changes nothing
	i.serve()
	for _, path := range []string{"/data/contacts/", "/workspace/contacts/"} {
		if a := i.call(http.MethodGet, path+person.ID, i.key, ""); a.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
	}
	if _, overlays := has(); overlays != 0 {
		t.Errorf("after the import %d overlays", overlays)
	}
	if _, said := w.suppress(1, "import", filepath.Join("..", "..", "README.md")); !strings.Contains(said, "line 1") {
		t.Errorf("%s", said)
	}
}

// A killed erasure is completed by the next one.
func TestKilledErasure(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	rounds := 4
	if testing.Short() { // the lease of the killed process ends after half a minute
		rounds = 2
	}
	for round := range rounds {
		id := fmt.Sprintf("20000000-0000-4000-8000-00000000ad%02d", round)
		w.index(0, "load", w.peopleAs(id), "--allow-missing", "--force", "--suppression-key", suppressionKey)
		args := w.suppressArgs("add", "--id", id)
		ctx, kill := context.WithCancel(t.Context())
		command := exec.CommandContext(ctx, os.Args[0], args...)
		command.Env = append(os.Environ(), runAsAtlas+"=1")
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(300+200*round)*time.Millisecond, kill) // SIGKILL, early and late
		_ = command.Wait()
		kill()
		w.suppress(0, "add", "--id", id)
		w.wantNothing(fmt.Sprintf("round %d", round))
		if out, _ := w.suppress(0, "list"); strings.Contains(out, "not finished") {
			t.Errorf("round %d: %s", round, out)
		}
	}
}

// wantNothing fails if a backend has values of the person.
func (w writable) wantNothing(when string) {
	w.t.Helper()
	var left []string
	w.eventually(when+", nothing is left", func() bool {
		left = w.everywhere()
		return len(left) == 0
	})
}
