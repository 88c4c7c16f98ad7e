package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// TestLocationsOverHTTP checks locations and maps of the Data API, a book and a View.
func TestLocationsOverHTTP(t *testing.T) {
	t.Parallel()
	data := searchtest.NewWorld()
	for i, at := range []string{
		`,"latitude":51.04,"longitude":-114.07`, `,"latitude":51.05,"longitude":-114.07`,
		`,"latitude":-33.8,"longitude":151.2`, `,"latitude":91,"longitude":0`,
	} {
		data.Add(searchtest.Record(
			t, catalog.Projects,
			fmt.Sprintf(`{"id":%q,"name":"Tower %d","cost":%d,"permitted_at":"2024-01-0%d"%s}`, searchtest.ID("p", i+1), i+1, i, 4-i, at),
		))
	}
	w := newWorld(t).withViews(t, viewRecords(t), data)
	if a := w.call(
		t, w.key, "POST", "/workspace/projects/upsert", `{"project_id":"`+searchtest.ID("p", 2)+`","tags":["VIP"]}`,
	); a.status != 200 {
		t.Fatal(a.text)
	}
	var made struct {
		View struct {
			ID string `json:"id"`
		} `json:"view"`
	}
	w.call(t, w.key, "POST", "/workspace/views/upsert", `{"dataset":"project","view_type":"dynamic","name":"All","definition":{"version":1,"q":"","fields":{}}}`).
		into(t, &made, nil)
	view := "/workspace/views/" + made.View.ID + "/records/"
	const near = `"filters":{"location":{"value":{"near":{"latitude":51.04,"longitude":-114.07,"radius_m":1200}}}}`
	for _, c := range []struct {
		token, path string
		want        []int
		unknown     int
		other       int // a project in Australia
	}{
		{w.key, "/data/projects/", []int{1, 2}, 1, 1},
		{w.key, "/workspace/projects/", []int{2}, 0, 0},
		{w.member, view, []int{1, 2}, 1, 1},
		{w.stranger, "/workspace/projects/", nil, 0, 0},
	} {
		var rows []struct {
			ID string `json:"id"`
		}
		a := w.call(t, c.token, "POST", c.path+"search", `{`+near+`,"sort":{"field":"name","order":"asc"}}`)
		if c.path == view {
			var found struct {
				Records any `json:"records"`
			}
			found.Records = &rows
			a.into(t, &found, nil)
		} else {
			a.into(t, &rows, nil)
		}
		var ids, want []string
		for _, row := range rows {
			ids = append(ids, row.ID)
		}
		for _, i := range c.want {
			want = append(want, searchtest.ID("p", i))
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.path, diff)
		}
		var got struct {
			Count  int                `json:"count"`
			Facets []query.CellCounts `json:"facets"`
		}
		w.call(t, c.token, "POST", c.path+"facets", `{`+near+`,"facets":[{"geo":{"precision":3},"measure":{"field":"cost","of":"max"}},{"geo":{"precision":0},"exclude_own":false}]}`).
			into(t, &got, nil)
		all, own := got.Facets[0], got.Facets[1]
		counted := 0
		for _, cell := range all.Geo {
			counted += int(cell.Count)
		}
		if got.Count != len(want) || counted != len(want)+c.other || all.Unknown != int64(c.unknown) || own.Unknown != 0 ||
			len(want) > 0 && own.Geo[0].Count != int64(len(want)) {
			t.Errorf("%s: %+v", c.path, got)
		}
	}
	for path, body := range map[string]string{
		"/data/projects/search":      `{"sort":{"field":"permitted_at","order":"asc"},"limit":1,"fields":["id"]}`,
		"/workspace/projects/search": `{"sort":{"field":"permitted_at","order":"asc"}}`,
		view + "search":              `{"sort":{"field":"filed_at","order":"asc"}}`,
		"/data/accounts/facets":      `{"facets":[{"geo":{"precision":3}}]}`,
		"/workspace/projects/facets": `{"facets":[{"geo":{"precision":19}}]}`,
		view + "facets":              `{"filters":{"location":{"value":{"within":{}}}}}`,
		"/data/projects/facets":      `{"filters":{"location":{"value":{"near":{},"within":{}}}}}`,
	} {
		a := w.call(t, w.key, "POST", path, body)
		if want := map[bool]int{true: 200, false: 400}[path == "/data/projects/search"]; a.status != want {
			t.Errorf("%s %s: %d %s", path, body, a.status, a.text)
		}
		if path == "/data/projects/search" && !strings.Contains(a.text, searchtest.ID("p", 4)) {
			t.Errorf("not the first permit: %s", a.text)
		}
	}
}

// TestFacetsOverHTTP checks facets of the Data API, a book and a View: they are free, show
// nothing to other workspaces, and reveal nothing about e-mail addresses.
func TestFacetsOverHTTP(t *testing.T) {
	t.Parallel()
	data := searchtest.NewWorld()
	for i := 1; i <= 3; i++ {
		data.Add(
			searchtest.Record(
				t, catalog.Accounts,
				fmt.Sprintf(`{"id":%q,"name":"Firm %d","city":%q}`, searchtest.ID("a", i), i, []string{"Łódź", "Lodz", "Łódź"}[i-1]),
			),
			searchtest.Record(
				t,
				catalog.Contacts,
				fmt.Sprintf(
					`{"id":%q,"name":"Person %d","email":"p%d@hidden.example","account_name":"Firm %d","role":"owner"}`,
					searchtest.ID("c", i),
					i,
					i,
					i,
				),
			),
			searchtest.Record(
				t,
				catalog.Projects,
				fmt.Sprintf(
					`{"id":%q,"name":"Tower %d","stage":"filed","cost":%d,"account_ids":[%q],"contact_ids":[%q],"filed_at":"2024-01-0%d"}`,
					searchtest.ID("p", i),
					i,
					i*1000,
					searchtest.ID("a", 1+i/3*8),
					searchtest.ID("c", i),
					i,
				),
			),
		)
	}
	w := newWorld(t).withViews(t, viewRecords(t), data)
	ask := func(token, path, body string) (got any) {
		t.Helper()
		a := w.call(t, token, "POST", path, body)
		var m map[string]any
		var raw json.RawMessage
		a.into(t, &raw, &m)
		if m["credits"] != 0.0 || a.header.Get("X-Credits-Charged") != "" {
			t.Errorf("%s costs %v", path, m)
		}
		fatal(t, json.Unmarshal(raw, &got))
		return got
	}
	same := func(got any, want string) {
		t.Helper()
		var wanted any
		fatal(t, json.Unmarshal([]byte(want), &wanted))
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	same(
		ask(w.key, "/data/accounts/facets", `{"facets":[{"field":"city"},{"field":"city","prefix":"LO"},{"field":"city","prefix":"dz"}]}`),
		`{"count":3,"export_credits":3,"facets":[
		{"field":"city","values":[{"value":"lodz","label":"Łódź","count":3}],"other":0,"unknown":0},
		{"field":"city","values":[{"value":"lodz","label":"Łódź","count":3}],"other":0,"unknown":0},
		{"field":"city","values":[],"other":0,"unknown":0}]}`,
	)
	same(
		ask(
			w.key,
			"/data/projects/facets",
			`{"filters":{"cost":{"value":[2000,null]}},"facets":[{"field":"account_ids"},{"field":"stage","measure":{"field":"cost","of":"sum"}},{"field":"filed_at","interval":"day"},{"field":"cost","buckets":2},{"field":"stories","buckets":2}]}`,
		),
		`{"count":2,"export_credits":2,"facets":[
		{"field":"account_ids","values":[{"value":"`+searchtest.ID("a", 1)+`","label":"Firm 1","count":1},{"value":"`+searchtest.ID("a", 9)+`","label":null,"count":1}],"other":0,"unknown":0},
		{"field":"stage","values":[{"value":"filed","label":"Filed","count":2,"measure":5000}],"other":0,"unknown":0},
		{"field":"filed_at","buckets":[{"from":"2024-01-02T00:00:00.000Z","to":"2024-01-03T00:00:00.000Z","count":1},{"from":"2024-01-03T00:00:00.000Z","to":"2024-01-04T00:00:00.000Z","count":1}],"unknown":0,"min":"2024-01-02T00:00:00.000Z","max":"2024-01-03T00:00:00.000Z"},
		{"field":"cost","buckets":[{"from":1000,"to":2000,"count":1},{"from":2000,"to":3000,"count":2}],"unknown":0,"min":1000,"max":3000},
		{"field":"stories","buckets":[],"unknown":2,"min":null,"max":null}]}`,
	)
	same(ask(w.key, "/data/signals/facets", ``), `{"count":0,"export_credits":0,"facets":[]}`)

	// A search finds the address, facets do not; the other fields they do.
	for text, want := range map[string]int{"p1@hidden.example": 0, "hidden.example": 0, "firm": 3, "firm person 2": 1} {
		same(
			ask(w.key, "/data/contacts/facets", fmt.Sprintf(`{"query":%q}`, text)),
			fmt.Sprintf(`{"count":%d,"export_credits":%d,"facets":[]}`, want, want),
		)
	}
	for path, body := range map[string]string{
		"/data/contacts/facets":      `{"filters":{"email":{"value":"p1@hidden.example"}}}`,
		"/data/accounts/facets":      `{"relations":{"has_contact":{"email":{"value":"p1@hidden.example"}}}}`,
		"/workspace/contacts/facets": `{"filters":{"email":{"value":"p1@hidden.example"}}}`,
	} {
		if a := w.call(t, w.key, "POST", path, body); a.status != 400 || a.code() != "validation" {
			t.Errorf("%s answers %d %s", path, a.status, a.text)
		}
	}
	if a := w.call(t, w.key, "POST", "/data/projects/facets", `{"facets":[{"field":"stage"},{"field":"created_at","interval":"day"},{"field":"filed_at","interval":"day"}],"filters":{}}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.text)
	}

	// The book, and a View of everything.
	if a := w.call(
		t, w.key, "POST", "/workspace/accounts/upsert",
		`{"account_id":"`+searchtest.ID("a", 2)+`","tags":["VIP"],"icp_tier":"tier_1"}`,
	); a.status != 200 {
		t.Fatal(a.text)
	}
	const tags = `{"facets":[{"field":"tags"},{"field":"icp_tier"}]}`
	inBook := `"facets":[{"field":"tags","values":[{"value":"vip","label":"VIP","count":1}],"other":0,"unknown":%d},{"field":"icp_tier","values":[{"value":"tier_1","label":"Tier 1","count":1}],"other":0,"unknown":%d}]}`
	same(ask(w.key, "/workspace/accounts/facets", tags), `{"count":1,"export_credits":1,`+fmt.Sprintf(inBook, 0, 0))
	same(
		ask(w.stranger, "/workspace/accounts/facets", tags),
		`{"count":0,"export_credits":0,"facets":[{"field":"tags","values":[],"other":0,"unknown":0},{"field":"icp_tier","values":[],"other":0,"unknown":0}]}`,
	)
	var made struct {
		View struct {
			ID string `json:"id"`
		} `json:"view"`
	}
	w.call(t, w.key, "POST", "/workspace/views/upsert", `{"dataset":"account","view_type":"dynamic","name":"All","definition":{"version":1,"q":"","fields":{}}}`).
		into(t, &made, nil)
	path := "/workspace/views/" + made.View.ID + "/records/facets"
	same(ask(w.member, path, tags), `{"count":3,"export_credits":3,`+fmt.Sprintf(inBook, 2, 2))
	same(
		ask(w.member, path, `{"filters":{"tags":{"value":"none"}},"facets":[{"field":"tags"}]}`),
		`{"count":0,"export_credits":0,"facets":[{"field":"tags","values":[{"value":"vip","label":"VIP","count":1}],"other":0,"unknown":0}]}`,
	)
	if a := w.call(t, w.stranger, "POST", path, tags); a.code() != "view_not_found" {
		t.Errorf("a stranger: %s", a.text)
	}
	if a := w.call(t, w.key, "POST", path, `{"facets":[{"field":"role"}]}`); a.status != 400 {
		t.Errorf("a facet of another dataset: %s", a.text)
	}
}
