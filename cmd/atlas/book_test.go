package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/client"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/people"
)

// members returns the names of an object's members, in order.
func members(t *testing.T, object []byte) []string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(object)))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name.(string))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func TestBookRoutes(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	for _, d := range catalog.Held {
		path := "/workspace/" + string(d)
		key := book.IDKey(d)
		ids := s.search(d, `{"limit": 3}`).ids(t)
		up := s.call(
			"POST", path+"/upsert", s.key,
			fmt.Sprintf(`{%q:%q,"workspace_status":" Met ","tags":["A","b","a"]}`, key, strings.ToUpper(ids[0])),
		)
		if up.status != 200 || up.body.Metadata.Credits != 0 {
			t.Fatalf("%s upsert: %d %s", d, up.status, up.raw)
		}
		if diff := cmp.Diff(catalog.Names(catalog.RowFields(d, catalog.BookRecord)), members(t, up.body.Data)); diff != "" {
			t.Errorf("%s upsert: %s", d, diff)
		}
		var row struct {
			ID     string
			Status string `json:"workspace_status"`
			Tags   []string
		}
		if err := json.Unmarshal(up.body.Data, &row); err != nil || row.ID != ids[0] || row.Status != "Met" ||
			!cmp.Equal(row.Tags, []string{"A", "b"}) {
			t.Errorf("%s upsert: %v %+v", d, err, row)
		}
		get := s.call("GET", path+"/"+ids[0], s.key, "")
		if get.status != 200 || get.body.Metadata.Credits != 1 || string(get.body.Data) != string(up.body.Data) {
			t.Errorf("%s get: %d %s", d, get.status, get.raw)
		}
		found := s.call("POST", path+"/search", s.key, `{"filters":{"tags":{"value":"B"}}}`)
		if found.status != 200 || found.body.Metadata.Credits != 1 || found.body.Metadata.Total != 1 || !cmp.Equal(found.ids(t), ids[:1]) {
			t.Fatalf("%s search: %d %s\n%s", d, found.status, found.raw, s.log)
		}
		var rows []json.RawMessage
		if err := json.Unmarshal(found.body.Data, &rows); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(catalog.Names(catalog.RowFields(d, catalog.BookRow)), members(t, rows[0])); diff != "" {
			t.Errorf("%s search: %s", d, diff)
		}
		batch := s.call("POST", path+"/upsert/batch", s.key, fmt.Sprintf(
			`{"inputs":[{%q:%q,"notes":"n"},{%q:"x"},{%q:%q,"tags":["\u0000"]},{%q:%q},{%q:%q},7]}`,
			key, ids[1], key, key, ids[1], key, uuid.NewString(), key, ids[2]))
		var data struct {
			Results []struct {
				Index  int
				Status string
				Data   json.RawMessage
				Error  struct {
					Code   string
					Issues []struct{ Code string }
				}
			}
		}
		if err := json.Unmarshal(batch.body.Data, &data); err != nil || batch.status != 200 {
			t.Fatalf("%s batch: %v %s", d, err, batch.raw)
		}
		var statuses []string
		for i, r := range data.Results {
			statuses = append(statuses, r.Status)
			if r.Index != i || (r.Status == "ok") != (r.Data != nil) || r.Error.Code == "invalid_input" && len(r.Error.Issues) != 1 {
				t.Errorf("%s batch: %+v", d, r)
			}
		}
		if diff := cmp.Diff([]string{"ok", "invalid_input", "invalid_input", "not_found", "ok", "invalid_input"}, statuses); diff != "" {
			t.Errorf("%s batch: %s\n%s", d, diff, batch.raw)
		}
		if !strings.Contains(string(batch.raw), `"metadata":{"credits":0,"succeeded":2,"failed":4}`) ||
			!strings.Contains(string(batch.raw), fmt.Sprintf("%q:%q", key, ids[1])) {
			t.Errorf("%s batch: %s", d, batch.raw)
		}
		if all := s.call("POST", path+"/search", s.key, `{}`); all.body.Metadata.Total != 3 {
			t.Errorf("%s search: %s\n%s", d, all.raw, s.log)
		}
		for range 2 {
			gone := s.call("DELETE", path+"/"+ids[0], s.key, "")
			if string(gone.raw) != `{"data":{"deleted":true},"metadata":{"credits":0}}` {
				t.Errorf("%s delete: %s", d, gone.raw)
			}
		}
		if get := s.call("GET", path+"/"+ids[0], s.key, ""); get.status != 404 || get.body.Error.Code != "not_found" ||
			get.header.Get("X-Credits-Charged") != "0" {
			t.Errorf("%s get: %d %s", d, get.status, get.raw)
		}
		gone := s.call("POST", path+"/delete/batch", s.key, fmt.Sprintf(`{"ids":[%q,"x",%q]}`, ids[1], uuid.NewString()))
		if !strings.Contains(string(gone.raw), `"metadata":{"credits":0,"succeeded":2,"failed":1}`) {
			t.Errorf("%s delete batch: %s", d, gone.raw)
		}
		if left := s.call("POST", path+"/search", s.key, `{}`); !cmp.Equal(left.ids(t), ids[2:]) {
			t.Errorf("%s search: %s", d, left.raw)
		}
	}
}

func TestBookRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	account := s.search(catalog.Accounts, `{"limit": 1}`).ids(t)[0]
	long := func(n int) string { return strings.Repeat("é", n) }
	for name, c := range map[string]struct{ path, body, code, at string }{
		"neither":           {"accounts/upsert", `{}`, "invalid_union", ""},
		"both":              {"accounts/upsert", `{"account_id":"` + account + `","match":{"domain":"a.example"}}`, "invalid_union", ""},
		"neither contact":   {"contacts/upsert", `{"notes":"x"}`, "invalid_union", ""},
		"no project":        {"projects/upsert", `{}`, "invalid_type", "project_id"},
		"project by match":  {"projects/upsert", `{"project_id":"` + account + `","match":{}}`, "unrecognized_keys", ""},
		"tier of a contact": {"contacts/upsert", `{"contact_id":"` + account + `","icp_tier":null}`, "unrecognized_keys", ""},
		"tier":              {"accounts/upsert", `{"account_id":"` + account + `","icp_tier":"tier_4"}`, "invalid_union", "icp_tier"},
		"empty status":      {"accounts/upsert", `{"account_id":"` + account + `","workspace_status":"  "}`, "too_small", "workspace_status"},
		"long status": {
			"accounts/upsert", `{"account_id":"` + account + `","workspace_status":"` + long(101) + `"}`, "too_big",
			"workspace_status",
		},
		"long notes":       {"accounts/upsert", `{"account_id":"` + account + `","notes":"` + long(10_001) + `"}`, "too_big", "notes"},
		"NUL":              {"accounts/upsert", `{"account_id":"` + account + `","notes":"a\u0000"}`, "invalid_format", "notes"},
		"null tags":        {"accounts/upsert", `{"account_id":"` + account + `","tags":null}`, "invalid_type", "tags"},
		"long tag":         {"accounts/upsert", `{"account_id":"` + account + `","tags":["x","` + long(65) + `"]}`, "too_big", "tags/1"},
		"many tags":        {"accounts/upsert", `{"account_id":"` + account + `","tags":[` + numbers(51) + `]}`, "too_big", "tags"},
		"no UUID":          {"accounts/upsert", `{"account_id":"x"}`, "invalid_format", "account_id"},
		"empty match":      {"accounts/upsert", `{"match":{}}`, "invalid_type", "match/domain"},
		"match of another": {"accounts/upsert", `{"match":{"domain":"a.example","email":"x"}}`, "unrecognized_keys", "match"},
		"no items":         {"accounts/upsert/batch", `{"inputs":[]}`, "too_small", "inputs"},
		"101 items":        {"accounts/upsert/batch", `{"inputs":[` + numbers(101) + `]}`, "too_big", "inputs"},
		"another envelope": {"accounts/upsert/batch", `{"ids":[]}`, "unrecognized_keys", ""},
		"no ids":           {"contacts/delete/batch", `{"ids":[]}`, "too_small", "ids"},
		"101 ids":          {"contacts/delete/batch", `{"ids":[` + numbers(101) + `]}`, "too_big", "ids"},
		"a sort of Views":  {"accounts/search", `{"sort":{"field":"relevance","order":"desc"}}`, "unrecognized_keys", "sort/field"},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.call("POST", "/workspace/"+c.path, s.key, c.body)
			if a.status != 400 || a.body.Success == nil || len(a.body.Error.Issues) == 0 {
				t.Fatalf("%d %s", a.status, a.raw)
			}
			if i := a.body.Error.Issues[0]; i.Code != c.code || strings.Join(i.Path, "/") != c.at {
				t.Errorf("%s", a.raw)
			}
		})
	}
	free, err := s.directory.CreateWorkspace(t.Context(), "Free", workspace.Free, 0)
	if err != nil {
		t.Fatal(err)
	}
	key := s.newKey(people.NewKey{Name: "free", Workspaces: []workspace.ID{free.ID}, Scopes: workspace.AllScopes()})
	reader := s.newKey(people.NewKey{Name: "reader", Workspaces: []workspace.ID{s.pro.ID}, Scopes: []workspace.Scope{workspace.WorkspaceRead}})
	for _, token := range []string{key, reader} {
		if a := s.call("POST", "/workspace/accounts/upsert", token, `{"account_id":"`+account+`"}`); a.status != 403 ||
			a.body.Error.Code != "forbidden" {
			t.Errorf("%d %s", a.status, a.raw)
		}
	}
}

func numbers(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%q", fmt.Sprint("n", i))
	}
	return strings.Join(list, ",")
}

// A score soon follows a change of the tier.
func TestScoreFollowsTheTier(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	c := s.client(s.key)
	account := must(c.Accounts.Search(t.Context(), client.Search{Limit: 1}))(t).Records[0].ID
	tier := func(name string) client.BookAccount {
		return must(c.Book.Accounts.Upsert(t.Context(), client.AccountUpsert{AccountID: account, ICPTier: client.To(name)}))(t)
	}
	fresh, old := tier("tier_1"), tier("disqualified")
	if fresh.AtlasScore < 40 || old.AtlasScore != fresh.AtlasScore {
		t.Errorf("new to the book %d, then as of the call %d", fresh.AtlasScore, old.AtlasScore)
	}
	deadline := time.Now().Add(time.Minute)
	for must(c.Book.Accounts.Get(t.Context(), account))(t).AtlasScore != 0 {
		if time.Now().After(deadline) {
			t.Fatal("the score does not follow")
		}
		time.Sleep(20 * time.Millisecond)
	}
	q := client.Search{Filters: client.Filters{"atlas_score": client.Is(0)}, Sort: client.Desc("atlas_score")}
	if found := collect(t, c.Book.Accounts.All(t.Context(), q)); len(found) != 1 {
		t.Errorf("%+v", found)
	}
}
