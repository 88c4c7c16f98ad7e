package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// Objects of another workspace and tools without permission do not exist for a caller. Record
// text cannot forge the marks around it.
func TestAgentsAreSeparate(t *testing.T) {
	t.Parallel()
	a := newAgents(t, 0)
	me := a.agent(t, a.key, nil)
	var made struct{ View struct{ ID string } }
	fatal(t, json.Unmarshal(me.ok("manage_view", `{"action":"create","dataset":"account","view_type":"static","name":"Ours"}`).Data, &made))
	me.ok("update_book", `{"dataset":"accounts","action":"upsert","items":`+accountItems(2)+`}`)

	theirs := a.workspace(t, "Others", workspace.Pro, 1000)
	_, key := a.world.key(t, people.NewKey{Workspaces: []workspace.ID{theirs}, Scopes: workspace.AllScopes()})
	other := a.agent(t, key, nil)
	other.refused("manage_view", fmt.Sprintf(`{"action":"get","view_id":%q}`, made.View.ID), "view_not_found")
	other.refused("search_view", fmt.Sprintf(`{"view_id":%q}`, made.View.ID), "view_not_found")
	if r := other.ok("search_book", `{"dataset":"accounts"}`); r.Metadata.Credits != 0 {
		t.Errorf("another workspace's book: %s", r.Data)
	}
	if _, err := other.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "atlas://views/" + made.View.ID}); err == nil {
		t.Error("another workspace's View")
	}
	res, err := a.post(t, key, "?workspace_id="+a.in.String(), `{}`, nil)
	fatal(t, err)
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("another workspace: %d", res.StatusCode)
	}

	for scopes, want := range map[workspace.Scope]string{
		workspace.DataRead: "changes_since count_and_facets credits describe_fields get_records match_records pivot read_question " +
			"search_many search_records",
		workspace.WorkspaceRead:  "find_skills get_skill manage_view read_boards search_book search_view",
		workspace.WorkspaceWrite: "update_book",
	} {
		_, key := a.world.key(t, people.NewKey{Workspaces: []workspace.ID{a.in}, Scopes: []workspace.Scope{scopes}})
		some := a.agent(t, key, nil)
		var names []string
		for tool, err := range some.Tools(t.Context(), nil) {
			fatal(t, err)
			names = append(names, tool.Name)
		}
		slices.Sort(names)
		if diff := cmp.Diff(want, strings.Join(names, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", scopes, diff)
		}
		for _, tool := range []string{"update_book", "search_records", "search_book"} {
			if slices.Contains(names, tool) {
				continue
			}
			if got, err := some.CallTool(t.Context(), &sdk.CallToolParams{
				Name: tool, Arguments: json.RawMessage(`{"dataset":"accounts"}`),
			}); err == nil {
				t.Errorf("%s: %s answered %+v", scopes, tool, got)
			}
		}
		if scopes == workspace.WorkspaceRead {
			some.refused("manage_view", `{"action":"create","dataset":"account","view_type":"static","name":"x"}`, "Error")
		}
	}

	// The form of the block is checked by call.
	r := me.ok("search_records", `{"dataset":"accounts","filters":{"city":{"value":"Elsewhere"}}}`)
	var rows []struct{ Name string }
	fatal(t, json.Unmarshal(r.Data, &rows))
	if len(rows) != 1 || rows[0].Name != injected {
		t.Errorf("%+v", rows)
	}
	again := me.ok("search_records", `{"dataset":"accounts","filters":{"city":{"value":"Elsewhere"}}}`)
	if r.text == again.text {
		t.Error("the mark of the data is the same twice")
	}
}

// Errors explain to an agent how to correct them.
func TestAgentsMistakes(t *testing.T) {
	t.Parallel()
	a := newAgents(t, 0)
	me := a.agent(t, a.key, accept)
	me.refused("search_records", `{"dataset":"projects","filters":{"stag":{"value":"filed"}}}`, "invalid_input", "stage", "describe_fields")
	me.refused("search_records", `{"dataset":"projects","filters":{"stage":{"value":"permited"}}}`, "filters.stage.value", "permitted")
	me.refused("search_records", `{"dataset":"projects","fields":["nmae"]}`, "name")
	me.refused("search_records", `{"dataset":"project"}`, "dataset is one of", `did you mean "projects"?`)
	me.refused("search_records", `{"dataset":"companies"}`, `did you mean "accounts"?`)
	me.refused("search_records", `{"dataset":["projects"]}`, "a text, not an array")
	me.refused("search_records", `{"Dataset":"projects"}`, `did you mean "dataset"?`)
	me.refused("search_records", `{"dataset":"projects","fields":"name"}`, `fields must be an array, such as ["name"]`)
	me.refused("search_records", `{"dataset":"projects","max_credits":10.5}`, "max_credits must be an integer")
	me.refused("get_records", `{"dataset":"projects","ids":{"id":"x"}}`, "ids must be an array", "not an object")
	me.refused("search_view", `{"view_id":["x"]}`, "view_id must be a text, not an array")
	me.refused("credits", `{"days":7}`, "It has none")
	me.refused("manage_view", `{"action":"rename"}`, "action is one of list, get, create")
	me.refused(
		"manage_view",
		`{"action":"create","dataset":"project","view_type":"static","name":"x","definition":{"version":1},"record_ids":["`+unknownID+`"]}`,
		"the action create does not take record_ids", "add_records",
	)
	me.refused("manage_view", `{"action":"list","dataset":"accounts"}`, `did you mean "account"?`)
	if _, err := me.CallTool(t.Context(), &sdk.CallToolParams{Name: "searchRecords"}); err == nil ||
		!strings.Contains(err.Error(), `did you mean "search_records"?`) || !strings.Contains(err.Error(), "describe_fields") {
		t.Errorf("an unknown tool: %v", err)
	}
	me.refused("search_records", `{"dataset":"projects","limit":51}`, "limit is 1 to 50")
	me.refused("search_records", `{"dataset":"projects","limit":0}`, "limit is 1 to 50")
	me.refused("search_records", `{"dataset":"projects","max_credits":0}`, "max_credits")
	me.refused("search_records", `{"dataset":"projects","colour":1}`, "colour", "It has")
	me.refused("search_records", `{}`, "dataset is required: one of accounts, contacts, projects, signals")
	me.refused("search_records", `{"dataset":"projects","page":2}`, `did you mean "search_after"?`)
	me.refused("describe_fields", `{"field":"stage"}`, `did you mean "keys"?`)
	me.refused("manage_view", `{"action":"add_records","ids":["`+unknownID+`"]}`, `did you mean "record_ids"?`)
	me.refused("update_book", `{"dataset":"accounts","action":"upsert","records":[{}]}`, `did you mean "items"?`)
	me.refused("search_view", `{"name":"x"}`, `did you mean "view_id"?`)
	me.refused("get_skill", `{"name":"x"}`, `did you mean "locator"?`)
	me.refused("search_records", `{"dataset":"projects","limit":"ten"}`, "limit")
	me.refused("search_records", `{"dataset":"projects","search_after":"x"}`, "bad_request", "begin again")
	me.refused("get_records", `{"dataset":"projects","ids":[]}`, "ids are 1 to 50")
	me.refused("update_book", `{"dataset":"signals","action":"upsert","items":[{}]}`, "dataset is one of")
	me.refused("update_book", `{"dataset":"accounts","action":"drop","items":[{}]}`, "action is")
	for _, id := range []string{
		"../members", "..", "upsert", unknownID + "/records/" + unknownID, "{" + unknownID + "}",
		unknownID + "?limit=1",
	} {
		for tool, arguments := range map[string]string{
			"manage_view": `"action":"get",`, "search_view": "", "count_and_facets": `"dataset":"accounts",`,
			"pivot": `"dataset":"accounts","rows":{"field":"city"},`,
		} {
			me.refused(tool, fmt.Sprintf(`{%s"view_id":%q}`, arguments, id), "the id of a View")
		}
		me.refused("manage_view", fmt.Sprintf(`{"action":"delete","view_id":%q}`, id), "the id of a View")
	}
	me.refused(
		"manage_view",
		`{"action":"create","dataset":"project","view_type":"dynamic","name":"x","definition":{"version":2}}`,
		"invalid_view_definition",
	)
	me.refused("get_skill", `{"locator":"workspace/nothing"}`, "skill_not_found", "find_skills")
	me.refused("changes_since", `{"dataset":"accounts","since":"yesterday"}`, "since")
	if _, err := me.CallTool(t.Context(), &sdk.CallToolParams{Name: "search"}); err == nil ||
		!strings.Contains(err.Error(), `did you mean "search_records"?`) {
		t.Errorf("the tool search: %v", err)
	}
	if answer := me.ok("search_records", `{"dataset":"projects","query":"gara*ge"}`); !strings.Contains(
		answer.text,
		"is no more than text",
	) {
		t.Errorf("the operator is not explained: %s", answer.text)
	}
	if a.used(t) != 0 {
		t.Errorf("mistakes cost %d", a.used(t))
	}
	me.ok("search_records", `{"dataset":"projects","limit":null,"fields":null,"query":null}`) // as models send that fill in everything
	me.ok("manage_view", `{"action":"list","view_id":null,"name":null,"revision":null,"definition":null}`)
	me.refused("search_records", `{"dataset":"projects","max_credits":null}`, "max_credits", "leave it out")
	me.refused("search_records", `{"dataset":"projects","filters":{"stage":null}}`, "leave it out")
	me.refused("manage_view", `{"action":"update","view_id":"`+unknownID+`","name":"E","revision":null}`, "revision", "leave it out")
	spent := a.workspace(t, "Spent", workspace.Pro, 1)
	_, key := a.world.key(t, people.NewKey{Workspaces: []workspace.ID{spent}, Scopes: workspace.AllScopes()})
	poor := a.agent(t, key, nil)
	poor.ok("search_records", `{"dataset":"accounts","limit":1}`)
	poor.refused("search_records", `{"dataset":"accounts","limit":1}`, "rate_limited", "Stop", "X-Credits-Next-At")
}

// post sends a message to the address.
func (a *agents) post(t *testing.T, token, params, body string, header http.Header) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.address+params, strings.NewReader(body))
	fatal(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for name, values := range header {
		if r.Header[name] = values; name == "Host" {
			r.Host = values[0]
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err == nil {
		t.Cleanup(func() { _ = res.Body.Close() })
	}
	return res, err
}

// Arguments whose meaning is certain are also accepted in other forms, as models send them,
// with the same meaning; others are refused.
func TestAgentsArgumentsAreMeant(t *testing.T) {
	t.Parallel()
	a := newAgents(t, 0)
	me := a.agent(t, a.key, accept)
	one := searchtest.ID("a", 1)
	for _, c := range []struct{ tool, as, plain string }{
		{
			"search_records",
			`{"dataset":"projects","limit":2,"filters":"{\"stage\":{\"value\":\"under_construction\"}}"}`,
			`{"dataset":"projects","limit":2,"filters":{"stage":{"value":"under_construction"}}}`,
		},
		{
			"search_records",
			`{"dataset":"projects","limit":2,"filters":{"stage":" {\"value\":\"under_construction\"} "}}`,
			`{"dataset":"projects","limit":2,"filters":{"stage":{"value":"under_construction"}}}`,
		},
		{
			"search_records",
			`{"dataset":"projects","limit":2,"relations":"{\"without_signal\":{\"signal_type\":{\"value\":\"permit_filed\"}}}"}`,
			`{"dataset":"projects","limit":2,"relations":{"without_signal":{"signal_type":{"value":"permit_filed"}}}}`,
		},
		{
			"search_records",
			`{"dataset":"accounts","limit":"2","fields":"[\"name\"]","sort":"{\"field\":\"name\",\"order\":\"desc\"}"}`,
			`{"dataset":"accounts","limit":2,"fields":["name"],"sort":{"field":"name","order":"desc"}}`,
		},
		{"search_records", `{"dataset":"accounts","limit":2.0,"max_credits":5.00}`, `{"dataset":"accounts","limit":2,"max_credits":5}`},
		{
			"search_records", `{"dataset":"projects","limit":2,"filters":{"residential_units":{"value":[2.0,null]}}}`,
			`{"dataset":"projects","limit":2,"filters":{"residential_units":{"value":[2,null]}}}`,
		},
		{
			"search_records",
			`{"dataset":"projects","limit":2,"any":["{\"filters\":{\"stage\":{\"known\":true}}}"],"none":null,"relations":null,"sort":null,"search_after":null}`,
			`{"dataset":"projects","limit":2,"any":[{"filters":{"stage":{"known":true}}}]}`,
		},
		{
			"search_records",
			`{"dataset":"accounts","limit":2,"filters":{"name":{"value":"firm 01","exact_match":"false"}}}`,
			`{"dataset":"accounts","limit":2,"filters":{"name":{"value":"firm 01","exact_match":false}}}`,
		},
		{
			"count_and_facets", `{"dataset":"projects","facets":"[{\"field\":\"stage\",\"limit\":\"5\"}]"}`,
			`{"dataset":"projects","facets":[{"field":"stage","limit":5}]}`,
		},
		{
			"count_and_facets",
			`{"dataset":"projects","facets":[{"field":"stage","limit":5.0,"prefix":null,"interval":null,"ranges":null,"geo":null,"measure":null}]}`,
			`{"dataset":"projects","facets":[{"field":"stage","limit":5}]}`,
		},
		{
			"get_records", fmt.Sprintf(`{"dataset":"accounts","ids":"[\"%s\"]","include":null}`, one),
			fmt.Sprintf(`{"dataset":"accounts","ids":[%q]}`, one),
		},
		{
			"match_records",
			`{"dataset":"accounts","candidates":"2","min_confidence":"0.5","inputs":["{\"ref\":\"1\",\"name\":\"firm 07\"}"]}`,
			`{"dataset":"accounts","candidates":2,"min_confidence":0.5,"inputs":[{"ref":"1","name":"firm 07"}]}`,
		},
		{
			"match_records",
			`{"dataset":"accounts","candidates":1.0,"inputs":[{"ref":"1","name":"firm 07","phone":null,"city":null}]}`,
			`{"dataset":"accounts","inputs":[{"ref":"1","name":"firm 07"}]}`,
		},
		{
			"update_book",
			fmt.Sprintf(`{"dataset":"accounts","action":"upsert","items":"[{\"account_id\":\"%s\",\"notes\":null}]"}`, one),
			fmt.Sprintf(`{"dataset":"accounts","action":"upsert","items":[{"account_id":%q,"notes":null}]}`, one),
		},
		{"manage_view", `{"action":"list","limit":5.0,"offset":"0","view_id":null}`, `{"action":"list","limit":5,"offset":0}`},
	} {
		as, plain := me.ok(c.tool, c.as), me.ok(c.tool, c.plain)
		if string(as.Data) != string(plain.Data) || as.Metadata.Credits != plain.Metadata.Credits {
			t.Errorf("%s %s: %s, want %s", c.tool, c.as, as.Data, plain.Data)
		}
	}
	me.ok(
		"manage_view",
		`{"action":"create","dataset":"project","view_type":"dynamic","name":"As text","definition":"{\"version\":1.0,\"q\":\"\",\"fields\":{}}"}`,
	)
	used := a.used(t)
	for _, c := range []struct{ tool, arguments, says string }{
		{"search_records", `{"dataset":"projects","filters":"stage=filed"}`, "filters"},
		{"search_records", `{"dataset":"projects","filters":"{\"stage\":"}`, "filters"},
		{"search_records", `{"dataset":"projects","filters":"[]"}`, "filters"},
		{"search_records", `{"dataset":"projects","filters":{"stage":null}}`, "known"},
		{"search_records", `{"dataset":"projects","filters":{"stage":{"value":null}}}`, "known"},
		{"search_records", `{"dataset":"projects","any":[null]}`, "any"},
		{"search_records", `{"dataset":"projects","fields":"name,city"}`, "fields must be an array"},
		{"search_records", `{"dataset":"projects","limit":"2 or 3"}`, "limit must be an integer"},
		{"search_records", `{"dataset":"projects","limit":2.5}`, "limit must be an integer"},
		{"search_records", `{"dataset":"projects","limit":"2.5"}`, "limit must be an integer"},
		{"search_records", `{"dataset":null}`, "dataset is required"},
		{"search_records", `{"dataset":"projects","limit":true}`, "limit must be an integer"},
	} {
		me.refused(c.tool, c.arguments, c.says)
	}
	if a.used(t) != used {
		t.Errorf("what is refused cost %d", a.used(t)-used)
	}
}

// An unauthorized client is refused with an HTTP status, before a message is read.
func TestAgentsAtTheDoor(t *testing.T) {
	t.Parallel()
	a := newAgents(t, 0)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	for name, c := range map[string]struct {
		token, params, body string
		header              http.Header
		status              int
	}{
		"good":             {a.key, "", list, nil, 200},
		"own origin":       {a.key, "", list, http.Header{"Origin": {"https://app.example"}}, 200},
		"public address":   {a.key, "", list, http.Header{"Host": {"atlas.example"}, "Origin": {"https://atlas.example"}}, 200},
		"no token":         {"", "", list, nil, 401},
		"a wrong token":    {"atlas_x", "", list, nil, 401},
		"a foreign origin": {a.key, "", list, http.Header{"Origin": {"https://evil.example"}}, 403},
		"no origin":        {a.key, "", list, http.Header{"Origin": {"null"}}, 403},
		"a rebound name":   {a.key, "", list, http.Header{"Host": {"evil.example"}, "Origin": {"https://evil.example"}}, 403},
		"a foreign host":   {a.key, "", list, http.Header{"Host": {"evil.example"}}, 403},
		"no workspace":     {a.key, "?workspace_id=x", list, nil, 400},
		"a mistaken param": {a.key, "?workspace=x", list, nil, 400},
		"another header":   {a.key, "", list, http.Header{"X-Workspace-Id": {unknownID}}, 400},
		"a batch":          {a.key, "", " [" + list + "," + list + "]", http.Header{"Mcp-Protocol-Version": {"2025-03-26"}}, 400},
		"a long body":      {a.key, "", strings.Repeat(" ", 1<<20) + list, nil, 413},
		"only JSON":        {a.key, "", list, http.Header{"Accept": {"application/json"}}, 200},
		"JSON, of a kind":  {a.key, "", list, http.Header{"Accept": {"text/html, application/json;q=0.9"}}, 200},
		"anything":         {a.key, "", list, http.Header{"Accept": {"*/*"}}, 200},
		"no Accept":        {a.key, "", list, http.Header{"Accept": {}}, 200},
		"only a stream":    {a.key, "", list, http.Header{"Accept": {"text/event-stream"}}, 400},
		"a later version":  {a.key, "", list, http.Header{"Mcp-Protocol-Version": {"2001-01-01"}}, 400},
		"another type":     {a.key, "", list, http.Header{"Content-Type": {"text/plain"}}, 415},
	} {
		res, err := a.post(t, c.token, c.params, c.body, c.header)
		fatal(t, err)
		if res.StatusCode != c.status {
			text, _ := io.ReadAll(res.Body)
			t.Errorf("%s: %d, want %d: %s", name, res.StatusCode, c.status, text)
		}
		if got := res.Header.Get("WWW-Authenticate"); (c.status == 401) != (got == `Bearer realm="atlas", resource_metadata="https://atlas.example/.well-known/oauth-protected-resource/mcp"`) {
			t.Errorf("%s: WWW-Authenticate %q", name, got)
		}
		if res.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: no request id", name)
		}
		if got := res.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
			t.Errorf("%s: answered as %s", name, got)
		}
	}
	for path, want := range map[string]int{
		"/mcp": 405, "/.well-known/oauth-protected-resource/mcp": 200, "/.well-known/oauth-protected-resource": 200,
	} {
		res, err := http.Get(strings.TrimSuffix(a.address, "/mcp") + path)
		fatal(t, err)
		text, err := io.ReadAll(res.Body)
		fatal(t, err)
		_ = res.Body.Close()
		if res.StatusCode != want || want == 405 && res.Header.Get("Allow") != "POST" ||
			want == 200 && !strings.Contains(string(text), `"authorization_servers":["`+issuer+`"]`) {
			t.Errorf("GET %s: %d %s", path, res.StatusCode, text)
		}
	}
}
