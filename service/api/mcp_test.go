package api_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"atlas/search/searchtest"
	"atlas/service/mcp"
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

// Every result matches its schema, and its text block has the same data.
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
	if size > 64_000 {
		t.Errorf("the tools have %d bytes, which each agent reads", size)
	}
	slices.Sort(names)
	want := []string{
		"changes_since", "count_and_facets", "credits", "describe_fields", "find_skills", "get_records", "get_skill",
		"manage_view", "match_records", "pivot",
		"read_boards", "read_question", "search_book", "search_many", "search_records", "search_view", "update_book",
	}
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
	r := me.ok(
		"count_and_facets",
		`{"dataset":"projects","filters":{"stage":{"value":"under_construction"}},"facets":[{"field":"account_ids","limit":100,"measure":{"field":"residential_units","of":"sum"}},{"field":"stage"}]}`,
	)
	if !strings.Contains(string(r.Data), `"label":"Firm 09"`) || !strings.Contains(string(r.Data), `"measure":84`) {
		t.Errorf("no ranking: %s", r.Data)
	}
	r = me.ok(
		"pivot",
		`{"dataset":"projects","rows":{"field":"stage","limit":3},"columns":{"field":"primary_use"},"measure":{"field":"residential_units","of":"median"}}`,
	)
	if !strings.Contains(string(r.Data), `"under_construction"`) || !strings.Contains(string(r.Data), `"cells":`) ||
		r.Metadata.Credits != 0 {
		t.Errorf("no pivot: %s", r.Data)
	}
	me.ok("pivot", `{"dataset":"accounts","of":"book","rows":{"field":"tags"},"columns":null}`)
	me.refused("pivot", `{"dataset":"signals","of":"book","rows":{"field":"city"}}`, "of is data or book, which has no signals")
	me.refused("pivot", `{"dataset":"projects"}`, "rows is required")
	me.ok("read_boards", `{}`)
	me.refused("read_boards", `{"board_id":"../members"}`, "the id of a board")
	me.refused("read_boards", fmt.Sprintf(`{"board_id":%q}`, unknownID), "not_found")
	me.refused("pivot", `{"dataset":"projects","rows":{"field":"cost"}}`, "cost")
	me.refused("pivot", `{"dataset":"projects","rows":{"field":"city","limit":100},"columns":{"field":"state","limit":100}}`, "1000")
	r = me.ok("search_records", `{"dataset":"accounts","join":true,"relations":{"has_project":{"stage":{"value":"under_construction"}}}}`)
	var joined []struct{ Account, Project, Contact map[string]any }
	fatal(t, json.Unmarshal(r.Data, &joined))
	records := 0
	for _, row := range joined {
		for _, part := range []map[string]any{row.Account, row.Project, row.Contact} {
			if part != nil {
				records++
			}
		}
		if row.Project["stage"] != "under_construction" || row.Account["name"] == nil || row.Account["created_at"] != nil ||
			row.Project["created_at"] != nil {
			t.Errorf("%+v", row)
		}
	}
	if len(joined) != 3 || r.Metadata.Credits != records {
		t.Errorf("%d rows of %d records cost %d", len(joined), records, r.Metadata.Credits)
	}
	me.refused("search_records", `{"dataset":"projects","join":true}`, "join is for accounts")
	me.refused("search_records", `{"dataset":"projects","filters":{"ids":{"value":["x"]}}}`, "records are read by id with get_records")
	me.refused("search_records", `{"dataset":"accounts","join":true,"max_credits":2}`, "max_credits is 3 to 50")
	me.refused("search_records", `{"dataset":"accounts","join":true,"limit":17}`, "limit is 1 to 16")
	r = me.ok("search_many", `{"searches":[{"dataset":"accounts","query":"firm 07"},{"dataset":"projects","limit":3,"fields":["name"]},`+
		`{"dataset":"contacts","filters":{"no":{"value":1}}},{"dataset":"projects","dry_run":true}]}`)
	var many struct {
		Results []struct {
			Status string
			Data   json.RawMessage
			Error  struct{ Message string }
		}
	}
	fatal(t, json.Unmarshal(r.Data, &many))
	if len(many.Results) != 4 || r.Metadata.Credits != 4 || many.Results[0].Status != "ok" ||
		strings.Count(string(many.Results[1].Data), `"id"`) != 3 || strings.Contains(string(many.Results[1].Data), "stage") ||
		many.Results[2].Error.Message == "" || !strings.Contains(string(many.Results[3].Data), `"count"`) {
		t.Errorf("%d credits: %+v", r.Metadata.Credits, many)
	}
	me.refused("search_many", `{"searches":[{"dataset":"users"}]}`, "searches[0].dataset is one of")
	me.refused("search_many", `{"searches":[{"dataset":"accounts","limit":51}]}`, "searches[0].limit is 1 to 50")
	me.refused(
		"search_many", `{"searches":[{"dataset":"accounts","limit":26},{"dataset":"accounts","limit":25}]}`, "at most 50, and these are 51",
	)
	me.refused("search_many", `{"searches":[]}`, "searches are 1 to 20")
	many21 := `{"searches":[` + strings.Repeat(`{"dataset":"accounts"},`, 20) + `{"dataset":"accounts"}]}`
	me.refused("search_many", many21, "searches are 1 to 20")
	me.ok("get_records", fmt.Sprintf(`{"dataset":"accounts","ids":[%q,%q],"include":["projects"]}`, searchtest.ID("a", 1), unknownID))
	me.ok("match_records", `{"dataset":"accounts","inputs":[{"ref":"1","name":"firm 07"},{"ref":"2","name":"nobody at all"}]}`)
	me.ok("update_book", `{"dataset":"accounts","action":"upsert","items":`+accountItems(3)+`}`)
	me.ok("search_book", `{"dataset":"accounts"}`)
	me.ok("read_question", `{"dataset":"projects","query":"multifamily over 1m","time_zone":"America/Edmonton"}`)
	me.ok("read_question", `{"dataset":"accounts","of":"book","query":"contractors"}`)
	me.refused("read_question", `{"dataset":"signals","of":"book","query":"permits issued"}`)
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
	me.ok("pivot", fmt.Sprintf(`{"dataset":"accounts","view_id":%q,"rows":{"field":"city"},"filters":{"city":{"known":"true"}}}`, view))
	if r := me.ok("search_view", fmt.Sprintf(`{"view_id":%q}`, view)); r.Metadata.Credits != 2 {
		t.Errorf("the View has %d records", r.Metadata.Credits)
	}
	me.ok("manage_view", fmt.Sprintf(`{"action":"delete","view_id":%q}`, view))
	me.ok("credits", `{}`)

	skill := strings.Repeat("Visit the site. ", 3000)
	a.call(
		t, a.key, "POST", "/workspace/skills/create",
		fmt.Sprintf(`{"scope":"workspace","name":"Visits","description":"How to","content":%q}`, skill),
	).into(t, nil, nil)
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
	if len(prompts.Prompts) != 1 || prompts.Prompts[0].Name != "workspace/visits" ||
		prompt.Messages[0].Content.(*sdk.TextContent).Text != skill {
		t.Errorf("%+v", prompts.Prompts)
	}
	before := a.used(t)
	for uri, text := range map[string]string{
		"atlas://fields/projects":                           "residential_units",
		"atlas://records/accounts/" + searchtest.ID("a", 2): "Firm 02",
		"atlas://skills/workspace/visits":                   "Visit the site",
	} {
		got, err := me.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil || !strings.Contains(got.Contents[0].Text, text) ||
			!strings.HasPrefix(got.Contents[0].Text, `{"notice":"What stands in data was written by others.`) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if n := a.used(t) - before; n != 1 {
		t.Errorf("one record cost %d", n)
	}
	for _, uri := range []string{
		"atlas://views/" + view, "atlas://records/accounts/" + unknownID, "atlas://records/users/1",
		"atlas://records/accounts/..%2F..%2Fworkspace",
	} {
		if got, err := me.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s: %+v", uri, got)
		}
	}
}

// Before a call costs more than max_credits or writes more than ten records, the user is
// asked, whichever server answers. Without their consent nothing is charged or written.
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
		me.refused("search_records", `{"dataset":"accounts","join":true,"limit":4}`, "did not agree")
		me.refused("search_many", `{"searches":[{"dataset":"accounts","limit":6},{"dataset":"accounts","limit":6}]}`, "did not agree")
		if len(asked) != 4 || !strings.Contains(asked[3], "12 credits") || !strings.Contains(asked[2], "12 credits") || a.used(t) != 0 ||
			!strings.Contains(asked[0], "25 credits") || !strings.Contains(asked[1], "11 accounts") {
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
	// Not asked for permitted calls, and for those that cost less than they could.
	asked = nil
	me.ok("search_records", `{"dataset":"accounts","limit":25,"max_credits":25}`)
	me.ok("search_records", `{"dataset":"accounts","limit":25,"filters":{"city":{"value":"elsewhere"}}}`)
	me.ok("update_book", writes+accountItems(10)+"}")
	me.ok("get_records", `{"dataset":"accounts","ids":`+accountIDs(10)+`}`)
	if len(asked) != 0 || a.used(t) != 25+25+1+10 {
		t.Errorf("asked %q, %d credits used", asked, a.used(t))
	}
	me.ok("get_records", `{"dataset":"accounts","ids":`+accountIDs(11)+`}`)
	// Prices would reveal whether an address exists.
	me.ok("search_records", `{"dataset":"contacts","limit":25,"filters":{"email":{"value":"p1@example.com"}}}`)
	me.ok(
		"match_records",
		`{"dataset":"accounts","candidates":3,"inputs":[{"ref":"1","name":"firm 01"},{"ref":"2","name":"firm 02"},{"ref":"3","name":"firm 03"},{"ref":"4","name":"firm 04"}]}`,
	)
	if len(asked) != 3 {
		t.Errorf("asked %q", asked)
	}

	// For a client that cannot ask, the result says how to continue. The confirmation is valid
	// only for the same call of the same caller.
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
	deletion := confirm(plain.refused(
		"update_book", `{"dataset":"accounts","action":"delete","ids":`+accountIDs(11)+`}`, "11 accounts",
		"ask the user",
	))
	plain.ok("update_book", `{"dataset":"accounts","action":"delete","confirm":`+deletion+`,"ids":`+accountIDs(11)+`}`)
	var view struct{ View struct{ ID string } }
	fatal(t, json.Unmarshal(plain.ok("manage_view", `{"action":"create","dataset":"account","view_type":"static","name":"L"}`).Data, &view))
	plain.refused("manage_view", fmt.Sprintf(`{"action":"delete","view_id":%q}`, view.View.ID), "deletes a View")
	plain.refused(
		"manage_view",
		fmt.Sprintf(`{"action":"add_records","view_id":%q,"record_ids":%s}`, view.View.ID, accountIDs(11)),
		"adds 11 records",
	)
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
		r := me.ok(
			"search_records",
			`{"dataset":"projects","sort":{"field":"name","order":"asc"},"fields":["name","description"]`+after+`}`,
		)
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
	got := me.ok(
		"get_records",
		fmt.Sprintf(
			`{"dataset":"projects","fields":["description"],"ids":[%q,%q,%q]}`, searchtest.ID("p", 27),
			searchtest.ID("p", 28), searchtest.ID("p", 29),
		),
	)
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
	me.refused(
		"count_and_facets",
		`{"dataset":"accounts","facets":[{"field":"city"},{"field":"account_type"},{"field":"created_at","interval":"day"},{"field":"state"},{"field":"country"},{"field":"projects_count","buckets":20}]}`,
		"fewer facets",
	)
}
