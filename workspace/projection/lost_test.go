package projection_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/people"
	"atlas/workspace/projection"
)

// putAccount replaces a global account.
func (w *world) putAccount(t *testing.T, record uuid.UUID, name string) {
	t.Helper()
	global := searchtest.NewWorld()
	global.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":%q}`, record, name)))
	w.indices.Put(t, catalog.Accounts, global.Documents()[catalog.Accounts]...)
	w.indices.Refresh(t)
}

// rename replaces a global account and calls Changed, as a delta does.
func (w *world) rename(t *testing.T, record uuid.UUID, name string) {
	t.Helper()
	w.putAccount(t, record, name)
	fatal(t, w.projector.Changed(t.Context(), catalog.Accounts, []string{record.String()}))
}

// A late bulk request arrives after another projector wrote the same row from a newer
// global record: the newer document remains.
func TestLateBulkOfAnOlderGlobalRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := id("a", 7)
	w.upsert(t, w.one, catalog.Accounts, a, book.OverlayChange{"workspace_status": "kept"})
	fatal(t, w.projector.Prepare(t.Context()))
	slow := newProxy(t)
	other := w.newProjector(t, slow.client)
	slow.set(false, isBulk)
	if err := other.SweepOnce(t.Context()); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a projector whose writes are lost: %v", err)
	}
	w.putAccount(t, a, "Renamed")
	w.settled(t) // uses the new record before Changed is called
	for _, answer := range slow.release(t) {
		if !strings.Contains(answer, `"status":409`) {
			t.Errorf("the late write was taken: %s", answer)
		}
	}
	fatal(t, w.projector.Changed(t.Context(), catalog.Accounts, []string{a.String()}))
	w.settled(t)
	w.wantEqual(t)
}

// brokenGlobal fails when one record is among the requested ones.
type brokenGlobal struct {
	projection.Global
	broken uuid.UUID
	tries  atomic.Int64
}

func (g *brokenGlobal) Lookup(ctx context.Context, d catalog.Dataset, ids []string) (map[string]jsontext.Value, error) {
	if slices.Contains(ids, g.broken.String()) {
		g.tries.Add(1)
		return nil, fault.BackendUnavailable(errors.New("this record cannot be had"), "elasticsearch")
	}
	return g.Global.Lookup(ctx, d, ids)
}

// lose removes the serving index of held accounts with how, and returns its
// generation.
func (w *world) lose(t *testing.T, how func(index string)) string {
	t.Helper()
	f, err := w.app.HeldFreshness(t.Context(), w.one, catalog.Accounts)
	fatal(t, err)
	how(w.indices.Names.HeldGeneration("accounts", f.Generation))
	return f.Generation
}

// A lost index is detected without a write and refilled. Until a workspace's documents
// are complete, its searches are refused and never miss rows. A workspace that cannot
// be projected does not block others.
func TestLostIndex(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(t *testing.T, w *world, index string){
		"deleted": func(t *testing.T, w *world, index string) {
			fatal(t, w.indices.Client.DeleteIndices(t.Context(), index))
		},
		"remade under its name, with its aliases": func(t *testing.T, w *world, index string) {
			client := w.indices.Client
			there, err := client.Indices(t.Context(), index)
			fatal(t, err)
			fatal(t, client.DeleteIndices(t.Context(), index))
			fatal(t, client.CreateIndex(t.Context(), index, []byte(`{}`)))
			var changes []elastic.AliasChange
			for _, alias := range there[index].Aliases {
				changes = append(changes, elastic.AliasChange{Index: index, Alias: alias})
			}
			fatal(t, client.ChangeAliases(t.Context(), changes))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for i := range 10 {
				w.upsert(t, w.one, catalog.Accounts, id("a", i), book.OverlayChange{})
			}
			w.upsert(t, w.two, catalog.Accounts, id("a", 11), book.OverlayChange{})
			w.settled(t)
			broken := &brokenGlobal{Global: w.engine, broken: id("a", 11)}
			server := w.newProjector(t, w.indices.Client)
			server.Global = broken
			before := w.lose(t, func(index string) { how(t, w, index) })
			// Another server's projector, so that the calls of this test do not help it.
			ctx, stop := context.WithCancel(t.Context())
			var sweep sync.WaitGroup
			sweep.Go(func() { server.Sweep(ctx) })
			defer sweep.Wait()
			defer stop()
			search := func(in workspace.ID) (rows int, err error) {
				f, err := w.projector.Settle(t.Context(), in, catalog.Accounts)
				if err != nil {
					return 0, err
				}
				q := bookQuery(in, catalog.Accounts)
				q.Generation = f.Generation
				page, err := w.engine.Search(t.Context(), q)
				return len(page.Rows), err
			}
			noticed := false
			eventually(t, "the workspace's records are all found", func() bool {
				f, err := w.app.HeldFreshness(t.Context(), w.one, catalog.Accounts)
				fatal(t, err)
				noticed = noticed || f.Generation != before
				if !noticed {
					return false // until then an index restored under the same name is used
				}
				rows, err := search(w.one)
				if err == nil && rows != 10 {
					t.Fatalf("%d rows of 10", rows)
				}
				if err != nil && fault.CodeOf(err) != fault.Unavailable {
					t.Fatal(err)
				}
				return err == nil
			})
			eventually(t, "the other one is tried", func() bool { return broken.tries.Load() > 1 })
			if rows, err := search(w.two); fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("a workspace that cannot be projected: %d rows, %v", rows, err)
			}
			filling, err := w.system.Filling(t.Context())
			fatal(t, err)
			if len(filling) != 1 || filling[0] != catalog.Accounts {
				t.Errorf("filling: %v", filling)
			}
			stop()
			sweep.Wait()
			w.settled(t)
			w.wantEqual(t)
			if rows, err := search(w.two); err != nil || rows != 1 {
				t.Errorf("when it can be projected again: %d rows, %v", rows, err)
			}
			if filling, err := w.system.Filling(t.Context()); err != nil || len(filling) > 0 {
				t.Errorf("filling: %v, %v", filling, err)
			}
		})
	}
}

// Prepare stores the id of an index that was registered without one.
func TestIndexIsAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.upsert(t, w.one, catalog.Accounts, id("a", 1), book.OverlayChange{})
	w.settled(t)
	before := w.documents(t, w.indices.Names.Held("accounts"))
	_, err := w.admin.Exec(t.Context(), `UPDATE held_generations SET index_uuid = NULL`)
	fatal(t, err)
	fatal(t, w.projector.Prepare(t.Context()))
	generations, err := w.system.HeldGenerations(t.Context())
	fatal(t, err)
	for _, g := range generations {
		if g.IndexUUID == "" {
			t.Errorf("%+v", g)
		}
	}
	if after := w.documents(t, w.indices.Names.Held("accounts")); len(after) != len(before) {
		t.Errorf("%d documents, then %d", len(before), len(after))
	}
}

// When a server dies between registering a new index and marking the rows, searches
// are refused until another server marks them.
func TestLostIndexIsMarkedByTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.upsert(t, w.one, catalog.Accounts, id("a", 1), book.OverlayChange{})
	w.settled(t)
	_, err := w.admin.Exec(t.Context(), `UPDATE held_generations SET marked = false WHERE dataset = 'accounts'`)
	fatal(t, err)
	if _, err := w.projector.Settle(t.Context(), w.one, catalog.Accounts); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("before it is marked: %v", err)
	}
	if _, err := w.projector.Settle(t.Context(), w.one, catalog.Contacts); err != nil {
		t.Errorf("of another dataset: %v", err)
	}
	w.settled(t)
	if got := w.found(t, w.one, catalog.Accounts); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}

// A document that Elasticsearch rejects is listed, and nothing waits for it.
func TestRefusedDocumentIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.upsert(t, w.one, catalog.Accounts, id("a", 1), book.OverlayChange{})
	w.upsert(t, w.one, catalog.Accounts, id("a", 2), book.OverlayChange{})
	w.settled(t)
	w.lose(t, func(index string) { fatal(t, w.indices.Client.DeleteIndices(t.Context(), index)) })
	fatal(t, w.projector.Prepare(t.Context()))
	refuse := newProxy(t)
	refuse.refused = id("a", 2).String()
	server := w.newProjector(t, refuse.client)
	eventually(t, "nothing is pending", func() bool {
		fatal(t, server.SweepOnce(t.Context()))
		status, err := w.system.HeldStatus(t.Context())
		fatal(t, err)
		return status.Pending == 0
	})
	if got := w.found(t, w.one, catalog.Accounts); len(got) != 1 {
		t.Errorf("found %v", got)
	}
	refused, err := w.system.RefusedRecords(t.Context(), 10)
	fatal(t, err)
	if len(refused) != 1 || refused[0].Record != id("a", 2) || refused[0].Workspace != w.one ||
		!strings.Contains(refused[0].Refusal, "document_parsing_exception") {
		t.Errorf("%+v", refused)
	}
	w.rename(t, id("a", 2), "It fits now")
	w.settled(t)
	w.wantEqual(t)
	if refused, err := w.system.RefusedRecords(t.Context(), 10); err != nil || len(refused) > 0 {
		t.Errorf("%+v, %v", refused, err)
	}
}

// More failing workspaces than a sweep lists do not block another one.
func TestManyFailingWorkspaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	directory := people.NewDirectory(w.system, nil)
	for range 70 {
		created, err := directory.CreateWorkspace(t.Context(), "failing", workspace.Pro, 0)
		fatal(t, err)
		w.upsert(t, created.ID, catalog.Accounts, id("a", 1), book.OverlayChange{})
	}
	w.upsert(t, w.one, catalog.Accounts, id("a", 2), book.OverlayChange{})
	fatal(t, w.projector.Prepare(t.Context()))
	server := w.newProjector(t, w.indices.Client)
	server.Global = &brokenGlobal{Global: w.engine, broken: id("a", 1)}
	eventually(t, "the one that can be projected is", func() bool {
		if err := server.SweepOnce(t.Context()); err != nil && fault.CodeOf(err) != fault.Unavailable {
			t.Fatal(err)
		}
		var pending bool
		fatal(t, w.admin.QueryRow(t.Context(), `SELECT version > projected_version FROM held_records WHERE workspace_id = $1`, w.one.String()).Scan(&pending))
		return !pending
	})
}

// refusing replaces the document of a record in a bulk request by one that
// Elasticsearch rejects.
func refusing(body []byte, record string) []byte {
	lines := strings.SplitAfter(string(body), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, `{"index"`) && strings.Contains(line, record) && i+1 < len(lines) {
			lines[i+1] = `{"id":"` + record + `","projects_count":"many"}` + "\n"
		}
	}
	return []byte(strings.Join(lines, ""))
}

// Deleting stubs through an alias that was deleted with its index does not create an
// index of the alias's name.
func TestPurgeByALostAliasMakesNoIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := id("a", 3)
	w.upsert(t, w.one, catalog.Accounts, a, book.OverlayChange{})
	w.settled(t)
	fatal(t, w.book.Delete(t.Context(), w.one, catalog.Accounts, []uuid.UUID{a}))
	w.settled(t)
	fatal(t, w.indices.Client.DeleteIndices(t.Context(), w.served(t)))
	if err := w.projector.Purge(t.Context(), 0); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a purge of an index that is gone: %v", err)
	}
	left, err := w.indices.Client.Indices(t.Context(), w.indices.Names.Held("accounts")+"-*")
	fatal(t, err)
	if len(left) > 0 {
		t.Errorf("indices that there are now: %v", left)
	}
	w.settled(t)
	fatal(t, w.projector.Purge(t.Context(), 0))
	w.wantEqual(t)
}

// Prepare removes the search alias from an old index that a late _aliases request
// added it to.
func TestAliasAtTwoIndices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fatal(t, w.projector.Prepare(t.Context()))
	old := w.indices.Names.HeldGeneration("accounts", "old")
	fatal(t, w.indices.Client.CreateIndex(t.Context(), old, []byte(`{"settings":{"number_of_replicas":0}}`)))
	held := w.indices.Names.Held("accounts")
	fatal(t, w.indices.Client.ChangeAliases(t.Context(), []elastic.AliasChange{{Index: old, Alias: held}}))
	fatal(t, w.projector.Prepare(t.Context()))
	now, err := w.indices.Client.Indices(t.Context(), held)
	fatal(t, err)
	if _, there := now[old]; there || len(now) != 1 {
		t.Errorf("searches go to %v", now)
	}
}
