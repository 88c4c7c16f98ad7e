package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// gets is a workspace with a key, and the records of globals.
func gets(t *testing.T, ceiling int64) (w *world, key string) {
	t.Helper()
	w = newWorld(t)
	w.load(t, globals(t))
	_, key = w.key(
		t,
		people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "Acme", workspace.Pro, ceiling)}, Scopes: workspace.AllScopes()},
	)
	return w, key
}

// got is the result of an item.
type got struct {
	Index  int
	ID     string
	Status string
	Data   json.RawMessage
	Error  struct{ Issues []struct{ Path []string } }
}

type gotBatch struct{ Results []got }

func (w *world) getBatch(t *testing.T, key, dataset, body string, charged int) []got {
	t.Helper()
	a := w.call(t, key, "POST", "/data/"+dataset+"/get/batch", body)
	var data gotBatch
	var m struct{ Credits, Succeeded, Failed int }
	a.into(t, &data, &m)
	if m.Credits != charged || m.Succeeded != charged || m.Failed != len(data.Results)-charged ||
		a.header.Get("X-Credits-Charged") != fmt.Sprint(charged) {
		t.Errorf("%s: %+v, charged %s, want %d", body, m, a.header.Get("X-Credits-Charged"), charged)
	}
	for i, r := range data.Results {
		if r.Index != i {
			t.Errorf("%s: result %d has the index %d", body, i, r.Index)
		}
	}
	return data.Results
}

// Each id has a result in its place: the record of the single get, or the error. Only found
// ones cost.
func TestGetBatch(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1000)
	for d, letter := range map[catalog.Dataset]string{
		catalog.Accounts: "a", catalog.Contacts: "c", catalog.Projects: "p", catalog.Signals: "s",
	} {
		var keys []string
		for _, inc := range query.Includes(d) {
			keys = append(keys, inc.Key)
		}
		include, err := json.Marshal(keys)
		fatal(t, err)
		one, two := searchtest.ID(letter, 1), searchtest.ID(letter, 2)
		results := w.getBatch(
			t, key, string(d),
			fmt.Sprintf(`{"ids":[%q,%q,"x",%q,%q,7],"include":%s}`, two, unknownID, strings.ToUpper(one), two, include),
			3,
		)
		var statuses []string
		for _, r := range results {
			statuses = append(statuses, r.Status+" "+r.ID)
		}
		want := []string{"ok " + two, "record_not_found " + unknownID, "invalid_input ", "ok " + one, "ok " + two, "invalid_input "}
		if diff := cmp.Diff(want, statuses); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d, diff)
		}
		for i, id := range map[int]string{0: two, 3: one, 4: two} {
			var single json.RawMessage
			w.call(t, key, "GET", "/data/"+string(d)+"/"+id+"?include="+strings.Join(keys, ","), "").into(t, &single, nil)
			if diff := cmp.Diff(string(single), string(results[i].Data)); diff != "" {
				t.Errorf("%s %d (-single +batch):\n%s", d, i, diff)
			}
		}
	}
}

// The number of items is 1 to 100, an invalid envelope costs nothing, and a page of the
// largest size has all kinds of related records.
func TestGetBatchEnvelope(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1000)
	ids := func(n int) string {
		all := slices.Repeat([]string{searchtest.ID("a", 1)}, n)
		b, err := json.Marshal(all)
		fatal(t, err)
		return string(b)
	}
	for body, path := range map[string]string{
		`{}`:                                   "ids",
		`{"ids":[]}`:                           "ids",
		`{"ids":"x"}`:                          "ids",
		`{"ids":` + ids(101) + `}`:             "ids",
		`{"ids":["x"],"fields":["nmae"]}`:      "fields 0",
		`{"ids":["x"],"fields":[]}`:            "fields",
		`{"ids":["x"],"include":["account"]}`:  "include 0",
		`{"ids":["x"],"include":[]}`:           "include",
		`{"ids":["x"],"colour":1}`:             "",
		`{"ids":["x"],"fields":["n"],"x":[1]}`: "fields 0",
	} {
		a := w.call(t, key, "POST", "/data/accounts/get/batch", body)
		var e struct {
			Error struct{ Issues []struct{ Path []string } }
		}
		fatal(t, json.Unmarshal([]byte(a.text), &e))
		if a.code() != "validation" || strings.Join(e.Error.Issues[0].Path, " ") != path || a.header.Get("X-Credits-Charged") != "0" {
			t.Errorf("%.100s: %d %s", body, a.status, a.text)
		}
	}
	w.getBatch(t, key, "accounts", `{"ids":`+ids(100)+`,"include":["projects","signals","contacts"]}`, 100)
}

// A batch that passes the ceiling is answered completely, as a search is. The next one is
// refused.
func TestGetBatchAtTheCeiling(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 3)
	body := fmt.Sprintf(`{"ids":[%q,%q]}`, searchtest.ID("a", 1), searchtest.ID("a", 2))
	w.getBatch(t, key, "accounts", body, 2)
	w.getBatch(t, key, "accounts", `{"ids":["x"]}`, 0)
	w.getBatch(t, key, "accounts", body, 2)
	if a := w.call(t, key, "POST", "/data/accounts/get/batch", body); a.code() != "rate_limited" {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// members lists the names of the members of an object, in order.
func members(t *testing.T, object json.RawMessage) (names []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(object)))
	_, err := d.Token()
	fatal(t, err)
	for d.More() {
		name, err := d.Token()
		fatal(t, err)
		names = append(names, name.(string))
		var skipped json.RawMessage
		fatal(t, d.Decode(&skipped))
	}
	return names
}

// `fields` selects members of all answers with records, at the same price. Without it all
// members are present.
func TestFieldsOfAnswers(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 100_000)
	w.holds(t)
	account := searchtest.ID("a", 1)
	w.call(
		t, key, "POST", "/workspace/accounts/upsert",
		fmt.Sprintf(`{"account_id":%q,"tags":["<b>"],"icp_tier":"tier_1"}`, account),
	).into(t, nil, nil)
	var view struct{ View struct{ ID string } }
	w.call(t, key, "POST", "/workspace/views/upsert", `{"dataset":"account","view_type":"dynamic","name":"All","definition":{"version":1,"q":"","fields":{}}}`).
		into(t, &view, nil)

	names := func(fields []catalog.Field) (all []string) {
		for _, f := range fields {
			all = append(all, f.Name)
		}
		return all
	}
	for _, c := range []struct {
		method, path string
		all          []string        // without `fields`
		choice       []catalog.Field // with `fields`, nil: all
		pick         string          // of the answer's data: "", "0" for its first element, "records" for the first of its records
	}{
		{"GET", "/data/accounts/" + account, names(catalog.Fields(catalog.Accounts)), nil, ""},
		{"POST", "/data/accounts/search", names(catalog.Fields(catalog.Accounts)), nil, "0"},
		{"POST", "/data/signals/search", names(catalog.Fields(catalog.Signals)), nil, "0"},
		{"GET", "/workspace/accounts/" + account, names(catalog.RowFields(catalog.Accounts, catalog.BookRecord)), nil, ""},
		{
			"POST", "/workspace/accounts/search", names(catalog.RowFields(catalog.Accounts, catalog.BookRow)),
			catalog.RowChoice(catalog.Accounts, catalog.BookRow), "0",
		},
		{
			"POST", "/workspace/views/" + view.View.ID + "/records/search",
			names(catalog.RowFields(catalog.Accounts, catalog.ViewRow)), catalog.RowChoice(catalog.Accounts, catalog.ViewRow),
			"records",
		},
	} {
		choice := c.all
		if c.choice != nil {
			choice = names(c.choice)
		}
		one := func(fields []string) []string {
			t.Helper()
			path, body := c.path, ""
			if c.method == "GET" && fields != nil {
				path += "?fields=" + strings.Join(fields, ",")
			}
			if c.method == "POST" {
				request := map[string]any{"limit": 1}
				if fields != nil {
					request["fields"] = fields
				}
				b, err := json.Marshal(request)
				fatal(t, err)
				body = string(b)
			}
			a := w.call(t, key, c.method, path, body)
			if a.header.Get("X-Credits-Charged") != "1" {
				t.Errorf("%s %s: %d %s", path, body, a.status, a.text)
			}
			var record json.RawMessage
			switch c.pick {
			case "":
				a.into(t, &record, nil)
			case "0":
				var rows []json.RawMessage
				a.into(t, &rows, nil)
				record = rows[0]
			default:
				var rows map[string]json.RawMessage
				a.into(t, &rows, nil)
				var records []json.RawMessage
				fatal(t, json.Unmarshal(rows[c.pick], &records))
				record = records[0]
			}
			return members(t, record)
		}
		if diff := cmp.Diff(c.all, one(nil)); diff != "" {
			t.Errorf("%s, all (-want +got):\n%s", c.path, diff)
		}
		for i, name := range choice {
			want := []string{"id", name}
			if i == 0 {
				want = want[:1]
			}
			if diff := cmp.Diff(want, one([]string{name})); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", c.path, name, diff)
			}
		}
		if diff := cmp.Diff([]string{"id", c.all[1], c.all[2]}, one([]string{c.all[2], c.all[1]})); diff != "" {
			t.Errorf("%s, two (-want +got):\n%s", c.path, diff)
		}
	}
	var related map[string]json.RawMessage
	w.call(
		t, key, "GET", "/data/contacts/"+searchtest.ID("c", 1)+"?include=account,projects&fields=%20name%20,email", "",
	).into(t, &related, nil)
	if got := slices.Sorted(maps.Keys(related)); !slices.Equal(got, []string{"account", "email", "id", "name", "projects"}) {
		t.Errorf("with related records: %v", got)
	}
	for _, fields := range []string{"", "nmae", "name,", "icp_tier", "name&fields=city"} {
		if a := w.call(t, key, "GET", "/data/accounts/"+account+"?fields="+fields, ""); a.code() != "validation" ||
			!strings.Contains(a.text, `"path":["fields"`) {
			t.Errorf("%q: %d %s", fields, a.status, a.text)
		}
	}
}

// A cursor is valid for pages of other fields.
func TestFieldsMayChangeUnderACursor(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1000)
	var ids []string
	cursor := "null"
	for _, fields := range []string{`["name"]`, `["city","name"]`, `["id"]`, `["phone"]`, `["website"]`} {
		a := w.call(t, key, "POST", "/data/accounts/search", fmt.Sprintf(`{"limit":1,"fields":%s,"search_after":%s}`, fields, cursor))
		var rows []struct{ ID string }
		var m struct {
			SearchAfter *string `json:"search_after"`
		}
		a.into(t, &rows, &m)
		ids = append(ids, rows[0].ID)
		if m.SearchAfter != nil {
			cursor = fmt.Sprintf("%q", *m.SearchAfter)
		} else {
			cursor = ""
		}
	}
	want := []string{searchtest.ID("a", 1), searchtest.ID("a", 2), searchtest.ID("a", 3), searchtest.ID("a", 4), searchtest.ID("a", 5)}
	if diff := cmp.Diff(want, ids); diff != "" || cursor != "" {
		t.Errorf("%s, cursor %q", diff, cursor)
	}
}
