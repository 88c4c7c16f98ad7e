package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/service/api"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/people"
)

// metered has requests of each metered operation. Each finds one record or none at first, and
// many more when it is repeated. A new metered route needs a row.
var metered = map[string][]asked{}

func init() {
	for _, d := range catalog.Datasets {
		one, letter := d.Singular(), string(d)[:1]
		for _, name := range []string{"First 1", "Later 1"} {
			filters := fmt.Sprintf(`"filters":{%q:{"value":%q}}`, nameOf(d), name)
			metered["search_"+string(d)] = append(metered["search_"+string(d)], asked{
				path: "/data/" + string(d) + "/search", body: `{"limit":50,` + filters + `}`,
			})
			metered["read_"+string(d)+"_changes"] = append(
				metered["read_"+string(d)+"_changes"],
				asked{path: "/data/" + string(d) + "/changes", body: `{"since":"2026-01-01","records":true,` + filters + `}`},
			)
		}
		metered["read_"+string(d)+"_changes"] = append(metered["read_"+string(d)+"_changes"], asked{
			path: "/data/" + string(d) + "/changes", body: `{"since":"2026-01-01","records":true,"limit":3}`,
		})
		metered["get_"+one] = []asked{
			{path: "/data/" + string(d) + "/" + searchtest.ID(letter, 1)},
			{path: "/data/" + string(d) + "/" + searchtest.ID(letter, 9)},
		}
		metered["get_"+string(d)+"_batch"] = []asked{{
			path: "/data/" + string(d) + "/get/batch",
			body: fmt.Sprintf(`{"ids":[%q,%q,%q]}`, searchtest.ID(letter, 9), searchtest.ID(letter, 1), searchtest.ID(letter, 1)),
		}}
	}
	for _, d := range query.Matched {
		metered["match_"+string(d)] = []asked{{
			path: "/data/" + string(d) + "/match",
			body: `{"candidates":5,"inputs":[{"ref":"1","name":"First 1"},{"ref":"2","name":"Later 1"}]}`,
		}}
	}
	for _, d := range catalog.Held {
		letter, path := string(d)[:1], "/workspace/"+string(d)
		metered["search_workspace_"+string(d)] = []asked{
			{path: path + "/search", body: `{"filters":{"tags":{"value":"first"}}}`},
			{path: path + "/search", body: `{"filters":{"tags":{"value":"later"}}}`},
		}
		metered["get_workspace_"+d.Singular()] = []asked{
			{path: path + "/" + searchtest.ID(letter, 1)}, {path: path + "/" + searchtest.ID(letter, 3)},
		}
	}
	metered["search_data_batch"] = []asked{
		{
			path: "/data/search/batch",
			body: `{"searches":[{"dataset":"accounts","filters":{"name":{"value":"First 1"}}},{"dataset":"projects","filters":{"name":{"value":"Later 1"}}},{"dataset":"signals","query":"nothing"}]}`,
		},
	}
	metered["search_workspace_batch"] = []asked{{
		path: "/workspace/search/batch",
		body: `{"searches":[{"dataset":"accounts","filters":{"tags":{"value":"first"}}},{"view_id":"{view}","filters":{"name":{"value":"Later 1"}}}]}`,
	}}
	for _, name := range []string{"First 1", "Later 1"} {
		metered["join_accounts"] = append(metered["join_accounts"], asked{
			path: "/data/accounts/join", body: fmt.Sprintf(`{"filters":{"name":{"value":%q}}}`, name),
		})
	}
	metered["join_workspace_accounts"] = []asked{
		{path: "/workspace/accounts/join", body: `{"filters":{"tags":{"value":"first"}}}`},
		{path: "/workspace/accounts/join", body: `{"filters":{"tags":{"value":"later"}}}`},
	}
	metered["search_view_records"] = []asked{
		{path: "/workspace/views/{view}/records/search", body: `{"filters":{"name":{"value":"First 1"}}}`},
		{path: "/workspace/views/{view}/records/search", body: `{"filters":{"name":{"value":"Later 1"}}}`},
	}
	metered["search_signal_queue"] = []asked{
		{path: "/workspace/signal-queue/search", body: `{"filters":{"title":{"value":"First 1"}}}`},
		{path: "/workspace/signal-queue/search", body: `{"filters":{"title":{"value":"Later 1"}}}`},
	}
}

func nameOf(d catalog.Dataset) string {
	if d == catalog.Signals {
		return "title"
	}
	return "name"
}

// recordsNamed are records of all datasets with these names, in order.
func recordsNamed(t *testing.T, names ...string) *searchtest.World {
	t.Helper()
	data := searchtest.NewWorld()
	for i, name := range names {
		for _, d := range catalog.Datasets {
			rest := ""
			if d == catalog.Signals {
				rest = `,"signal_type":"stage_changed","occurred_at":"2001-01-01T00:00:00Z"`
			}
			data.Add(searchtest.Record(t, d, fmt.Sprintf(`{"id":%q,%q:%q%s}`, searchtest.ID(string(d)[:1], i+1), nameOf(d), name, rest)))
		}
	}
	return data
}

// recordsIn counts the whole records of an answer.
func recordsIn(v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += recordsIn(item)
		}
	case map[string]any:
		_, global := v["updated_at"]
		if _, held := v["workspace_status"]; global || held {
			return 1
		}
		for _, member := range v {
			n += recordsIn(member)
		}
	}
	return n
}

// Whatever was loaded, written or published since: all answers with one key together show no
// more records than they cost.
func TestRepetitionsShowWhatWasPaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, recordsNamed(t, "First 1", "Other 2", "Other 3"))
	w.holds(t)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "A", workspace.Pro, 10_000)}, Scopes: workspace.AllScopes()})
	create := func(path, body string, into any) { t.Helper(); w.call(t, key, "POST", path, body).into(t, into, nil) }
	tag := func(n int, tags string) {
		t.Helper()
		for _, d := range catalog.Held {
			create(
				"/workspace/"+string(d)+"/upsert",
				fmt.Sprintf(`{"%s_id":%q,"tags":[%s]}`, d.Singular(), searchtest.ID(string(d)[:1], n), tags), nil,
			)
		}
	}
	tag(1, `"first"`)
	tag(2, `"other"`)
	create("/workspace/signal-subscriptions/upsert", `{"signal_type":"stage_changed"}`, nil)
	var made struct{ View struct{ ID string } }
	create(
		"/workspace/views/upsert",
		`{"dataset":"account","view_type":"dynamic","name":"All","definition":{"version":1,"q":"","fields":{}}}`,
		&made,
	)
	w.publish(t, 1, 3)

	type sent struct {
		asked
		method, key string
		charged     int
	}
	var all []*sent
	ask := func(s *sent) answer {
		t.Helper()
		a := w.keyed(t, key, s.key, s.method, s.path, s.body)
		charged, _ := strconv.Atoi(a.header.Get("X-Credits-Charged"))
		s.charged += charged
		var body map[string]any
		fatal(t, json.Unmarshal([]byte(a.text), &body))
		if shown := recordsIn(body["data"]); shown > s.charged || charged > 0 && shown != charged {
			t.Errorf("%s %s: shows %d records, paid are %d: %s", s.path, s.body, shown, s.charged, a.text)
		}
		return a
	}
	for _, r := range (&api.Server{}).Routes() {
		if r.Throttling != endpoint.Metered {
			continue
		}
		if metered[r.Operation] == nil {
			t.Errorf("%s costs, and is not repeated here", r.Operation)
		}
		for _, request := range metered[r.Operation] {
			request.path = strings.ReplaceAll(request.path, "{view}", made.View.ID)
			request.body = strings.ReplaceAll(request.body, "{view}", made.View.ID)
			s := &sent{asked: request, method: r.Method, key: uuid.NewString()}
			if a := ask(s); a.status != http.StatusOK && a.status != http.StatusNotFound {
				t.Fatalf("%s: %d %s", r.Operation, a.status, a.text)
			}
			all = append(all, s)
		}
	}

	w.load(t, recordsNamed(t, "First 1", "First 1", "Later 1", "Later 1", "First 1", "Later 1", "First 1", "Later 1", "First 1", "Later 1"))
	w.publish(t, 4, 10)
	for n := 2; n <= 9; n++ {
		tag(n, `"first","later"`)
	}
	for range 2 {
		for _, s := range all {
			before := s.charged
			if a := ask(s); a.status != http.StatusOK ||
				before > 0 && (a.header.Get("Idempotency-Replayed") != "true" || s.charged != before) {
				t.Errorf("%s %s again: %d %s", s.path, s.body, a.status, a.text)
			}
		}
	}
}

// publish appends changes of records.
func (w *world) publish(t *testing.T, from, to int) {
	t.Helper()
	for _, d := range catalog.Datasets {
		for n := from; n <= to; n++ {
			w.exec(t, `WITH f AS (UPDATE data_feed SET head = tail + 1, tail = tail + 1 RETURNING tail)
				INSERT INTO data_changes (dataset, seq, record_id, op) SELECT $1, tail, $2, 'upsert' FROM f`, string(d), searchtest.ID(string(d)[:1], n))
		}
	}
	w.exec(t, `UPDATE data_feed SET latest = gen_random_uuid(), accepted = NULL`)
	w.exec(t, `INSERT INTO data_publications (id, head, published_at) SELECT latest, head, now() FROM data_feed`)
}
