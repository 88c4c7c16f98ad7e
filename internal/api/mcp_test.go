package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"atlas/internal/api"
	"atlas/internal/mcp"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/skills"
)

func accept(string) (string, map[string]any) { return "accept", map[string]any{"confirm": true} }

// ids are the ids of accounts as a JSON array.
func accountIDs(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = searchtest.ID("a", i)
	}
	b, _ := json.Marshal(all)
	return string(b)
}

// items are upserts of accounts as a JSON array.
func accountItems(n int) string {
	all := make([]map[string]string, n)
	for i := range all {
		all[i] = map[string]string{"account_id": searchtest.ID("a", i), "notes": "n"}
	}
	b, _ := json.Marshal(all)
	return string(b)
}

// Every tool answers what its schema says, with the same in its text block.
func TestAgentsTools(t *testing.T) {
	t.Parallel()
	a := newAgents(t, 0)
	me := a.agent(t, a.key, accept)
	var names []string
	var size int
	for tool, err := range me.Tools(t.Context(), nil) {
		fatal(t, err)
		text, err := json.Marshal(tool)
		fatal(t, err)
		size += len(text)
		in, _ := json.Marshal(tool.InputSchema)
		out, _ := json.Marshal(tool.OutputSchema)
		t.Logf("%s: %d bytes, of them %d and %d of schemas", tool.Name, len(text), len(in), len(out))
		names = append(names, tool.Name)
		if tool.Annotations == nil || tool.Annotations.ReadOnlyHint == (tool.Name == "update_book" || tool.Name == "manage_view") {
			t.Errorf("%s: %+v", tool.Name, tool.Annotations)
		}
	}
	if size > 60_000 {
		t.Errorf("the tools have %d bytes, which each agent reads", size)
	}
	slices.Sort(names)
	want := []string{"changes_since", "count_and_facets", "credits", "describe_fields", "find_skills", "get_records", "get_skill", "manage_view", "match_records", "search_book", "search_records", "search_view", "update_book"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for _, d := range []string{"accounts", "contacts", "projects", "signals"} {
		me.ok("describe_fields", fmt.Sprintf(`{"dataset":%q}`, d))
		me.ok("count_and_facets", fmt.Sprintf(`{"dataset":%q}`, d))
		me.ok("search_records", fmt.Sprintf(`{"dataset":%q,"limit":2}`, d))
		me.ok("changes_since", fmt.Sprintf(`{"dataset":%q}`, d))
	}
	me.ok("describe_fields", `{"dataset":"projects","keys":["stage","has_signal"]}`)
	r := me.ok("count_and_facets", `{"dataset":"projects","filters":{"stage":{"value":"under_construction"}},"facets":[{"field":"account_ids","limit":100,"measure":{"field":"residential_units","of":"sum"}},{"field":"stage"}]}`)
	if !strings.Contains(string(r.Data), `"label":"Firm 09"`) || !strings.Contains(string(r.Data), `"measure":84`) {
		t.Errorf("no ranking: %s", r.Data)
	}
	me.ok("get_records", fmt.Sprintf(`{"dataset":"accounts","ids":[%q,%q],"include":["projects"]}`, searchtest.ID("a", 1), unknownID))
	me.ok("match_records", `{"dataset":"accounts","inputs":[{"ref":"1","name":"firm 07"},{"ref":"2","name":"nobody at all"}]}`)
	me.ok("update_book", `{"dataset":"accounts","action":"upsert","items":`+accountItems(3)+`}`)
	me.ok("search_book", `{"dataset":"accounts"}`)
	me.ok("count_and_facets", `{"dataset":"accounts","of":"book","facets":[{"field":"workspace_status"}]}`)
	me.ok("update_book", fmt.Sprintf(`{"dataset":"accounts","action":"delete","ids":[%q,"x"]}`, searchtest.ID("a", 0)))

	var made struct{ View struct{ ID string } }
	fatal(t, json.Unmarshal(me.ok("manage_view", `{"action":"create","dataset":"account","view_type":"static","name":"List"}`).Data, &made))
	view := made.View.ID
	me.ok("manage_view", fmt.Sprintf(`{"action":"update","view_id":%q,"name":"A list"}`, view))
	me.ok("manage_view", fmt.Sprintf(`{"action":"add_records","view_id":%q,"record_ids":%s}`, view, accountIDs(3)))
	me.ok("manage_view", fmt.Sprintf(`{"action":"remove_records","view_id":%q,"record_ids":%s}`, view, accountIDs(1)))
	me.ok("manage_view", fmt.Sprintf(`{"action":"get","view_id":%q}`, view))
	me.ok("manage_view", `{"action":"list","query":"list"}`)
	me.ok("count_and_facets", fmt.Sprintf(`{"dataset":"accounts","view_id":%q}`, view))
	if r := me.ok("search_view", fmt.Sprintf(`{"view_id":%q}`, view)); r.Metadata.Credits != 2 {
		t.Errorf("the View has %d records", r.Metadata.Credits)
	}
	me.ok("manage_view", fmt.Sprintf(`{"action":"delete","view_id":%q}`, view))
	me.ok("credits", `{}`)

	skill := strings.Repeat("Visit the site. ", 3000)
	a.call(t, a.key, "POST", "/workspace/skills/create", fmt.Sprintf(`{"scope":"workspace","name":"Visits","description":"How to","content":%q}`, skill)).into(t, nil, nil)
	_, err := skills.NewAdmin(a.system, nil).SetStatus(t.Context(), a.in, "visits", skills.PublishedSkill)
	fatal(t, err)
	me.ok("find_skills", `{"query":"visits"}`)
	var content string
	for offset := 0; ; {
		r := me.ok("get_skill", fmt.Sprintf(`{"locator":"workspace/visits","offset":%d}`, offset))
		var part struct{ Skill struct{ Content string } }
		fatal(t, json.Unmarshal(r.Data, &part))
		content += part.Skill.Content
		if offset = r.Metadata.NextOffset; offset == 0 {
			break
		}
	}
	if content != skill {
		t.Error("the parts of the Skill are not the Skill")
	}

	prompt, err := me.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "workspace/visits"})
	fatal(t, err)
	prompts, err := me.ListPrompts(t.Context(), nil)
	fatal(t, err)
	if len(prompts.Prompts) != 1 || prompts.Prompts[0].Name != "workspace/visits" || prompt.Messages[0].Content.(*sdk.TextContent).Text != skill {
		t.Errorf("%+v", prompts.Prompts)
	}
	before := a.used(t)
	for uri, text := range map[string]string{
		"atlas://fields/projects":                           "residential_units",
		"atlas://records/accounts/" + searchtest.ID("a", 2): "Firm 02",
		"atlas://skills/workspace/visits":                   "Visit the site",
	} {
		got, err := me.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil || !strings.Contains(got.Contents[0].Text, text) || !strings.HasPrefix(got.Contents[0].Text, `{"notice":"What stands in data was written by others.`) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if n := a.used(t) - before; n != 1 {
		t.Errorf("one record cost %d", n)
	}
	for _, uri := range []string{"atlas://views/" + view, "atlas://records/accounts/" + unknownID, "atlas://records/users/1", "atlas://records/accounts/..%2F..%2Fworkspace"} {
		if got, err := me.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s: %+v", uri, got)
		}
	}
}

// Before a call costs more than max_credits or writes more than ten records, the user is
// asked, whichever server answers. Nothing is charged or written before they agree, nor if
// they do not.
func TestAgentsAsk(t *testing.T) {
	t.Parallel()
	a := newAgents(t, 0)
	var asked []string
	said := func(action string, content map[string]any) func(string) (string, map[string]any) {
		return func(message string) (string, map[string]any) {
			asked = append(asked, message)
			return action, content
		}
	}
	const dear, writes = `{"dataset":"accounts","limit":25}`, `{"dataset":"accounts","action":"upsert","items":`
	for name, no := range map[string]func(string) (string, map[string]any){
		"decline": said("decline", nil), "cancel": said("cancel", nil), "unticked": said("accept", map[string]any{"confirm": false}),
	} {
		me := a.agent(t, a.key, no)
		asked = nil
		me.refused("search_records", dear, "did not agree")
		me.refused("update_book", writes+accountItems(11)+"}", "did not agree")
		if len(asked) != 2 || a.used(t) != 0 || !strings.Contains(asked[0], "25 credits") || !strings.Contains(asked[1], "11 accounts") {
			t.Errorf("%s: asked %q, %d credits used", name, asked, a.used(t))
		}
	}
	me := a.agent(t, a.key, said("accept", map[string]any{"confirm": true}))
	if r := me.ok("search_book", `{"dataset":"accounts"}`); r.Metadata.Credits != 0 {
		t.Error("records were written that nobody agreed to")
	}
	asked = nil
	me.ok("search_records", dear)
	me.ok("update_book", writes+accountItems(11)+"}")
	if len(asked) != 2 || a.used(t) != 25 {
		t.Errorf("asked %q, %d credits used", asked, a.used(t))
	}
	// Not asked: what is permitted, and what costs less than it could.
	asked = nil
	me.ok("search_records", `{"dataset":"accounts","limit":25,"max_credits":25}`)
	me.ok("search_records", `{"dataset":"accounts","limit":25,"filters":{"city":{"value":"elsewhere"}}}`)
	me.ok("update_book", writes+accountItems(10)+"}")
	me.ok("get_records", `{"dataset":"accounts","ids":`+accountIDs(10)+`}`)
	if len(asked) != 0 || a.used(t) != 25+25+1+10 {
		t.Errorf("asked %q, %d credits used", asked, a.used(t))
	}
	me.ok("get_records", `{"dataset":"accounts","ids":`+accountIDs(11)+`}`)
	// Prices would tell whether an address exists.
	me.ok("search_records", `{"dataset":"contacts","limit":25,"filters":{"email":{"value":"p1@example.com"}}}`)
	me.ok("match_records", `{"dataset":"accounts","candidates":3,"inputs":[{"ref":"1","name":"firm 01"},{"ref":"2","name":"firm 02"},{"ref":"3","name":"firm 03"},{"ref":"4","name":"firm 04"}]}`)
	if len(asked) != 3 {
		t.Errorf("asked %q", asked)
	}

	// A client that cannot ask is told how to go on. The confirmation is good for the
	// same call of the same caller alone.
	plain := a.agent(t, a.key, nil)
	confirm := func(text string) string {
		m := regexp.MustCompile(`"confirm": ("[^"]+")`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no confirmation in %q", text)
		}
		return m[1]
	}
	used := a.used(t)
	state := confirm(plain.refused("search_records", dear, "ask the user", "25 credits", "limit of at most 10"))
	plain.refused("search_records", `{"dataset":"accounts","limit":26,"confirm":`+state+`}`, "not one of this service")
	plain.refused("search_records", `{"dataset":"accounts","limit":25,"confirm":"AAAA"}`, "not one of this service")
	plain.refused("search_book", `{"dataset":"accounts","limit":25,"confirm":`+state+`}`, "not one of this service")
	_, other := a.key2(t)
	a.agent(t, other, nil).refused("search_records", `{"dataset":"accounts","limit":25,"confirm":`+state+`}`, "not one of this service")
	if a.used(t) != used {
		t.Error("something was charged")
	}
	r := plain.ok("search_records", `{"limit": 25, "confirm": `+state+`, "dataset": "accounts"}`)
	if r.Metadata.Credits != 25 || a.used(t) != used+25 {
		t.Errorf("%d records, %d credits", r.Metadata.Credits, a.used(t)-used)
	}
	again := plain.ok("search_records", `{"limit": 25, "confirm": `+state+`, "dataset": "accounts"}`)
	if string(again.Data) != string(r.Data) || a.used(t) != used+25 {
		t.Errorf("what was agreed to once cost %d credits", a.used(t)-used)
	}
	deletion := confirm(plain.refused("update_book", `{"dataset":"accounts","action":"delete","ids":`+accountIDs(11)+`}`, "11 accounts", "ask the user"))
	plain.ok("update_book", `{"dataset":"accounts","action":"delete","confirm":`+deletion+`,"ids":`+accountIDs(11)+`}`)
	var view struct{ View struct{ ID string } }
	fatal(t, json.Unmarshal(plain.ok("manage_view", `{"action":"create","dataset":"account","view_type":"static","name":"L"}`).Data, &view))
	plain.refused("manage_view", fmt.Sprintf(`{"action":"delete","view_id":%q}`, view.View.ID), "deletes a View")
	plain.refused("manage_view", fmt.Sprintf(`{"action":"add_records","view_id":%q,"record_ids":%s}`, view.View.ID, accountIDs(11)), "adds 11 records")
}

// key2 is another key of the workspace.
func (a *agents) key2(t *testing.T) (workspace.KeyID, string) {
	return a.world.key(t, people.NewKey{Workspaces: []workspace.ID{a.in}, Scopes: workspace.AllScopes()})
}

// A walk over pages that a byte cap ends has each record once, and pays once.
func TestAgentsByteCap(t *testing.T) {
	t.Parallel()
	a := newAgents(t, mcp.MinMaxBytes)
	me := a.agent(t, a.key, nil)
	var found []string
	pages, after := 0, ""
	for more := true; more; pages++ {
		r := me.ok("search_records", `{"dataset":"projects","sort":{"field":"name","order":"asc"},"fields":["name","description"]`+after+`}`)
		var rows []struct{ ID string }
		fatal(t, json.Unmarshal(r.Data, &rows))
		for _, row := range rows {
			found = append(found, row.ID)
		}
		if len(r.Data) > mcp.MinMaxBytes+len(rows)+2 && len(rows) > 1 {
			t.Errorf("%d records of %d bytes", len(rows), len(r.Data))
		}
		if more = r.Metadata.After != nil; more {
			after = fmt.Sprintf(`,"search_after":%q`, *r.Metadata.After)
		}
	}
	var want []string
	for i := range agentFirms {
		want = append(want, searchtest.ID("p", i))
	}
	if diff := cmp.Diff(want, found); diff != "" || pages < 10 || a.used(t) != agentFirms {
		t.Errorf("%d pages, %d credits (-want +got):\n%s", pages, a.used(t), diff)
	}
	got := me.ok("get_records", fmt.Sprintf(`{"dataset":"projects","fields":["description"],"ids":[%q,%q,%q]}`, searchtest.ID("p", 27), searchtest.ID("p", 28), searchtest.ID("p", 29)))
	if got.Metadata.Credits != 1 || got.Metadata.Remaining != 2 {
		t.Errorf("%+v", got.Metadata)
	}
	var refs []string
	matched, inputs, before := 0, []string{}, a.used(t)
	for i := range 10 {
		inputs = append(inputs, fmt.Sprintf(`{"ref":"%d","name":"Firm %02d","city":"Calgary"}`, i, i))
	}
	for left := inputs; len(left) > 0; {
		r := me.ok("match_records", `{"dataset":"accounts","inputs":[`+strings.Join(left, ",")+`]}`)
		var data struct {
			Results []struct {
				Ref        string
				Candidates []json.RawMessage
			}
		}
		fatal(t, json.Unmarshal(r.Data, &data))
		for _, one := range data.Results {
			refs, matched = append(refs, one.Ref), matched+len(one.Candidates)
		}
		if len(data.Results) == 0 || len(data.Results)+r.Metadata.Remaining != len(left) {
			t.Fatalf("%d of %d inputs: %+v", len(data.Results), len(left), r.Metadata)
		}
		left = left[len(data.Results):]
	}
	if strings.Join(refs, "") != "0123456789" || matched == 0 || a.used(t)-before != matched {
		t.Errorf("inputs %v, %d records for %d credits", refs, matched, a.used(t)-before)
	}
	fields, err := me.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "atlas://fields/projects"})
	fatal(t, err)
	if text := fields.Contents[0].Text; len(text) > mcp.MinMaxBytes+500 || !strings.Contains(text, "next_offset") {
		t.Errorf("a resource of %d bytes: %s", len(text), text)
	}
	keys, offset := 0, 0
	for first := true; first || offset > 0; first = false {
		r := me.ok("describe_fields", fmt.Sprintf(`{"dataset":"projects","offset":%d}`, offset))
		var fields []json.RawMessage
		fatal(t, json.Unmarshal(r.Data, &fields))
		keys, offset = keys+len(fields), r.Metadata.NextOffset
	}
	var all []json.RawMessage
	a.call(t, a.key, "POST", "/data/fields/search", `{"dataset":"projects"}`).into(t, &all, nil)
	if keys != len(all) {
		t.Errorf("%d of %d keys", keys, len(all))
	}
	me.refused("count_and_facets", `{"dataset":"accounts","facets":[{"field":"city"},{"field":"account_type"},{"field":"created_at","interval":"day"},{"field":"state"},{"field":"country"},{"field":"projects_count","buckets":20}]}`, "fewer facets")
}

// What another workspace has is not there, nor tools that the scopes do not permit.
// Record text cannot forge the marks around it.
func TestAgentsAreKeptApart(t *testing.T) {
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
		workspace.DataRead:       "changes_since count_and_facets credits describe_fields get_records match_records search_records",
		workspace.WorkspaceRead:  "find_skills get_skill manage_view search_book search_view",
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
			if got, err := some.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(`{"dataset":"accounts"}`)}); err == nil {
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

// Mistakes are told so that an agent can correct them.
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
	me.refused("search_records", `{"dataset":"projects","filters":"{\"stage\":{\"value\":\"filed\"}}"}`, "without the quotes")
	me.refused("search_records", `{"dataset":"projects","fields":"name"}`, `fields must be an array, such as ["name"]`)
	me.refused("search_records", `{"dataset":"projects","fields":"[\"name\"]"}`, "without the quotes")
	me.refused("search_records", `{"dataset":"projects","limit":"10"}`, "limit must be an integer, 10 without quotes")
	me.refused("search_records", `{"dataset":"projects","max_credits":10.5}`, "max_credits must be an integer")
	me.refused("get_records", `{"dataset":"projects","ids":{"id":"x"}}`, "ids must be an array", "not an object")
	me.refused("search_view", `{"view_id":["x"]}`, "view_id must be a text, not an array")
	me.refused("match_records", `{"dataset":"accounts","inputs":"[]"}`, "without the quotes")
	me.refused("credits", `{"days":7}`, "It has none")
	me.refused("manage_view", `{"action":"rename"}`, "action is one of list, get, create")
	me.refused("manage_view", `{"action":"create","dataset":"project","view_type":"static","name":"x","definition":{"version":1},"record_ids":["`+unknownID+`"]}`, "the action create does not take record_ids", "add_records")
	me.refused("manage_view", `{"action":"list","dataset":"accounts"}`, `did you mean "account"?`)
	if _, err := me.CallTool(t.Context(), &sdk.CallToolParams{Name: "searchRecords"}); err == nil || !strings.Contains(err.Error(), `did you mean "search_records"?`) || !strings.Contains(err.Error(), "describe_fields") {
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
	for _, id := range []string{"../members", "..", "upsert", unknownID + "/records/" + unknownID, "{" + unknownID + "}", unknownID + "?limit=1"} {
		for tool, arguments := range map[string]string{"manage_view": `"action":"get",`, "search_view": "", "count_and_facets": `"dataset":"accounts",`} {
			me.refused(tool, fmt.Sprintf(`{%s"view_id":%q}`, arguments, id), "the id of a View")
		}
		me.refused("manage_view", fmt.Sprintf(`{"action":"delete","view_id":%q}`, id), "the id of a View")
	}
	me.refused("manage_view", `{"action":"create","dataset":"project","view_type":"dynamic","name":"x","definition":{"version":2}}`, "invalid_view_definition")
	me.refused("get_skill", `{"locator":"workspace/nothing"}`, "skill_not_found", "find_skills")
	me.refused("changes_since", `{"dataset":"accounts","since":"yesterday"}`, "since")
	if _, err := me.CallTool(t.Context(), &sdk.CallToolParams{Name: "search"}); err == nil || !strings.Contains(err.Error(), `did you mean "search_records"?`) {
		t.Errorf("the tool search: %v", err)
	}
	if answer := me.ok("search_records", `{"dataset":"projects","query":"gara*ge"}`); !strings.Contains(answer.text, "query has no operators") {
		t.Errorf("an operator is not told of: %s", answer.text)
	}
	if a.used(t) != 0 {
		t.Errorf("mistakes cost %d", a.used(t))
	}
	me.ok("search_records", `{"dataset":"projects","limit":null,"fields":null,"query":null}`) // as models that fill in everything do
	me.ok("manage_view", `{"action":"list","view_id":null,"name":null}`)
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

// Who may not call is answered as HTTP has it, before a message is read.
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
	}
	for path, want := range map[string]int{"/mcp": 405, "/.well-known/oauth-protected-resource/mcp": 200, "/.well-known/oauth-protected-resource": 200} {
		res, err := http.Get(strings.TrimSuffix(a.address, "/mcp") + path)
		fatal(t, err)
		text, err := io.ReadAll(res.Body)
		fatal(t, err)
		_ = res.Body.Close()
		if res.StatusCode != want || want == 405 && res.Header.Get("Allow") != "POST" || want == 200 && !strings.Contains(string(text), `"authorization_servers":["`+issuer+`"]`) {
			t.Errorf("GET %s: %d %s", path, res.StatusCode, text)
		}
	}
}

// A call that is sent again with its Idempotency-Key is done, and charged, once.
func TestAgentsRepeatCalls(t *testing.T) {
	t.Parallel()
	a := newAgents(t, 0)
	call := func(key, tool, arguments string) string {
		t.Helper()
		res, err := a.post(t, a.key, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments), http.Header{"Idempotency-Key": {key}})
		fatal(t, err)
		text, err := io.ReadAll(res.Body)
		fatal(t, err)
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", tool, res.StatusCode, text)
		}
		return string(text)
	}
	for i, c := range []struct{ tool, arguments, again string }{
		{"search_records", `{"dataset":"accounts","limit":3}`, "The same accounts again"},
		{"get_records", `{"dataset":"accounts","ids":` + accountIDs(2) + `}`, "The same accounts again"},
		{"match_records", `{"dataset":"accounts","inputs":[{"ref":"1","name":"firm 07"}]}`, "The same accounts again"},
		{"manage_view", `{"action":"create","dataset":"account","view_type":"static","name":"Once"}`, "The View is as follows"},
		{"update_book", `{"dataset":"accounts","action":"upsert","items":` + accountItems(3) + `}`, "3 done, 0 failed"},
	} {
		key := fmt.Sprint("call ", i)
		call(key, c.tool, c.arguments)
		used := a.used(t)
		if text := call(key, c.tool, c.arguments); !strings.Contains(text, c.again) || strings.Contains(text, `"isError":true`) || a.used(t) != used {
			t.Errorf("%s again, for %d credits: %s", c.tool, a.used(t)-used, text)
		}
	}
	// A client that cannot send a header with each message has the key in _meta.
	noted := func(key string) string {
		t.Helper()
		res, err := a.post(t, a.key, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_records","arguments":{"dataset":"accounts","limit":2},"_meta":{"atlas/idempotency-key":%s}}}`, key), nil)
		fatal(t, err)
		text, err := io.ReadAll(res.Body)
		fatal(t, err)
		return string(text)
	}
	used := a.used(t)
	for i, want := range []string{"2 of 31 accounts", "The same accounts again"} {
		if text := noted(`"noted"`); !strings.Contains(text, want) || a.used(t) != used+2 {
			t.Errorf("%d: %d credits: %s", i, a.used(t)-used, text)
		}
	}
	for _, key := range []string{`""`, `7`, `null`} {
		if text := noted(key); !strings.Contains(text, "atlas/idempotency-key must be a text") || a.used(t) != used+2 {
			t.Errorf("%s: %s", key, text)
		}
	}
	if text := call("call 0", "search_records", `{"dataset":"accounts","limit":4}`); !strings.Contains(text, "idempotency_conflict") {
		t.Errorf("the key of another call: %s", text)
	}
	if text := call("kä", "search_records", `{"dataset":"accounts","limit":4}`); !strings.Contains(text, "Idempotency-Key") {
		t.Errorf("no key: %s", text)
	}
}

// waiting searches until the caller gives up, or until it is told not to.
type waiting struct {
	api.Searcher
	searches       atomic.Bool
	began, stopped chan struct{}
}

func (w *waiting) Search(ctx context.Context, q query.Query) (query.Page, error) {
	if !w.searches.Load() {
		close(w.began)
		<-ctx.Done()
		close(w.stopped)
		return query.Page{}, ctx.Err()
	}
	return w.Searcher.Search(ctx, q)
}

// A call whose client gives up is stopped, and costs nothing: what calls again pays once.
func TestAgentsGiveUp(t *testing.T) {
	t.Parallel()
	hold := &waiting{began: make(chan struct{}), stopped: make(chan struct{})}
	a := newAgents(t, 0, func(s *api.Server) {
		if hold.Searcher == nil {
			hold.Searcher = s.Search
		}
		s.Search = hold
	})
	me := a.agent(t, a.key, nil)
	ctx, giveUp := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	arguments := json.RawMessage(`{"dataset":"accounts","limit":3}`)
	go func() {
		_, err := me.CallTool(ctx, &sdk.CallToolParams{Name: "search_records", Arguments: arguments})
		failed <- err
	}()
	<-hold.began
	giveUp()
	if err := <-failed; err == nil {
		t.Error("the call succeeded")
	}
	<-hold.stopped
	hold.searches.Store(true)
	me.ok("search_records", string(arguments))
	for deadline := time.Now().Add(time.Minute); a.used(t) != 3; { // what was reserved is released
		if time.Now().After(deadline) {
			t.Fatalf("%d credits are used", a.used(t))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The bridge of `atlas mcp` has the same tools, and passes questions on, also to clients
// that speak an older version of the protocol.
func TestAgentsBridge(t *testing.T) {
	t.Parallel()
	a := newAgents(t, 0)
	var lost atomic.Bool // the next answer
	losing := roundTrip(func(r *http.Request) (*http.Response, error) {
		res, err := http.DefaultTransport.RoundTrip(r)
		if err == nil && lost.CompareAndSwap(true, false) {
			_ = res.Body.Close()
			return nil, io.ErrUnexpectedEOF
		}
		return res, err
	})
	connect := func(answer func(string) (string, map[string]any)) *agent {
		near, far := sdk.NewInMemoryTransports()
		done := make(chan error, 1)
		go func() {
			done <- mcp.Bridge{Endpoint: a.address, Token: a.key, Version: "1", HTTP: losing}.Run(t.Context(), far)
		}()
		me := newAgent(t, near, answer)
		t.Cleanup(func() {
			_ = me.Close()
			<-done
		})
		return me
	}
	asked := 0
	me := connect(func(string) (string, map[string]any) {
		asked++
		return accept("")
	})
	me.ok("search_records", `{"dataset":"accounts","limit":25}`)
	me.ok("update_book", `{"dataset":"accounts","action":"upsert","items":`+accountItems(11)+`}`)
	if asked != 2 || a.used(t) != 25 {
		t.Errorf("asked %d times, %d credits", asked, a.used(t))
	}
	if got, err := me.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "atlas://fields/accounts"}); err != nil || len(got.Contents) != 1 {
		t.Error(err)
	}
	if _, err := me.ListPrompts(t.Context(), nil); err != nil {
		t.Error(err)
	}
	connect(nil).refused("search_records", `{"dataset":"accounts","limit":25}`, "ask the user")
	// An answer that was lost is asked for again, and not paid again.
	lost.Store(true)
	before := a.used(t)
	if r := me.ok("search_records", `{"dataset":"accounts","limit":5}`); r.Metadata.Credits != 0 || lost.Load() || a.used(t) != before+5 {
		t.Errorf("%d credits: %s", a.used(t)-before, r.text)
	}
	// What the service refuses ends one call, not the session.
	long := fmt.Sprintf(`{"dataset":"accounts","query":%q}`, strings.Repeat("x", 1<<20))
	if _, err := me.CallTool(t.Context(), &sdk.CallToolParams{Name: "search_records", Arguments: json.RawMessage(long)}); err == nil || !strings.Contains(err.Error(), "payload_too_large") {
		t.Errorf("long arguments: %v", err)
	}
	me.ok("credits", `{}`)
	err := mcp.Bridge{Endpoint: a.address, Token: "atlas_wrong", Version: "1"}.Run(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "/mcp") {
		t.Errorf("a wrong key: %v", err)
	}
}
