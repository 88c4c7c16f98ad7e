package api_test

import (
	"fmt"
	"testing"

	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// TestTyposOverHTTP searches with typos on every route. Suggestions never come from another
// workspace, from notes or from an address.
func TestTyposOverHTTP(t *testing.T) {
	t.Parallel()
	data := searchtest.NewWorld()
	for i, name := range []string{"Garage Homes", "Towers", "Bungalows"} {
		data.Add(
			searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":%q}`, searchtest.ID("a", i+1), name)),
			searchtest.Record(
				t, catalog.Contacts,
				fmt.Sprintf(`{"id":%q,"name":%q,"email":"secretive@hidden.example"}`, searchtest.ID("c", i+1), name),
			),
			searchtest.Record(
				t, catalog.Projects,
				fmt.Sprintf(`{"id":%q,"name":%q,"contact_ids":[%q]}`, searchtest.ID("p", i+1), name, searchtest.ID("c", i/2+1)),
			))
	}
	w := newWorld(t).withViews(t, viewRecords(t), data)
	_, other := w.world.key(t, people.NewKey{
		Workspaces: []workspace.ID{w.workspace(t, "B", workspace.Pro, 1_000)}, Scopes: workspace.AllScopes(),
	})
	upsert := func(key, id, notes string) {
		t.Helper()
		w.call(t, key, "POST", "/workspace/contacts/upsert", fmt.Sprintf(`{"contact_id":%q,"notes":%q}`, id, notes)).into(t, nil, nil)
	}
	upsert(w.key, searchtest.ID("c", 1), "Bungalowish")
	upsert(other, searchtest.ID("c", 3), "Garages")
	var made struct{ View struct{ ID string } }
	w.call(t, w.key, "POST", "/workspace/views/upsert", `{"dataset":"contact","view_type":"dynamic","name":"all","definition":{"version":1,"q":"","fields":{}}}`).
		into(t, &made, nil)
	inView := "/workspace/views/" + made.View.ID + "/records"

	for _, c := range []struct {
		key, path, query string
		count            int // with typos
		offered          string
	}{
		{w.key, "/data/accounts", "garge", 1, "garage"},
		{w.key, "/data/contacts", "garge hoems", 1, "garage homes"},
		{w.key, "/data/contacts", "bungalow", 1, "bungalows"},
		{w.key, "/workspace/contacts", "garge", 1, "garage"},
		{w.key, "/workspace/contacts", "bungalow", 0, ""},
		{w.key, "/workspace/contacts", "bungalowihs", 0, ""},
		{w.key, inView, "garge", 1, "garage"},
		{w.key, inView, "twoers", 1, "towers"},
		{w.key, inView, "bungalow", 0, ""}, // only the other workspace sees it
		{other, "/workspace/contacts", "garge", 0, ""},
		{other, "/workspace/contacts", "bungalow", 1, "bungalows"},
		{w.key, "/data/contacts", "hiden.example", 0, ""},
		{w.key, "/data/contacts", "seccretive", 0, ""},
	} {
		body := func(more string) string { return fmt.Sprintf(`{"query":%q,"words":"exact"%s}`, c.query, more) }
		var counted struct{ Count int }
		for path, more := range map[string]string{"/search": `,"typos":"auto","dry_run":true`, "/facets": `,"typos":"auto"`} {
			var m map[string]any
			w.call(t, c.key, "POST", c.path+path, body(more)).into(t, &counted, &m)
			if counted.Count != c.count || m["did_you_mean"] != nil {
				t.Errorf("%s%s of %s with typos: %d, %v", c.path, path, c.query, counted.Count, m)
			}
		}
		for path, more := range map[string]string{"/search": ``, "/search ": `,"dry_run":true,"typos":"off"`, "/facets": ``} {
			var m map[string]any
			w.call(t, c.key, "POST", c.path+map[bool]string{true: "/facets", false: "/search"}[path == "/facets"], body(more)).
				into(t, nil, &m)
			if offered, _ := m["did_you_mean"].(string); offered != c.offered || m["credits"] != 0.0 {
				t.Errorf("%s%s of %s: %v, want %q", c.path, path, c.query, m, c.offered)
			}
		}
	}
	// Searches of all forms also search notes, of the own book only, and never parts of
	// addresses.
	for _, c := range []struct {
		key, path, query string
		count            int
		offered          string
	}{
		{w.key, "/workspace/contacts", "bungalowish", 1, ""},
		{w.key, "/workspace/contacts", "bungalow", 0, "bungalow*"},
		{other, "/workspace/contacts", "bungalowish", 0, "bungalows"},
		{other, "/workspace/contacts", "garage", 1, ""},
		{w.key, "/data/contacts", "bungalowish", 0, "bungalows"},
		{w.key, "/data/contacts", "bungalow", 1, ""},
		{w.key, inView, "bungalow", 0, ""},
		{w.key, inView, "bungalowish", 0, ""},
		{w.key, "/data/contacts", "secretive", 0, ""},
		{w.key, "/workspace/contacts", "hidden.example", 0, ""},
	} {
		var m map[string]any
		w.call(t, c.key, "POST", c.path+"/search", fmt.Sprintf(`{"query":%q}`, c.query)).into(t, nil, &m)
		if offered, _ := m["did_you_mean"].(string); m["total"] != float64(c.count) || offered != c.offered {
			t.Errorf("%s of %s in all forms: %v, want %+v", c.path, c.query, m, c)
		}
	}
	var found map[string]any // charged searches also search addresses
	w.call(t, w.key, "POST", "/data/contacts/search", `{"query":"seccretive","words":"exact","typos":"auto"}`).into(t, nil, &found)
	if found["credits"] != 3.0 {
		t.Errorf("by address: %v", found)
	}
	if a := w.call(
		t, w.key, "POST", "/workspace/views/upsert",
		`{"dataset":"contact","view_type":"dynamic","name":"typos","definition":{"version":1,"q":"x","typos":"auto","fields":{}}}`,
	); a.code() != "invalid_view_definition" {
		t.Errorf("a definition with typos: %d %s", a.status, a.text)
	}
}
