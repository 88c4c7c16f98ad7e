package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/internal/devstack/backends"
	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/service/credits"
	"atlas/service/ratelimit"
	"atlas/workspace"
	"atlas/workspace/people"
)

// searched is the result of a search in a batch.
type searched struct {
	Index    int
	Status   string
	Data     json.RawMessage
	Metadata json.RawMessage
	Error    struct {
		Code, Message string
		Issues        []struct{ Path []string }
	}
}

// batched are searches of a batch: the path of the single search, and its body.
type batched struct{ path, body string }

// item is the search as an item of a batch.
func (b batched) item() string {
	_, rest, _ := strings.Cut(b.path, "/")
	_, rest, _ = strings.Cut(rest, "/")
	name, id := "dataset", strings.TrimSuffix(rest, "/search")
	if view, is := strings.CutPrefix(id, "views/"); is {
		name, id = "view_id", strings.TrimSuffix(view, "/records")
	}
	text := fmt.Sprintf(`{%q:%q`, name, id)
	if b.body != "{}" {
		text += "," + b.body[1:len(b.body)-1]
	}
	return text + "}"
}

func batchOf(all []batched) string {
	items := make([]string, len(all))
	for i, b := range all {
		items[i] = b.item()
	}
	return `{"searches":[` + strings.Join(items, ",") + `]}`
}

func (w *world) searchBatch(t *testing.T, key, path, body string) (results []searched, charged string) {
	t.Helper()
	a := w.call(t, key, "POST", path, body)
	var data struct{ Results []searched }
	var m struct{ Credits, Succeeded, Failed int }
	a.into(t, &data, &m)
	if charged = a.header.Get("X-Credits-Charged"); charged != fmt.Sprint(m.Credits) || m.Succeeded+m.Failed != len(data.Results) {
		t.Errorf("charged %s, %+v", charged, m)
	}
	for i, r := range data.Results {
		if r.Index != i {
			t.Errorf("result %d has the index %d", i, r.Index)
		}
	}
	return data.Results, charged
}

// Each search of a batch has the same answer as the single search, byte for byte, and is
// charged to the same operation.
func TestSearchBatchEqualsSearches(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 100_000)
	w.holds(t)
	for i := range 3 {
		w.call(
			t, key, "POST", "/workspace/accounts/upsert",
			fmt.Sprintf(`{"account_id":%q,"tags":["x"]}`, searchtest.ID("a", i+1)),
		).into(t, nil, nil)
	}
	view := func(dataset string) string {
		var made struct{ View struct{ ID string } }
		w.call(
			t, key, "POST", "/workspace/views/upsert",
			fmt.Sprintf(`{"dataset":%q,"view_type":"dynamic","name":%q,"definition":{"version":1,"q":"","fields":{}}}`, dataset, dataset),
		).into(t, &made, nil)
		return "/workspace/views/" + made.View.ID + "/records/search"
	}
	bodies := []string{
		`{"limit":20}`, `{"limit":1,"offset":1}`, `{"limit":3,"query":"firm"}`, `{"limit":5,"query":"zzzqq nothing"}`,
		`{"limit":2,"query":"firm 1","highlight":true,"fields":["id"]}`, `{"limit":20,"max_bytes":1100}`, `{"limit":"x"}`, `{"limit":7,"colour":1}`,
		`{"limit":2,"search_after":"x"}`, `{"dry_run":true}`, `{"limit":4,"sort":{"field":"created_at","order":"asc"}}`,
		`{"limit":2,"query":"fyrm","typos":"auto"}`, `{"limit":2,"query":"ada@example.com"}`, `{"limit":1,"offset":9000}`,
	}
	all := map[string][]batched{}
	for _, d := range catalog.Datasets {
		for _, body := range bodies {
			all["/data/search/batch"] = append(all["/data/search/batch"], batched{"/data/" + string(d) + "/search", body})
		}
	}
	for _, path := range []string{
		"/workspace/accounts/search", "/workspace/contacts/search", view("account"), view("contact"), view("project"),
		"/workspace/views/" + unknownID + "/records/search",
	} {
		for _, body := range bodies {
			if !strings.Contains(body, "9000") || !strings.Contains(path, "views") { // merged offsets are refused
				all["/workspace/search/batch"] = append(all["/workspace/search/batch"], batched{path, body})
			}
		}
	}
	for path, searches := range all {
		for len(searches) > 0 {
			n := min(len(searches), 28)
			some := searches[:n]
			searches = searches[n:]
			before := w.usedBy(t, key)
			results, _ := w.searchBatch(t, key, path, batchOf(some))
			charged := w.usedBy(t, key)
			singles := map[string]int{}
			for i, r := range results {
				single := w.call(t, key, "POST", some[i].path, some[i].body)
				if r.Status != "ok" {
					if single.status == http.StatusOK ||
						single.code() != r.Error.Code && (single.code() != "validation" || r.Error.Code != "invalid_input") {
						t.Errorf(
							"%s %s: %s %s, alone %d %s",
							some[i].path,
							some[i].body,
							r.Status,
							r.Error.Message,
							single.status,
							single.text,
						)
					}
					continue
				}
				want := `{"data":` + string(r.Data) + `,"metadata":` + string(r.Metadata) + `}`
				if diff := cmp.Diff(single.text, want); diff != "" {
					t.Errorf("%s %s (-single +batch):\n%s", some[i].path, some[i].body, diff)
				}
			}
			after := w.usedBy(t, key)
			for tool := range after {
				if after[tool]-charged[tool] != charged[tool]-before[tool] {
					t.Errorf("%s: %d by single searches, %d by the batch", tool, after[tool]-charged[tool], charged[tool]-before[tool])
				}
				singles[tool]++
			}
		}
	}
}

// usedBy is the number of credits used by each operation.
func (w *world) usedBy(t *testing.T, key string) map[string]int {
	t.Helper()
	var usage struct {
		ByTool map[string]int `json:"by_tool"`
	}
	w.call(t, key, "GET", "/data/usage", "").into(t, &usage, nil)
	return usage.ByTool
}

// A batch is refused as a whole only for its envelope.
func TestSearchBatchEnvelope(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1000)
	many := func(n int, item string) string {
		return `{"searches":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + `]}`
	}
	for body, path := range map[string]string{
		`{}`: "searches", `{"searches":[]}`: "searches", `{"searches":{}}`: "searches",
		many(51, `{"dataset":"accounts","limit":1}`):      "searches",
		many(11, `{"dataset":"accounts","limit":91}`):     "searches",
		`{"searches":[{"dataset":"accounts"}],"limit":1}`: "",
	} {
		a := w.call(t, key, "POST", "/data/search/batch", body)
		var e struct {
			Error struct{ Issues []struct{ Path []string } }
		}
		fatal(t, json.Unmarshal([]byte(a.text), &e))
		if a.code() != "validation" || strings.Join(e.Error.Issues[0].Path, " ") != path || a.header.Get("X-Credits-Charged") != "0" {
			t.Errorf("%.100s: %d %s", body, a.status, a.text)
		}
	}
	results, _ := w.searchBatch(
		t,
		key,
		"/data/search/batch",
		`{"searches":[{"dataset":"accounts"},7,{},{"dataset":"firms"},{"dataset":"signals","limit":0}]}`,
	)
	for i, path := range map[int]string{1: "", 2: "dataset", 3: "dataset", 4: "limit"} {
		if r := results[i]; r.Status != "invalid_input" || strings.Join(r.Error.Issues[0].Path, " ") != path {
			t.Errorf("%d: %+v", i, r)
		}
	}
	var m struct{ Limit int }
	fatal(t, json.Unmarshal(results[0].Metadata, &m))
	if m.Limit != 20 {
		t.Errorf("the limit of a search that gives none is %d", m.Limit)
	}
	results, _ = w.searchBatch(
		t, key, "/workspace/search/batch",
		`{"searches":[{},{"dataset":"signals"},{"dataset":"accounts","view_id":"`+unknownID+`"},{"view_id":"x"}]}`,
	)
	for i, path := range []string{"dataset", "dataset", "dataset", "view_id"} {
		if r := results[i]; r.Status != "invalid_input" || strings.Join(r.Error.Issues[0].Path, " ") != path {
			t.Errorf("%d: %+v", i, r)
		}
	}
}

// Credits are granted in order. The search that reaches the ceiling runs, those after it do
// not.
func TestSearchBatchAtTheCeiling(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 3)
	const batch = "/data/search/batch"
	body := `{"searches":[{"dataset":"accounts","limit":2},{"dataset":"accounts","limit":"x"},{"dataset":"accounts","dry_run":true},{"dataset":"projects","limit":2},{"dataset":"accounts","limit":1}]}`
	results, charged := w.searchBatch(t, key, batch, body)
	var statuses []string
	for _, r := range results {
		statuses = append(statuses, r.Status)
	}
	if diff := cmp.Diff([]string{"ok", "invalid_input", "ok", "ok", "rate_limited"}, statuses); diff != "" || charged != "4" {
		t.Errorf("charged %s (-want +got):\n%s", charged, diff)
	}
	for _, body := range []string{body, `{"searches":[{"dataset":"accounts","dry_run":true}]}`} {
		if a := w.call(t, key, "POST", batch, body); a.code() != "rate_limited" {
			t.Errorf("%d %s", a.status, a.text)
		}
	}
	// The budget of a key likewise.
	_, own := w.key(t, people.NewKey{
		Workspaces: []workspace.ID{w.workspace(t, "B", workspace.Pro, 1000)}, Scopes: workspace.AllScopes(),
		Budget: workspace.KeyBudget{DailyCredits: 1},
	})
	results, charged = w.searchBatch(t, own, batch, `{"searches":[{"dataset":"accounts","limit":2},{"dataset":"accounts","limit":1}]}`)
	if results[0].Status != "ok" || results[1].Status != "key_budget_used" || charged != "2" {
		t.Errorf("charged %s: %+v", charged, results)
	}
	if a := w.call(t, own, "POST", batch, `{"searches":[{"dataset":"accounts","limit":2}]}`); a.code() != "key_budget_used" {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// A replay of a batch is free, with the same searches refused.
func TestSearchBatchOnce(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 5)
	body := `{"searches":[{"dataset":"accounts","limit":2},{"dataset":"accounts","limit":"x"},{"dataset":"accounts","query":"nothing has this","limit":1},{"dataset":"projects","limit":2},{"dataset":"accounts","limit":3}]}`
	first := w.keyed(t, key, "k", "POST", "/data/search/batch", body)
	if first.status != http.StatusOK || first.header.Get("X-Credits-Charged") != "4" {
		t.Fatalf("%d %v %s", first.status, first.header, first.text)
	}
	for range 2 {
		again := w.keyed(t, key, "k", "POST", "/data/search/batch", body)
		replayed(t, "a batch", again)
		normal := func(a answer) string {
			return strings.ReplaceAll(strings.ReplaceAll(a.text, `"credits":4`, `"credits":0`), `"credits":2`, `"credits":0`)
		}
		if diff := cmp.Diff(normal(first), normal(again)); diff != "" || again.header.Get("X-Credits-Charged") != "0" {
			t.Errorf("(-first +again):\n%s", diff)
		}
	}
}

// A replay after a View is gone says so. A search that was refused for its body is refused
// again: only its code is stored.
func TestSearchBatchOnceWithoutItsView(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 100)
	w.holds(t)
	var made struct{ View struct{ ID string } }
	w.call(t, key, "POST", "/workspace/views/upsert", `{"dataset":"account","view_type":"dynamic","name":"V","definition":{"version":1,"q":"","fields":{}}}`).
		into(t, &made, nil)
	body := `{"searches":[{"dataset":"accounts","view_id":null,"limit":1},{"dataset":null,"view_id":"` + made.View.ID +
		`","limit":1},{"dataset":"accounts","` + strings.Repeat("x", 300<<10) + `":1}]}`
	statuses := func(a answer) (all []string) {
		var data struct{ Results []searched }
		a.into(t, &data, nil)
		for _, r := range data.Results {
			all = append(all, r.Status)
		}
		return all
	}
	first := w.keyed(t, key, "k", "POST", "/workspace/search/batch", body)
	if diff := cmp.Diff([]string{"ok", "ok", "invalid_input"}, statuses(first)); diff != "" {
		t.Fatal(diff)
	}
	w.call(t, key, "DELETE", "/workspace/views/"+made.View.ID, "").into(t, nil, nil)
	again := w.keyed(t, key, "k", "POST", "/workspace/search/batch", body)
	replayed(t, "a batch", again)
	if diff := cmp.Diff([]string{"ok", "view_not_found", "invalid_input"}, statuses(again)); diff != "" {
		t.Error(diff)
	}
}

// A batch takes one turn of the key's rate, and owes one for each further search.
func TestSearchBatchTakesTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	redis, err := credits.Open(backends.Redis(t))
	fatal(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	w.server.Limiter = ratelimit.New(redis, "test:"+uuid.NewString()+":")
	_, key := w.key(t, people.NewKey{
		Workspaces: []workspace.ID{w.workspace(t, "A", workspace.Pro, 0)},
		Budget:     workspace.KeyBudget{RequestsPerSecond: 2},
	})
	w.searchBatch(t, key, "/data/search/batch", `{"searches":[`+strings.Repeat(`{"dataset":"accounts"},`, 19)+`{"dataset":"accounts"}]}`)
	a := w.call(t, key, "GET", "/workspace", "")
	if a.code() != "too_many_requests" || len(a.header.Get("Retry-After")) < 1 || a.header.Get("Retry-After") == "1" {
		t.Errorf("%d %s %v", a.status, a.text, a.header)
	}
}
