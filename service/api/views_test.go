package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/devstack/backends"
	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// viewWorld is a world with Views, the callers of one workspace, and viewRecords unless
// others are given.
type viewWorld struct {
	*world
	member, admin, key, reader, stranger string
	in                                   string // workspace_id=…
}

func newViewWorld(t *testing.T) *viewWorld {
	t.Helper()
	return newWorld(t).withViews(t)
}

// viewRecords are three accounts, three contacts, and a project.
func viewRecords(t testing.TB) *searchtest.World {
	t.Helper()
	data := searchtest.NewWorld()
	for i := range 3 {
		data.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Firm %d"}`, searchtest.ID("a", i+1), i+1)),
			searchtest.Record(t, catalog.Contacts, fmt.Sprintf(`{"id":%q,"name":"Person %d"}`, searchtest.ID("c", i+1), i+1)))
	}
	data.Add(searchtest.Record(
		t, catalog.Projects,
		fmt.Sprintf(`{"id":%q,"name":"P","city":"Red Deer","state":"AB","contact_ids":[%q]}`, searchtest.ID("p", 1), searchtest.ID("c", 1)),
	))
	return data
}

// withViews makes a viewWorld. With records it has those and global indices of its own.
func (w *world) withViews(t *testing.T, records ...*searchtest.World) *viewWorld {
	t.Helper()
	if len(records) == 0 {
		w.globals(t, viewIndices.Indices(t, backends.Elasticsearch(t)))
	}
	for _, r := range records {
		w.load(t, r)
	}
	w.holds(t)
	ws, other := w.workspace(t, "One", workspace.Pro, 0), w.workspace(t, "Two", workspace.Pro, 0)
	text := func(n people.NewKey) string { _, text := w.key(t, n); return text }
	return &viewWorld{
		world:    w,
		member:   tokenFor(t, w.member(t, ws, "member@one.example", people.MemberRole)),
		admin:    tokenFor(t, w.member(t, ws, "admin@one.example", people.Admin)),
		key:      text(people.NewKey{Workspaces: []workspace.ID{ws}}),
		reader:   text(people.NewKey{Workspaces: []workspace.ID{ws}, Scopes: []workspace.Scope{workspace.DataRead}}),
		stranger: text(people.NewKey{Workspaces: []workspace.ID{other}}),
		in:       "workspace_id=" + ws.String(),
	}
}

type shownView struct {
	ID, Dataset, Name string
	ViewType          string `json:"view_type"`
	WorkspaceID       string `json:"workspace_id"`
	Definition        json.RawMessage
	Revision          int
	CreatedBy         *string `json:"created_by"`
	UpdatedBy         *string `json:"updated_by"`
	Favorite          bool    `json:"is_favorite"`
	Position          *int    `json:"favorite_position"`
	Records           *int    `json:"record_count"`
}

func (w *viewWorld) create(t *testing.T, token, body string) shownView {
	t.Helper()
	var data struct{ View shownView }
	w.call(t, token, "POST", "/workspace/views/upsert", body).into(t, &data, nil)
	return data.View
}

func viewBody(dataset, kind, name string) string {
	definition := ""
	if kind == "dynamic" {
		definition = `,"definition":{"version":1,"q":"","fields":{}}`
	}
	return fmt.Sprintf(`{"dataset":%q,"view_type":%q,"name":%q%s}`, dataset, kind, name, definition)
}

func TestViewsOverHTTP(t *testing.T) {
	t.Parallel()
	w := newViewWorld(t)
	mine := w.create(
		t,
		w.member,
		`{"dataset":"project","view_type":"dynamic","name":"Mine","definition":{"version":1,"q":" x ","fields":{"sqft":{"min":"5"}}}}`,
	)
	if mine.CreatedBy == nil || mine.Revision != 1 || mine.Favorite || mine.Records != nil || "workspace_id="+mine.WorkspaceID != w.in ||
		string(mine.Definition) != `{"version":1,"q":"x","fields":{"sqft":{"min":"5"}}}` {
		t.Errorf("created: %+v %s", mine, mine.Definition)
	}
	keys := w.create(t, w.key, viewBody("account", "static", "Ours"))
	if keys.CreatedBy != nil || keys.UpdatedBy != nil || keys.Records == nil || *keys.Records != 0 {
		t.Errorf("a key's: %+v", keys)
	}
	var got struct{ View shownView }
	var credits struct{ Credits *int }
	w.call(t, w.admin, "GET", "/workspace/views/"+strings.ToUpper(mine.ID), "").into(t, &got, &credits)
	if diff := cmp.Diff(mine, got.View); diff != "" || credits.Credits == nil || *credits.Credits != 0 {
		t.Errorf("an admin sees another View, or pays %v (-member +admin):\n%s", credits.Credits, diff)
	}
	for token, want := range map[string]int{w.member: 200, w.admin: 200, w.key: 200, w.reader: 403, w.stranger: 404} {
		if a := w.call(t, token, "GET", "/workspace/views/"+mine.ID, ""); a.status != want {
			t.Errorf("%d, want %d: %s", a.status, want, a.text)
		}
	}
	var listed struct{ Views []shownView }
	var page map[string]int
	w.call(t, w.member, "GET", "/workspace/views?limit=1&offset=1&"+w.in, "").into(t, &listed, &page)
	if diff := cmp.Diff(map[string]int{"limit": 1, "offset": 1, "credits": 0}, page); diff != "" || len(listed.Views) != 1 ||
		listed.Views[0].Name != "Ours" {
		t.Errorf("a page of the list: %+v (-want +got):\n%s", listed, diff)
	}
	for path, want := range map[string]verdict{
		"?" + w.in: fine, "": badRequest, "?favorite_only=true&" + w.in: fine,
		"?query=&" + w.in: invalid, "?dataset=accounts&" + w.in: invalid, "?view_type=live&" + w.in: invalid, "?id=x&" + w.in: invalid,
		"?favorite_only=yes&" + w.in: invalid, "?limit=0&" + w.in: invalid, "?limit=101&" + w.in: invalid, "?offset=-1&" + w.in: invalid,
		"?dataset=account&dataset=contact&" + w.in: invalid, "?query=%00&" + w.in: invalid,
		"?query=" + strings.Repeat("x", 501) + "&" + w.in: invalid,
		"?id=" + unknownID + "&" + w.in:                   fine, "?record_id=" + unknownID + "&" + w.in: fine, "?record_id=x&" + w.in: invalid,
	} {
		if a := w.call(t, w.member, "GET", "/workspace/views"+path, ""); (verdict{a.status, a.code()}) != want {
			t.Errorf("a member's list%s: %d %s", path, a.status, a.text)
		}
	}
	for path, want := range map[string]verdict{
		"": fine, "?favorite_only=false": fine, "?favorite_only=true": notAUser,
		"?favorite_only=true&limit=x": notAUser,
	} {
		if a := w.call(t, w.key, "GET", "/workspace/views"+path, ""); (verdict{a.status, a.code()}) != want {
			t.Errorf("a key's list%s: %d %s", path, a.status, a.text)
		}
	}
	if a := w.call(t, w.reader, "GET", "/workspace/views?favorite_only=true", ""); a.code() != "user_identity_required" {
		t.Errorf("who is asked for comes before what they may: %s", a.text)
	}
	for body, want := range map[string]verdict{
		`[]`: invalid, `{"x":1}`: invalid, viewBody("accounts", "static", "x"): invalid,
		viewBody("account", "static", "ÖURS"):                                                          {409, "view_name_conflict"},
		`{"dataset":"account","view_type":"static","name":"z","definition":{"filters":{}}}`:            {400, "invalid_view_definition"},
		`{"dataset":"account","view_type":"static","name":"z","definition":null}`:                      {400, "invalid_view_definition"},
		`{"dataset":"account","view_type":"static","name":"z","definition":{"version":1,"version":1}}`: invalid,
		`{"dataset":"account","view_type":"dynamic","name":"z","definition":{"version":1}}`:            {400, "invalid_view_definition"},
		`{"dataset":"account","view_type":"dynamic","name":"","definition":{"version":1}}`:             invalid,
		`{"id":"` + unknownID + `","definition":{"version":7}}`:                                        noView,
		`{"id":"` + unknownID + `","revision":-1}`:                                                     invalid,
		`{"id":"` + mine.ID + `","dataset":"contact","definition":7}`:                                  {400, "view_immutable_field"},
		`{"id":"` + mine.ID + `","revision":5,"definition":7}`:                                         {400, "invalid_view_definition"},
		`{"id":"` + mine.ID + `","revision":5}`:                                                        {409, "revision_conflict"},
		`{"id":"` + mine.ID + `","name":"Mine","revision":1}`:                                          fine,
	} {
		if a := w.call(t, w.member, "POST", "/workspace/views/upsert", body); (verdict{a.status, a.code()}) != want {
			t.Errorf("%s: %d %s", body, a.status, a.text)
		}
	}
	if a := w.call(t, w.stranger, "POST", "/workspace/views/upsert", `{"id":"`+mine.ID+`","name":"taken"}`); a.code() != "view_not_found" {
		t.Errorf("a stranger changes a View: %s", a.text)
	}
	for _, want := range []verdict{fine, noView} {
		if a := w.call(t, w.key, "DELETE", "/workspace/views/"+mine.ID, ""); (verdict{a.status, a.code()}) != want {
			t.Errorf("deleting: %d %s", a.status, a.text)
		}
	}
}

// item is a result of a batch.
type item struct {
	Index  int
	ViewID string `json:"view_id"`
	Record string `json:"record_id"`
	Status string
	Error  *struct {
		Code    string
		Message string
		Issues  []json.RawMessage
	}
	Data *struct{ View shownView }
}

type batch struct {
	ViewID  string `json:"view_id"`
	Results []item
}

// results sends a batch and returns the status of each item. Inconsistent items are
// test errors.
func (w *viewWorld) results(t *testing.T, token, path, body string) (short []string, all batch) {
	t.Helper()
	var m map[string]int
	w.call(t, token, "POST", path, body).into(t, &all, &m)
	good := 0
	for i, r := range all.Results {
		if r.Index != i || (r.Status == "ok") != (r.Error == nil) || r.Error != nil && (r.Error.Code != r.Status || r.Error.Message == "") {
			t.Errorf("item %d: %+v", i, r)
		}
		if r.Status == "ok" {
			good++
		}
		short = append(short, r.Status)
	}
	if diff := cmp.Diff(map[string]int{"credits": 0, "succeeded": good, "failed": len(short) - good}, m); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	return short, all
}

func TestBatchesOfViews(t *testing.T) {
	t.Parallel()
	w := newViewWorld(t)
	short, all := w.results(t, w.member, "/workspace/views/upsert/batch", `{"inputs":[`+strings.Join([]string{
		viewBody("account", "static", "A"), viewBody("account", "static", "Á"), `{"dataset":"x","name":1}`, `7`,
		`{"dataset":"account","view_type":"dynamic","name":"B","definition":{}}`, `{"id":"` + unknownID + `","name":"C"}`,
		viewBody("contact", "dynamic", "A"), `{"id":"` + unknownID + `","revision":0}`,
	}, ",")+`]}`)
	want := []string{
		"ok", "view_name_conflict", "invalid_input", "invalid_input", "invalid_view_definition", "view_not_found", "ok",
		"invalid_input",
	}
	if diff := cmp.Diff(want, short); diff != "" {
		t.Errorf("upserts (-want +got):\n%s", diff)
	}
	r := all.Results
	if r[0].Data == nil || r[0].Data.View.ID != r[0].ViewID || r[5].ViewID != unknownID || r[7].ViewID != unknownID ||
		len(r[2].Error.Issues) != 3 || r[1].Data != nil {
		t.Errorf("results: %+v", r)
	}
	// The number of JSON problems does not matter: they are errors of their items.
	twice := strings.Repeat(`{"name":"x","name":"y"},`, 99)
	short, _ = w.results(t, w.member, "/workspace/views/upsert/batch", `{"inputs":[`+twice+viewBody("project", "static", "Good")+`]}`)
	if len(short) != 100 || short[0] != "invalid_input" || short[98] != "invalid_input" || short[99] != "ok" {
		t.Errorf("99 items with a key given twice, and a good one: %v", short)
	}
	short, all = w.results(
		t, w.key, "/workspace/views/delete/batch",
		fmt.Sprintf(`{"ids":[%q,%q,"x",%q]}`, r[0].ViewID, r[0].ViewID, r[6].ViewID),
	)
	if diff := cmp.Diff([]string{"ok", "view_not_found", "invalid_input", "ok"}, short); diff != "" ||
		all.Results[0].Data != nil || all.Results[0].ViewID != r[0].ViewID {
		t.Errorf("deletions: %+v (-want +got):\n%s", all, diff)
	}
	many := strings.TrimSuffix(strings.Repeat(`"x",`, 101), ",")
	for _, body := range []string{`{}`, `{"ids":[]}`, `{"ids":[` + many + `]}`, `{"ids":"x"}`, `{"ids":["x"],"y":1}`} {
		if a := w.call(t, w.key, "POST", "/workspace/views/delete/batch", body); a.code() != "validation" {
			t.Errorf("%.50s: %d %s", body, a.status, a.text)
		}
	}
}

func TestRecordsOfViewsOverHTTP(t *testing.T) {
	t.Parallel()
	w := newViewWorld(t)
	people, firms := w.create(
		t, w.member, viewBody("contact", "static", "People"),
	), w.create(t, w.key, viewBody("account", "dynamic", "Firms"))
	path := "/workspace/views/" + people.ID + "/records/"
	id := func(n int) string { return searchtest.ID("c", n) }
	var one batch
	var m map[string]int
	w.call(t, w.key, "POST", path+"add", `{"record_id":"`+id(1)+`"}`).into(t, &one, &m)
	want := batch{ViewID: people.ID, Results: []item{{Record: id(1), Status: "ok"}}}
	if diff := cmp.Diff(want, one); diff != "" || m["succeeded"] != 1 {
		t.Errorf("one added: %v (-want +got):\n%s", m, diff)
	}
	w.call(t, w.member, "POST", path+"add", `{"record_id":"`+id(2)+`"}`).into(t, &one, &m)
	if one.Results[0].Status != "record_not_visible" || m["failed"] != 1 {
		t.Errorf("one refused: %+v, %v", one, m)
	}
	short, all := w.results(t, w.member, path+"add/batch", fmt.Sprintf(
		`{"inputs":[{"record_id":%q},{"record_id":%q},{"record_id":%q},{"record_id":"x"},{},{"record_id":%q}]}`,
		id(1),
		id(2),
		id(9),
		searchtest.ID("a", 1),
	))
	if diff := cmp.Diff(
		[]string{"ok", "record_not_visible", "record_not_found", "invalid_input", "invalid_input", "record_not_found"},
		short,
	); diff != "" ||
		all.ViewID != people.ID {
		t.Errorf("a batch (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		method, path, body string
		want               verdict
	}{
		{"POST", path + "add", `{}`, invalid},
		{"POST", path + "add", `{"record_id":"x","user_id":1}`, invalid},
		{"POST", "/workspace/views/x/records/add", `{"record_id":"` + id(1) + `"}`, invalid},
		{"POST", "/workspace/views/" + firms.ID + "/records/add", `{"record_id":"` + id(1) + `"}`, verdict{400, "view_type_mismatch"}},
		{"POST", "/workspace/views/" + firms.ID + "/records/add/batch", `{"inputs":[{}]}`, verdict{400, "view_type_mismatch"}},
		{"POST", "/workspace/views/" + firms.ID + "/records/add/batch", `{"inputs":[]}`, invalid},
		{"DELETE", "/workspace/views/" + firms.ID + "/records/" + id(1), "", verdict{400, "view_type_mismatch"}},
		{"POST", "/workspace/views/" + firms.ID + "/records/delete/batch", `{"ids":["x"]}`, verdict{400, "view_type_mismatch"}},
		{"DELETE", path + "x", "", invalid},
		{"POST", path + "search", `{"limit":101}`, invalid},
		{"POST", path + "search", `{"sort":{"field":"updated_at","order":"asc"}}`, invalid},
		{"POST", path + "search", `{"sort":{"field":"relevance","order":"desc"},"query":"x"}`, invalid},
		{"POST", path + "search", `{"filters":{"icp_tier":{"value":"tier_1"}}}`, invalid},
		{"POST", path + "search", `{"search_after":"x"}`, badRequest},
		{"POST", "/workspace/views/" + unknownID + "/records/search", `{"limit":101}`, invalid},
		{"POST", "/workspace/views/" + unknownID + "/records/search", `{"x":1}`, invalid},
		{"POST", "/workspace/views/" + unknownID + "/records/search", `{"filters":{"stage":{"value":"filed"}}}`, noView},
	} {
		if a := w.call(t, w.member, c.method, c.path, c.body); (verdict{a.status, a.code()}) != c.want {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, a.status, a.text)
		}
	}
	search := func(token, view, body string) (rows []map[string]any, m map[string]any) {
		t.Helper()
		var data struct {
			Dataset string
			Records []map[string]any
		}
		a := w.call(t, token, "POST", "/workspace/views/"+view+"/records/search", body)
		a.into(t, &data, &m)
		if charged := a.header.Get("X-Credits-Charged"); charged != fmt.Sprint(len(data.Records)) ||
			m["credits"] != float64(len(data.Records)) {
			t.Errorf("%d rows cost %s, %v", len(data.Records), charged, m["credits"])
		}
		if want := map[string]string{people.ID: "contact", firms.ID: "account"}[view]; data.Dataset != want || data.Records == nil {
			t.Errorf("dataset %q, records %v", data.Dataset, data.Records)
		}
		return data.Records, m
	}
	rows, meta := search(w.key, people.ID, `{}`)
	if diff := cmp.Diff(
		map[string]any{"total": 1.0, "total_is_capped": false, "limit": 25.0, "offset": 0.0, "search_after": nil, "credits": 1.0},
		meta,
	); diff != "" ||
		len(rows) != 1 || rows[0]["id"] != id(1) {
		t.Errorf("a list's rows: %v (-want +got):\n%s", rows, diff)
	}
	if rows, meta := search(w.member, firms.ID, `{"limit":2}`); len(rows) != 2 || meta["search_after"] == nil || meta["total"] != 3.0 {
		t.Errorf("a live View's rows: %v, %v", rows, meta)
	}
	if rows, _ := search(w.member, people.ID, `{"query":"nobody"}`); len(rows) != 0 {
		t.Errorf("nobody is found: %v", rows)
	}
	if a := w.call(t, w.stranger, "POST", path+"search", `{}`); a.code() != "view_not_found" {
		t.Errorf("a stranger searches: %s", a.text)
	}
	if a := w.call(t, w.stranger, "POST", path+"add", `{"record_id":"`+id(1)+`"}`); a.code() != "view_not_found" {
		t.Errorf("a stranger adds: %s", a.text)
	}
	var usage struct {
		Tools map[string]int `json:"by_tool"`
	}
	w.call(t, w.member, "GET", "/data/usage?"+w.in, "").into(t, &usage, nil)
	if diff := cmp.Diff(map[string]int{"search_view_records": 3}, usage.Tools); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	w.call(t, w.member, "DELETE", path+id(1), "").into(t, &one, &m)
	w.call(t, w.member, "DELETE", path+id(1), "").into(t, &one, &m)
	if one.Results[0].Status != "ok" || one.Results[0].Record != id(1) || m["succeeded"] != 1 {
		t.Errorf("removed twice: %+v, %v", one, m)
	}
	short, _ = w.results(t, w.key, path+"delete/batch", `{"ids":["`+id(1)+`","x","`+id(2)+`"]}`)
	if diff := cmp.Diff([]string{"ok", "invalid_input", "ok"}, short); diff != "" {
		t.Errorf("a batch of removals (-want +got):\n%s", diff)
	}
	if rows, _ := search(w.key, people.ID, `{}`); len(rows) != 0 {
		t.Errorf("after the removal: %v", rows)
	}
}

func TestFavoritesOverHTTP(t *testing.T) {
	t.Parallel()
	w := newViewWorld(t)
	var ids []string
	for i := range 4 {
		ids = append(ids, w.create(t, w.key, viewBody("account", "static", fmt.Sprintf("V%d", i))).ID)
	}
	const path = "/workspace/favorite-views"
	order := func(token string) (names []string) {
		t.Helper()
		var data struct{ Views []shownView }
		w.call(t, token, "GET", path+"?"+w.in, "").into(t, &data, nil)
		for i, v := range data.Views {
			if !v.Favorite || v.Position == nil || *v.Position != i || v.Records == nil {
				t.Errorf("at %d: %+v", i, v)
			}
			names = append(names, v.Name)
		}
		return names
	}
	var one struct{ View shownView }
	w.call(t, w.member, "POST", path+"/upsert", `{"view_id":"`+ids[0]+`"}`).into(t, &one, nil)
	if !one.View.Favorite || *one.View.Position != 0 {
		t.Errorf("the first: %+v", one)
	}
	w.call(t, w.member, "POST", path+"/upsert", `{"view_id":"`+ids[1]+`","position":0}`).into(t, &one, nil)
	short, all := w.results(t, w.member, path+"/upsert/batch", fmt.Sprintf(
		`{"inputs":[{"view_id":%q,"position":0},{"view_id":%q},{"view_id":%q},{"view_id":%q,"position":-1},{"view_id":%q,"position":1},{"user_id":%q,"view_id":%q}]}`,
		ids[2],
		ids[3],
		unknownID,
		ids[0],
		ids[2],
		unknownID,
		ids[1],
	))
	if diff := cmp.Diff([]string{"ok", "ok", "view_not_found", "invalid_input", "ok", "invalid_input"}, short); diff != "" {
		t.Errorf("a batch (-want +got):\n%s", diff)
	}
	if r := all.Results; r[0].ViewID != ids[2] || *r[0].Data.View.Position != 1 || *r[4].Data.View.Position != 1 ||
		*r[1].Data.View.Position != 3 || r[2].ViewID != unknownID {
		t.Errorf("results: %+v", r)
	}
	if diff := cmp.Diff([]string{"V1", "V2", "V0", "V3"}, order(w.member)); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
	if others := order(w.admin); len(others) > 0 {
		t.Errorf("an admin has a member's favorites: %v", others)
	}
	w.create(t, w.admin, `{"id":"`+ids[2]+`","name":"Renamed"}`)
	if diff := cmp.Diff([]string{"V1", "Renamed", "V0", "V3"}, order(w.member)); diff != "" {
		t.Errorf("after a rename (-want +got):\n%s", diff)
	}
	for range 2 {
		if a := w.call(t, w.member, "DELETE", path+"/"+ids[1], ""); a.status != 200 || !strings.Contains(a.text, `"deleted":true`) {
			t.Errorf("deleted: %s", a.text)
		}
	}
	w.call(t, w.key, "DELETE", "/workspace/views/"+ids[0], "")
	if diff := cmp.Diff([]string{"Renamed", "V3"}, order(w.member)); diff != "" {
		t.Errorf("after deletions (-want +got):\n%s", diff)
	}
	short, _ = w.results(t, w.member, path+"/delete/batch", fmt.Sprintf(`{"ids":[%q,"x",%q]}`, ids[2], unknownID))
	if diff := cmp.Diff([]string{"ok", "invalid_input", "ok"}, short); diff != "" {
		t.Errorf("a batch of deletions (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		method, path, body string
		want               verdict
	}{
		{"GET", path, "", badRequest},
		{"GET", path + "?limit=101&" + w.in, "", invalid},
		{"GET", path + "?" + url.Values{"offset": {"x"}}.Encode() + "&" + w.in, "", invalid},
		{"POST", path + "/upsert", `{}`, invalid},
		{"POST", path + "/upsert", `{"view_id":"` + ids[3] + `","position":1.5}`, invalid},
		{"POST", path + "/upsert", `{"view_id":"` + ids[3] + `","position":null}`, fine},
		{"POST", path + "/upsert", `{"view_id":"` + ids[3] + `","position":9007199254740991}`, fine},
		{"POST", path + "/upsert", `{"view_id":"` + ids[0] + `"}`, noView},
		{"DELETE", path + "/x", "", invalid},
	} {
		if a := w.call(t, w.member, c.method, c.path, c.body); (verdict{a.status, a.code()}) != c.want {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, a.status, a.text)
		}
		if a := w.call(t, w.key, c.method, c.path, c.body); a.code() != "user_identity_required" {
			t.Errorf("a key, %s %s: %d %s", c.method, c.path, a.status, a.text)
		}
	}
}

// TestFaultsOfPathAndBody: problems of the body are reported together with an invalid id in
// the path.
func TestFaultsOfPathAndBody(t *testing.T) {
	t.Parallel()
	w := newViewWorld(t)
	for _, c := range []struct {
		method, path, body string
		want               []string
	}{
		{"POST", "/workspace/views/x/records/add", `{"record_id":"y"}`, []string{"id", "record_id"}},
		{"POST", "/workspace/views/x/records/add", `{"record_id":1,"more":2}`, []string{"id", "", "record_id"}},
		{"POST", "/workspace/views/x/records/add", `{"record_id":`, []string{"id", ""}},
		{"POST", "/workspace/views/x/records/add/batch", `{"inputs":[],"y":1}`, []string{"id", "", "inputs"}},
		{
			"POST", "/workspace/views/x/records/add/batch", `{"inputs":[{"record_id":"y"},{}]}`,
			[]string{"id", "inputs/0/record_id", "inputs/1/record_id"},
		},
		{"POST", "/workspace/views/x/records/add/batch", `{`, []string{"id", ""}},
		{"POST", "/workspace/views/x/records/delete/batch", `{"ids":"y"}`, []string{"id", "ids"}},
		{"POST", "/workspace/views/x/records/delete/batch", `{"ids":["` + unknownID + `","y"]}`, []string{"id", "ids/1"}},
		{"POST", "/workspace/views/x/records/search", `{"limit":101,"z":1}`, []string{"id", "", "limit"}},
		{"POST", "/workspace/views/x/records/search", `{"limit":`, []string{"id", ""}},
		{"POST", "/workspace/views/x/records/search", `{}`, []string{"id"}},
		{"PATCH", "/workspace/members/x", `{"role":"boss"}`, []string{"userId", "role"}},
		{"PATCH", "/workspace/members/x", `{"role"`, []string{"userId", ""}},
	} {
		a := w.call(t, w.admin, c.method, c.path, c.body)
		var shown struct {
			Error struct{ Issues []struct{ Path []string } }
		}
		fatal(t, json.Unmarshal([]byte(a.text), &shown))
		var paths []string
		for _, issue := range shown.Error.Issues {
			paths = append(paths, strings.Join(issue.Path, "/"))
		}
		slices.Sort(paths)
		slices.Sort(c.want)
		if diff := cmp.Diff(c.want, paths); diff != "" || a.status != 400 {
			t.Errorf("%s %s: %d (-want +got):\n%s", c.path, c.body, a.status, diff)
		}
	}
}

// TestCursorsBeforeTheView: a cursor that no search of the View can have issued is
// refused before the View is read. A genuine one is not.
func TestCursorsBeforeTheView(t *testing.T) {
	t.Parallel()
	w := newViewWorld(t)
	firms, people := w.create(t, w.key, viewBody("account", "dynamic", "Firms")).ID, w.create(
		t, w.key, viewBody("contact", "dynamic", "People"),
	).ID
	search := func(view, body string) answer {
		return w.call(t, w.key, "POST", "/workspace/views/"+view+"/records/search", body)
	}
	cursor := func(view, body string) string {
		var m struct {
			SearchAfter string `json:"search_after"`
		}
		search(view, body).into(t, &struct{}{}, &m)
		return m.SearchAfter
	}
	next, sorted := cursor(firms, `{"limit":1}`), cursor(firms, `{"limit":1,"sort":{"field":"created_at","order":"desc"}}`)
	with := func(cursor string) string { return fmt.Sprintf(`{"search_after":%q}`, cursor) }
	w.call(t, w.key, "DELETE", "/workspace/views/"+firms, "")
	for body, want := range map[string]verdict{
		with("garbage"): badRequest, with(next[:len(next)-2]): badRequest, with("A" + next[1:]): badRequest, with(sorted): badRequest,
		with(""): badRequest, `{"search_after":"garbage","limit":0}`: invalid, `{"search_after":7}`: invalid,
		with(next): noView, `{"search_after":"` + sorted + `","sort":{"field":"created_at","order":"desc"}}`: noView,
	} {
		if a := search(firms, body); (verdict{a.status, a.code()}) != want {
			t.Errorf("%s in a View that is gone: %d %s", body, a.status, a.text)
		}
	}
	for view, want := range map[string]verdict{unknownID: badRequest, people: badRequest, "x": invalid} {
		if a := search(view, with(next)); (verdict{a.status, a.code()}) != want {
			t.Errorf("another View's cursor in %s: %d %s", view, a.status, a.text)
		}
	}
}

func TestAlertsOverHTTP(t *testing.T) {
	t.Parallel()
	w := newViewWorld(t)
	dynamic := w.create(t, w.member, viewBody("project", "dynamic", "All"))
	static := w.create(t, w.member, viewBody("project", "static", "Some"))
	scored := w.create(
		t,
		w.member,
		`{"dataset":"account","view_type":"dynamic","name":"Best","definition":{"version":1,"q":"","fields":{"atlas_score":{"min":"80"}}}}`,
	)
	ask := func(method, path, body string, status int, into any) {
		t.Helper()
		a := w.call(t, w.member, method, "/workspace"+path+w.in, body)
		if a.status != status {
			t.Fatalf("%s %s: %d %s", method, path, a.status, a.text)
		}
		if into != nil {
			a.into(t, into, nil)
		}
	}
	upsert := func(id string, status int) {
		t.Helper()
		ask("POST", "/alerts/upsert?", `{"view_id":"`+id+`"}`, status, nil)
	}
	upsert(dynamic.ID, 200)
	upsert(dynamic.ID, 200)
	upsert(static.ID, 400)
	upsert(scored.ID, 200)
	ask("DELETE", "/alerts/"+scored.ID+"?", "", 200, nil)
	for _, email := range []string{`"daily"`, `null`, `"instant"`} {
		var made struct {
			Alert struct{ Email json.RawMessage }
		}
		ask("POST", "/alerts/upsert?", `{"view_id":"`+dynamic.ID+`","email":`+email+`}`, 200, &made)
		upsert(dynamic.ID, 200) // which leaves it
		if string(made.Alert.Email) != email {
			t.Errorf("e-mails %s are stored as %s", email, made.Alert.Email)
		}
	}
	ask("POST", "/alerts/upsert?", `{"view_id":"`+dynamic.ID+`","email":"hourly"}`, 400, nil)
	var alerts struct {
		Alerts []struct {
			View  string `json:"view_id"`
			Name  string `json:"view_name"`
			State string
			New   int     `json:"new_count"`
			Seen  *string `json:"seen_at"`
		}
	}
	ask("GET", "/alerts?", "", 200, &alerts)
	if len(alerts.Alerts) != 1 || alerts.Alerts[0].View != dynamic.ID || alerts.Alerts[0].Name != "All" ||
		alerts.Alerts[0].State != "waiting" {
		t.Errorf("%+v", alerts)
	}
	w.exec(t, `UPDATE watched_views SET latest = 2, state = 'watching' WHERE view_id = $1`, dynamic.ID)
	w.exec(t, `
		INSERT INTO view_alert_entries SELECT workspace_id, view_id, n, now(), n, ARRAY[view_id]
		FROM watched_views, generate_series(1, 2) n WHERE view_id = $1`, dynamic.ID)
	var entries struct {
		Entries []struct {
			Number, Count int
			Records       []string `json:"record_ids"`
			Seen          bool
		}
	}
	ask("GET", "/alerts/entries?view_id="+dynamic.ID+"&limit=1&", "", 200, &entries)
	if len(entries.Entries) != 1 || entries.Entries[0].Number != 2 || entries.Entries[0].Count != 2 || entries.Entries[0].Seen {
		t.Errorf("%+v", entries)
	}
	ask("GET", "/alerts/entries?view_id=x&", "", 400, nil)
	for _, c := range []struct {
		body string
		left int
	}{{`{"through":0}`, 3}, {`{"through":1}`, 2}, {`{}`, 0}, {`{"through":1}`, 0}} {
		var seen struct {
			Alert struct {
				New int `json:"new_count"`
			}
		}
		ask("POST", "/views/"+dynamic.ID+"/seen?", c.body, 200, &seen)
		if seen.Alert.New != c.left {
			t.Errorf("%s leaves %d, want %d", c.body, seen.Alert.New, c.left)
		}
	}
	ask("GET", "/alerts?", "", 200, &alerts)
	if alerts.Alerts[0].New != 0 || alerts.Alerts[0].Seen == nil {
		t.Errorf("%+v", alerts)
	}
	ask("POST", "/views/"+static.ID+"/seen?", `{}`, 404, nil)
	ask("DELETE", "/alerts/"+dynamic.ID+"?", "", 200, nil)
	ask("GET", "/alerts?", "", 200, &alerts)
	if len(alerts.Alerts) != 0 {
		t.Errorf("%+v", alerts)
	}
}
