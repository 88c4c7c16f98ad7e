package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// A change is made only if the caller has seen the current value: alone and in batches,
// upserts and deletions. The error has the current value and its author, for the workspace
// only.
func TestExpectedOfTheBook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := searchtest.NewWorld()
	for i := range 4 {
		data.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Firm"}`, searchtest.ID("a", i))))
	}
	w.load(t, data)
	w.holds(t)
	in, other := w.workspace(t, "Expecting", workspace.Pro, 1000), w.workspace(t, "Another", workspace.Pro, 1000)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
	_, othersKey := w.key(t, people.NewKey{Workspaces: []workspace.ID{other}})
	member := w.member(t, in, "editor@example.com", people.MemberRole)
	as := "?workspace_id=" + in.String()
	one, two := searchtest.ID("a", 1), searchtest.ID("a", 2)
	type current struct {
		Status    *string  `json:"workspace_status"`
		Tier      *string  `json:"icp_tier"`
		Notes     *string  `json:"notes"`
		Tags      []string `json:"tags"`
		UpdatedBy *string  `json:"updated_by"`
		UpdatedAt string   `json:"updated_at"`
	}
	upsert := func(token, query, id, rest string) answer {
		return w.call(t, token, "POST", "/workspace/accounts/upsert"+query, fmt.Sprintf(`{"account_id":%q,%s}`, id, rest))
	}
	// currentOf is the current value in an error: JSON, "" if it has none.
	currentOf := func(a answer) string {
		t.Helper()
		var got struct {
			Error struct{ Current json.RawMessage }
		}
		fatal(t, json.Unmarshal([]byte(a.text), &got))
		if a.status != 409 || a.code() != "revision_conflict" {
			t.Errorf("not refused: %d %s", a.status, a.text)
		}
		return string(got.Error.Current)
	}
	if a := upsert(key, "", one, `"notes":"x","expected":{"workspace_status":null}`); currentOf(a) != "null" {
		t.Errorf("of a record outside the book: %s", a.text)
	}
	upsert(tokenFor(t, member), as, one, `"workspace_status":"met","tags":["a"],"expected":{"in_book":false}`).into(t, nil, nil)
	a := upsert(key, "", one, `"notes":"x","expected":{"in_book":false}`)
	var now current
	fatal(t, json.Unmarshal([]byte(currentOf(a)), &now))
	status, by := "met", member.ID.String()
	if diff := cmp.Diff(current{&status, nil, nil, []string{"a"}, &by, now.UpdatedAt}, now); diff != "" || now.UpdatedAt == "" {
		t.Errorf("what is there (-want +got):\n%s", diff)
	}
	// Null is absent, as everywhere; another workspace has a book of its own.
	upsert(key, "", one, `"notes":"by a key","expected":null`).into(t, nil, nil)
	if a := upsert(othersKey, "", one, `"notes":"y","expected":{"notes":"by a key"}`); currentOf(a) != "null" {
		t.Errorf("another workspace got %s", a.text)
	}
	var rows []struct {
		ID        string
		UpdatedBy *string `json:"updated_by"`
	}
	search := `{"fields":["updated_by"]}`
	if w.call(t, key, "POST", "/workspace/accounts/search", search).into(t, &rows, nil); len(rows) != 1 || rows[0].UpdatedBy != nil {
		t.Errorf("changed by a key: %+v", rows)
	}
	upsert(
		tokenFor(t, member),
		as,
		one,
		`"notes":null,"expected":{"notes":"by a key","tags":["a"],"icp_tier":null,"workspace_status":"met"}`,
	).into(t, nil, nil)
	w.call(t, key, "POST", "/workspace/accounts/search", search).into(t, &rows, nil)
	if len(rows) != 1 || rows[0].UpdatedBy == nil || *rows[0].UpdatedBy != by {
		t.Errorf("changed by a member: %+v", rows)
	}

	// In batches an unexpected item does not stop the others.
	codes := func(path, body string) (codes []string) {
		t.Helper()
		var got struct {
			Results []struct {
				Status string
				Error  *struct{ Current *current }
			}
		}
		w.call(t, key, "POST", path, body).into(t, &got, nil)
		for _, r := range got.Results {
			if r.Error != nil && r.Error.Current != nil && r.Error.Current.Status != nil {
				r.Status += " " + *r.Error.Current.Status
			}
			codes = append(codes, r.Status)
		}
		return codes
	}
	if got := codes("/workspace/accounts/upsert/batch", fmt.Sprintf(
		`{"inputs":[{"account_id":%[1]q,"notes":"n","expected":{"workspace_status":"other"}},{"account_id":%[2]q,"workspace_status":"new","expected":{"in_book":false}},{"account_id":%[2]q,"notes":"n","expected":{"workspace_status":"new"}}]}`,
		one, two)); !slices.Equal(got, []string{"revision_conflict met", "ok", "ok"}) {
		t.Error(got)
	}
	deletions := "/workspace/accounts/delete/batch"
	for name, body := range map[string]string{
		"an id that is not taken out": fmt.Sprintf(`{"ids":[%q],"expected":{%q:{}}}`, one, two),
		"no id":                       fmt.Sprintf(`{"ids":[%q],"expected":{"x":{}}}`, one),
		"no values":                   fmt.Sprintf(`{"ids":[%q],"expected":{%q:null}}`, one, one),
		"of another dataset":          fmt.Sprintf(`{"ids":[%q],"expected":{%q:{"stage":"filed"}}}`, one, one),
	} {
		if a := w.call(t, key, "POST", deletions, body); a.status != 400 {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
	}
	if got := codes(deletions, fmt.Sprintf(
		`{"ids":[%[1]q,%[2]q,%[3]q],"expected":{%[1]q:{"workspace_status":"other"},%[2]q:{"workspace_status":"new","notes":"n"},%[3]q:{}}}`,
		one, two, searchtest.ID("a", 3))); !slices.Equal(got, []string{"revision_conflict met", "ok", "revision_conflict"}) {
		t.Error(got)
	}
	if w.call(t, key, "POST", "/workspace/accounts/search", `{}`).into(t, &rows, nil); len(rows) != 1 || rows[0].ID != one {
		t.Errorf("left in the book: %+v", rows)
	}
}
