package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

func TestSignalQueueOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := searchtest.NewWorld()
	for i := range 5 {
		of := []string{"permit_filed", "permit_issued"}[i/4]
		data.Add(searchtest.Record(
			t,
			catalog.Signals,
			fmt.Sprintf(
				`{"id":%q,"title":"Event %d","signal_type":%q,"occurred_at":"2001-01-0%dT00:00:00Z"}`,
				searchtest.ID("s", i+1),
				i+1,
				of,
				9-i,
			),
		))
	}
	w.load(t, data)
	in := w.workspace(t, "A", workspace.Pro, 1000)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	const base = "/workspace/signal-queue/"
	type meta struct {
		Total       int     `json:"total"`
		Unread      *int    `json:"unread"`
		Credits     int     `json:"credits"`
		SearchAfter *string `json:"search_after"`
	}
	search := func(body string, unread int, want ...int) meta {
		t.Helper()
		var rows []struct{ ID, Title string }
		var m meta
		a := w.call(t, key, "POST", base+"search", body)
		a.into(t, &rows, &m)
		got, ids := []string{}, []string{}
		for _, row := range rows {
			got = append(got, row.ID)
		}
		for _, n := range want {
			ids = append(ids, searchtest.ID("s", n))
		}
		if !slices.Equal(got, ids) || m.Unread == nil || *m.Unread != unread || m.Credits != len(want) ||
			a.header.Get("X-Credits-Charged") != fmt.Sprint(len(want)) {
			t.Errorf("%s: %s %v, want %v, %d unread", body, a.text, a.header, want, unread)
		}
		return m
	}
	search(`{}`, 0) // without subscriptions
	w.call(t, key, "POST", "/workspace/signal-subscriptions/upsert", `{"signal_type":"permit_filed"}`).into(t, nil, nil)
	first := search(`{"limit":3}`, 4, 4, 3, 2)
	if first.SearchAfter == nil || first.Total != 4 {
		t.Fatalf("first page: %+v", first)
	}
	search(fmt.Sprintf(`{"limit":3,"search_after":%q}`, *first.SearchAfter), 4, 1)
	search(`{"fields":["id"],"filters":{"title":{"value":"Event 2"}}}`, 4, 2)

	// Free operations.
	var count struct{ Count, Credits int }
	var m meta
	w.call(t, key, "POST", base+"search", `{"dry_run":true}`).into(t, &count, &m)
	if count.Count != 4 || count.Credits != 4 || m.Credits != 0 {
		t.Errorf("dry run: %+v %+v", count, m)
	}

	type results struct {
		Results []struct{ ID, Status string }
	}
	batch := func(path, body, want string) {
		t.Helper()
		var got results
		w.call(t, key, "POST", base+path+"/batch", body).into(t, &got, nil)
		var statuses []string
		for _, r := range got.Results {
			statuses = append(statuses, r.Status)
		}
		if s := strings.Join(statuses, " "); s != want {
			t.Errorf("%s %s: %s, want %s", path, body, s, want)
		}
	}
	batch("dismiss", `{"ids":["`+searchtest.ID("s", 2)+`"]}`, "ok")
	batch(
		"dismiss",
		`{"ids":["`+searchtest.ID("s", 2)+`","`+searchtest.ID("s", 3)+`","`+searchtest.ID("s", 3)+`","`+searchtest.ID("s", 5)+`","x",7]}`,
		"ok ok ok not_found invalid_input invalid_input",
	)
	batch("restore", `{"ids":["`+searchtest.ID("s", 3)+`","`+searchtest.ID("s", 5)+`","x"]}`, "ok ok invalid_input")
	search(`{"dismissed":true}`, 3, 2)
	for body, want := range map[string]string{
		`{"sort":{"field":"detected_at","order":"desc"}}`: "unrecognized_keys",
		`{"in_book":"yes"}`:                                 `"in_book"`,
		`{"dismissed":"no"}`:                                `"dismissed"`,
		`{"relations":{"has_project":{}}}`:                  "unrecognized_keys",
		`{"filters":{"arrived_at":{"value":"2020-01-01"}}}`: "unrecognized_keys",
	} {
		if a := w.call(t, key, "POST", base+"search", body); a.status != 400 || !strings.Contains(a.text, want) {
			t.Errorf("%s: %d %s", body, a.status, a.text)
		}
	}
}
