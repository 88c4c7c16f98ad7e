package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/client"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/people"
)

func TestSearchAndGet(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	a := s.search(catalog.Projects, `{"limit": 5}`)
	ids := a.ids(t)
	if len(ids) != 5 || a.body.Metadata.Credits != 5 || a.body.Metadata.Limit != 5 || a.body.Metadata.SearchAfter == nil {
		t.Fatalf("first page: %s", a.raw)
	}
	for header, want := range map[string]string{
		"X-Credits-Charged": "5", "X-Credits-Used": "5", "X-Credits-Remaining": "249995", "X-Credits-Ceiling": "250000",
	} {
		if got := a.header.Get(header); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
	get := s.call("GET", "/data/projects/"+strings.ToUpper(ids[0])+"?include=accounts,signals,contacts", s.key, "")
	var record map[string]json.RawMessage
	if err := json.Unmarshal(get.body.Data, &record); err != nil || get.status != 200 || get.body.Metadata.Credits != 1 {
		t.Fatalf("get: %v %s", err, get.raw)
	}
	for _, key := range []string{"accounts", "signals", "contacts", "updated_at"} {
		if _, ok := record[key]; !ok {
			t.Errorf("get has no %s", key)
		}
	}
	missing := s.call("GET", "/data/projects/00000000-0000-4000-8000-000000000000", s.key, "")
	if missing.status != 404 || missing.body.Error.Code != "not_found" || missing.header.Get("X-Credits-Charged") != "0" {
		t.Errorf("missing: %d %s", missing.status, missing.raw)
	}
	usage := s.call("GET", "/data/usage", s.key, "")
	want := `{"used_credits":6,"ceiling":250000,"remaining":249994,"window_hours":24,"by_tool":{"get_project":1,"search_projects":5}`
	byHour := regexp.MustCompile(`"by_hour":\[\{"from":"[^"]*","credits":[^\]]*\],`)
	byKey := regexp.MustCompile(`,"by_key":\{"[^"]*":6\}\}$`)
	if got := string(usage.body.Data); byKey.ReplaceAllString(byHour.ReplaceAllString(got, ""), "") != want ||
		!byKey.MatchString(got) || !byHour.MatchString(got) {
		t.Errorf("usage: %s", cmp.Diff(want, got))
	}
	if got, want := string(
		s.call("GET", "/workspace/credits", s.key, "").body.Data,
	), `{"plan":"pro","remaining":249994,"ceiling":250000,"used":6,"window_hours":24}`; got != want {
		t.Errorf("credits: %s", got)
	}
}

// TestWalk pages each dataset to its end by its default sort, over HTTP.
func TestWalk(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	total := 0
	for _, d := range catalog.Datasets {
		seen := map[string]bool{}
		for _, record := range collect(t, s.client(s.key).Dataset(client.DatasetName(d)).All(t.Context(), client.Search{})) {
			var r struct{ ID string }
			if err := json.Unmarshal(record, &r); err != nil || seen[r.ID] {
				t.Errorf("%s: %q twice, %v", d, r.ID, err)
			}
			seen[r.ID] = true
		}
		total += len(seen)
	}
	if total != datasetRecords {
		t.Errorf("walked %d records, want %d", total, datasetRecords)
	}
}

func TestForeignCursors(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	after := *s.search(catalog.Projects, `{"limit": 2, "sort": {"field": "cost", "order": "asc"}}`).body.Metadata.SearchAfter
	refused := func(what string, d catalog.Dataset, body string) {
		t.Helper()
		a := s.call("POST", "/data/"+string(d)+"/search", s.key, body)
		if a.status != 400 || a.body.Error.Code != "bad_request" {
			t.Errorf("%s: %d %s", what, a.status, a.raw)
		}
	}
	by := func(sort, cursor string) string {
		return fmt.Sprintf(`{"sort": %s, "search_after": %q}`, sort, cursor)
	}
	const cost = `{"field": "cost", "order": "asc"}`
	refused("other order", catalog.Projects, by(`{"field": "cost", "order": "desc"}`, after))
	refused("other field", catalog.Projects, by(`{"field": "name", "order": "asc"}`, after))
	refused("default sort", catalog.Projects, fmt.Sprintf(`{"search_after": %q}`, after))
	refused("other dataset", catalog.Accounts, fmt.Sprintf(`{"search_after": %q}`, after))
	refused("empty", catalog.Projects, by(cost, ""))
	refused("cut", catalog.Projects, by(cost, after[:len(after)-1]))
	refused("padded", catalog.Projects, by(cost, after+"="))
	refused("no base64", catalog.Projects, by(cost, "ünlikely"))
	for i := range after { // every character, so every byte
		flipped := []byte(after)
		flipped[i] ^= 1
		if flipped[i] == '@' || flipped[i] == '[' || flipped[i] == '`' || flipped[i] == '{' || flipped[i] == '/' || flipped[i] == ':' {
			flipped[i] = 'A'
		}
		if string(flipped) != after {
			refused("flipped", catalog.Projects, by(cost, string(flipped)))
		}
	}
	if a := s.call("POST", "/data/projects/search", s.key, by(cost, after)); a.status != 200 || a.body.Metadata.Offset != 0 {
		t.Errorf("the cursor itself: %d %s", a.status, a.raw)
	}
}

// TestCeiling runs 200 concurrent searches in a workspace that is 50 credits below its
// ceiling. One may exceed it, by less than its page.
func TestCeiling(t *testing.T) {
	t.Parallel()
	const ceiling, limit = 500, 20
	s := start(t, ceiling)
	for range (ceiling - 50) / 50 {
		s.search(catalog.Signals, `{"limit": 50}`)
	}
	var lock sync.Mutex
	var group sync.WaitGroup
	charged := int64(ceiling - 50)
	statuses := map[int]int{}
	for range 200 {
		group.Go(func() {
			a := s.call("POST", "/data/signals/search", s.key, fmt.Sprintf(`{"limit": %d}`, limit))
			lock.Lock()
			defer lock.Unlock()
			statuses[a.status]++
			charged += a.body.Metadata.Credits
			switch a.status {
			case 200:
			case 429:
				if a.header.Get("Retry-After") != "86400" || a.body.Error.Code != "rate_limited" || a.header.Get("X-Credits-Remaining") != "0" {
					t.Errorf("429: %v %s", a.header, a.raw)
				}
			case 503:
				if a.header.Get("Retry-After") != "1" {
					t.Errorf("503: %v %s", a.header, a.raw)
				}
			default:
				t.Errorf("%d %s", a.status, a.raw)
			}
		})
	}
	group.Wait()
	if charged < ceiling || charged >= ceiling+limit {
		t.Errorf("charged %d of %d (%v)", charged, ceiling, statuses)
	}
	var usage struct {
		Used      int64 `json:"used_credits"`
		Remaining int64
	}
	if err := json.Unmarshal(s.call("GET", "/data/usage", s.key, "").body.Data, &usage); err != nil || usage.Used != charged ||
		usage.Remaining != 0 {
		t.Errorf("the ledger has %+v, the answers %d (%v)", usage, charged, err)
	}
	// Reported before any problem of the request, but not on unthrottled routes.
	for path, want := range map[string]int{"/data/signals/search?x=1": 429, "/data/fields/search": 200} {
		if a := s.call("POST", path, s.key, `{"dataset": "signals"}`); a.status != want {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
	}
	if a := s.call("POST", "/data/signals/search", s.key, `{`); a.status != 429 {
		t.Errorf("a broken body over the ceiling: %d", a.status)
	}
	if a := s.call("GET", "/data/signals/no-uuid", s.key, ""); a.status != 429 {
		t.Errorf("a bad id over the ceiling: %d", a.status)
	}
}

// TestOrderOfChecks sends requests with several faults and checks which one is
// reported.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	free, err := s.directory.CreateWorkspace(t.Context(), "Free", workspace.Free, 0)
	if err != nil {
		t.Fatal(err)
	}
	in := []workspace.ID{s.pro.ID}
	reader := s.newKey(people.NewKey{Name: "r", Workspaces: in, Scopes: []workspace.Scope{workspace.WorkspaceRead}})
	restricted := s.newKey(people.NewKey{Name: "x", Workspaces: in, Scopes: workspace.AllScopes(), Restricted: true})
	freeKey := s.newKey(people.NewKey{Name: "f", Workspaces: []workspace.ID{free.ID}, Scopes: workspace.AllScopes()})
	member := s.user(people.MemberRole)
	ws := "?workspace_id=" + s.pro.ID.String()
	const nobody = "?workspace_id=00000000-0000-4000-8000-000000000000"

	for name, c := range map[string]struct {
		method, path, token, body string
		status                    int
		code                      string // "" is a validation error
	}{
		"unknown route, no token":           {"GET", "/nothing", "", "", 404, "not_found"},
		"unknown dataset":                   {"POST", "/data/things/search", "", "{", 404, "not_found"},
		"trailing slash":                    {"POST", "/data/accounts/search/", s.key, "{}", 404, "not_found"},
		"other method, no token":            {"PUT", "/data/accounts/search", "", "", 405, "method_not_allowed"},
		"get of a search":                   {"GET", "/data/accounts/search", s.key, "", 405, "method_not_allowed"},
		"delete of a record":                {"DELETE", "/data/accounts/x", "", "", 405, "method_not_allowed"},
		"no token, bad body":                {"POST", "/data/accounts/search", "", "{", 401, "unauthorized"},
		"broken token":                      {"POST", "/data/accounts/search", "nonsense", "{", 401, "unauthorized"},
		"user without workspace_id":         {"POST", "/data/accounts/search", member, "{", 400, "bad_request"},
		"user without workspace_id, usage":  {"GET", "/data/usage", member, "", 400, "bad_request"},
		"user without workspace_id, fields": {"POST", "/data/fields/search", member, "", 400, "bad_request"},
		"user, /workspace":                  {"GET", "/workspace", member, "", 200, ""},
		"user with workspace_id":            {"POST", "/data/accounts/search" + ws, member, "{}", 200, ""},
		"workspace_id no UUID":              {"POST", "/data/accounts/search?workspace_id=abc", reader, "{", 400, "invalid_input"},
		"user, foreign workspace":           {"POST", "/data/accounts/search?workspace_id=" + free.ID.String(), member, "{", 403, "forbidden"},
		"user, no such workspace":           {"POST", "/data/accounts/search" + nobody, member, "{", 403, "forbidden"},
		"key, foreign workspace":            {"POST", "/data/accounts/search?workspace_id=" + free.ID.String(), s.key, "{", 403, "forbidden"},
		"key, no such workspace":            {"POST", "/data/accounts/search" + nobody, s.key, "{", 403, "forbidden"},
		"restricted key":                    {"POST", "/data/accounts/search", restricted, "{", 403, "forbidden"},
		"free plan":                         {"POST", "/data/accounts/search", freeKey, "{", 403, "forbidden"},
		"free plan, usage":                  {"GET", "/data/usage", freeKey, "", 403, "forbidden"},
		"missing scope, bad body":           {"POST", "/data/accounts/search", reader, "{", 403, "forbidden"},
		"bad body":                          {"POST", "/data/accounts/search", s.key, "{", 400, "invalid_input"},
		"id no UUID":                        {"GET", "/data/accounts/abc", s.key, "", 400, "invalid_input"},
		"id in braces":                      {"GET", "/data/accounts/%7B00000000-0000-4000-8000-000000000000%7D", s.key, "", 400, "invalid_input"},
		"unknown include of an unknown id":  {"GET", "/data/accounts/00000000-0000-4000-8000-000000000000?include=signals,x", s.key, "", 400, "bad_request"},
		"unknown field":                     {"GET", "/data/fields/accounts/colour", s.key, "", 404, "not_found"},
		"unknown dataset of a field":        {"GET", "/data/fields/things/name", s.key, "", 400, "invalid_input"},
		"field":                             {"GET", "/data/fields/workspace_accounts/icp_tier", s.key, "", 200, ""},
		"health":                            {"GET", "/health/live", "", "", 200, ""},
		"readiness":                         {"GET", "/health/ready", "", "", 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.call(c.method, c.path, c.token, c.body)
			if a.status != c.status || a.body.Error.Code != c.code {
				t.Fatalf("%d %q, want %d %q: %s", a.status, a.body.Error.Code, c.status, c.code, a.raw)
			}
			if c.code == "invalid_input" &&
				(a.body.Error.Name != "ValidationError" || len(a.body.Error.Issues) == 0 || a.body.Success == nil || *a.body.Success) {
				t.Errorf("not the validation shape: %s", a.raw)
			}
			if c.status == 405 && a.header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
			if a.header.Get("X-Request-Id") == "" {
				t.Error("no request id")
			}
		})
	}
	if a := s.call("POST", "/data/accounts/search", freeKey, ""); !strings.Contains(strings.ToLower(a.body.Error.Message), "plan") {
		t.Errorf("the plan is not named as the reason: %s", a.raw)
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	deep := strings.Repeat(`{"filters":`, 33) + "1" + strings.Repeat("}", 33)
	for name, c := range map[string]struct {
		body, contentType string
		status            int
		code              string // of the error, or of its first issue
	}{
		"none":                {"", "", 200, ""},
		"spaces":              {"  ", "application/json", 200, ""},
		"charset":             {"{}", "application/json; charset=UTF-8", 200, ""},
		"no content type":     {"{}", "", 415, "unsupported_media_type"},
		"form":                {"a=b", "application/x-www-form-urlencoded", 415, "unsupported_media_type"},
		"other charset":       {"{}", "application/json; charset=latin1", 415, "unsupported_media_type"},
		"too large":           {`{"query":"` + strings.Repeat("a", 1<<20) + `"}`, "application/json", 413, "payload_too_large"},
		"array":               {"[]", "application/json", 400, "custom"},
		"null":                {"null", "application/json", 400, "custom"},
		"cut":                 {`{"query":`, "application/json", 400, "custom"},
		"trailing data":       {`{} {}`, "application/json", 400, "custom"},
		"duplicate key":       {`{"limit":1,"limit":2}`, "application/json", 400, "custom"},
		"invalid UTF-8":       {"{\"query\":\"\xff\"}", "application/json", 400, "custom"},
		"lone surrogate":      {`{"query":"\ud800"}`, "application/json", 400, "custom"},
		"NUL":                 {`{"query":"a\u0000b"}`, "application/json", 400, "invalid_format"},
		"too deep":            {deep, "application/json", 400, "custom"},
		"unknown key":         {`{"filter":{}}`, "application/json", 400, "unrecognized_keys"},
		"limit of 101":        {`{"limit":101}`, "application/json", 400, "too_big"},
		"limit as a string":   {`{"limit":"5"}`, "application/json", 400, "invalid_type"},
		"huge number":         {`{"filters":{"projects_count":{"value":1e999}}}`, "application/json", 400, "too_big"},
		"relevance, no query": {`{"sort":{"field":"relevance","order":"desc"}}`, "application/json", 400, "custom"},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.call("POST", "/data/accounts/search", s.key, c.body, "Content-Type", c.contentType)
			code := a.body.Error.Code
			if len(a.body.Error.Issues) > 0 {
				code = a.body.Error.Issues[0].Code
			}
			if a.status != c.status || code != c.code {
				t.Errorf("%d %q, want %d %q: %.500s", a.status, code, c.status, c.code, a.raw)
			}
			if c.status != 200 && a.header.Get("X-Credits-Charged") != "0" {
				t.Errorf("charged %q", a.header.Get("X-Credits-Charged"))
			}
		})
	}
	if a := s.call("GET", "/health/live", "", "", "X-Request-Id", "mine-1"); a.header.Get("X-Request-Id") != "mine-1" {
		t.Error("the caller's request id is not kept")
	}
	if a := s.call("GET", "/health/live", "", "", "X-Request-Id", strings.Repeat("x", 129)); len(a.header.Get("X-Request-Id")) != 36 {
		t.Error("a long request id is kept")
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	type descriptor struct {
		Dataset, Key, Kind string
		Values             []struct{ Value, Description string }
		SubFields          []descriptor `json:"sub_fields"`
	}
	list := func(body string) (answer, []descriptor) {
		a := s.call("POST", "/data/fields/search", s.key, body)
		var found []descriptor
		if err := json.Unmarshal(a.body.Data, &found); err != nil || a.body.Metadata.Total != len(found) {
			t.Fatalf("%s: %v %.300s", body, err, a.raw)
		}
		return a, found
	}
	_, all := list("")
	datasets := map[string]int{}
	for _, d := range all {
		datasets[d.Dataset]++
	}
	if got := slices.Sorted(maps.Keys(datasets)); len(got) != 7 {
		t.Errorf("datasets %v", got)
	}
	a, found := list(`{"keys": ["city", "nothing", "tags"], "kind": "number", "query": "zzz"}`)
	if diff := cmp.Diff([]string{"nothing"}, a.body.Metadata.NotFound); diff != "" || len(found) == 0 {
		t.Errorf("keys: %s %.300s", diff, a.raw)
	}
	for _, d := range found {
		switch {
		case d.Key == "tags" && len(d.Values) != 0:
			t.Errorf("tags has values: %v", d.Values)
		case d.Key == "city" && (len(d.Values) == 0 || len(d.Values) > 100 || !strings.HasSuffix(d.Values[0].Description, "records")):
			t.Errorf("%s city: %v", d.Dataset, d.Values)
		}
	}
	if a, _ := list(`{"dataset": "signals"}`); a.body.Metadata.NotFound != nil {
		t.Error("not_found without keys")
	}
	_, found = list(`{"dataset": "accounts", "kind": "relation"}`)
	if len(found) != 6 || len(found[0].SubFields) == 0 || found[0].SubFields[0].SubFields != nil {
		t.Errorf("relations: %+v", found)
	}
	if a := s.call("POST", "/data/fields/search", s.key, `{"dataset": "things", "kind": "x", "keys": [1]}`); a.status != 400 ||
		len(a.body.Error.Issues) != 3 {
		t.Errorf("bad search: %s", a.raw)
	}
}
