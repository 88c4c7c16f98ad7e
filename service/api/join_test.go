package api_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// joinedRow is a row of a join, with its records as they came.
type joinedRow struct{ Account, Project, Contact json.RawMessage }

type joinMetadata struct {
	Total         int
	TotalIsCapped bool `json:"total_is_capped"`
	Credits       int
	After         *string  `json:"search_after"`
	LeftOut       []string `json:"left_out"`
}

// joinModel computes joins from the records by itself.
type joinModel struct {
	projects, contacts []map[string]any
	raw                map[string]json.RawMessage // by id
}

// joinWorld has firms with many projects and people, whose numbers, roles and times repeat.
func joinWorld(t *testing.T, r *rand.Rand, n int) *searchtest.World {
	t.Helper()
	data := searchtest.NewWorld()
	one := func(all ...any) any { return all[r.IntN(len(all))] }
	add := func(d catalog.Dataset, row map[string]any) {
		b, err := json.Marshal(row)
		fatal(t, err)
		data.Add(searchtest.Record(t, d, string(b)))
	}
	account := func() string { return searchtest.ID("a", 1+r.IntN(n-2)) } // two have nothing
	for i := 1; i <= n; i++ {
		add(catalog.Accounts, map[string]any{
			"id": searchtest.ID("a", i), "name": fmt.Sprintf("Firm %d", i%7), "city": one(nil, "Calgary", "Airdrie"),
		})
	}
	for i := 1; i <= 6*n; i++ {
		add(catalog.Projects, map[string]any{
			"id": searchtest.ID("p", i), "name": fmt.Sprintf("Project %d", i%5), "stage": one("filed", "permitted", "under_construction"),
			"cost": one(
				nil,
				nil,
				0,
				10,
				1e6,
				1e6,
			), "sqft": one(nil, 1.5, 200), "stories": one(nil, 1, 2), "residential_units": one(nil, 3, 4),
			"account_ids": slices.Compact(slices.Sorted(slices.Values([]string{account(), account()}))),
		})
		add(catalog.Contacts, map[string]any{
			"id": searchtest.ID(
				"c",
				i,
			), "name": fmt.Sprintf("Person %d", i), "account_id": account(), "email": fmt.Sprintf("p%d@people.example", i),
			"role":       one(nil, "architect", "other", "estimator", "estimator", "project_manager", "developer", "executive", "owner"),
			"updated_at": one("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
		})
	}
	return data
}

// readJoinModel reads all projects and contacts.
func readJoinModel(t *testing.T, w *world, key string) joinModel {
	t.Helper()
	m := joinModel{raw: map[string]json.RawMessage{}}
	for dataset, into := range map[string]*[]map[string]any{"projects": &m.projects, "contacts": &m.contacts} {
		after := "null"
		for after != "" {
			var rows []json.RawMessage
			var meta joinMetadata
			w.call(t, key, "POST", "/data/"+dataset+"/search", `{"limit":100,"search_after":`+after+`}`).into(t, &rows, &meta)
			for _, raw := range rows {
				var row map[string]any
				fatal(t, json.Unmarshal(raw, &row))
				*into = append(*into, row)
				m.raw[row["id"].(string)] = raw
			}
			if after = ""; meta.After != nil {
				after = fmt.Sprintf("%q", *meta.After)
			}
		}
	}
	return m
}

// of is the row of an account: its project by a number, of those that fit, and its contact.
func (m joinModel) of(account json.RawMessage, by string, fits func(project map[string]any) bool) joinedRow {
	var a struct{ ID string }
	_ = json.Unmarshal(account, &a)
	row := joinedRow{account, json.RawMessage("null"), json.RawMessage("null")}
	var own []map[string]any
	for _, p := range m.projects {
		if slices.Contains(p["account_ids"].([]any), any(a.ID)) && fits(p) {
			own = append(own, p)
		}
	}
	id := func(x, y map[string]any) int { return strings.Compare(x["id"].(string), y["id"].(string)) }
	slices.SortFunc(own, func(x, y map[string]any) int {
		a, known := x[by].(float64)
		b, alsoKnown := y[by].(float64)
		switch {
		case known != alsoKnown && known:
			return -1
		case known != alsoKnown:
			return 1
		}
		return cmp.Or(cmp.Compare(b, a), id(x, y))
	})
	if len(own) > 0 {
		row.Project = m.raw[own[0]["id"].(string)]
	}
	order := []any{"owner", "executive", "developer", "project_manager", "estimator"}
	place := func(c map[string]any) int {
		if i := slices.Index(order, c["role"]); i >= 0 {
			return i
		}
		return len(order)
	}
	var persons []map[string]any
	for _, c := range m.contacts {
		if c["account_id"] == a.ID {
			persons = append(persons, c)
		}
	}
	slices.SortFunc(persons, func(x, y map[string]any) int {
		return cmp.Or(cmp.Compare(place(x), place(y)), -strings.Compare(x["updated_at"].(string), y["updated_at"].(string)), id(x, y))
	})
	if len(persons) > 0 {
		row.Contact = m.raw[persons[0]["id"].(string)]
	}
	return row
}

func (r joinedRow) records() int {
	n := 1
	for _, record := range []json.RawMessage{r.Project, r.Contact} {
		if string(record) != "null" {
			n++
		}
	}
	return n
}

func (r joinedRow) String() string { return fmt.Sprintf("%s\n%s\n%s", r.Account, r.Project, r.Contact) }

// A join answers the firms of the search with the same body, in its order, each with the
// records that a model computes from all records, and costs the records that it shows.
func TestJoin(t *testing.T) {
	t.Parallel()
	const n = 40
	r := rand.New(rand.NewPCG(44, 11)) // #nosec G404 -- not a secret
	w := newWorld(t)
	in := w.workspace(t, "Acme", workspace.Pro, 1_000_000)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	w.load(t, joinWorld(t, r, n))
	w.holds(t)
	for i := 1; i <= n; i += 3 {
		w.call(
			t, key, "POST", "/workspace/accounts/upsert",
			fmt.Sprintf(`{"account_id":%q,"tags":["x"],"notes":"n"}`, searchtest.ID("a", i)),
		).into(t, nil, nil)
	}
	model := readJoinModel(t, w, key)
	every := func(map[string]any) bool { return true }
	staged := func(stage string) func(map[string]any) bool {
		return func(p map[string]any) bool { return p["stage"] == stage }
	}
	dear := func(p map[string]any) bool { cost, known := p["cost"].(float64); return known && cost >= 5 }
	for _, c := range []struct {
		body string // without braces
		by   string
		fits func(map[string]any) bool
	}{
		{``, "cost", every},
		{`"relations":{"has_project":{}}`, "cost", every},
		{`"relations":{"has_project":{"stage":{"value":"permitted"}}}`, "cost", staged("permitted")},
		{`"relations":{"has_project":{"stage":{"value":"filed"}},"without_contact":{"role":{"value":"owner"}}},"project_by":"sqft"`, "sqft", staged("filed")},
		{`"relations":{"has_project":{"cost":{"value":[5,null]}}},"project_by":"stories"`, "stories", dear},
		{
			`"relations":{"has_project":{"name":{"value":"project 3"}}},"project_by":"residential_units"`,
			"residential_units", func(p map[string]any) bool { return p["name"] == "Project 3" },
		},
		{`"relations":{"without_project":{"stage":{"value":"filed"}}}`, "cost", every},
		{`"any":[{"relations":{"has_project":{"stage":{"value":"filed"}}}},{"filters":{"city":{"value":"calgary"}}}],"project_by":"signals_count"`, "signals_count", every},
		{`"query":"firm 3","filters":{"city":{"value":"airdrie"}},"sort":{"field":"projects_count","order":"desc"}`, "cost", every},
	} {
		for _, path := range []string{"/data/accounts/", "/workspace/accounts/"} {
			for _, limit := range []int{33, 4} {
				after := "null"
				for pages := 0; after != ""; pages++ {
					body := fmt.Sprintf(`{"limit":%d,"search_after":%s`, limit, after)
					if c.body != "" {
						body += "," + c.body
					}
					var accounts []json.RawMessage
					var searched joinMetadata
					own := strings.NewReplacer(
						`,"project_by":"sqft"`, "", `,"project_by":"stories"`, "", `,"project_by":"residential_units"`,
						"", `,"project_by":"signals_count"`, "",
					).Replace(body)
					w.call(t, key, "POST", path+"search", own+"}").into(t, &accounts, &searched)
					var rows []joinedRow
					var m joinMetadata
					a := w.call(t, key, "POST", path+"join", body+"}")
					a.into(t, &rows, &m)
					if len(rows) != len(accounts) || m.Total != searched.Total || (m.After == nil) != (searched.After == nil) {
						t.Fatalf("%s %s: %d rows, the search has %d: %+v", path, body, len(rows), len(accounts), m)
					}
					records := 0
					for i, row := range rows {
						want := model.of(accounts[i], c.by, c.fits)
						if diff := gocmp.Diff(want.String(), row.String()); diff != "" {
							t.Fatalf("%s %s, row %d (-model +join):\n%s", path, body, i, diff)
						}
						records += row.records()
					}
					if m.Credits != records || a.header.Get("X-Credits-Charged") != fmt.Sprint(records) {
						t.Errorf("%s %s: %d records cost %d, %s", path, body, records, m.Credits, a.header.Get("X-Credits-Charged"))
					}
					var cost struct{ Count, Credits int }
					dry := w.call(t, key, "POST", path+"join", body+`,"dry_run":true}`)
					dry.into(t, &cost, nil)
					if cost.Credits != 3*len(rows) || cost.Count != m.Total ||
						dry.header.Get("X-Credits-Used") != a.header.Get("X-Credits-Used") {
						t.Errorf("%s %s: a dry run says %+v, of %d rows", path, body, cost, len(rows))
					}
					// The cursor is that of the firms.
					after = ""
					if m.After != nil {
						after = fmt.Sprintf("%q", []string{*m.After, *searched.After}[pages%2])
					}
				}
			}
		}
	}

	_, stranger := w.key(t, people.NewKey{
		Workspaces: []workspace.ID{w.workspace(t, "Other", workspace.Pro, 100)}, Scopes: workspace.AllScopes(),
	})
	var none []joinedRow
	if w.call(t, stranger, "POST", "/workspace/accounts/join", `{}`).into(t, &none, nil); len(none) != 0 {
		t.Errorf("another workspace has %d firms in its book", len(none))
	}
	var some []map[string]json.RawMessage
	w.call(t, key, "POST", "/workspace/accounts/join", `{"limit":1,"fields":["phone","notes"],"project_fields":["cost"],"contact_fields":["name"]}`).
		into(t, &some, nil)
	for part, want := range map[string]string{"account": "id notes phone", "project": "cost id", "contact": "id name"} {
		var members map[string]json.RawMessage
		fatal(t, json.Unmarshal(some[0][part], &members))
		if got := strings.Join(sortedKeys(members), " "); got != want {
			t.Errorf("the %s has %s, want %s", part, got, want)
		}
	}
	for body, path := range map[string]string{
		`{"limit":34}`: "limit", `{"limit":0}`: "limit", `{"project_by":"name"}`: "project_by",
		`{"project_fields":["title"]}`: "project_fields.0", `{"contact_fields":[]}`: "contact_fields",
		`{"highlight":true}`: "",
		`{"dry_run":true,"relations":{"has_contact":{"email":{"value":"p1@people.example"}}}}`: "relations.has_contact.email",
	} {
		if a := w.call(t, key, "POST", "/data/accounts/join", body); a.code() != "validation" ||
			!strings.Contains(a.text, `"path":["`+strings.ReplaceAll(path, ".", `","`)+`"`) && path != "" {
			t.Errorf("%s: %d %s", body, a.status, a.text)
		}
	}
}

func sortedKeys(m map[string]json.RawMessage) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// A page reserves three credits for each firm and charges its records. A replay shows the
// records of the first answer, whatever ranks first since.
func TestJoinCharges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := func(second int, title string) *searchtest.World {
		all := searchtest.NewWorld()
		for i := 1; i <= 4; i++ {
			all.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Firm %d"}`, searchtest.ID("a", i), i)))
			for j, cost := range []int{5, second} {
				all.Add(searchtest.Record(
					t, catalog.Projects,
					fmt.Sprintf(
						`{"id":%q,"name":"P","description":%q,"cost":%d,"account_ids":[%q]}`, searchtest.ID("p", 2*i+j),
						title, cost, searchtest.ID("a", i),
					),
				))
			}
		}
		all.Add(searchtest.Record(
			t, catalog.Contacts,
			fmt.Sprintf(`{"id":%q,"name":"Ada","account_id":%q}`, searchtest.ID("c", 1), searchtest.ID("a", 1)),
		))
		return all
	}
	w.load(t, data(1, ""))
	w.holds(t)
	in := w.workspace(t, "Acme", workspace.Pro, 13)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	ask := func(once, body string) (rows []joinedRow, m joinMetadata, a answer) {
		t.Helper()
		a = w.keyed(t, key, once, "POST", "/data/accounts/join", body)
		a.into(t, &rows, &m)
		return rows, m, a
	}
	first, m, a := ask("one", `{"limit":4}`)
	if len(first) != 4 || m.Credits != 9 || a.header.Get("X-Credits-Used") != "9" {
		t.Fatalf("%+v %v", m, a.header)
	}
	w.load(t, data(9, strings.Repeat("x", 600))) // another project has the highest cost
	again, m, a := ask("one", `{"limit":4}`)
	if a.header.Get("Idempotency-Replayed") != "true" || m.Credits != 0 || a.header.Get("X-Credits-Used") != "9" || len(again) != 4 {
		t.Fatalf("again: %+v %v", m, a.header)
	}
	idOf := func(raw json.RawMessage) string {
		var of struct{ ID string }
		fatal(t, json.Unmarshal(raw, &of))
		return of.ID
	}
	for i := range first {
		if idOf(first[i].Project) != idOf(again[i].Project) || idOf(first[i].Contact) != idOf(again[i].Contact) ||
			!strings.Contains(string(again[i].Project), "xxx") {
			t.Errorf("row %d: %s, at first %s", i, again[i], first[i])
		}
	}
	// 4 are left, a page of 2 firms has 4 or 5 and may pass the ceiling; then nothing is left.
	rows, m, _ := ask("two", `{"limit":2,"max_bytes":2000}`)
	if len(rows) != 1 || m.Credits != 3 || m.After == nil {
		t.Errorf("%d rows within 2000 bytes: %+v", len(rows), m)
	}
	if rows, m, _ = ask("three", `{"limit":33}`); len(rows) != 4 || m.Credits != 9 {
		t.Errorf("beyond the ceiling: %+v", m)
	}
	if a := w.call(t, key, "POST", "/data/accounts/join", `{"limit":1}`); a.status != http.StatusTooManyRequests ||
		a.code() != "rate_limited" {
		t.Errorf("%d %s", a.status, a.text)
	}
	var usage struct {
		Used   int            `json:"used_credits"`
		ByTool map[string]int `json:"by_tool"`
	}
	if w.call(t, key, "GET", "/data/usage", "").into(t, &usage, nil); usage.Used != 21 || usage.ByTool["join_accounts"] != 21 {
		t.Errorf("%+v", usage)
	}

	// Records that have grown too long since are listed.
	_, rich := w.key(
		t,
		people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "Rich", workspace.Pro, 1000)}, Scopes: workspace.AllScopes()},
	)
	key = rich
	w.load(t, data(9, ""))
	first, _, _ = ask("long", `{"limit":4,"max_bytes":9000}`)
	w.load(t, data(9, strings.Repeat("x", 4000)))
	again, m, _ = ask("long", `{"limit":4,"max_bytes":9000}`)
	if len(first) != 4 || len(again) != 1 ||
		!slices.Equal(m.LeftOut, []string{searchtest.ID("a", 2), searchtest.ID("a", 3), searchtest.ID("a", 4)}) {
		t.Errorf("%d rows at first, %d again: %+v", len(first), len(again), m)
	}
}
