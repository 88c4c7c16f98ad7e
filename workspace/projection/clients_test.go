package projection_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/postgres"
	"atlas/workspace/projection"
)

// Fifty clients of two servers write the same records at once: each document
// ends as the last committed row.
func TestFiftyClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fatal(t, w.projector.Prepare(t.Context()))
	second := w.newProjector(t, w.indices.Client)
	servers := []*book.Book{
		{Store: w.app, Global: w.engine, Changed: w.projector.Wake},
		{Store: w.app, Global: w.engine, Changed: second.Wake},
	}
	statuses := []string{"new", "Kept", "lost", "won"}
	tiers := []string{"tier_1", "tier_2", "tier_3", "disqualified"}
	var clients sync.WaitGroup
	for c := range 50 {
		clients.Go(func() {
			service := servers[c%2]
			for i := range 12 {
				a := id("a", rand.IntN(6))
				var err error
				switch rand.IntN(5) {
				case 0:
					err = service.Delete(t.Context(), w.one, catalog.Accounts, []uuid.UUID{a, id("a", rand.IntN(6))})
				default:
					change := book.OverlayChange{"workspace_status": statuses[rand.IntN(4)], "tags": tags(fmt.Sprint("c", c), fmt.Sprint("i", i))}
					if i%2 == 0 {
						change["icp_tier"] = tiers[rand.IntN(4)]
					}
					_, err = service.Upsert(t.Context(), w.one, catalog.Accounts, []book.Input{
						{Record: a.String(), Change: change}, {Record: id("a", rand.IntN(6)).String(), Change: book.OverlayChange{"notes": fmt.Sprint(c, i)}},
					})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	w.settled(t)
	w.wantEqual(t)
}

// While Elasticsearch is unavailable, deletions succeed and upserts change nothing.
// Afterwards thousands of pending records are projected within 10 s, without a
// restart.
func TestElasticsearchAway(t *testing.T) {
	// Not parallel: it measures time.
	w := newWorld(t)
	const many = 5_000
	global := searchtest.NewWorld()
	for i := range many {
		global.Add(searchtest.Record(t, catalog.Contacts, fmt.Sprintf(`{"id":%q,"name":"Person %d","title":"Architect"}`, id("c", 1000+i), i)))
	}
	w.indices.Put(t, catalog.Contacts, global.Documents()[catalog.Contacts]...)
	w.indices.Refresh(t)
	for start := 0; start < many; start += 100 {
		var inputs []book.Input
		for i := range 100 {
			inputs = append(inputs, book.Input{Record: id("c", 1000+start+i).String(), Change: book.OverlayChange{"tags": tags("t")}})
		}
		_, err := w.book.Upsert(t.Context(), w.one, catalog.Contacts, inputs)
		fatal(t, err)
	}
	w.settled(t)

	between := newProxy(t)
	engine := &search.Engine{Elastic: between.client, Names: w.indices.Names, Timeout: 10 * time.Second}
	projector := w.newProjector(t, between.client)
	projector.Global = engine
	service := &book.Book{Store: w.app, Global: engine, Changed: projector.Wake}
	ctx, cancel := context.WithCancel(t.Context())
	var sweep sync.WaitGroup
	sweep.Go(func() { projector.Sweep(ctx) })
	defer sweep.Wait()
	defer cancel()

	between.set(true, nil)
	var before, after int64
	fatal(t, w.admin.QueryRow(t.Context(), `SELECT last_value FROM held_version`).Scan(&before))
	if _, err := service.Upsert(
		t.Context(), w.one, catalog.Contacts, []book.Input{{Record: id("c", 1).String()}},
	); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("an upsert: %v", err)
	}
	fatal(t, w.admin.QueryRow(t.Context(), `SELECT last_value FROM held_version`).Scan(&after))
	if before != after {
		t.Error("an upsert that failed has changed something")
	}
	for start := 0; start < many; start += 500 { // every fifth
		var gone []uuid.UUID
		for i := range 100 {
			gone = append(gone, id("c", 1000+start+i))
		}
		fatal(t, service.Delete(t.Context(), w.one, catalog.Contacts, gone))
	}
	if _, err := projector.Settle(t.Context(), w.one, catalog.Contacts); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a search that cannot see the deletions: %v", err)
	}
	fatal(t, w.system.BumpDataset(t.Context(), catalog.Contacts, true))
	status, err := w.system.HeldStatus(t.Context())
	fatal(t, err)
	if status.Pending != many || status.OldestPending <= 0 {
		t.Errorf("%+v", status)
	}
	between.set(false, nil)
	back := time.Now()
	eventually(t, "nothing is pending", func() bool {
		status, err = w.system.HeldStatus(t.Context())
		fatal(t, err)
		return status.Pending == 0
	})
	// The limit is 10 s on an idle machine. Here other packages' tests and the race
	// detector run at the same time.
	took := time.Since(back)
	t.Logf("%d records took %v", many, took)
	if took > 30*time.Second {
		t.Error("that is too long")
	}
	w.wantEqualContacts(t, many)
}

// wantEqualContacts compares counts only: wantEqual would look up every record.
func (w *world) wantEqualContacts(t *testing.T, many int) {
	t.Helper()
	fatal(t, w.indices.Client.Refresh(t.Context(), w.indices.Names.Held("contacts")))
	docs := w.documents(t, w.indices.Names.Held("contacts"))
	inBook := 0
	for _, doc := range docs {
		if doc.Held["held.workspace_id"] != nil {
			inBook++
		}
	}
	if len(docs) != many || inBook != many*4/5 {
		t.Errorf("%d documents, %d of them in the book", len(docs), inBook)
	}
}

const childEnv = "ATLAS_PROJECTION_TEST_CHILD"

// TestWritingChild is the server process that TestKilled starts and kills.
func TestWritingChild(t *testing.T) {
	config := strings.Fields(os.Getenv(childEnv))
	if len(config) == 0 {
		return
	}
	client, err := elastic.New(elastic.Config{Addresses: config[:1]})
	fatal(t, err)
	app, err := postgres.Open(t.Context(), config[1], postgres.Options{})
	fatal(t, err)
	system, err := postgres.OpenSystem(t.Context(), config[2], postgres.Options{})
	fatal(t, err)
	in, err := workspace.ParseID(config[4])
	fatal(t, err)
	names := mappings.Names{Prefix: config[3]}
	engine := &search.Engine{Elastic: client, Names: names, Timeout: 10 * time.Second}
	projector := &projection.Projector{Rows: app, System: system, Global: engine, Elastic: client, Names: names, Lease: 3 * time.Second}
	go projector.Sweep(t.Context())
	service := &book.Book{Store: app, Global: engine, Changed: projector.Wake}
	for i := 0; ; i++ {
		a := id("a", rand.IntN(accounts))
		status := uuid.NewString()
		if i%4 == 3 {
			status = "-"
		}
		fmt.Printf("trying %s %s\n", a, status)
		if status == "-" {
			err = service.Delete(t.Context(), in, catalog.Accounts, []uuid.UUID{a})
		} else {
			_, err = service.Upsert(t.Context(), in, catalog.Accounts, []book.Input{{
				Record: a.String(), Change: book.OverlayChange{"workspace_status": status},
			}})
		}
		fatal(t, err)
		fmt.Printf("answered %s %s\n", a, status)
	}
}

// A server is killed at any point between a commit and its projection: no acknowledged
// write is lost, and all documents become consistent.
func TestKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fatal(t, w.projector.Prepare(t.Context()))
	last, tried := map[string]string{}, map[string]string{}
	for range 6 {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWritingChild$", "-test.v")
		command.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{
			backends.Elasticsearch(t), w.databases.App, w.databases.System, w.indices.Names.Prefix, w.one.String(),
		}, " "))
		out, err := command.StdoutPipe()
		fatal(t, err)
		fatal(t, command.Start())
		lines := bufio.NewScanner(out)
		for n := 5 + rand.IntN(40); lines.Scan(); {
			words := strings.Fields(lines.Text())
			switch {
			case len(words) != 3:
			case words[0] == "trying":
				tried[words[1]] = words[2]
			case words[0] == "answered":
				last[words[1]] = words[2]
				if n--; n == 0 {
					fatal(t, command.Process.Kill())
				}
			}
		}
		_ = command.Wait()
	}
	if len(last) < 10 {
		t.Fatalf("the children have answered little: %v", last)
	}
	back := time.Now()
	w.settled(t)
	if took := time.Since(back); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	w.wantEqual(t)
	for record, status := range last {
		overlays, err := w.app.Overlays(t.Context(), w.one, catalog.Accounts, []uuid.UUID{uuid.MustParse(record)})
		fatal(t, err)
		now := "-"
		if o, exists := overlays[uuid.MustParse(record)]; exists && o.Values["workspace_status"] != nil {
			now = fmt.Sprint(o.Values["workspace_status"])
		}
		// The request that was running when the child was killed may have committed.
		if now != status && now != tried[record] {
			t.Errorf("%s: answered %s, tried %s, and it is %s", record, status, tried[record], now)
		}
	}
}
