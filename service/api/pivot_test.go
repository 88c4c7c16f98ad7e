package api_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// TestPivotsOverHTTP checks pivots of the Data API, a book and a View: they cost no credits,
// and show nothing to other workspaces.
func TestPivotsOverHTTP(t *testing.T) {
	t.Parallel()
	data := searchtest.NewWorld()
	for i := range 8 {
		data.Add(searchtest.Record(t, catalog.Projects, fmt.Sprintf(
			`{"id":%q,"name":"Tower %d","stage":%q,"city":%q,"cost":%d,"filed_at":"2024-0%d-01"}`,
			searchtest.ID("p", i+1), i, []string{"filed", "completed"}[i/6], []string{"Łódź", "Lodz"}[i%2], i*10, 1+i%3)))
	}
	w := newWorld(t).withViews(t, viewRecords(t), data)
	for i := 1; i <= 2; i++ {
		a := w.call(t, w.key, "POST", "/workspace/projects/upsert", fmt.Sprintf(`{"project_id":%q,"tags":["VIP"]}`, searchtest.ID("p", i)))
		if a.status != 200 {
			t.Fatal(a.text)
		}
	}
	var made struct {
		View struct {
			ID string `json:"id"`
		} `json:"view"`
	}
	w.call(t, w.key, "POST", "/workspace/views/upsert", `{"dataset":"project","view_type":"dynamic","name":"All","definition":{"version":1,"q":"","fields":{}}}`).
		into(t, &made, nil)
	view := "/workspace/views/" + made.View.ID + "/records/pivot"
	for _, c := range []struct{ token, path, body, want string }{
		{w.key, "/data/projects/pivot", `{"rows":{"field":"stage"},"measure":{"field":"cost","of":"median"}}`,
			`{"count":8,"export_credits":8,"cell_count":2,"tokens":1,"measure":35,"rows":{"field":"stage","groups":[
				{"group":"value","value":"filed","label":"Filed","count":6,"measure":25},
				{"group":"value","value":"completed","label":"Completed","count":2,"measure":null}]}}`},
		{w.key, "/workspace/projects/pivot", `{"rows":{"field":"tags"},"columns":{"field":"filed_at","interval":"month"}}`,
			`{"count":2,"export_credits":2,"cell_count":2,"tokens":1,
			"rows":{"field":"tags","groups":[{"group":"value","value":"vip","label":"VIP","count":2}]},
			"columns":{"field":"filed_at","groups":[
				{"group":"bucket","from":"2024-01-01T00:00:00.000Z","to":"2024-02-01T00:00:00.000Z","count":1},
				{"group":"bucket","from":"2024-02-01T00:00:00.000Z","to":"2024-03-01T00:00:00.000Z","count":1}]},
			"cells":[[{"count":1},{"count":1}]]}`},
		{w.member, view, `{"rows":{"field":"city"},"filters":{"cost":{"value":[10,null]}}}`,
			`{"count":7,"export_credits":7,"cell_count":1,"tokens":1,"rows":{"field":"city","groups":[{"group":"value","value":"lodz","label":"Lodz","count":7}]}}`},
		{w.member, view, `{"rows":{"field":"tags"}}`,
			`{"count":2,"export_credits":2,"cell_count":1,"tokens":1,"rows":{"field":"tags","groups":[{"group":"value","value":"vip","label":"VIP","count":2}]}}`},
		{w.stranger, "/workspace/projects/pivot", `{"rows":{"field":"tags"}}`,
			`{"count":0,"export_credits":0,"cell_count":0,"tokens":1,"rows":{"field":"tags","groups":[]}}`},
		{w.key, "/data/projects/pivot", `{"rows":{"field":"stage"},"dry_run":true}`, `{"count":8,"export_credits":8,"cell_count":2,"tokens":1}`},
	} {
		a := w.call(t, c.token, "POST", c.path, c.body)
		var m map[string]any
		var raw json.RawMessage
		a.into(t, &raw, &m)
		if m["credits"] != 0.0 || a.header.Get("X-Credits-Charged") != "" {
			t.Errorf("%s costs %v", c.path, m)
		}
		var got, want any
		fatal(t, json.Unmarshal(raw, &got))
		fatal(t, json.Unmarshal([]byte(c.want), &want))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.path, c.body, diff)
		}
	}
	if a := w.call(t, w.stranger, "POST", view, `{"rows":{"field":"tags"}}`); a.code() != "view_not_found" {
		t.Errorf("another workspace's View: %s", a.text)
	}
}

// TestPivotsDrawTokens: each 100 cells cost a token, a dry run one.
func TestPivotsDrawTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := searchtest.NewWorld()
	for i, at := range []string{"1990-01-01", "2023-12-31"} { // 408 months
		data.Add(searchtest.Record(t, catalog.Projects, fmt.Sprintf(`{"id":%q,"name":"P","filed_at":%q}`, searchtest.ID("p", i+1), at)))
	}
	w.load(t, data)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "A", workspace.Pro, 1)}, Scopes: workspace.AllScopes()})
	w.freeLimit(t, 1, 6)
	ask := func(more string) answer {
		return w.call(t, key, "POST", "/data/projects/pivot", `{"rows":{"field":"filed_at","interval":"month"}`+more+`}`)
	}
	var got struct {
		CellCount int `json:"cell_count"`
		Tokens    int `json:"tokens"`
	}
	dry := ask(`,"dry_run":true`)
	dry.into(t, &got, nil)
	if got.CellCount != 408 || got.Tokens != 5 || dry.header.Get("RateLimit-Remaining") != "5" {
		t.Errorf("dry run: %s %v", dry.text, dry.header)
	}
	if a := ask(""); a.status != 200 || a.header.Get("RateLimit-Remaining") != "0" && a.header.Get("RateLimit-Remaining") != "1" {
		t.Errorf("%d %v", a.status, a.header)
	}
	for range 2 { // at most one more has come meanwhile
		if a := ask(""); a.code() == "too_many_requests" {
			return
		}
	}
	t.Error("a pivot with an empty bucket is answered")
}
