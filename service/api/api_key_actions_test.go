package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/search/searchtest"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/people"
)

// keyAction is an action of a key in the API.
type keyAction struct {
	ID                    int64
	Action, Kind          string
	ObjectID              string `json:"object_id"`
	ViewID                string `json:"view_id"`
	Fields                []string
	RequestID             *string `json:"request_id"`
	Undo, Outcome, Reason string
}

type keyActions struct{ Actions []keyAction }

// stolen is a workspace with actions of a key among those of others.
type stolen struct {
	*world
	in                 workspace.ID
	by                 string // the owner's token
	key                apiKey
	demoted            people.Member
	mine, kept, theirs string // Views: of the key, of the owner, of the owner and deleted by the key
	renamed            string // a board of the key that the owner renamed
	request            string // of the key's View
}

func newStolen(t *testing.T) *stolen {
	t.Helper()
	w := newWorld(t)
	w.load(t, globals(t))
	w.holds(t)
	s := &stolen{world: w, in: w.workspace(t, "A", workspace.Pro, 0), request: uuid.NewString()}
	s.by = tokenFor(t, w.member(t, s.in, "owner@a.example", people.Owner))
	s.demoted = w.member(t, s.in, "member@a.example", people.Admin)
	s.key = w.makeKey(t, s.by, `"scopes":["data:read","workspace:read","workspace:write","workspace:admin"]`)
	send := func(token, path, body string) (made struct{ View, Board struct{ ID string } }) {
		t.Helper()
		w.send(t, token, "POST", path, body, http.Header{endpoint.RequestIDHeader: {s.request}}).into(t, &made, nil)
		return made
	}
	account := func(i int, notes string) string {
		return fmt.Sprintf(`{"account_id":%q,"notes":%q}`, searchtest.ID("a", i), notes)
	}
	project := func(i int) string { return fmt.Sprintf(`{"record_id":%q}`, searchtest.ID("p", i)) }
	send(s.by, "/workspace/accounts/upsert", account(2, "ours"))
	s.kept = send(s.by, "/workspace/views/upsert", viewBody("project", "static", "Kept")).View.ID
	send(s.by, "/workspace/views/"+s.kept+"/records/add", project(3))
	s.theirs = send(s.by, "/workspace/views/upsert", viewBody("project", "static", "Theirs")).View.ID

	key := s.key.Secret
	s.mine = send(key, "/workspace/views/upsert", viewBody("project", "static", "Mine")).View.ID
	send(key, "/workspace/views/"+s.mine+"/records/add", project(1))
	send(key, "/workspace/accounts/upsert", account(1, "spam"))
	send(key, "/workspace/accounts/upsert", account(2, "overwritten"))
	w.call(t, key, "DELETE", "/workspace/views/"+s.kept+"/records/"+searchtest.ID("p", 3), "").into(t, nil, nil)
	w.call(t, key, "DELETE", "/workspace/views/"+s.theirs, "").into(t, nil, nil)
	send(key, "/workspace/webhooks/upsert", `{"url":"https://hooks.example/leak","events":["record.changed"]}`)
	send(key, "/workspace/signal-subscriptions/upsert", `{"signal_type":"permit_filed"}`)
	send(key, "/workspace/invitations", `{"email":"friend@evil.example","role":"admin"}`)
	send(key, "/workspace/skills/create", `{"scope":"workspace","name":"Kept","slug":"kept","description":"d","content":"c"}`)
	send(key, "/workspace/boards/upsert", `{"name":"Of the key"}`)
	s.renamed = send(key, "/workspace/boards/upsert", `{"name":"To be ours"}`).Board.ID
	w.call(t, key, "PATCH", "/workspace/members/"+s.demoted.ID.String(), `{"role":"member"}`).into(t, nil, nil)
	send(s.by, "/workspace/boards/upsert", `{"id":"`+s.renamed+`","name":"Ours now"}`)
	return s
}

func (s *stolen) path(what string) string { return keysPath + "/" + s.key.ID + "/" + what }

func (s *stolen) list(t *testing.T) (all []keyAction) {
	t.Helper()
	cursor := ""
	for {
		var page keyActions
		var meta struct{ Next *string }
		s.call(t, s.by, "GET", s.path("actions")+"?limit=5"+cursor, "").into(t, &page, &meta)
		if all = append(all, page.Actions...); meta.Next == nil {
			return all
		}
		cursor = "&cursor=" + *meta.Next
	}
}

func (s *stolen) undo(t *testing.T, body string) map[string]int {
	t.Helper()
	var page keyActions
	s.call(t, s.by, "POST", s.path("undo"), body).into(t, &page, nil)
	return tally(page.Actions, func(a keyAction) string { return a.Outcome })
}

func tally(all []keyAction, state func(keyAction) string) map[string]int {
	counts := map[string]int{}
	for _, a := range all {
		counts[a.Action+" "+a.Kind+": "+state(a)]++
	}
	return counts
}

// stateOfStolen is what a listed action of newStolen is.
var stateOfStolen = map[string]int{
	"created view: possible": 1, "created membership: possible": 1, "created overlay: possible": 1, "changed overlay: not_stored": 1,
	"removed membership: possible": 1, "removed view: not_stored": 1, "created webhook: possible": 1, "created subscription: possible": 1,
	"created invitation: possible": 1, "created skill: not_offered": 1, "created board: possible": 1, "created board: changed_since": 1,
	"changed member: possible": 1,
}

// renamedStates are counts with another word for a state.
func renamedStates(counts map[string]int, before, after string) map[string]int {
	renamed := map[string]int{}
	for state, n := range counts {
		renamed[strings.Replace(state, ": "+before, ": "+after, 1)] = n
	}
	return renamed
}

func TestWhatAKeyDidIsUndone(t *testing.T) {
	t.Parallel()
	s := newStolen(t)
	listed := s.list(t)
	if diff := cmp.Diff(stateOfStolen, tally(listed, func(a keyAction) string { return a.Undo })); diff != "" {
		t.Fatalf("what the key did (-want +got):\n%s", diff)
	}
	for i, a := range listed {
		if i > 0 && a.ID >= listed[i-1].ID {
			t.Errorf("%d follows %d", a.ID, listed[i-1].ID)
		}
		if a.Kind == "view" && a.Action == "created" && (a.ObjectID != s.mine || a.RequestID == nil || *a.RequestID != s.request) {
			t.Errorf("the View of the key: %+v", a)
		}
		if a.Action == "changed" && a.Kind == "overlay" &&
			(a.ObjectID != searchtest.ID("a", 2) || len(a.Fields) != 1 || a.Fields[0] != "notes") {
			t.Errorf("the overlay that the key changed: %+v", a)
		}
	}
	wantAnswer(t, "undoing what a key in use did", s.call(t, s.by, "POST", s.path("undo"), `{}`), 409, "api_key_active")
	s.call(t, s.by, "DELETE", keysPath+"/"+s.key.ID, "").into(t, nil, nil)

	want := renamedStates(stateOfStolen, "possible", "undone")
	if diff := cmp.Diff(want, s.undo(t, `{"dry_run":true}`)); diff != "" {
		t.Errorf("a dry run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(listed, s.list(t)); diff != "" {
		t.Errorf("a dry run changed something:\n%s", diff)
	}
	if diff := cmp.Diff(want, s.undo(t, `{}`)); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
	s.checkUndone(t)
	again := renamedStates(stateOfStolen, "possible", "nothing_left")
	if diff := cmp.Diff(again, s.undo(t, `{}`)); diff != "" {
		t.Errorf("once more (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(again, tally(s.list(t), func(a keyAction) string { return a.Undo })); diff != "" {
		t.Errorf("listed then (-want +got):\n%s", diff)
	}
	var log auditPage
	s.call(t, s.by, "GET", auditPath+"?action=api_key.undone&object_id="+s.key.ID, "").into(t, &log, nil)
	if len(log.Events) != 2 || log.Events[1].Details["undone"] != 9.0 || log.Events[1].Details["left"] != 4.0 {
		t.Errorf("the audit log: %+v", log.Events)
	}
}

// checkUndone checks what newStolen left after all of it was undone.
func (s *stolen) checkUndone(t *testing.T) {
	t.Helper()
	for path, want := range map[string]string{
		"/workspace/views/" + s.mine: "view_not_found", "/workspace/accounts/" + searchtest.ID("a", 1): "not_found",
		"/workspace/accounts/" + searchtest.ID("a", 2): "overwritten", "/workspace/boards/" + s.renamed: "Ours now",
		"/workspace/webhooks": `"webhooks":[]`, "/workspace/signal-subscriptions": `"subscriptions":[]`,
		"/workspace/invitations": `"invitations":[]`,
	} {
		if a := s.call(t, s.by, "GET", path, ""); !strings.Contains(a.text, want) {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.text, want)
		}
	}
	var members struct {
		Members []struct{ ID, Role string }
	}
	s.call(t, s.by, "GET", "/workspace/members", "").into(t, &members, nil)
	for _, m := range members.Members {
		if m.ID == s.demoted.ID.String() && m.Role != "admin" {
			t.Errorf("the member: %+v", m)
		}
	}
	if a := s.call(t, s.by, "POST", "/workspace/views/"+s.kept+"/records/search", `{}`); !strings.Contains(a.text, searchtest.ID("p", 3)) {
		t.Errorf("the record that returned: %s", a.text)
	}
}

// Two undo the same at once: each object is restored once.
func TestTwoUndosAtOnce(t *testing.T) {
	t.Parallel()
	s := newStolen(t)
	s.call(t, s.by, "DELETE", keysPath+"/"+s.key.ID, "").into(t, nil, nil)
	outcomes := make([]map[string]int, 2)
	var group sync.WaitGroup
	for i := range outcomes {
		group.Go(func() { outcomes[i] = s.undo(t, `{}`) })
	}
	group.Wait()
	undone, left := 0, 0
	for _, each := range outcomes {
		for state, n := range each {
			if strings.HasSuffix(state, ": undone") {
				undone += n
			}
			if strings.HasSuffix(state, ": nothing_left") {
				left += n
			}
		}
	}
	if undone != 9 || left != 9 {
		t.Errorf("%v", outcomes)
	}
	s.checkUndone(t)
}

// The permissions and the selection.
func TestUndoOfAKeyIsItsWorkspaces(t *testing.T) {
	t.Parallel()
	s := newStolen(t)
	other := s.workspace(t, "B", workspace.Pro, 0)
	foreign := tokenFor(t, s.member(t, other, "owner@b.example", people.Owner))
	member := tokenFor(t, s.member(t, s.in, "plain@a.example", people.MemberRole))
	_, operators := s.world.key(t, people.NewKey{Workspaces: []workspace.ID{s.in}})
	own := s.makeKey(t, foreign, `"scopes":["data:read"]`)
	for token, want := range map[string]string{foreign: "not_found", member: "forbidden", operators: "user_identity_required"} {
		for _, r := range []row{{method: "GET", path: s.path("actions")}, {method: "POST", path: s.path("undo"), body: `{}`}} {
			if a := s.call(t, token, r.method, r.path, r.body); a.code() != want {
				t.Errorf("%s %s: %d %s, want %s", r.method, r.path, a.status, a.text, want)
			}
		}
	}
	s.call(t, s.by, "DELETE", keysPath+"/"+s.key.ID, "").into(t, nil, nil)
	listed := s.list(t)
	var meta struct{ Next *string }
	s.call(t, s.by, "GET", s.path("actions")+"?limit=1", "").into(t, nil, &meta)
	wantAnswer(t, "a cursor of another key",
		s.call(t, foreign, "GET", keysPath+"/"+own.ID+"/actions?cursor="+*meta.Next, ""), 400, "not a cursor of what this API key did")
	for body, says := range map[string]string{
		`{"ids":[]}`: "ids", `{"ids":["x"]}`: "ids", `{"ids":[0]}`: "ids", `{"limit":1001}`: "limit", `{"since":"soon"}`: "since",
		`{"ids":[1],"since":"2026-01-01"}`: "contradicts ids", `{"cursor":"x"}`: "cursor", `{"all":true}`: "all",
	} {
		wantAnswer(t, body, s.call(t, s.by, "POST", s.path("undo"), body), 400, says)
	}
	// One action, with the key's later changes of the object: the record is removed from the View
	// before the View is deleted, and nothing else.
	for _, a := range listed {
		if a.Kind == "membership" && a.Action == "removed" {
			got := s.undo(t, fmt.Sprintf(`{"ids":[%d]}`, a.ID))
			if diff := cmp.Diff(map[string]int{"removed membership: undone": 1}, got); diff != "" {
				t.Error(diff)
			}
		}
	}
	if got := s.undo(t, `{"ids":[9007199254740991]}`); len(got) != 0 {
		t.Errorf("an action of nobody: %v", got)
	}
	if got := s.undo(t, `{"since":"2999-01-01"}`); len(got) != 0 {
		t.Errorf("what is to come: %v", got)
	}
	// A record of somebody else in the key's View prevents its deletion.
	theirs := fmt.Sprintf(`{"record_id":%q}`, searchtest.ID("p", 2))
	s.call(t, s.by, "POST", "/workspace/views/"+s.mine+"/records/add", theirs).into(t, nil, nil)
	if got := s.undo(t, `{}`); got["created view: changed_since"] != 1 || got["created membership: undone"] != 1 {
		t.Errorf("the View with a record of the owner: %v", got)
	}
}
