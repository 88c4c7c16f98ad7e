package projection_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/internal/elastic"
	"atlas/internal/elastic/elastictest"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/held"
	"atlas/workspace/projection"
)

// Each test checks one rule of docs/decisions/008-projection-versions.md, 009 or 010,
// and fails without it.

// bulk sends one batch through the write alias of the serving generation.
func (w *world) bulk(t *testing.T, d catalog.Dataset, fill func(b *elastic.Batch)) []elastic.Refusal {
	t.Helper()
	generations, err := w.system.HeldGenerations(t.Context())
	fatal(t, err)
	for _, g := range generations {
		if g.Dataset == d && g.Serving {
			var batch elastic.Batch
			fill(&batch)
			refused, err := w.indices.Client.Bulk(
				t.Context(), w.indices.Names.HeldWrite(string(d), g.Generation), &batch,
				elastic.Retry{For: 10 * time.Second},
			)
			fatal(t, err)
			return refused
		}
	}
	t.Fatal("no generation serves")
	return nil
}

// A late write after the deletion of a record does not restore it.
func TestLateWriteAfterDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := id("a", 5)
	w.upsert(t, w.one, catalog.Accounts, a, book.OverlayChange{"workspace_status": "here"})
	w.settled(t)
	held := w.indices.Names.Held("accounts")
	late := w.documents(t, held)[w.one.String()+":"+a.String()]
	fatal(t, w.book.Delete(t.Context(), w.one, catalog.Accounts, []uuid.UUID{a}))
	w.settled(t)
	// A flush drops the tombstones of Elasticsearch.
	_, err := w.indices.Client.Do(t.Context(), elastictest.Request{Method: http.MethodPost, Path: "/" + held + "/_flush"})
	fatal(t, err)
	// The stub is too young and must remain.
	fatal(t, w.projector.Purge(t.Context(), projection.StubAge))
	doc := fmt.Sprintf(`{"id":%q,"name":"x","held":{"workspace_id":%q,"in_book":true}}`, a, w.one)
	refused := w.bulk(t, catalog.Accounts, func(b *elastic.Batch) {
		b.IndexAt(w.one.String()+":"+a.String(), w.one.String(), late.Version, []byte(doc))
	})
	if len(refused) != 1 || refused[0].Status != http.StatusConflict {
		t.Errorf("the late write: %+v", refused)
	}
	if got := w.found(t, w.one, catalog.Accounts); len(got) > 0 {
		t.Errorf("the deleted record is found: %v", got)
	}
	w.wantEqual(t)
}

// Purge deletes old stubs and their rows, but not records that are held again.
func TestPurge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone, back, unchanged := id("a", 1), id("a", 2), id("a", 3)
	for _, a := range []uuid.UUID{gone, back, unchanged} {
		w.upsert(t, w.one, catalog.Accounts, a, book.OverlayChange{})
	}
	w.settled(t)
	fatal(t, w.book.Delete(t.Context(), w.one, catalog.Accounts, []uuid.UUID{gone, back}))
	w.settled(t)
	w.upsert(t, w.one, catalog.Accounts, back, book.OverlayChange{})
	fatal(t, w.projector.Purge(t.Context(), 0))
	w.settled(t)
	w.wantEqual(t)
	docs := w.documents(t, w.indices.Names.Held("accounts"))
	if _, there := docs[w.one.String()+":"+gone.String()]; there || len(docs) != 2 {
		t.Errorf("documents after the purge: %v", docs)
	}
	status, err := w.system.HeldStatus(t.Context())
	fatal(t, err)
	if status.Records != 2 || status.Stubs != 0 {
		t.Errorf("%+v", status)
	}
}

// A purge that dies after it deleted documents leaves rows without digests: the next
// projection rewrites the stub.
func TestPurgeThatEndsBeforeTheRowsAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone := id("a", 1)
	w.upsert(t, w.one, catalog.Accounts, gone, book.OverlayChange{})
	w.settled(t)
	fatal(t, w.book.Delete(t.Context(), w.one, catalog.Accounts, []uuid.UUID{gone}))
	w.settled(t)
	rows := w.projector.Rows
	w.projector.Rows = failingRows{rows}
	if err := w.projector.Purge(t.Context(), 0); !errors.Is(err, errForget) {
		t.Fatal(err)
	}
	w.projector.Rows = rows
	w.upsert(t, w.one, catalog.Accounts, gone, book.OverlayChange{})
	fatal(t, w.book.Delete(t.Context(), w.one, catalog.Accounts, []uuid.UUID{gone}))
	w.settled(t)
	if _, there := w.documents(t, w.indices.Names.Held("accounts"))[w.one.String()+":"+gone.String()]; !there {
		t.Error("the row has no document")
	}
}

var errForget = errors.New("the rows cannot be deleted")

// failingRows fails to delete rows.
type failingRows struct{ projection.Rows }

func (failingRows) ForgetHeld(context.Context, workspace.ID, []held.Record) error {
	return errForget
}

// A late bulk request arrives after a newer one: the newer document remains, and nothing is
// left pending.
func TestLateBulk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := id("a", 7)
	w.upsert(t, w.one, catalog.Accounts, a, book.OverlayChange{"workspace_status": "first"})
	w.settled(t)
	slow := newProxy(t)
	other := w.newProjector(t, slow.client)
	slow.set(false, isBulk)
	// Changed by SQL, so that the overlay can return to its first state in every field,
	// including the time of the change.
	change := func(status string) {
		for _, sql := range []string{
			`UPDATE overlays SET workspace_status = '` + status + `'`, `UPDATE held_records SET version = nextval('held_version')`,
		} {
			_, err := w.admin.Exec(t.Context(), sql)
			fatal(t, err)
		}
	}
	change("second")
	if err := other.SweepOnce(t.Context()); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a projector whose writes are lost: %v", err)
	}
	if slow.recordedCount() == 0 {
		t.Fatal("no write was kept back")
	}
	// Back to the first state. An equal document is usually not rewritten, but now it is
	// unknown which document is in Elasticsearch.
	change("first")
	w.settled(t)
	for _, answer := range slow.release(t) {
		if !strings.Contains(answer, `"status":409`) {
			t.Errorf("the late write was taken: %s", answer)
		}
	}
	w.settled(t)
	w.wantEqual(t)
}

// A switch of global records writes only the documents that changed.
func TestSwitchedWritesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 4 {
		w.upsert(t, w.one, catalog.Accounts, id("a", i), book.OverlayChange{})
	}
	w.settled(t)
	before := w.documents(t, w.indices.Names.Held("accounts"))
	fatal(t, w.projector.Switched(t.Context(), "the first one"))
	w.settled(t)
	if diff := cmp.Diff(before, w.documents(t, w.indices.Names.Held("accounts"))); diff != "" {
		t.Error("nothing changed, but:", diff)
	}
	// Another generation, with one record changed and one deleted.
	index := w.indices.Names.Generation("accounts", "2")
	w.copyIndex(t, w.indices.Names.Generation("accounts", "1"), index)
	w.putAccount(t, id("a", 1), "Renamed")
	_, err := w.indices.Client.Do(t.Context(), elastictest.Request{
		Method: http.MethodDelete, Path: "/" + index + "/_doc/" + id("a", 2).String(),
	})
	fatal(t, err)
	fatal(t, w.projector.Switched(t.Context(), "2"))
	w.settled(t)
	after := w.documents(t, w.indices.Names.Held("accounts"))
	for i, want := range []bool{false, true, true, false} {
		key := w.one.String() + ":" + id("a", i).String()
		if rewritten := before[key].Version != after[key].Version; rewritten != want {
			t.Errorf("$a%d was written again: %v", i, rewritten)
		}
	}
	if diff := cmp.Diff([]string{"$a0", "$a3", "$a1"}, w.found(t, w.one, catalog.Accounts)); diff != "" {
		t.Error(diff)
	}
	if _, err := w.book.Get(t.Context(), w.one, catalog.Accounts, id("a", 2)); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a get of what the dataset has no more: %v", err)
	}
	var present bool
	fatal(t, w.admin.QueryRow(t.Context(), `SELECT present FROM held_records WHERE record_id = $1`, id("a", 2)).Scan(&present))
	if present {
		t.Error("a record that the dataset has no more is said to be there")
	}
}

// copyIndex clones an index with its documents and moves the alias to the clone.
func (w *world) copyIndex(t *testing.T, from, to string) {
	t.Helper()
	client := w.indices.Client
	for _, r := range []elastictest.Request{
		{Method: http.MethodPut, Path: "/" + from + "/_block/write"},
		{Method: http.MethodPost, Path: "/" + from + "/_clone/" + to, Body: []byte(`{"settings":{"index.blocks.write":null}}`)},
	} {
		_, err := client.Do(t.Context(), r)
		fatal(t, err)
	}
	t.Cleanup(func() {
		if err := client.DeleteIndices(context.Background(), to); err != nil {
			t.Error(err)
		}
	})
	alias := w.indices.Names.Alias("accounts")
	eventually(t, "the copy can be written", func() bool {
		res, err := client.Do(t.Context(), elastictest.Request{Method: http.MethodGet, Path: "/_cluster/health/" + to})
		fatal(t, err)
		return !strings.Contains(string(res.Body), `"status":"red"`)
	})
	fatal(t, client.ChangeAliases(t.Context(), []elastic.AliasChange{{Index: from, Alias: alias, Remove: true}, {Index: to, Alias: alias}}))
}

// When Postgres was restored from an older state, documents have higher versions than
// its sequence. The sequence moves beyond them, and an error is logged.
func TestRestoredPostgres(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		w.upsert(t, w.one, catalog.Accounts, id("a", i), book.OverlayChange{"workspace_status": "new"})
	}
	w.settled(t)
	for _, sql := range []string{
		`UPDATE held_records SET version = 1, projected_version = 1, digest = NULL`, `SELECT setval('held_version', 1)`,
	} {
		_, err := w.admin.Exec(t.Context(), sql)
		fatal(t, err)
	}
	w.upsert(t, w.one, catalog.Accounts, id("a", 0), book.OverlayChange{"workspace_status": "after"})
	if got := w.found(t, w.one, catalog.Accounts, query.Match{Field: overlay("workspace_status"), Text: "after"}); len(got) > 1 {
		t.Errorf("found %v", got)
	}
	w.settled(t)
	if got := w.found(t, w.one, catalog.Accounts, query.Match{
		Field: overlay("workspace_status"), Text: "after",
	}); !cmp.Equal(got, []string{"$a0"}) {
		t.Errorf("found %v", got)
	}
	if !strings.Contains(w.log.String(), "restored") {
		t.Error("nobody was notified")
	}
}

// A search sees all earlier writes of any server, even if the index never refreshes
// itself.
func TestSearchSeesWhatAnotherServerWrote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fatal(t, w.projector.Prepare(t.Context()))
	fatal(t, w.indices.Client.PutIndexSettings(t.Context(), map[string]any{"refresh_interval": "-1"}, w.indices.Names.Held("accounts")))
	other := w.newProjector(t, w.indices.Client)
	for i := range 12 {
		w.upsert(t, w.one, catalog.Accounts, id("a", i), book.OverlayChange{})
		if i%3 == 0 {
			fatal(t, other.SweepOnce(t.Context())) // projected there, not refreshed
		} else if i%3 == 1 {
			other.Wake(w.one)
		}
		if got := w.found(t, w.one, catalog.Accounts); len(got) != i+1 {
			t.Fatalf("after %d writes the search finds %v", i+1, got)
		}
	}
}

// hooked stops a projector after it has read pending records.
type hooked struct {
	projection.Global
	reached, release chan struct{}
	once             sync.Once
}

func (h *hooked) Lookup(ctx context.Context, d catalog.Dataset, ids []string) (map[string]jsontext.Value, error) {
	h.once.Do(func() {
		close(h.reached)
		<-h.release
	})
	return h.Global.Lookup(ctx, d, ids)
}

// A projector reads pending records before a rebuild begins and writes during the
// rebuild: the new generation misses nothing.
func TestRebuildBesideASlowProjector(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 10 {
		w.upsert(t, w.one, catalog.Accounts, id("a", i), book.OverlayChange{"workspace_status": "before"})
	}
	w.settled(t)
	w.upsert(t, w.one, catalog.Accounts, id("a", 3), book.OverlayChange{"workspace_status": "during"})
	slow := w.newProjector(t, w.indices.Client)
	stop := &hooked{Global: w.engine, reached: make(chan struct{}), release: make(chan struct{})}
	slow.Global = stop
	swept := make(chan error, 1)
	go func() { swept <- slow.SweepOnce(context.WithoutCancel(t.Context())) }()
	<-stop.reached
	rebuilt := make(chan error, 1)
	go func() { rebuilt <- w.projector.Rebuild(context.WithoutCancel(t.Context()), nil) }()
	eventually(t, "two generations are registered", func() bool {
		generations, err := w.system.HeldGenerations(t.Context())
		fatal(t, err)
		return len(generations) > len(catalog.Held)
	})
	close(stop.release)
	<-swept // whether it could still write or not
	fatal(t, <-rebuilt)
	w.settled(t)
	w.wantEqual(t)
}

// Searches and writes continue during a rebuild, and the new generations are complete.
func TestRebuildUnderWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range accounts {
		w.upsert(t, w.one, catalog.Accounts, id("a", i), book.OverlayChange{})
	}
	w.settled(t)
	w.book.Changed = w.projector.Wake
	before := w.served(t)
	done := make(chan struct{})
	var writes atomic.Int64
	var clients sync.WaitGroup
	for c := range 4 {
		clients.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				a := id("a", (i*7+c*10)%accounts)
				var err error
				if i%5 == 4 {
					err = w.book.Delete(t.Context(), w.one, catalog.Accounts, []uuid.UUID{a})
				} else {
					_, err = w.book.Upsert(t.Context(), w.one, catalog.Accounts, []book.Input{{
						Record: a.String(), Change: book.OverlayChange{"workspace_status": fmt.Sprint(c, " ", i)},
					}})
				}
				if err != nil {
					t.Error(err)
					return
				}
				writes.Add(1)
				if _, err := w.projector.Settle(t.Context(), w.one, catalog.Accounts); err != nil {
					t.Error("settling:", err)
					return
				}
				if _, err := w.engine.Search(t.Context(), bookQuery(w.one, catalog.Accounts)); err != nil {
					t.Error("searching:", err)
					return
				}
			}
		})
	}
	for range 2 {
		fatal(t, w.projector.Rebuild(t.Context(), nil))
	}
	close(done)
	clients.Wait()
	if writes.Load() == 0 {
		t.Error("nothing was written meanwhile")
	}
	w.settled(t)
	w.wantEqual(t)
	if after := w.served(t); after == before {
		t.Error("searches go to the old index")
	}
	indices, err := w.indices.Client.Aliases(t.Context(), w.indices.Names.Held("accounts")+"-*")
	fatal(t, err)
	if len(indices) != 1 {
		t.Errorf("indices that are left: %v", indices)
	}
}

func (w *world) served(t *testing.T) string {
	t.Helper()
	indices, err := w.indices.Client.Aliases(t.Context(), w.indices.Names.Held("accounts"))
	fatal(t, err)
	for index := range indices {
		return index
	}
	return ""
}

// awaySystem is away once, for some calls of a rebuild.
type awaySystem struct {
	projection.System
	calls atomic.Int64
}

func (s *awaySystem) Unprojected(ctx context.Context, d catalog.Dataset, since int64) (int64, error) {
	if s.calls.Add(1) <= 3 {
		return 0, fault.BackendUnavailable(errLost, "postgres")
	}
	return s.System.Unprojected(ctx, d, since)
}

// A rebuild continues after an outage that is shorter than its lease.
func TestRebuildOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.upsert(t, w.one, catalog.Accounts, id("a", 1), book.OverlayChange{})
	w.settled(t)
	before := w.served(t)
	p := w.newProjector(t, w.indices.Client)
	p.System = &awaySystem{System: w.system}
	fatal(t, p.Rebuild(t.Context(), nil))
	w.wantEqual(t)
	if after := w.served(t); after == before {
		t.Error("searches go to the old index")
	}
}
