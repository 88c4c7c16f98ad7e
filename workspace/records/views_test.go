package records_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/internal/elastic/elastictest"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/postgres"
	"atlas/workspace/views"
)

// contactsWorld has contacts. Every third one has a project. Names and dates repeat, so
// that sorts have ties.
func contactsWorld(t *testing.T, n int) *searchtest.World {
	t.Helper()
	data := searchtest.NewWorld()
	for i := 1; i <= n; i++ {
		data.Add(searchtest.Record(t, catalog.Contacts, fmt.Sprintf(
			`{"id":%q,"name":"Person %d","title":"T","email":"p%d@x.example","city":"C%d","created_at":"2024-01-%02d"}`,
			searchtest.ID("c", i), i%7, i, i%2, 1+i%5)))
		if i%3 == 0 {
			data.Add(searchtest.Record(t, catalog.Projects, fmt.Sprintf(
				`{"id":%q,"name":"P","contact_ids":[%q]}`, searchtest.ID("p", i), searchtest.ID("c", i))))
		}
	}
	return data
}

// TestBrowsingContacts checks that a Dynamic contact View shows the contacts of
// projects and those that the workspace holds.
func TestBrowsingContacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contactsWorld(t, 9))
	live, list := w.view(catalog.Contacts, everything), w.view(catalog.Contacts, "")
	id := func(n int) string { return searchtest.ID("c", n) }
	check := func(what string, want ...string) {
		t.Helper()
		got := slices.Sorted(slices.Values(w.found(live, `{}`)))
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if total := w.rows(live, `{"limit":1}`).Total; total != len(want) {
			t.Errorf("%s: a total of %d, want %d", what, total, len(want))
		}
	}
	check("of a project", "$c3", "$c6", "$c9")
	if err := w.tryAdd(list, id(1))[0]; fault.CodeOf(err) != fault.RecordNotVisible {
		t.Errorf("a contact that is not visible is added: %v", err)
	}
	if err := w.tryAdd(list, id(77))[0]; fault.CodeOf(err) != fault.RecordNotFound {
		t.Errorf("an unknown contact is added: %v", err)
	}
	check("after they were refused", "$c3", "$c6", "$c9")
	w.annotate(catalog.Contacts, id(1), `{"tags":["vip"]}`)
	check("and in the book", "$c1", "$c3", "$c6", "$c9")
	w.add(list, id(1), id(3))
	check("and in a list", "$c1", "$c3", "$c6", "$c9")
	fatal(t, w.book.Delete(t.Context(), w.in, catalog.Contacts, uuids([]string{id(1)})))
	check("the list alone is left", "$c1", "$c3", "$c6", "$c9")
	fatal(t, w.members.Remove(t.Context(), w.in, list.ID, uuids([]string{id(1)})))
	check("nothing is left", "$c3", "$c6", "$c9")
	w.annotate(catalog.Contacts, id(1), `{}`)
	w.add(list, id(1))
	fatal(t, w.book.Delete(t.Context(), w.in, catalog.Contacts, uuids([]string{id(1)})))
	check("again", "$c1", "$c3", "$c6", "$c9")
	fatal(t, w.views.Delete(t.Context(), w.in, list.ID))
	check("its View is deleted, and nothing is projected yet", "$c3", "$c6", "$c9")
	another := w.view(catalog.Contacts, "")
	w.annotate(catalog.Contacts, id(4), `{}`)
	w.add(another, id(4))
	fatal(t, w.book.Delete(t.Context(), w.in, catalog.Contacts, uuids([]string{id(4)})))
	check("another View holds another contact", "$c3", "$c4", "$c6", "$c9")
	fatal(t, w.projector.SweepOnce(t.Context()))
	f, err := w.store.HeldFreshness(t.Context(), w.in, catalog.Contacts)
	fatal(t, err)
	if f.ViewDeleted {
		t.Error("all is projected, but documents are said to name deleted Views")
	}
	check("it is projected", "$c3", "$c4", "$c6", "$c9")

	other := w.in
	w.in = w.workspace("Two")
	foreign := w.view(catalog.Contacts, everything)
	if got := slices.Sorted(slices.Values(w.found(foreign, `{}`))); !slices.Equal(got, []string{"$c3", "$c6", "$c9"}) {
		t.Errorf("another workspace sees %v", got)
	}
	w.in = other
}

// TestTwoSearchesAreOneList pages through linked and held contacts, by every sort,
// in pages of several sizes and by offset.
func TestTwoSearchesAreOneList(t *testing.T) {
	t.Parallel()
	const n = 120
	data := contactsWorld(t, n)
	w := newWorld(t, data)
	live, list := w.view(catalog.Contacts, everything), w.view(catalog.Contacts, "")
	visible := map[string]bool{}
	for i := 1; i <= n; i++ {
		id := searchtest.ID("c", i)
		switch {
		case i%12 == 0:
			w.annotate(catalog.Contacts, id, `{}`) // linked and held
		case i%3 == 0: // linked
		case i%2 == 0:
			w.annotate(catalog.Contacts, id, `{"notes":"n"}`) // held
			w.add(list, id)
			if i%4 == 0 {
				fatal(t, w.book.Delete(t.Context(), w.in, catalog.Contacts, uuids([]string{id})))
			}
		default:
			continue
		}
		visible[id] = true
	}
	type key struct {
		Name    string `json:"name"`
		Created string `json:"created_at"`
		ID      string `json:"id"`
		Linked  int    `json:"projects_count"`
	}
	var all []key
	for _, r := range data.Records(catalog.Contacts) {
		if visible[r.ID()] {
			var k key
			fatal(t, json.Unmarshal(r.AppendPublic(nil), &k))
			all = append(all, k)
		}
	}
	for field, compare := range map[string]func(a, b key) int{
		"name":           func(a, b key) int { return cmp.Compare(a.Name, b.Name) },
		"created_at":     func(a, b key) int { return cmp.Compare(a.Created, b.Created) },
		"projects_count": func(a, b key) int { return cmp.Compare(a.Linked, b.Linked) },
	} {
		for _, order := range []string{"asc", "desc"} {
			sign := map[string]int{"asc": 1, "desc": -1}[order]
			slices.SortFunc(all, func(a, b key) int { return cmp.Or(sign*compare(a, b), cmp.Compare(a.ID, b.ID)) })
			want := make([]string, len(all))
			for i, k := range all {
				want[i] = k.ID
			}
			sort := fmt.Sprintf(`{"sort":{"field":%q,"order":%q}}`, field, order)
			for _, walk := range []struct{ limit, seek int }{{7, 0}, {7, 1}, {100, 0}} {
				w.engine.SeekRows = walk.seek
				got := searchtest.Walk(t, catalog.Contacts, []byte(sort), walk.limit, len(want), w.inView(live, nil))
				if diff := gocmp.Diff(searchtest.Short(want), searchtest.Short(got)); diff != "" {
					t.Fatalf("%s %s by %+v (-want +got):\n%s", field, order, walk, diff)
				}
			}
			for _, offset := range []int{1, 13, len(want) - 2, len(want), len(want) + 5, 10_000} {
				body := fmt.Sprintf(`{"limit":5,"offset":%d,"sort":{"field":%q,"order":%q}}`, offset, field, order)
				from, to := min(offset, len(want)), min(offset+5, len(want))
				if diff := gocmp.Diff(searchtest.Short(want[from:to]), w.found(live, body)); diff != "" {
					t.Fatalf("%s (-want +got):\n%s", body, diff)
				}
				p := w.rows(live, body)
				if p.Total != len(want) || (p.Next == "") != (offset+5 >= len(want)) {
					t.Errorf("%s: total %d, cursor %q", body, p.Total, p.Next)
				}
			}
		}
	}
}

func TestRowsOfViews(t *testing.T) {
	t.Parallel()
	f := searchtest.Read(t, "../../search/testdata/cases.yaml")
	w := newWorld(t, f.World)
	accounts := w.view(catalog.Accounts, `{"version":1,"q":"","fields":{"city":["Calgary"]}}`)
	w.annotate(catalog.Accounts, searchtest.ID("a", 2), `{"workspace_status":"won","tags":["x"],"icp_tier":"disqualified"}`)
	want := []map[string]any{
		{
			"id": searchtest.ID("a", 1), "name": "Acme Builders", "account_types": []any{"general_contractor", "developer"},
			"icp_tier": nil, "atlas_score": nil, "workspace_status": nil, "tags": nil, "updated_at": nil,
		},
		{
			"id": searchtest.ID("a", 2), "name": "ACME BUILDERS", "account_types": []any{"owner"},
			"icp_tier": "disqualified", "atlas_score": 0.0, "workspace_status": "won", "tags": []any{"x"}, "updated_at": "",
		},
	}
	for _, f := range catalog.RowFields(catalog.Accounts, catalog.ViewRow) {
		for _, row := range want {
			if _, known := row[f.Name]; !known {
				row[f.Name] = nil
			}
		}
	}
	got := rowsOf(t, w.rows(accounts, `{}`).Rows)
	for _, row := range got {
		if at, ok := row["updated_at"].(string); ok {
			if _, err := time.Parse(workspace.TimeFormat, at); err != nil {
				t.Error(err)
			}
			row["updated_at"] = ""
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	// An overlay condition, in the request or the definition, only matches in the
	// book.
	for _, body := range []string{
		`{"filters":{"workspace_status":{"value":"WON"}}}`, `{"filters":{"tags":{"value":["y","X"]}}}`,
		`{"filters":{"icp_tier":{"value":"disqualified"}}}`, `{"filters":{"atlas_score":{"value":[null,100]}}}`,
		`{"filters":{"updated_at":{"value":["2024-01-01",null]}}}`,
	} {
		if got := w.found(accounts, body); !slices.Equal(got, []string{"$a2"}) {
			t.Errorf("%s finds %v", body, got)
		}
	}
	for definition, want := range map[string][]string{
		`{"version":1,"q":"","fields":{"icp_tier":["disqualified","tier_1"]}}`:       {"$a2"},
		`{"version":1,"q":"","fields":{"atlas_score":{"min":"0"}}}`:                  {"$a2"},
		`{"version":1,"q":"","fields":{"atlas_score":{"min":"1"}}}`:                  nil,
		`{"version":1,"q":"eclair","fields":{"icp_tier":["disqualified","tier_1"]}}`: nil,
	} {
		v := w.view(catalog.Accounts, definition)
		if got := w.found(v, `{}`); !slices.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", definition, got, want)
		}
	}
	list := w.view(catalog.Accounts, "")
	w.add(list, searchtest.ID("a", 1), searchtest.ID("a", 2), searchtest.ID("a", 3))
	if got := w.found(list, `{"filters":{"tags":{"value":"x"}}}`); !slices.Equal(got, []string{"$a2"}) {
		t.Errorf("a list narrowed by a tag: %v", got)
	}
	if got := w.found(list, `{"query":"acme","relations":{"has_contact":{}}}`); !slices.Equal(got, []string{"$a1"}) {
		t.Errorf("a list narrowed by a relation: %v", got)
	}
	if got := w.found(w.view(catalog.Accounts, ""), `{}`); len(got) > 0 {
		t.Errorf("an empty list has %v", got)
	}
	projects, contacts := w.view(catalog.Projects, ""), w.view(catalog.Contacts, `{"version":1,"q":"dupre","fields":{}}`)
	w.add(projects, searchtest.ID("p", 2))
	for d, v := range map[catalog.Dataset]views.View{catalog.Projects: projects, catalog.Contacts: contacts} {
		wantRow(t, w.rows(v, `{}`).Rows[0], strings.Join(catalog.Names(catalog.RowFields(d, catalog.ViewRow)), " "))
	}
}

func rowsOf[T ~[]byte](t *testing.T, rows []T) []map[string]any {
	t.Helper()
	all := make([]map[string]any, len(rows))
	for i, r := range rows {
		fatal(t, json.Unmarshal(r, &all[i]))
	}
	return all
}

// wantRow compares the names of a row's members, in order.
func wantRow(t *testing.T, row []byte, want string) {
	t.Helper()
	names := ""
	v := valueOf(t, string(row))
	for i, m := range v.Members {
		if i > 0 {
			names += " "
		}
		names += m.Name
	}
	if names != want {
		t.Errorf("a row has %s, want %s", names, want)
	}
}

// TestWhatIsWrittenIsRead checks that a search sees all writes that were answered
// before it, also during other writes.
func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contactsWorld(t, 60))
	list := w.view(catalog.Contacts, "")
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := 3 + 3*worker; i <= 60; i += 12 {
				id := searchtest.ID("c", i)
				outcomes, err := w.members.Add(t.Context(), w.in, list.ID, uuids([]string{id}))
				if err != nil || outcomes[0] != nil {
					t.Error(err, outcomes)
					return
				}
				body := fmt.Sprintf(`{"limit":100,"filters":{"email":{"value":"p%d@x.example","exact_match":true}}}`, i)
				if p, err := w.inView(list, nil)(t.Context(), catalog.Contacts, []byte(body)); err != nil ||
					!slices.Equal(p.IDs, []string{id}) {
					t.Errorf("after %d was added: %v, %v", i, searchtest.Short(p.IDs), err)
				}
				if i%2 == 0 {
					continue
				}
				if err := w.members.Remove(t.Context(), w.in, list.ID, uuids([]string{id})); err != nil {
					t.Error(err)
				}
				if p, err := w.inView(list, nil)(t.Context(), catalog.Contacts, []byte(body)); err != nil || len(p.IDs) > 0 {
					t.Errorf("after %d was removed: %v, %v", i, searchtest.Short(p.IDs), err)
				}
			}
		})
	}
	group.Wait()
	v, err := w.views.Get(t.Context(), w.in, list.ID, workspace.UserID{})
	fatal(t, err)
	if got := w.found(list, `{"limit":100}`); len(got) != v.Records || v.Records != 10 {
		t.Errorf("%d records are found, %d counted, want 10", len(got), v.Records)
	}
}

// TestALongListEndsOnce pages through more records than the highest total.
func TestALongListEndsOnce(t *testing.T) {
	t.Parallel()
	const n = 1_150
	data := searchtest.NewWorld()
	for i := 1; i <= n; i++ {
		data.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Firm %d"}`, searchtest.ID("a", i), i%50)))
	}
	w := newWorld(t, data)
	list := w.view(catalog.Accounts, "")
	for part := range slices.Chunk(idsOf(data, catalog.Accounts), 100) {
		w.add(list, part...)
	}
	got := searchtest.Walk(t, catalog.Accounts, []byte(`{}`), 90, n, w.inView(list, nil))
	slices.Sort(got)
	if len(got) != n || len(slices.Compact(got)) != n {
		t.Errorf("%d rows, %d different", len(got), len(slices.Compact(got)))
	}
	if p := w.rows(list, `{"limit":1}`); p.Total != 1_000 || !p.Capped {
		t.Errorf("total %d, capped %v", p.Total, p.Capped)
	}
}

// TestARecordThatIsGone checks that a record is not found or counted while it is not
// in the global dataset. Its membership and overlay stay.
func TestARecordThatIsGone(t *testing.T) {
	t.Parallel()
	data := searchtest.NewWorld()
	for i := 1; i <= 2; i++ {
		data.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Firm %d"}`, searchtest.ID("a", i), i)))
	}
	w := newWorld(t, data)
	list := w.view(catalog.Accounts, "")
	ids := idsOf(data, catalog.Accounts)
	w.add(list, ids...)
	w.annotate(catalog.Accounts, ids[0], `{"tags":["kept"]}`)
	check := func(what string, want ...string) {
		t.Helper()
		fatal(t, w.store.BumpHeld(t.Context(), w.in, catalog.Accounts, uuids(ids)))
		fatal(t, w.projector.SweepOnce(t.Context()))
		if got := w.found(list, `{}`); !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", what, got, want)
		}
		v, err := w.views.Get(t.Context(), w.in, list.ID, workspace.UserID{})
		fatal(t, err)
		if v.Records != len(want) {
			t.Errorf("%s: %d records counted, want %d", what, v.Records, len(want))
		}
	}
	check("both there", "$a1", "$a2")
	documents := data.Documents()[catalog.Accounts]
	_, err := w.indices.Client.Do(t.Context(), elastictest.Request{
		Method: http.MethodDelete, Path: "/" + w.indices.Names.Alias("accounts") + "/_doc/" + ids[0],
	})
	fatal(t, err)
	w.indices.Refresh(t)
	check("one gone", "$a2")
	if err := w.tryAdd(list, ids[0])[0]; fault.CodeOf(err) != fault.RecordNotFound {
		t.Errorf("a record that is gone is added: %v", err)
	}
	w.indices.Put(t, catalog.Accounts, documents[0])
	w.indices.Refresh(t)
	check("back again", "$a1", "$a2")
	if got := w.found(list, `{"filters":{"tags":{"value":"kept"}}}`); !slices.Equal(got, []string{"$a1"}) {
		t.Errorf("its overlay finds %v", got)
	}
}

// overlaysAfter calls a function before it reads overlays.
type overlaysAfter struct {
	store *postgres.Store
	first func()
}

func (o overlaysAfter) Overlays(
	ctx context.Context, in workspace.ID, d catalog.Dataset, ids []uuid.UUID,
) (map[uuid.UUID]book.Overlay, error) {
	o.first()
	return o.store.Overlays(ctx, in, d, ids)
}

// TestARowThatLeavesTheBook leaves the book during the search. A search of the book
// leaves it out; others show it without an overlay.
func TestARowThatLeavesTheBook(t *testing.T) {
	t.Parallel()
	f := searchtest.Read(t, "../../search/testdata/cases.yaml")
	w := newWorld(t, f.World)
	live := w.view(catalog.Accounts, everything)
	stays, leaves := searchtest.ID("a", 2), searchtest.ID("a", 1)
	r := w.Records
	r.Overlays = overlaysAfter{w.store, func() {
		fatal(t, w.book.Delete(t.Context(), w.in, catalog.Accounts, uuids([]string{leaves})))
	}}
	for name, want := range map[string][]string{
		"book": {"$a2"}, `{"limit":2,"filters":{"tags":{"value":"x"}}}`: {"$a2"}, `{"limit":2,"query":"acme"}`: {"$a1", "$a2"},
	} {
		w.annotate(catalog.Accounts, leaves, `{"tags":["x"]}`)
		w.annotate(catalog.Accounts, stays, `{"tags":["x"]}`)
		w.annotate(catalog.Accounts, searchtest.ID("a", 3), `{"tags":["x"]}`)
		search := w.entrance(
			catalog.View,
			nil,
			func(ctx context.Context, q query.Query) (query.Page, error) { return r.SearchView(ctx, live, q) },
		)
		body := name
		if name == "book" {
			body = `{"limit":2}`
			search = w.entrance(
				catalog.Book,
				nil,
				func(ctx context.Context, q query.Query) (query.Page, error) { return r.SearchBook(ctx, w.in, q) },
			)
		}
		p, err := search(t.Context(), catalog.Accounts, []byte(body))
		fatal(t, err)
		if got := searchtest.Short(p.IDs); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if third := name != `{"limit":2,"query":"acme"}`; (p.Next != "") != third {
			t.Errorf("%s: cursor %q", name, p.Next)
		}
	}
}
