package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// workspaceChange is a change in an answer.
type workspaceChange struct {
	Op      string          `json:"op"`
	Kind    string          `json:"kind"`
	ID      string          `json:"id"`
	Dataset string          `json:"dataset"`
	ViewID  string          `json:"view_id"`
	At      time.Time       `json:"at"`
	By      json.RawMessage `json:"by"`
	Changed []string        `json:"changed"`
}

type workspaceFollower struct {
	*world
	token, in string
}

// ask sends a request for changes.
func (f workspaceFollower) ask(t *testing.T, body string) (changes []workspaceChange, next string, caughtUp bool) {
	t.Helper()
	var metadata struct {
		Next     string  `json:"next"`
		CaughtUp bool    `json:"caught_up"`
		Lag      float64 `json:"lag_s"`
		Credits  int     `json:"credits"`
	}
	f.call(t, f.token, "POST", "/workspace/changes?workspace_id="+f.in, body).into(t, &changes, &metadata)
	if metadata.Credits != 0 || metadata.CaughtUp && metadata.Lag != 0 {
		t.Errorf("%+v", metadata)
	}
	return changes, metadata.Next, metadata.CaughtUp
}

// after waits until a change is reported after a cursor.
func (f workspaceFollower) after(t *testing.T, cursor string) (changes []workspaceChange, next string) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); len(changes) == 0; {
		if time.Now().After(until) {
			t.Fatal("no change is found")
		}
		changes, next, _ = f.ask(t, fmt.Sprintf(`{"cursor":%q,"wait_s":10,"limit":1}`, cursor))
	}
	return changes, next
}

// A workspace gets the changes by its users, its keys and the operator, and nothing of
// others.
func TestChangesOfTheWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, other := w.workspace(t, "Told", workspace.Pro, 1000), w.workspace(t, "Other", workspace.Pro, 1000)
	keyID, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
	_, othersKey := w.key(t, people.NewKey{Workspaces: []workspace.ID{other}})
	_, before, _ := (workspaceFollower{w, key, in.String()}).ask(t, `{}`)
	admin := w.member(t, in, "admin-"+uuid.NewString()+"@example.com", people.Admin)
	f := workspaceFollower{w, tokenFor(t, admin), in.String()}
	// A change is reported when all transactions before it ended, including those of other tests.
	for newest := (workspaceChange{}); newest.ID != admin.ID.String(); {
		var changes []workspaceChange
		changes, before = f.after(t, before)
		newest = changes[0]
	}
	var sent struct {
		Subscription struct{ ID string }
	}
	write := func(token, in, kind string) string {
		t.Helper()
		w.call(t, token, "POST", "/workspace/signal-subscriptions/upsert?workspace_id="+in, `{"signal_type":"`+kind+`"}`).
			into(t, &sent, nil)
		return sent.Subscription.ID
	}
	_, cursor, caughtUp := f.ask(t, `{}`)
	if !caughtUp {
		t.Error("the end is not the end")
	}
	write(othersKey, other.String(), "permit_filed")
	byKey := write(key, in.String(), "permit_issued")
	got, next := f.after(t, cursor)
	want := []workspaceChange{
		{Op: "upsert", Kind: "subscription", ID: byKey, At: got[0].At, By: json.RawMessage(`{"key_id":"` + keyID.String() + `"}`),
			Changed: []string{"delivery", "queue_started_at", "signal_type"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || time.Since(got[0].At).Abs() > time.Minute {
		t.Errorf("by a key (-want +got):\n%s", diff)
	}
	byUser := write(f.token, in.String(), "permit_filed")
	got, next = f.after(t, next)
	if len(got) != 1 || got[0].ID != byUser || string(got[0].By) != `{"user_id":"`+admin.ID.String()+`"}` {
		t.Errorf("by a user: %+v", got)
	}
	name := "New name"
	_, err := w.directory.SetWorkspace(t.Context(), in, people.WorkspaceChange{Name: &name})
	fatal(t, err)
	got, _ = f.after(t, next)
	if len(got) != 1 || got[0].Kind != "setting" || got[0].ID != in.String() || string(got[0].By) != `{"operator":true}` ||
		!cmp.Equal(got[0].Changed, []string{"name"}) {
		t.Errorf("by the operator: %+v", got)
	}
	all, _, caughtUp := f.ask(t, fmt.Sprintf(`{"cursor":%q,"limit":2}`, cursor))
	if len(all) != 2 || caughtUp {
		t.Errorf("a full page: %+v, %v", all, caughtUp)
	}
	history, _, caughtUp := f.ask(t, fmt.Sprintf(`{"history":%q}`, byKey))
	if len(history) != 1 || history[0].ID != byKey || !caughtUp {
		t.Errorf("history: %+v", history)
	}
	if others, _, _ := (workspaceFollower{w, othersKey, other.String()}).ask(t, fmt.Sprintf(`{"history":%q}`, byKey)); len(others) > 0 {
		t.Errorf("another workspace sees %+v", others)
	}
	for what, c := range map[string]struct{ token, in, body, code string }{
		"a cursor of another workspace": {othersKey, other.String(), fmt.Sprintf(`{"cursor":%q}`, cursor), "bad_request"},
		"a cursor that was changed":     {f.token, f.in, fmt.Sprintf(`{"cursor":"x%s"}`, cursor), "bad_request"},
		"a cursor and a time":           {f.token, f.in, fmt.Sprintf(`{"cursor":%q,"since":"2026-01-31"}`, cursor), "validation"},
		"a history from a cursor":       {f.token, f.in, fmt.Sprintf(`{"cursor":%q,"history":%q}`, cursor, byKey), "validation"},
		"an unknown member":             {f.token, f.in, `{"records":true}`, "validation"},
		"a limit":                       {f.token, f.in, `{"limit":1001}`, "validation"},
	} {
		if a := w.call(t, c.token, "POST", "/workspace/changes?workspace_id="+c.in, c.body); a.code() != c.code {
			t.Errorf("%s: %s, want %s", what, a.code(), c.code)
		}
	}
	fatal(t, w.system.ForgetWorkspaceChanges(t.Context(), -time.Hour))
	if a := w.call(
		t, f.token, "POST", "/workspace/changes?workspace_id="+f.in, fmt.Sprintf(`{"cursor":%q}`, cursor),
	); a.code() != "cursor_too_old" ||
		a.status != 410 {
		t.Errorf("a forgotten cursor: %d %s", a.status, a.code())
	}
}

// Members read who changed the workspace's data on a record, also members who may not read
// all changes; nothing of other workspaces, records, or datasets.
func TestHistoryOfARecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := searchtest.NewWorld()
	for i := range 3 {
		data.Add(searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Firm"}`, searchtest.ID("a", i))))
	}
	w.load(t, data)
	w.holds(t)
	in, other := w.workspace(t, "History", workspace.Pro, 1000), w.workspace(t, "Another", workspace.Pro, 1000)
	keyID, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
	_, othersKey := w.key(t, people.NewKey{Workspaces: []workspace.ID{other}})
	member := w.member(t, in, "plain-"+uuid.NewString()+"@example.com", people.MemberRole)
	token := tokenFor(t, member)
	as := "?workspace_id=" + in.String()
	record := searchtest.ID("a", 1)
	upsert := func(token, query, body string) {
		t.Helper()
		w.call(t, token, "POST", "/workspace/accounts/upsert"+query, body).into(t, nil, nil)
	}
	upsert(key, "", fmt.Sprintf(`{"account_id":%q,"notes":"first","tags":["a"]}`, record))
	upsert(key, "", fmt.Sprintf(`{"account_id":%q,"notes":"of another record"}`, searchtest.ID("a", 2)))
	upsert(othersKey, "", fmt.Sprintf(`{"account_id":%q,"workspace_status":"of another workspace"}`, record))
	upsert(token, as, fmt.Sprintf(`{"account_id":%q,"notes":"second"}`, record))
	var made struct{ View struct{ ID string } }
	w.call(t, key, "POST", "/workspace/views/upsert", `{"dataset":"account","view_type":"static","name":"A list"}`).into(t, &made, nil)
	w.call(
		t, token, "POST", "/workspace/views/"+made.View.ID+"/records/add/batch"+as, fmt.Sprintf(`{"inputs":[{"record_id":%q}]}`, record),
	).into(t, nil, nil)
	w.call(t, token, "DELETE", "/workspace/accounts/"+record+as, "").into(t, nil, nil)

	history := func(token, path string) (changes []workspaceChange) {
		t.Helper()
		var data struct{ Changes []workspaceChange }
		w.call(t, token, "GET", path, "").into(t, &data, nil)
		return data.Changes
	}
	path := "/workspace/accounts/" + record + "/history"
	var got []workspaceChange // all of it once no earlier transaction is in progress
	for until := time.Now().Add(30 * time.Second); len(got) < 4 && time.Now().Before(until); {
		got = history(token, path+as)
	}
	if len(got) != 4 {
		t.Fatalf("%+v", got)
	}
	user, byKey := fmt.Sprintf(`{"user_id":%q}`, member.ID), fmt.Sprintf(`{"key_id":%q}`, keyID)
	for i, want := range []workspaceChange{
		{Op: "delete", Kind: "overlay", By: json.RawMessage(user), Changed: []string{}},
		{Op: "upsert", Kind: "membership", ViewID: made.View.ID, By: json.RawMessage(user), Changed: []string{}},
		{Op: "upsert", Kind: "overlay", By: json.RawMessage(user), Changed: []string{"notes"}},
		{Op: "upsert", Kind: "overlay", By: json.RawMessage(byKey), Changed: []string{"atlas_score", "atlas_trend", "notes", "tags"}},
	} {
		if i+1 < len(got) && got[i+1].At.After(got[i].At) {
			t.Errorf("%v is before %v", got[i].At, got[i+1].At)
		}
		got[i].At, want.ID, want.Dataset = time.Time{}, record, "accounts"
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Errorf("change %d (-want +got):\n%s", i, diff)
		}
	}
	if page := history(token, path+as+"&limit=1&offset=2"); len(page) != 1 || page[0].Op != "upsert" || page[0].Kind != "overlay" {
		t.Errorf("%+v", page)
	}
	if none := history(key, "/workspace/projects/"+record+"/history"); len(none) != 0 {
		t.Errorf("of another dataset: %+v", none)
	}
	if theirs := history(othersKey, path); len(theirs) != 1 || !slices.Contains(theirs[0].Changed, "workspace_status") {
		t.Errorf("of another workspace: %+v", theirs)
	}
	if code := w.call(t, othersKey, "GET", path+as, "").code(); code == "" {
		t.Error("a key reads the history of a workspace that is not its own")
	}
}
