package records_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/devstack/backends"
	"atlas/internal/input"
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
	"atlas/workspace/records"
	"atlas/workspace/views"
)

func TestMain(m *testing.M) { backends.Main(m) }

// world is a workspace with book and Views on real backends.
type world struct {
	records.Records
	t         *testing.T
	engine    *search.Engine
	indices   searchtest.Indices
	store     *postgres.Store
	projector *projection.Projector
	book      *book.Book
	views     *views.Views
	members   *views.Memberships
	in        workspace.ID
	directory *people.Directory
}

func newWorld(t *testing.T, data *searchtest.World) *world {
	t.Helper()
	d := pgtest.New(t)
	w := &world{t: t, store: d.OpenApp(t, postgres.Options{MaxConns: 8})}
	system := d.OpenSystem(t, postgres.Options{MaxConns: 4})
	w.directory = people.NewDirectory(system, nil)
	w.in = w.workspace("One")
	w.indices = searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{Shards: 2})
	w.indices.Load(t, data)
	cursors, err := search.NewCursors([]byte("a key that signs nothing but tests"))
	fatal(t, err)
	w.engine = &search.Engine{Elastic: w.indices.Client, Names: w.indices.Names, Cursors: cursors, Timeout: 30 * time.Second}
	w.projector = &projection.Projector{Rows: w.store, System: system, Global: w.engine, Elastic: w.indices.Client, Names: w.indices.Names}
	t.Cleanup(func() {
		w.projector.Close()
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
	fatal(t, w.projector.Prepare(t.Context()))
	w.Records = records.Records{
		Searcher: w.engine, Faceter: w.engine, Matcher: w.engine, Freshness: w.projector, Overlays: w.store, Views: w.store,
	}
	w.book = &book.Book{Store: w.store, Global: w.engine, Changed: w.projector.Wake}
	w.views = views.NewViews(w.store, nil)
	w.members = &views.Memberships{Store: w.store, Records: w.engine, Changed: w.projector.Wake}
	return w
}

func (w *world) workspace(name string) workspace.ID {
	w.t.Helper()
	ws, err := w.directory.CreateWorkspace(w.t.Context(), name, workspace.Pro, 0)
	fatal(w.t, err)
	return ws.ID
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func valueOf(t testing.TB, text string) input.Value {
	t.Helper()
	v, issues := input.Decode([]byte(text))
	fatal(t, input.Issues(issues).Err())
	return v
}

// view creates a View of the workspace; definition is "" for a Static one.
func (w *world) view(d catalog.Dataset, definition string) views.View {
	w.t.Helper()
	kind := "static"
	if definition != "" {
		kind, definition = "dynamic", `,"definition":`+definition
	}
	change, err := views.ParseChange(valueOf(
		w.t, fmt.Sprintf(`{"dataset":%q,"view_type":%q,"name":%q%s}`, d.Singular(), kind, uuid.NewString(), definition),
	))
	fatal(w.t, err)
	v, err := w.views.Upsert(w.t.Context(), w.in, workspace.UserID{}, change)
	fatal(w.t, err)
	return v
}

// everything is a definition without a condition.
const everything = `{"version":1,"q":"","fields":{}}`

// annotate upserts a record into the book with the body of a request.
func (w *world) annotate(d catalog.Dataset, id, body string) {
	w.t.Helper()
	v := valueOf(w.t, body)
	v.Members = append(v.Members, input.Member{Name: d.Singular() + "_id", Value: input.Value{Kind: input.String, Text: id}})
	in, err := book.UpsertRule(d).Parse(v)
	fatal(w.t, err)
	outcomes, err := w.book.Upsert(w.t.Context(), w.in, d, []book.Input{in})
	fatal(w.t, err)
	fatal(w.t, outcomes[0].Err)
}

// add makes records members of a View, which must accept all of them.
func (w *world) add(v views.View, ids ...string) {
	w.t.Helper()
	for _, err := range w.tryAdd(v, ids...) {
		fatal(w.t, err)
	}
}

func (w *world) tryAdd(v views.View, ids ...string) []error {
	w.t.Helper()
	outcomes, err := w.members.Add(w.t.Context(), w.in, v.ID, uuids(ids))
	fatal(w.t, err)
	return outcomes
}

func uuids(ids []string) []uuid.UUID {
	all := make([]uuid.UUID, len(ids))
	for i, id := range ids {
		all[i] = uuid.MustParse(id)
	}
	return all
}

// idsOf lists a world's records of a dataset.
func idsOf(data *searchtest.World, d catalog.Dataset) (ids []string) {
	for _, r := range data.Records(d) {
		ids = append(ids, r.ID())
	}
	return ids
}

// inView is a search of a View with some members of the body; nil is all members.
func (w *world) inView(v views.View, filter func(name string) bool) searchtest.Search {
	return w.entrance(catalog.View, filter, func(ctx context.Context, q query.Query) (query.Page, error) { return w.SearchView(ctx, v, q) })
}

func (w *world) inBook(filter func(name string) bool) searchtest.Search {
	return w.entrance(catalog.Book, filter, func(ctx context.Context, q query.Query) (query.Page, error) { return w.SearchBook(ctx, w.in, q) })
}

func (w *world) entrance(
	kind catalog.BaseKind, filter func(string) bool, run func(context.Context, query.Query) (query.Page, error),
) searchtest.Search {
	return func(ctx context.Context, d catalog.Dataset, body []byte) (searchtest.Page, error) {
		v, issues := input.Decode(body)
		if err := input.Issues(issues).Err(); err != nil {
			return searchtest.Page{}, err
		}
		if filter != nil {
			var members []input.Member
			for _, m := range v.Members {
				if filter(m.Name) {
					members = append(members, m)
				}
			}
			v.Members = members
		}
		q, err := query.Parse(v, d, query.Base{Kind: kind})
		if err != nil {
			return searchtest.Page{}, err
		}
		got, err := run(ctx, q)
		if err != nil {
			return searchtest.Page{}, err
		}
		p := searchtest.Page{Total: got.Total, Capped: got.Capped, Next: got.Next}
		for _, row := range got.Rows {
			var r struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(row, &r); err != nil {
				return p, err
			}
			p.IDs = append(p.IDs, r.ID)
		}
		return p, nil
	}
}

// rows is a page of a View's rows.
func (w *world) rows(v views.View, body string) query.Page {
	w.t.Helper()
	q, err := query.Parse(valueOf(w.t, body), v.Dataset, query.Base{Kind: catalog.View})
	fatal(w.t, err)
	p, err := w.SearchView(w.t.Context(), v, q)
	fatal(w.t, err)
	return p
}

func (w *world) found(v views.View, body string) []string {
	w.t.Helper()
	p, err := w.inView(v, nil)(w.t.Context(), v.Dataset, []byte(body))
	fatal(w.t, err)
	return searchtest.Short(p.IDs)
}
