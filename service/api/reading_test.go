package api_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/reading"
	"atlas/search/searchtest"
)

// readAnswer is the part of a reading that a test checks.
type readAnswer struct {
	Query      string          `json:"query"`
	Filters    json.RawMessage `json:"filters"`
	Relations  json.RawMessage `json:"relations"`
	Sentence   string          `json:"sentence"`
	Conditions []struct {
		Field    string         `json:"field"`
		Relation string         `json:"relation"`
		Text     string         `json:"text"`
		Spans    []reading.Span `json:"spans"`
	} `json:"conditions"`
	Count int `json:"count"`
}

// TestReadOverHTTP checks that a question becomes conditions that count the same as a search
// with them, with cities as the data has them, for free; and what is refused.
func TestReadOverHTTP(t *testing.T) {
	t.Parallel()
	data := searchtest.NewWorld()
	firm := searchtest.ID("a", 1)
	data.Add(
		searchtest.Record(
			t,
			catalog.Accounts,
			fmt.Sprintf(`{"id":%q,"name":"Bow Valley","account_types":["general_contractor"],"city":"Calgary","state":"AB"}`, firm),
		),
		searchtest.Record(
			t,
			catalog.Accounts,
			fmt.Sprintf(
				`{"id":%q,"name":"Elbow","account_types":["general_contractor"],"city":"St. Albert","state":"AB"}`,
				searchtest.ID("a", 2),
			),
		),
		searchtest.Record(
			t,
			catalog.Contacts,
			fmt.Sprintf(
				`{"id":%q,"name":"Ada Calgary","email":"ada@hidden.example","role":"estimator","city":"Calgary"}`,
				searchtest.ID("c", 1),
			),
		),
	)
	for i, city := range []string{"Calgary", "calgary", "Medicine Hat", "Calgary"} {
		data.Add(
			searchtest.Record(
				t,
				catalog.Projects,
				fmt.Sprintf(
					`{"id":%q,"name":"Tower %d","city":%q,"stage":"under_construction","disposition":"active","primary_use":"multifamily","cost":%d,"filed_at":"2026-0%d-15","account_ids":[%q]}`,
					searchtest.ID("p", i+1),
					i,
					city,
					800_000*(i+1),
					i+5,
					firm,
				),
			),
		)
	}
	w := newWorld(t).withViews(t, viewRecords(t), data)
	if a := w.call(t, w.key, "POST", "/workspace/accounts/upsert", `{"account_id":"`+firm+`","icp_tier":"tier_1"}`); a.status != 200 {
		t.Fatal(a.text)
	}
	for _, c := range []struct{ path, body, query, filters, relations, sentence string }{
		{"/data/projects", `{"query":"multifamily under construction Calgary over 1m"}`, "",
			`{"city":{"value":["Calgary"]},"cost":{"value":[1000000,null]},"disposition":{"value":["active"]},"primary_use":{"value":["multifamily"]},"stage":{"value":["under_construction"]}}`, `{}`,
			"Use is Multifamily, Stage is Under construction, City is Calgary, Cost at least 1,000,000, Disposition is Active"},
		{
			"/data/projects", `{"query":" tower multifamily medicine hat "}`, "tower",
			`{"city":{"value":["Medicine Hat"]},"primary_use":{"value":["multifamily"]}}`, `{}`,
			"Use is Multifamily, City is Medicine Hat",
		},
		{
			"/data/projects", `{"query":"filed last month","now":"2026-08-01T03:00:00Z"}`, "",
			`{"filed_at":{"value":["2026-07-01","2026-07-31"]}}`, `{}`, "Permit filed Jul 1, 2026 to Jul 31, 2026",
		},
		{
			"/data/projects",
			`{"query":"filed last month","now":"2026-08-01T03:00:00Z","time_zone":"America/Edmonton"}`, "",
			`{"filed_at":{"value":["2026-06-01","2026-06-30"]}}`, `{}`, "Permit filed Jun 1, 2026 to Jun 30, 2026",
		},
		{
			"/data/accounts", `{"query":"gc building apartments in calgary"}`, "",
			`{"account_type":{"value":["general_contractor"]}}`,
			`{"has_project":{"city":{"value":["Calgary"]},"primary_use":{"value":["multifamily"]}}}`,
			"Kind of firm is General contractor, one project where Use is Multifamily and City is Calgary",
		},
		{
			"/data/accounts", `{"query":"gc in st albert"}`, "",
			`{"account_type":{"value":["general_contractor"]},"city":{"value":["St. Albert"]}}`, `{}`,
			"Kind of firm is General contractor, City is St. Albert",
		},
		{
			"/data/accounts", `{"query":"tier 1 gc"}`, "tier 1", `{"account_type":{"value":["general_contractor"]}}`,
			`{}`, "Kind of firm is General contractor",
		},
		{
			"/workspace/accounts", `{"query":"tier 1 gc"}`, "",
			`{"account_type":{"value":["general_contractor"]},"icp_tier":{"value":["tier_1"]}}`, `{}`,
			"Tier is Tier 1, Kind of firm is General contractor",
		},
		{"/data/contacts", `{"query":"ada calgary"}`, "ada calgary", `{}`, `{}`, ""},
		{
			"/data/contacts", `{"query":"estimators, ada@hidden.example"}`, "ada@hidden.example",
			`{"role":{"value":["estimator"]}}`, `{}`, "Role is Estimator",
		},
	} {
		a := w.call(t, w.key, "POST", c.path+"/read", c.body)
		var got readAnswer
		var metadata map[string]any
		a.into(t, &got, &metadata)
		if got.Query != c.query || string(got.Filters) != c.filters || string(got.Relations) != c.relations || got.Sentence != c.sentence {
			t.Errorf("%s %s: %s", c.path, c.body, a.text)
		}
		if metadata["credits"] != 0.0 || a.header.Get("X-Credits-Charged") != "" {
			t.Errorf("%s: %v %v", c.path, metadata, a.header)
		}
		body, _ := json.Marshal(map[string]any{"query": got.Query, "filters": got.Filters, "relations": got.Relations, "dry_run": true})
		if got.Query == "" {
			body, _ = json.Marshal(map[string]any{"filters": got.Filters, "relations": got.Relations, "dry_run": true})
		}
		var searched struct{ Count int }
		w.call(t, w.key, "POST", c.path+"/search", string(body)).into(t, &searched, nil)
		if searched.Count != got.Count {
			t.Errorf("%s %s: %d are counted, %d found", c.path, c.body, got.Count, searched.Count)
		}
	}
	var got readAnswer
	w.call(t, w.key, "POST", "/data/projects/read", `{"query":"Tower, calgary over $1m"}`).into(t, &got, nil)
	if diff := cmp.Diff([]reading.Span{{From: 15, To: 23}}, got.Conditions[1].Spans); diff != "" ||
		got.Conditions[1].Text != "Cost at least 1,000,000" || got.Count != 2 {
		t.Errorf("%+v %s", got, diff)
	}
	for body, want := range map[string]string{
		`{}`: `query invalid_type`,
		`{"query":"x","now":"today","time_zone":"Local","zone":1}`: `now invalid_format, time_zone invalid_format,  unrecognized_keys`,
	} {
		if got := w.call(t, w.key, "POST", "/data/projects/read", body).issueList(t); got != want {
			t.Errorf("%s: %s", body, got)
		}
	}
}
