package eraser_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/indexer/eraser"
	"atlas/indexer/erasure"
	"atlas/indexer/feed"
	"atlas/indexer/generation"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/searchtest"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

func TestMain(m *testing.M) { backends.Main(m) }

// The person of the tests.
const (
	adaName  = "Adalgisa Quillfeather"
	adaEmail = "adalgisa@quillfeather.example"
)

type world struct {
	*eraser.Eraser
	system *postgres.System
	admin  *pgx.Conn
	feed   *feed.Feed
	now    time.Time
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	databases := pgtest.New(t)
	system := databases.OpenSystem(t, postgres.Options{MaxConns: 4})
	admin, err := pgx.Connect(t.Context(), databases.Admin)
	fatal(t, err)
	t.Cleanup(func() { _ = admin.Close(context.Background()) })
	w := &world{system: system, admin: admin, now: time.Now().Add(-time.Hour).Truncate(time.Second)}
	keys, err := erasure.ParseKeys("1:" + strings.Repeat("k", 32))
	fatal(t, err)
	es := searchtest.NewClient(t, backends.Elasticsearch(t))
	names := mappings.Names{Prefix: "erase-" + strings.ToLower(rand.Text())[:12] + "-"}
	live := func(n mappings.Names) delta.Live {
		return &search.Engine{Elastic: es, Names: n, Timeout: 30 * time.Second}
	}
	retry := elastic.Retry{For: 30 * time.Second, First: time.Millisecond, Max: 50 * time.Millisecond}
	w.feed = &feed.Feed{Store: system, Elastic: es, Names: names, Live: live(names).(feed.Live), Retry: retry}
	w.Eraser = &eraser.Eraser{
		Store: system, Keys: keys, Elastic: es, Names: names, Lease: system, Feed: w.feed, Live: live, WorkDir: t.TempDir(), Retry: retry,
		Note: func(text string) { t.Log("note:", text) },
	}
	t.Cleanup(func() { searchtest.DeleteIndices(t, es, names.Prefix+"*") })
	return w
}

func id(dataset, n int) string { return fmt.Sprintf("%x%07x-0000-4000-8000-%012x", dataset, n, n) }

func account(n int) string { return id(1, n) }
func contact(n int) string { return id(2, n) }
func project(n int) string { return id(3, n) }

// files have a firm with two persons and a project of both; the tests erase the first person.
func files(more ...string) map[catalog.Dataset]string {
	return map[catalog.Dataset]string{
		catalog.Accounts: `{"id":"` + account(1) + `","name":"Firm"}` + "\n",
		catalog.Contacts: `{"id":"` + contact(
			1,
		) + `","name":"` + adaName + `","email":"Adalgisa@Quillfeather.example","account_id":"` + account(
			1,
		) + `"}` + "\n" +
			`{"id":"` + contact(
			2,
		) + `","name":"Bob","email":"bob@firm.example","account_id":"` + account(
			1,
		) + `"}` + "\n" + strings.Join(
			more,
			"\n",
		) + "\n",
		catalog.Projects: `{"id":"` + project(
			1,
		) + `","name":"House","account_ids":["` + account(
			1,
		) + `"],"contact_ids":["` + contact(
			1,
		) + `","` + contact(
			2,
		) + `"]}` + "\n",
		catalog.Signals: "",
	}
}

func (w *world) loadOptions(t *testing.T, files map[catalog.Dataset]string) indexer.Options {
	t.Helper()
	dir := t.TempDir()
	for _, d := range catalog.Datasets {
		fatal(t, os.WriteFile(filepath.Join(dir, string(d)+".ndjson"), []byte(files[d]), 0o600))
	}
	w.now = w.now.Add(time.Minute)
	now := w.now
	return indexer.Options{
		Dir: dir, Elastic: w.Elastic, Names: w.Names, TempDir: t.TempDir(), Retry: w.Retry, Lease: w.system, Feed: w.feed,
		Suppressions: w.Eraser, Now: func() time.Time { return now },
	}
}

func (w *world) load(t *testing.T, files map[catalog.Dataset]string) indexer.Report {
	t.Helper()
	report, err := indexer.Load(t.Context(), w.loadOptions(t, files))
	fatal(t, err)
	if !report.Switched {
		t.Error("not switched")
	}
	return report
}

func (w *world) apply(t *testing.T, d catalog.Dataset, lines ...string) delta.DatasetReport {
	t.Helper()
	path := filepath.Join(t.TempDir(), "delta.ndjson")
	fatal(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	report, err := delta.Apply(t.Context(), delta.Options{
		Files: []delta.File{{Dataset: d, Path: path}}, Elastic: w.Elastic, Names: w.Names, Live: w.Live(w.Names), Tombstones: w.system,
		Lease: w.system, Feed: w.feed, Suppressions: w.Eraser, WorkDir: t.TempDir(), Retry: w.Retry,
	})
	fatal(t, err)
	for _, note := range report.Notes {
		if w.Note != nil {
			w.Note(note)
		}
	}
	for _, of := range report.Datasets {
		if of.Dataset == d {
			return of
		}
	}
	t.Fatalf("no report of %s", d)
	panic("unreachable")
}

// suppress adds a suppression as the command does, and finishes it.
func (w *world) suppress(t *testing.T, kind erasure.Kind, v erasure.Values) eraser.Outcome {
	t.Helper()
	o, err := w.Finish(t.Context(), w.list(t, catalog.Contacts, kind, v))
	fatal(t, err)
	return o
}

// list adds to the list only.
func (w *world) list(t *testing.T, d catalog.Dataset, kind erasure.Kind, v erasure.Values) map[uuid.UUID]erasure.Values {
	t.Helper()
	_, values, err := w.Add(t.Context(), d, kind, v, "asked", "test")
	fatal(t, err)
	return values
}

// wantGone fails if any generation has something of the person.
func (w *world) wantGone(t *testing.T, when string) {
	t.Helper()
	all, err := generation.List(t.Context(), w.Elastic, w.Names)
	fatal(t, err)
	for _, g := range all {
		if g.State == generation.Unfinished {
			continue
		}
		if left := w.texts(t, g.Name, adaName, adaEmail, "Quillfeather"); len(left) > 0 {
			t.Errorf("%s: in the generation %s (%s): %v", when, g.Name, g.State, left)
		}
		for d, field := range map[catalog.Dataset]string{catalog.Accounts: "contacts_count"} {
			names := w.Names
			names.At = g.Name
			found, err := w.Live(names).Lookup(t.Context(), d, []string{account(1)})
			fatal(t, err)
			var public map[string]any
			fatal(t, json.Unmarshal(found[account(1)], &public))
			if public[field] != float64(1) {
				t.Errorf("%s: in the generation %s the firm has %s %v", when, g.Name, field, public[field])
			}
		}
	}
}

// texts lists the documents of a generation that contain one of the texts anywhere, including
// fields that are only searched.
func (w *world) texts(t *testing.T, generation string, texts ...string) (found []string) {
	t.Helper()
	for _, d := range catalog.Datasets {
		for _, text := range texts {
			left, err := w.Mentions(t.Context(), w.Names.Generation(string(d), generation), text)
			fatal(t, err)
			for _, id := range left {
				found = append(found, string(d)+" "+id)
			}
		}
	}
	return found
}

// ops are the last operations of the feed on the person.
func (w *world) ops(t *testing.T) (ops []changes.Op) {
	t.Helper()
	rows, err := w.admin.Query(
		t.Context(),
		`SELECT op FROM data_changes, data_feed WHERE record_id = $1 AND seq <= head ORDER BY seq`,
		contact(1),
	)
	fatal(t, err)
	defer rows.Close()
	for rows.Next() {
		var op string
		fatal(t, rows.Scan(&op))
		ops = append(ops, changes.Op(op))
	}
	return ops
}

func TestErasedFromEveryGeneration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.load(t, files())
	w.load(t, files())
	left := w.texts(t, first.Generation, adaName)
	if !slices.Contains(left, "contacts "+contact(1)) || !slices.Contains(left, "accounts "+account(1)) {
		t.Fatalf("before: %v", left)
	}
	o := w.suppress(t, erasure.Email, erasure.Values{Email: adaEmail})
	if got := o.Records[catalog.Contacts]; len(got) != 1 || got[0].String() != contact(1) || len(o.Generations) != 2 {
		t.Errorf("%+v", o)
	}
	w.wantGone(t, "after add")
	if ops := w.ops(t); len(ops) == 0 || ops[len(ops)-1] != changes.Delete {
		t.Errorf("the feed has %v", ops)
	}

	// Neither a load nor a delta restores the person, also under another id or address.
	second := files(
		`{"id":"`+contact(7)+`","name":"`+adaName+`","email":" ADALGISA@quillfeather.example","account_id":"`+account(1)+`"}`,
		`{"id":"`+contact(8)+`","name":"`+adaName+`","merged_into":"`+contact(1)+`"}`,
		`{"id":"`+contact(9)+`","email":"`+adaEmail+`","wrong":"key"}`,
	)
	report := w.load(t, second)
	i := slices.IndexFunc(report.Datasets, func(d indexer.DatasetReport) bool { return d.Dataset == catalog.Contacts })
	if got := report.Datasets[i]; got.Suppressed != 4 || got.Documents != 1 || got.Rejected != 0 || got.Lines != 5 ||
		report.DeadLetters != "" {
		t.Errorf("%+v, dead letters %q", got, report.DeadLetters)
	}
	w.wantGone(t, "after a load")
	got := w.apply(t, catalog.Contacts,
		`{"id":"`+contact(1)+`","name":"`+adaName+`","email":"other@firm.example","account_id":"`+account(1)+`"}`,
		`{"id":"`+contact(7)+`","name":"`+adaName+`","email":"`+adaEmail+`","account_id":"`+account(1)+`"}`,
		`{"id":"`+contact(2)+`","merged_into":"`+contact(1)+`"}`,
		`{"id":"`+contact(2)+`","name":"Bob B","email":"bob@firm.example","account_id":"`+account(1)+`"}`,
		`{"id":"`+contact(9)+`","email":"`+adaEmail+`","wrong":"key"}`,
	)
	if got.Suppressed != 3 || got.Created+got.Rejected != 0 || got.Updated != 1 || got.Replaced != 1 {
		t.Errorf("%+v", got.Counts)
	}
	w.wantGone(t, "after a delta")

	// A line that is older than the record has no effect.
	newer := `{"id":"` + contact(4) + `","name":"D","email":"d@firm.example","updated_at":"2026-02-01T00:00:00Z"}`
	if got := w.apply(t, catalog.Contacts, newer); got.Created != 1 {
		t.Errorf("%+v", got.Counts)
	}
	older := `{"id":"` + contact(4) + `","name":"D","email":"` + adaEmail + `","updated_at":"2026-01-01T00:00:00Z"}`
	if got := w.apply(t, catalog.Contacts, older); got.Older != 1 || got.Suppressed != 0 {
		t.Errorf("%+v", got.Counts)
	}
	// An account that gets the address of the person is the person.
	if got := w.apply(t, catalog.Contacts, `{"id":"`+contact(3)+`","name":"C","email":"c@firm.example"}`); got.Created != 1 {
		t.Errorf("%+v", got.Counts)
	}
	if got := w.apply(t, catalog.Contacts, `{"id":"`+contact(3)+`","name":"C","email":"`+adaEmail+`"}`); got.Suppressed != 1 {
		t.Errorf("%+v", got.Counts)
	}
	if found, err := w.Live(w.Names).Lookup(t.Context(), catalog.Contacts, []string{contact(3)}); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// Allow permits loading again, and does nothing else.
func TestRemovedSuppression(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	w.suppress(t, erasure.ID, erasure.Values{ID: contact(1)})
	w.wantGone(t, "after add")
	list, err := w.system.Suppressions(t.Context())
	fatal(t, err)
	fatal(t, w.system.RemoveSuppression(t.Context(), list[0].ID, "test"))
	w.wantGone(t, "after remove")
	w.load(t, files())
	if found, err := w.Live(w.Names).Lookup(t.Context(), catalog.Contacts, []string{contact(1)}); err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
}

// An unfinished erasure does not erase a person who may be loaded again.
func TestRemovedBeforeItWasErased(t *testing.T) {
	t.Parallel()
	for _, after := range []int{0, 8, 10, 12} { // calls of Postgres
		w := newWorld(t)
		w.load(t, files())
		values := w.list(t, catalog.Contacts, erasure.ID, erasure.Values{ID: contact(1)})
		if after > 0 {
			ctx, kill := context.WithCancelCause(t.Context())
			w.Store = &killing{Store: w.system, left: after, kill: func() { kill(context.Canceled) }}
			if _, err := w.Finish(ctx, values); err == nil {
				t.Fatalf("not killed after %d", after)
			}
			w.Store = w.system
		}
		for id := range values {
			fatal(t, w.system.RemoveSuppression(t.Context(), id, "test"))
		}
		w.load(t, files())
		w.suppress(t, erasure.ID, erasure.Values{ID: contact(2)})
		if found, err := w.Live(w.Names).Lookup(t.Context(), catalog.Contacts, []string{contact(1), contact(2)}); err != nil ||
			len(found) != 1 || found[contact(1)] == nil {
			t.Errorf("after %d: %v, %v", after, found, err)
		}
	}
}

// An address is found in every spelling, of the request and of the data.
func TestWritings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files(
		`{"id":"`+contact(3)+`","name":"C","email":"mailto:zoe\u0301@b\u00fccher.example"}`,
		`{"id":"`+contact(4)+`","name":"D","email":" ZO\u00c9@B\u00dcCHER.example. "}`,
		`{"id":"`+contact(5)+`","name":"E","email":"zoe@bucher.example"}`,
		`{"id":"`+contact(6)+`","name":"F","email":"x.zoé@bücher.example"}`,
	))
	for text, want := range map[string][]string{
		"Adalgisa@Quillfeather.example": {contact(1)}, "mailto:" + adaEmail: {contact(1)}, " ADALGISA@quillfeather.example ": {contact(1)},
		"Zoé@Bücher.example": {contact(3), contact(4)}, "ZOE\u0301@b\u00fccher.example": {contact(3), contact(4)},
	} {
		found, err := w.Find(t.Context(), catalog.Contacts, erasure.Email, erasure.Values{Email: text})
		fatal(t, err)
		var got []string
		for _, id := range found[catalog.Contacts] {
			got = append(got, id.String())
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%q is of %v, want %v", text, got, want)
		}
	}
	w.suppress(t, erasure.Email, erasure.Values{Email: " mailto:Adalgisa@Quillfeather.example"})
	w.wantGone(t, "in capital letters")
}

// A value that the index does not find is found by its digest.
func TestFoundByDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files(`{"id":"`+contact(3)+`","name":"Zoe O'Hara","account_name":"Quarry","email":"z@firm.example"}`))
	o := w.suppress(t, erasure.NameFirm, erasure.Values{Name: "Zoe Oha ra", Firm: "Quarry"})
	if o.Records.Len() > 0 {
		t.Errorf("another name: %+v", o)
	}
	if o = w.suppress(t, erasure.NameFirm, erasure.Values{Name: "Zoé Oha\u200bra", Firm: "quarry"}); o.Records.Len() != 1 {
		t.Errorf("%+v", o)
	}
}

// What was suppressed during a load or a delta, or in an unsearched generation, is not
// restored by it.
func TestErasedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	// The load has read all lines when the person is suppressed.
	o := w.loadOptions(t, files())
	done := make(chan error, 1)
	once := false
	o.Progress = func(p indexer.Progress) {
		if p.Phase == indexer.Indexing && !once {
			once = true
			values := w.list(t, catalog.Contacts, erasure.Email, erasure.Values{Email: adaEmail})
			go func() {
				_, err := w.Finish(context.WithoutCancel(t.Context()), values)
				done <- err
			}()
		}
	}
	report, err := indexer.Load(t.Context(), o)
	fatal(t, err)
	if !once {
		t.Fatal("no progress was reported")
	}
	if err := <-done; err != nil { // the load had the lease
		if _, held := err.(*postgres.LeaseHeldError); !held {
			t.Fatal(err)
		}
		if _, err := w.Finish(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if !report.Switched {
		t.Error("not switched")
	}
	w.wantGone(t, "after the load")
	if ops := w.ops(t); len(ops) == 0 || ops[len(ops)-1] != changes.Delete {
		t.Errorf("the feed has %v", ops)
	}
}

// An unsearched generation, for example of a restored Elasticsearch, is searched before a
// rollback to it.
func TestRollback(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.load(t, files())
	w.load(t, files())
	w.list(t, catalog.Contacts, erasure.Email, erasure.Values{Email: adaEmail})
	// As after an import: neither the values nor the records to erase are known.
	_, err := w.admin.Exec(t.Context(), `DELETE FROM suppressed_records`)
	fatal(t, err)
	// In the generation, another record was merged into the person.
	_, err = w.admin.Exec(
		t.Context(),
		`INSERT INTO data_generation_merges VALUES ($1, 'contacts', $2, $3)`,
		first.Generation,
		contact(9),
		contact(1),
	)
	fatal(t, err)
	// The first attempt is killed after the documents of persons were deleted, before related
	// documents were rewritten.
	stopped, stop := context.WithCancel(t.Context())
	w.Store = &killing{Store: w.system, left: 4, kill: stop} // after the relations were stored
	if _, err := w.Purge(stopped, first.Generation, 0); err == nil {
		t.Error("not killed")
	}
	w.Store = w.system
	_, err = w.Elastic.Do(t.Context(), esapi.DeleteRequest{
		Index: w.Names.Generation("contacts", first.Generation), DocumentID: contact(1), Refresh: "true",
	})
	fatal(t, err)
	rolled, err := generation.Rollback(t.Context(), generation.Options{
		Elastic: w.Elastic, Names: w.Names, Lease: w.system, Feed: w.feed, Retry: w.Retry,
		Purge: func(ctx context.Context, name string) error {
			_, err := w.Purge(ctx, name, 0)
			return err
		},
	}, "")
	fatal(t, err)
	if left := w.texts(t, rolled.To, adaName, adaEmail); len(left) > 0 {
		t.Errorf("after the rollback %v", left)
	}
	var merges int
	fatal(t, w.admin.QueryRow(t.Context(), `SELECT count(*) FROM data_generation_merges`).Scan(&merges))
	if merges > 0 {
		t.Errorf("%d merges into the person stay", merges)
	}
	fatal(t, w.system.NoteUnclean(t.Context(), first.Generation))
	if _, err := w.Purge(t.Context(), first.Generation, 0); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("to one that keeps names: %v", err)
	}
	_, err = w.Finish(t.Context(), nil)
	fatal(t, err)
	w.wantGone(t, "after finish")
	list, err := w.system.Suppressions(t.Context())
	fatal(t, err)
	for _, s := range list {
		if s.Applied == nil {
			t.Errorf("%+v is not applied", s)
		}
	}
}

// A restored index has the name of a searched one: an import searches it again.
func TestRestoredIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	w.suppress(t, erasure.Email, erasure.Values{Email: adaEmail})
	o := w.loadOptions(t, files())
	o.Suppressions = nil
	report, err := indexer.Load(t.Context(), o)
	fatal(t, err)
	fatal(t, w.system.NoteSuppressedIn(t.Context(), report.Generation, 1_000))
	w.Rescan = true
	// Files of unfinished work are not changed; dead letters in others are removed.
	open, closed := t.TempDir(), t.TempDir()
	letter := `{"dataset":"contacts","record":{"id":"` + contact(1) + `","wrong":1}}` + "\n" + `{"dataset":"contacts","record":{"id":"` +
		contact(2) + `"}}` + "\n"
	for path, text := range map[string]string{
		filepath.Join(open, "letters.ndjson"): letter, filepath.Join(open, "state.json"): "{}", filepath.Join(closed, "b.ndjson"): letter,
		filepath.Join(closed, "a.ndjson"): letter, filepath.Join(open, "load", "checkpoint.json"): "{}",
		filepath.Join(open, "load", "manifest.json"): `{"dead_letters":"` + filepath.Join(closed, "a.ndjson") + `"}`,
	} {
		fatal(t, os.MkdirAll(filepath.Dir(path), 0o700))
		fatal(t, os.WriteFile(path, []byte(text), 0o600))
	}
	w.Folders = []string{closed, open}
	outcome, err := w.Finish(t.Context(), nil)
	fatal(t, err)
	w.wantGone(t, "after an import")
	for path, want := range map[string]int{
		filepath.Join(open, "letters.ndjson"): 2, filepath.Join(closed, "a.ndjson"): 2, filepath.Join(closed, "b.ndjson"): 1,
	} {
		content, err := os.ReadFile(path)
		if n := strings.Count(string(content), "\n"); err != nil || n != want {
			t.Errorf("%s has %d letters, %v", path, n, err)
		}
	}
	if len(outcome.Left) != 2 || outcome.DeadLetters != 1 {
		t.Errorf("%+v", outcome)
	}
}

// Without its key a list stops loads: they would restore everybody.
func TestListWithoutItsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	w.suppress(t, erasure.ID, erasure.Values{ID: contact(1)})
	w.Eraser = &eraser.Eraser{Store: w.system, Elastic: w.Elastic, Names: w.Names, Live: w.Live, Retry: w.Retry}
	if _, err := indexer.Load(t.Context(), w.loadOptions(t, files())); err == nil ||
		!strings.Contains(err.Error(), "ATLAS_SUPPRESSION_KEY") {
		t.Errorf("%v", err)
	}
}

// A load that is resumed without the key still has what it has read.
func TestResumedWithoutTheKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, files())
	w.suppress(t, erasure.ID, erasure.Values{ID: contact(1)})
	o := w.loadOptions(t, files())
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	o.Progress = func(p indexer.Progress) {
		if p.Phase == indexer.Indexing {
			kill()
		}
	}
	if _, err := indexer.Load(ctx, o); err == nil {
		t.Fatal("not killed")
	}
	o.Progress = nil
	o.Suppressions = &eraser.Eraser{Store: w.system, Elastic: w.Elastic, Names: w.Names, Live: w.Live, Retry: w.Retry}
	if report, err := indexer.Load(t.Context(), o); err == nil || !strings.Contains(err.Error(), "ATLAS_SUPPRESSION_KEY") ||
		report.WorkDir == "" {
		t.Errorf("without the key: work folder %q, %v", report.WorkDir, err)
	}
	o.Suppressions = w.Eraser
	if report, err := indexer.Load(t.Context(), o); err != nil || report.Resumed == 0 || !report.Switched {
		t.Errorf("with it: %d times resumed, %v", report.Resumed, err)
	}
	w.wantGone(t, "after the load")
}

// A call that was killed at any point is completed by the next one.
func TestKilled(t *testing.T) {
	t.Parallel()
	for step := 1; ; step++ {
		w := newWorld(t)
		w.load(t, files())
		w.load(t, files())
		values := w.list(t, catalog.Contacts, erasure.Email, erasure.Values{Email: adaEmail})
		ctx, kill := context.WithCancelCause(t.Context())
		store := &killing{Store: w.system, left: step, kill: func() { kill(context.Canceled) }}
		w.Store = store
		_, err := w.Finish(ctx, values)
		killed := store.left <= 0
		if killed == (err == nil) {
			t.Fatalf("step %d: %v", step, err)
		}
		w.Store = w.system
		if killed {
			_, err := w.Finish(t.Context(), nil) // another process, which does not know the values
			fatal(t, err)
		}
		w.wantGone(t, fmt.Sprintf("killed at step %d", step))
		if ops := w.ops(t); len(ops) == 0 || ops[len(ops)-1] != changes.Delete {
			t.Errorf("step %d: the feed has %v", step, ops)
		}
		if work, err := w.system.SuppressedRecords(t.Context()); err != nil || len(work) > 0 {
			t.Errorf("step %d: %v stay, %v", step, work, err)
		}
		kill(nil)
		if !killed {
			break
		}
		if testing.Short() {
			step += 3
		}
	}
}

// killing kills the process at one of its calls of Postgres.
type killing struct {
	eraser.Store
	left int
	kill func()
}

func (k *killing) step() {
	if k.left--; k.left == 0 {
		k.kill()
	}
}

func (k *killing) Suppressions(ctx context.Context) ([]erasure.Suppression, error) {
	k.step()
	return k.Store.Suppressions(ctx)
}

func (k *killing) SuppressedRecords(ctx context.Context) ([]erasure.Record, error) {
	k.step()
	return k.Store.SuppressedRecords(ctx)
}

func (k *killing) NoteSuppressedRecord(ctx context.Context, r erasure.Record) error {
	k.step()
	return k.Store.NoteSuppressedRecord(ctx, r)
}

func (k *killing) NoteSuppressedIn(ctx context.Context, g string, through int64) error {
	k.step()
	return k.Store.NoteSuppressedIn(ctx, g, through)
}

func (k *killing) EraseRecord(ctx context.Context, d catalog.Dataset, id uuid.UUID) (erasure.Erased, error) {
	k.step()
	return k.Store.EraseRecord(ctx, d, id)
}

func (k *killing) NoteDeleted(ctx context.Context, d catalog.Dataset, gone map[string]time.Time) error {
	k.step()
	return k.Store.NoteDeleted(ctx, d, gone)
}

func (k *killing) EndSuppressions(ctx context.Context, through int64, r []erasure.Record) error {
	k.step()
	return k.Store.EndSuppressions(ctx, through, r)
}
