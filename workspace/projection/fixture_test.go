package projection_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/internal/elastic/elastictest"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
	"atlas/workspace/projection"
)

func TestMain(m *testing.M) { backends.Main(m) }

// world is a database, indices with some global records, and a projector.
type world struct {
	databases *pgtest.Databases
	app       *postgres.Store
	system    *postgres.System
	admin     *pgxpool.Pool // without row-level security: to inspect and to damage
	indices   searchtest.Indices
	engine    *search.Engine
	projector *projection.Projector
	book      *book.Book
	one, two  workspace.ID
	log       *lines
}

const accounts, contacts, projects = 40, 10, 30

// newWorld has accounts with projects, signals and contacts. Nothing is projected until
// a test does it.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{databases: pgtest.New(t), log: &lines{}}
	w.app = w.databases.OpenApp(t, postgres.Options{MaxConns: 8})
	w.system = w.databases.OpenSystem(t, postgres.Options{MaxConns: 8})
	var err error
	w.admin, err = pgxpool.New(t.Context(), w.databases.Admin)
	fatal(t, err)
	t.Cleanup(w.admin.Close)
	w.indices = searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{})
	w.indices.Load(t, globalRecords(t))
	cursors, err := search.NewCursors([]byte("a key that signs cursors"))
	fatal(t, err)
	w.engine = &search.Engine{Elastic: w.indices.Client, Names: w.indices.Names, Cursors: cursors, Timeout: 30 * time.Second}
	w.projector = w.newProjector(t, w.indices.Client)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		for _, d := range catalog.Held {
			held, err := w.indices.Client.Aliases(ctx, w.indices.Names.Held(string(d))+"-*")
			if err != nil {
				t.Error(err)
			}
			for index := range held {
				if err := w.indices.Client.DeleteIndices(ctx, index); err != nil {
					t.Error(err)
				}
			}
		}
	})
	w.book = &book.Book{Store: w.app, Global: w.engine}
	directory := people.NewDirectory(w.system, nil)
	for _, to := range []*workspace.ID{&w.one, &w.two} {
		created, err := directory.CreateWorkspace(t.Context(), "A workspace", workspace.Pro, 0)
		fatal(t, err)
		*to = created.ID
	}
	return w
}

func (w *world) newProjector(t *testing.T, client *elastic.Client) *projection.Projector {
	p := &projection.Projector{
		Rows: w.app, System: w.system, Global: w.engine, Elastic: client, Names: w.indices.Names,
		Log: slog.New(slog.NewTextHandler(w.log, nil)), Lease: 3 * time.Second,
	}
	t.Cleanup(p.Close)
	return p
}

func globalRecords(t *testing.T) *searchtest.World {
	t.Helper()
	global := searchtest.NewWorld()
	for i := range accounts {
		global.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(
			`{"id":%q,"name":"Firm %02d","account_types":["developer"],"domains":["firm%d.example","www.Second%d.example"],"city":"Genève"}`,
			searchtest.ID("a", i), i, i, i/2)))
	}
	for i := range projects {
		global.Add(searchtest.Record(t, catalog.Projects, fmt.Sprintf(
			`{"id":%q,"name":"Tower %02d","city":"Calgary","stage":"filed","cost":%d.5,"account_ids":[%q,%q],"contact_ids":[%q]}`,
			searchtest.ID("p", i), i, i*1000, searchtest.ID("a", i%accounts), searchtest.ID("a", 0), searchtest.ID("c", i%5))))
		at := time.Now().Add(-time.Duration(i*10) * 24 * time.Hour).UTC().Format(time.RFC3339)
		global.Add(searchtest.Record(t, catalog.Signals, fmt.Sprintf(
			`{"id":%q,"title":"Signal %d","signal_type":"permit_filed","occurred_at":%q,"detected_at":%q,"project_id":%q,"account_ids":[%q,%q]}`,
			searchtest.ID("s", i), i, at, at, searchtest.ID("p", i), searchtest.ID("a", i%accounts), searchtest.ID("a", 0))))
	}
	for i := range contacts {
		global.Add(searchtest.Record(t, catalog.Contacts, fmt.Sprintf(
			`{"id":%q,"name":"Person %02d","email":"Person%d@example.com","role":"architect","account_id":%q}`,
			searchtest.ID("c", i), i, i/2, searchtest.ID("a", i))))
	}
	return global
}

func id(letter string, n int) uuid.UUID { return uuid.MustParse(searchtest.ID(letter, n)) }

func tags(list ...string) []string { return list }

// upsert makes one change and returns its row.
func (w *world) upsert(t *testing.T, in workspace.ID, d catalog.Dataset, record uuid.UUID, c book.OverlayChange) map[string]any {
	t.Helper()
	outcomes, err := w.book.Upsert(t.Context(), in, d, []book.Input{{Record: record.String(), Change: c}})
	fatal(t, err)
	fatal(t, outcomes[0].Err)
	var row map[string]any
	fatal(t, json.Unmarshal(outcomes[0].Row, &row))
	return row
}

// found returns the ids that a search of the book finds, in order.
func (w *world) found(t *testing.T, in workspace.ID, d catalog.Dataset, nodes ...query.Node) []string {
	t.Helper()
	fresh, err := w.projector.Settle(t.Context(), in, d)
	fatal(t, err)
	q := bookQuery(in, d, nodes...)
	q.Generation = fresh.Generation
	page, err := w.engine.Search(t.Context(), q)
	fatal(t, err)
	ids := []string{}
	for _, r := range page.Rows {
		var record struct{ ID string }
		fatal(t, json.Unmarshal(r, &record))
		ids = append(ids, record.ID)
	}
	return searchtest.Short(ids)
}

func bookQuery(in workspace.ID, d catalog.Dataset, nodes ...query.Node) query.Query {
	return query.Query{
		Dataset: d, Base: query.Base{Kind: catalog.Book, Workspace: in.String()}, Held: true, Sort: query.DefaultSort(d), Limit: 100,
		Where: append(query.All{query.InBook{}}, nodes...),
	}
}

// overlay is an overlay field of an account.
func overlay(name string) *catalog.Field {
	fields := catalog.OverlayFields(catalog.Accounts)
	return &fields[slices.IndexFunc(fields, func(f catalog.Field) bool { return f.Name == name })]
}

// heldDoc is a held document: its `_source`, and the other fields from doc values.
type heldDoc struct {
	Version int64
	Source  map[string]any
	Held    map[string]any
}

// documents reads every document of a held alias or index.
func (w *world) documents(t *testing.T, index string) map[string]heldDoc {
	t.Helper()
	fatal(t, w.indices.Client.Refresh(t.Context(), index))
	res, err := w.indices.Client.Do(t.Context(), elastictest.Request{
		Method: http.MethodPost, Path: "/" + index + "/_search",
		Body: []byte(`{"size":10000,"version":true,"docvalue_fields":["held.workspace_id","held.in_book","held.view_ids","held.icp_tier","held.atlas_score",
			"held.updated_at","held.exact.tags","held.version"]}`),
	})
	fatal(t, err)
	var answer struct {
		Hits struct {
			Hits []struct {
				ID      string         `json:"_id"`
				Version int64          `json:"_version"`
				Source  map[string]any `json:"_source"`
				Fields  map[string]any `json:"fields"`
			} `json:"hits"`
		} `json:"hits"`
	}
	fatal(t, json.Unmarshal(res.Body, &answer))
	docs := map[string]heldDoc{}
	for _, h := range answer.Hits.Hits {
		docs[h.ID] = heldDoc{h.Version, h.Source, h.Fields}
	}
	return docs
}

// wantEqual fails unless the held documents equal those expected from Postgres and the
// global index.
func (w *world) wantEqual(t *testing.T) {
	t.Helper()
	for _, d := range catalog.Held {
		want := w.expected(t, d)
		got := w.documents(t, w.indices.Names.Held(string(d)))
		// An unchanged document keeps its version, which is at most that of the row.
		for key, doc := range got {
			if doc.Version > want[key].Version {
				t.Errorf("%s: the document has the version %d, the row %d", key, doc.Version, want[key].Version)
			}
			if whole := want[key]; whole.Held != nil {
				whole.Version, whole.Held["held.version"] = doc.Version, []any{float64(doc.Version)}
				want[key] = whole
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%.2000s", d, diff)
		}
	}
	// Text fields have no doc values: a search for each text must find its record.
	rows, err := w.admin.Query(t.Context(), `SELECT workspace_id::text, dataset, record_id::text, workspace_status FROM overlays WHERE workspace_status IS NOT NULL LIMIT 200`)
	fatal(t, err)
	recordID, _ := catalog.FieldNamed(catalog.Accounts, "id")
	var in, d, record, status string
	_, err = pgx.ForEachRow(rows, []any{&in, &d, &record, &status}, func() error {
		own, err := workspace.ParseID(in)
		fatal(t, err)
		page, err := w.engine.Search(t.Context(), bookQuery(own, catalog.Dataset(d),
			query.Terms{Field: &recordID, Values: []string{record}},
			query.Terms{Field: overlay("workspace_status"), Values: []string{catalog.Fold(status)}},
			query.Match{Field: overlay("workspace_status"), Text: catalog.Fold(status)}))
		if err == nil && len(page.Rows) != 1 {
			t.Errorf("%s %s is not found by its status %q", d, record, status)
		}
		return err
	})
	fatal(t, err)
}

// expected returns the expected documents of a dataset.
func (w *world) expected(t *testing.T, d catalog.Dataset) map[string]heldDoc {
	t.Helper()
	rows, err := w.admin.Query(t.Context(), `
		SELECT h.workspace_id::text, h.record_id::text, h.version, o.record_id IS NOT NULL, o.icp_tier, coalesce(o.atlas_score, 0), o.tags, o.updated_at,
		       ARRAY(SELECT v.view_id::text FROM view_records v WHERE v.workspace_id = h.workspace_id AND v.dataset = h.dataset AND v.record_id = h.record_id)
		FROM held_records h LEFT JOIN overlays o USING (workspace_id, dataset, record_id) WHERE h.dataset = $1`, string(d))
	fatal(t, err)
	want := map[string]heldDoc{}
	var in, record string
	var version int64
	var inBook bool
	var tier *string
	var score int
	var tagList, views []string
	var updated *time.Time
	_, err = pgx.ForEachRow(rows, []any{&in, &record, &version, &inBook, &tier, &score, &tagList, &updated, &views}, func() error {
		doc := heldDoc{Version: version, Source: map[string]any{"id": record}, Held: map[string]any{"held.version": []any{float64(version)}}}
		public, err := w.engine.Lookup(t.Context(), d, []string{record})
		if err != nil {
			return err
		}
		if held := inBook || len(views) > 0; !held || public[record] == nil {
			doc.Held["held.in_book"] = []any{false}
		} else {
			fatal(t, json.Unmarshal(public[record], &doc.Source))
			doc.Held["held.workspace_id"] = []any{in}
			doc.Held["held.in_book"] = []any{inBook}
			set(doc.Held, "held.view_ids", views)
			if inBook {
				doc.Held["held.updated_at"] = []any{updated.UTC().Format(catalog.TimeLayout)}
				if d == catalog.Accounts {
					doc.Held["held.atlas_score"] = []any{float64(score)}
				}
				if tier != nil {
					doc.Held["held.icp_tier"] = []any{*tier}
				}
				var folded []string
				for _, tag := range tagList {
					folded = append(folded, catalog.Fold(tag))
				}
				set(doc.Held, "held.exact.tags", folded)
			}
		}
		want[in+":"+record] = doc
		return nil
	})
	fatal(t, err)
	return want
}

// set sets values in the form of doc values: sorted and distinct.
func set(fields map[string]any, name string, values []string) {
	slices.Sort(values)
	var list []any
	for _, v := range slices.Compact(values) {
		list = append(list, v)
	}
	if list != nil {
		fields[name] = list
	}
}

// settled projects until nothing is pending.
func (w *world) settled(t *testing.T) {
	t.Helper()
	fatal(t, w.projector.Prepare(t.Context()))
	eventually(t, "nothing is pending", func() bool {
		if err := w.projector.SweepOnce(t.Context()); err != nil {
			t.Log("a sweep:", err)
		}
		status, err := w.system.HeldStatus(t.Context())
		fatal(t, err)
		return status.Pending == 0
	})
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatal("it does not become true that", what)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lines collects the log.
type lines struct {
	lock sync.Mutex
	b    strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.b.String()
}
