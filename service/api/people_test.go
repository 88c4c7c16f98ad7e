package api_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/service/api"
	"atlas/service/auth"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/skills"
)

// staff is a workspace with an owner, an admin, a plain member and a key.
type staff struct {
	*world
	t                            *testing.T
	in                           workspace.ID
	owner, admin, member         people.Member
	ownerTok, adminTok, plainTok string
	key                          string
}

func newStaff(t *testing.T) *staff {
	t.Helper()
	w := newWorld(t)
	in := w.workspace(t, "One", workspace.Pro, 0)
	s := &staff{
		world: w, t: t, in: in,
		owner:  w.member(t, in, "owner@one.example", people.Owner),
		admin:  w.member(t, in, "admin@one.example", people.Admin),
		member: w.member(t, in, "member@one.example", people.MemberRole),
	}
	s.ownerTok, s.adminTok, s.plainTok = tokenFor(t, s.owner), tokenFor(t, s.admin), tokenFor(t, s.member)
	_, s.key = w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
	return s
}

// want checks an answer's status and code.
func (s *staff) want(name string, a answer, status int, code string) answer {
	s.t.Helper()
	if a.status != status || a.code() != code {
		s.t.Errorf("%s: %d %q, want %d %q\n%s", name, a.status, a.code(), status, code, a.text)
	}
	return a
}

type page struct{ Limit, Offset, Credits int }

func TestMembersOverHTTP(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	path := func(m people.Member) string { return "/workspace/members/" + m.ID.String() }
	list := func(query string) (ids []string, m page) {
		t.Helper()
		var data struct {
			Members []struct {
				ID, Email, Name, Role string
				JoinedAt              string `json:"joined_at"`
			}
		}
		s.call(t, s.plainTok, "GET", "/workspace/members"+query, "").into(t, &data, &m)
		for _, m := range data.Members {
			ids = append(ids, m.ID)
			if m.Email == "" || m.Name == "" || m.Role == "" || len(m.JoinedAt) != len("2026-01-02T03:04:05.678Z") {
				t.Errorf("member %+v", m)
			}
		}
		return ids, m
	}
	ids, m := list("")
	if diff := cmp.Diff([]string{s.owner.ID.String(), s.admin.ID.String(), s.member.ID.String()}, ids); diff != "" ||
		m != (page{100, 0, 0}) {
		t.Errorf("%+v, members (-want +got):\n%s", m, diff)
	}
	if ids, m := list("?limit=1&offset=1"); len(ids) != 1 || ids[0] != s.admin.ID.String() || m != (page{1, 1, 0}) {
		t.Errorf("second page: %v %+v", ids, m)
	}
	for _, query := range []string{
		"limit=0", "limit=101", "limit=abc", "limit=", "offset=-1", "offset=1.5", "limit=1&limit=2",
		"offset=99999999999999999999",
	} {
		s.want(query, s.call(t, s.plainTok, "GET", "/workspace/members?"+query, ""), 400, "validation")
	}
	role := func(name, token string, m people.Member, role string, status int, code string) {
		t.Helper()
		s.want(name, s.call(t, token, "PATCH", path(m), `{"role":"`+role+`"}`), status, code)
	}
	role("an admin granting ownership", s.adminTok, s.member, "owner", 403, "forbidden")
	role("an admin taking ownership", s.adminTok, s.owner, "member", 403, "forbidden")
	role("the only owner", s.ownerTok, s.owner, "admin", 409, "last_owner")
	role("no such role", s.ownerTok, s.member, "boss", 400, "validation")
	for _, body := range []string{``, `{}`, `{"role":null}`, `{"role":7}`, `{"role":"admin","x":1}`, `[]`, `{"role":"admin"`} {
		s.want(body, s.call(t, s.ownerTok, "PATCH", path(s.member), body), 400, "validation")
	}
	a := s.want("two things wrong", s.call(t, s.ownerTok, "PATCH", "/workspace/members/me", `{"rôle":"x"}`), 400, "validation")
	if want := `"path":["userId"]`; !strings.Contains(a.text, want) || !strings.Contains(a.text, `"path":["role"]`) ||
		!strings.Contains(a.text, `"keys":["rôle"]`) {
		t.Errorf("not everything is named: %s", a.text)
	}

	// A change takes effect with the next request.
	role("down", s.ownerTok, s.admin, "member", 200, "")
	s.want("no admin any more", s.call(t, s.adminTok, "DELETE", path(s.member), ""), 403, "forbidden")
	role("up", s.key, s.admin, "admin", 200, "")
	remove := func(name, token, id, want string, status int, code string) {
		t.Helper()
		a := s.want(name, s.call(t, token, "DELETE", "/workspace/members/"+id, ""), status, code)
		if want != "" && a.text != want {
			t.Errorf("%s: %s", name, a.text)
		}
	}
	remove("by a plain member, themself", s.plainTok, s.member.ID.String(), "", 403, "forbidden")
	remove("oneself", s.ownerTok, strings.ToUpper(s.owner.ID.String()), "", 400, "cannot_self_remove")
	remove("the only owner", s.adminTok, s.owner.ID.String(), "", 409, "last_owner")
	remove("the only owner, by a key", s.key, s.owner.ID.String(), "", 409, "last_owner")
	remove("no UUID", s.ownerTok, "me", "", 400, "validation")
	remove("a member", s.adminTok, s.member.ID.String(), `{"data":{"deleted":true},"metadata":{"credits":0}}`, 200, "")
	remove("again", s.adminTok, s.member.ID.String(), `{"data":{"deleted":false},"metadata":{"credits":0}}`, 200, "")
	s.want("one who was removed", s.call(t, s.plainTok, "GET", "/workspace/members?workspace_id="+s.in.String(), ""), 403, "forbidden")
}

func TestInvitationsOverHTTP(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	invite := func(name, token, body string, status int, code string) (id, accept string) {
		t.Helper()
		a := s.want(name, s.call(t, token, "POST", "/workspace/invitations", body), status, code)
		if status != http.StatusOK {
			return "", ""
		}
		var data struct {
			Invitation map[string]any
			AcceptURL  string `json:"accept_url"`
		}
		a.into(t, &data, nil)
		u, err := url.Parse(data.AcceptURL)
		fatal(t, err)
		if !strings.HasPrefix(data.AcceptURL, linkBase) || data.Invitation["status"] != "Pending" || data.Invitation["sent_at"] != nil {
			t.Errorf("%s: %s", name, a.text)
		}
		if a.header.Get("Cache-Control") != "no-store" {
			t.Error("a link may be kept by caches")
		}
		return data.Invitation["id"].(string), u.Query().Get("token")
	}
	first, token := invite("by an admin", s.adminTok, `{"email":" New@Example.com ","role":"admin"}`, 200, "")
	invite("the same", s.key, `{"email":"NEW@example.com","role":"member"}`, 409, "already_invited")
	if id, renewed := invite("in its place", s.ownerTok, `{"email":"New@Example.com","role":"admin","replace":true}`, 200, ""); id == first ||
		renewed == token {
		t.Error("the invitation was not replaced")
	} else {
		invite("the former, closed", s.key, `{"email":"new@example.com","role":"member","replace":false}`, 409, "already_invited")
		first, token = id, renewed
	}
	invite(
		"a member in place of an invitation", s.ownerTok,
		`{"email":"Member@ONE.example","role":"member","replace":true}`, 409, "already_member",
	)
	invite("a member", s.ownerTok, `{"email":"Member@ONE.example","role":"member"}`, 409, "already_member")
	for _, body := range []string{
		`{}`, `{"email":"a@b.example"}`, `{"role":"member"}`, `{"email":"a","role":"member"}`, `{"email":"A <a@b.example>","role":"member"}`,
		`{"email":"a@b.example","role":"owner"}`, `{"email":"a@b.example","role":"member","x":1}`, `{"email":7,"role":"member"}`,
		`{"email":"a@b.example\r\nBcc: c@d.example","role":"member"}`,
	} {
		invite(body, s.ownerTok, body, 400, "validation")
	}
	second, revokedToken := invite("another", s.key, `{"email":"b@example.com","role":"member"}`, 200, "")
	var data struct {
		Invitations []struct{ ID, Email, Role, Status string }
	}
	var m page
	a := s.call(t, s.plainTok, "GET", "/workspace/invitations", "")
	a.into(t, &data, &m)
	if len(data.Invitations) != 2 || data.Invitations[0].ID != second || data.Invitations[1].Email != "New@Example.com" ||
		m != (page{100, 0, 0}) ||
		strings.Contains(a.text, "token") || strings.Contains(a.text, token) {
		t.Errorf("list: %s", a.text)
	}
	a = s.want("revoke", s.call(t, s.adminTok, "DELETE", "/workspace/invitations/"+second, ""), 200, "")
	if want := `{"data":{"deleted":true,"id":"` + second + `","email":"b@example.com"},"metadata":{"credits":0}}`; a.text != want {
		t.Errorf("revoked: %s", a.text)
	}
	s.want("again", s.call(t, s.adminTok, "DELETE", "/workspace/invitations/"+second, ""), 404, "not_found")
	s.want("no UUID", s.call(t, s.adminTok, "DELETE", "/workspace/invitations/x", ""), 400, "validation")

	newcomer := claims(workspace.NewUserID(), "new@EXAMPLE.com")
	accept := func(name, bearer, body string, status int, code string) answer {
		t.Helper()
		return s.want(name, s.call(t, bearer, "POST", "/workspace/invitations/accept", body), status, code)
	}
	own := mint(t, secret, newcomer, time.Hour)
	good := `{"token":"` + token + `"}`
	preview := func(name, bearer, body string, status int, code string) answer {
		t.Helper()
		return s.want("preview: "+name, s.call(t, bearer, "POST", "/workspace/invitations/preview", body), status, code)
	}
	other := mint(t, secret, claims(workspace.NewUserID(), "other@example.com"), time.Hour)
	preview("a key", s.key, good, 400, "user_identity_required")
	if a := preview("another person", other, good, 403, "forbidden"); strings.Contains(a.text, "One") {
		t.Errorf("a stranger learns the workspace: %s", a.text)
	}
	revokedOne := mint(t, secret, claims(workspace.NewUserID(), "b@example.com"), time.Hour)
	preview("a revoked one", revokedOne, `{"token":"`+revokedToken+`"}`, 404, "not_found")
	preview("unknown", own, `{"token":"`+strings.Repeat("x", 80)+`"}`, 404, "not_found")
	preview("none", own, `{}`, 400, "validation")
	for range 2 {
		a = preview("good", own, good, 200, "")
		for _, want := range []string{
			`"workspace":{"id":"` + s.in.String() + `","name":"One"}`, `"email":"owner@one.example"}`, `"role":"admin"`,
			`"email":"New@Example.com"`, `"expires_at":"`,
		} {
			if !strings.Contains(a.text, want) {
				t.Errorf("preview: %s, want %s", a.text, want)
			}
		}
	}
	accept("a key", s.key, good, 400, "user_identity_required")
	accept("another person", mint(t, secret, claims(workspace.NewUserID(), "other@example.com"), time.Hour), good, 403, "forbidden")
	accept(
		"a revoked one", mint(t, secret, claims(workspace.NewUserID(), "b@example.com"), time.Hour),
		`{"token":"`+revokedToken+`"}`, 404, "not_found",
	)
	accept("unknown", own, `{"token":"`+strings.Repeat("x", 80)+`"}`, 404, "not_found")
	accept("none", own, `{}`, 400, "validation")
	s.want("no member yet", s.call(t, own, "GET", "/workspace", ""), 400, "bad_request")
	a = accept("good", own, good, 200, "")
	var joined struct {
		WorkspaceID string `json:"workspace_id"`
		Member      struct{ ID, Email, Name, Role string }
	}
	a.into(t, &joined, nil)
	if joined.WorkspaceID != s.in.String() || joined.Member.ID != newcomer.User.String() || joined.Member.Role != "admin" ||
		joined.Member.Name != "Claimed" {
		t.Errorf("joined: %s", a.text)
	}
	accept("used", own, good, 404, "not_found")
	preview("used", own, good, 404, "not_found")
	again, doubled := invite("a member by another address", s.key, `{"email":"second@example.com","role":"member"}`, 200, "")
	second2 := mint(t, secret, claims(newcomer.User, "second@example.com"), time.Hour)
	preview("a member", second2, `{"token":"`+doubled+`"}`, 409, "already_member")
	s.want("withdrawn", s.call(t, s.ownerTok, "DELETE", "/workspace/invitations/"+again, ""), 200, "")
	s.want("an admin now", s.call(t, own, "DELETE", "/workspace/invitations/"+first, ""), 404, "not_found")

	// Expired: still listed, and replaced by the next.
	_, late := invite("to expire", s.key, `{"email":"late@example.com","role":"member"}`, 200, "")
	s.move(people.InvitationTTL)
	preview(
		"expired",
		mint(t, secret, claims(workspace.NewUserID(), "late@example.com"), time.Hour),
		`{"token":"`+late+`"}`,
		404,
		"not_found",
	)
	accept(
		"expired",
		mint(t, secret, claims(workspace.NewUserID(), "late@example.com"), time.Hour),
		`{"token":"`+late+`"}`,
		404,
		"not_found",
	)
	s.call(t, s.plainTok, "GET", "/workspace/invitations", "").into(t, &data, nil)
	if len(data.Invitations) != 1 || data.Invitations[0].Status != "Expired" {
		t.Errorf("listed: %+v", data.Invitations)
	}
	invite("anew", s.key, `{"email":"late@example.com","role":"member"}`, 200, "")
}

func TestSubscriptionsOverHTTP(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	const base = "/workspace/signal-subscriptions"
	type subscription struct {
		ID         string
		SignalType string `json:"signal_type"`
		Delivery   struct {
			Channels  []string
			Frequency string
		}
		QueueStartedAt string `json:"queue_started_at"`
	}
	upsert := func(body string) subscription {
		t.Helper()
		var data struct{ Subscription subscription }
		s.call(t, s.plainTok, "POST", base+"/upsert", body).into(t, &data, nil)
		return data.Subscription
	}
	first := upsert(`{"signal_type":"permit_issued"}`)
	if first.Delivery.Frequency != "instant" || !slices.Equal(first.Delivery.Channels, []string{"in_app"}) {
		t.Errorf("defaults: %+v", first)
	}
	changed := upsert(`{"signal_type":"permit_issued","delivery":{"channels":["email","in_app","email"],"frequency":"weekly"}}`)
	if changed.ID != first.ID || changed.QueueStartedAt != first.QueueStartedAt || changed.Delivery.Frequency != "weekly" ||
		len(changed.Delivery.Channels) != 2 {
		t.Errorf("changed: %+v", changed)
	}
	for body, want := range map[string]string{
		`{}`:                     `["signal_type"]`,
		`{"signal_type":"rain"}`: `["signal_type"]`,
		`{"signal_type":null}`:   `["signal_type"]`,
		`{"signal_type":"permit_issued","delivery":"email"}`:                              `["delivery"]`,
		`{"signal_type":"permit_issued","delivery":{"channels":[]}}`:                      `["delivery","channels"]`,
		`{"signal_type":"permit_issued","delivery":{"channels":"email"}}`:                 `["delivery","channels"]`,
		`{"signal_type":"permit_issued","delivery":{"channels":["in_app","fax"]}}`:        `["delivery","channels","1"]`,
		`{"signal_type":"permit_issued","delivery":{"frequency":"hourly"}}`:               `["delivery","frequency"]`,
		`{"signal_type":"permit_issued","delivery":{"frequency":"daily","colour":"red"}}`: `["delivery"]`,
		`{"signal_type":"permit_issued","id":"x"}`:                                        `[]`,
	} {
		a := s.want(body, s.call(t, s.key, "POST", base+"/upsert", body), 400, "validation")
		if !strings.Contains(a.text, `"path":`+want) {
			t.Errorf("%s: no issue at %s: %s", body, want, a.text)
		}
	}
	var data struct{ Subscriptions []subscription }
	var m page
	s.call(t, s.key, "GET", base, "").into(t, &data, &m)
	if len(data.Subscriptions) != 1 || m != (page{100, 0, 0}) {
		t.Errorf("list: %+v %+v", data, m)
	}
	for range 2 {
		a := s.call(t, s.plainTok, "DELETE", base+"/"+first.ID, "")
		if a.text != `{"data":{"deleted":true},"metadata":{"credits":0}}` {
			t.Errorf("deleted: %s", a.text)
		}
	}
	again := upsert(`{"signal_type":"permit_issued"}`)
	if again.ID == first.ID || again.QueueStartedAt <= first.QueueStartedAt {
		t.Errorf("made again: %+v after %+v", again, first)
	}
}

func TestSkillsOverHTTP(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	post := func(name, token, operation, body string, status int, code string) answer {
		t.Helper()
		return s.want(name, s.call(t, token, "POST", "/workspace/skills/"+operation, body), status, code)
	}
	create := func(scope, name string) string {
		return `{"scope":"` + scope + `","name":"` + name + `","description":"About it","content":" Do it.\n"}`
	}
	a := post("a personal one", s.plainTok, "create", create("personal", "My Way"), 200, "")
	var made struct{ Skill map[string]any }
	a.into(t, &made, nil)
	for key, want := range map[string]any{
		"locator": "personal/my-way", "scope": "personal", "status": "draft", "name": "My Way", "description": "About it",
		"content": " Do it.\n", "created_by": s.member.ID.String(), "revision": 1.0,
	} {
		if made.Skill[key] != want {
			t.Errorf("created: %s is %v, want %v", key, made.Skill[key], want)
		}
	}
	post("again", s.plainTok, "create", create("personal", "my way"), 409, "skill_conflict")
	post("another's of that name", s.ownerTok, "create", create("personal", "My Way"), 200, "")
	post("the workspace's of that name", s.key, "create", create("workspace", "My Way"), 200, "")
	post("a key's personal one", s.key, "create", create("personal", "x"), 400, "user_identity_required")
	post("a key finding", s.key, "find", `{"scope":"personal"}`, 400, "user_identity_required")
	post("a key listing", s.key, "list", `{"scope":"personal"}`, 400, "user_identity_required")
	post("a key getting", s.key, "get", `{"locator":"personal/my-way"}`, 400, "user_identity_required")
	post("another's", s.adminTok, "get", `{"locator":"personal/my-way"}`, 404, "skill_not_found")
	if a := post(
		"one's own", s.plainTok, "get", `{"locator":"personal/my-way"}`, 200, "",
	); !strings.Contains(a.text, `"content":" Do it.\n"`) {
		t.Errorf("got %s", a.text)
	}
	for _, c := range []struct{ operation, body string }{
		{"create", `{}`}, {"create", create("team", "x")}, {"create", create("workspace", strings.Repeat("x", 121))},
		{"create", create("workspace", " ")},
		{"create", `{"scope":"workspace","name":"a\u0007b","description":"d","content":"c"}`},
		{"create", `{"scope":"workspace","name":"a","description":"d","content":" \n"}`},
		{"create", `{"scope":"workspace","name":"a","description":"d","content":"c","slug":"A b"}`},
		{"create", `{"scope":"workspace","name":"a","description":"` + strings.Repeat("d", 501) + `","content":"c"}`},
		{"create", `{"scope":"workspace","name":"a","description":"d","content":"` + strings.Repeat("c", 100_001) + `"}`},
		{"create", `{"scope":"workspace","name":"!","description":"d","content":"c"}`},
		{"find", `{"query":""}`}, {"find", `{"query":7}`}, {"find", `{"limit":101}`}, {"find", `{"offset":-1}`},
		{"find", `{"status":"draft"}`}, {"find", `{"scope":"team"}`},
		{"list", `{"status":"gone"}`}, {"list", `{"limit":0}`}, {"list", `{"query":"x"}`},
		{"get", `{}`}, {"get", `{"locator":"my-way"}`}, {"get", `{"locator":7}`},
	} {
		post(c.operation+" "+c.body[:min(60, len(c.body))], s.ownerTok, c.operation, c.body, 400, "validation")
	}
	names := func(token, operation, body string) (all []string, m page) {
		t.Helper()
		var data struct{ Skills []map[string]any }
		post(operation+body, token, operation, body, 200, "").into(t, &data, &m)
		for _, k := range data.Skills {
			if _, has := k["content"]; has {
				t.Errorf("%s shows content", operation)
			}
			all = append(all, k["locator"].(string))
		}
		return all, m
	}
	same := func(token, operation, body string, want ...string) {
		t.Helper()
		got, m := names(token, operation, body)
		if slices.Sort(got); !slices.Equal(got, want) || m.Limit == 0 {
			t.Errorf("%s %s: %v %+v, want %v", operation, body, got, m, want)
		}
	}
	same(s.plainTok, "find", ``, "personal/my-way")
	same(s.plainTok, "list", `{}`, "personal/my-way", "workspace/my-way")
	same(s.key, "list", `{"status":"draft"}`, "workspace/my-way")
	same(s.key, "find", `{}`)
	_, err := skills.NewAdmin(s.system, nil).SetStatus(t.Context(), s.in, "my-way", skills.PublishedSkill)
	fatal(t, err)
	same(s.key, "find", `{"query":"ABOUT my"}`, "workspace/my-way")
	same(s.plainTok, "find", `{"scope":"workspace"}`, "workspace/my-way")
	if _, m := names(s.plainTok, "list", `{"limit":1,"offset":5}`); m != (page{1, 5, 0}) {
		t.Errorf("metadata: %+v", m)
	}
	if _, m := names(s.plainTok, "find", ``); m != (page{25, 0, 0}) {
		t.Errorf("metadata: %+v", m)
	}
}

// The first error when a request has several (docs/api.md, "Order of checks").
func TestOrderOfChecksOfPeople(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	_, readOnly := s.world.key(t, people.NewKey{Workspaces: []workspace.ID{s.in}, Scopes: []workspace.Scope{workspace.WorkspaceRead}})
	s.want("role before body", s.call(t, s.plainTok, "PATCH", "/workspace/members/x", `{`), 403, "forbidden")
	s.want("scope before body", s.call(t, readOnly, "POST", "/workspace/skills/create", `{`), 403, "forbidden")
	s.want("scope before being nobody", s.call(t, readOnly, "POST", "/workspace/skills/create", `{"scope":"personal"}`), 403, "forbidden")
	s.want("body before target", s.call(t, s.ownerTok, "PATCH", "/workspace/members/"+unknownID, `{}`), 400, "validation")
	s.want("granting before target", s.call(t, s.adminTok, "PATCH", "/workspace/members/"+unknownID, `{"role":"owner"}`), 403, "forbidden")
	s.want("workspace before scope", s.call(t, readOnly, "POST", "/workspace/skills/create?workspace_id=x", `{}`), 400, "validation")
	s.want("nobody before body", s.call(t, readOnly, "POST", "/workspace/invitations/accept", `{`), 400, "user_identity_required")
	a := s.want("method", s.call(t, s.key, "PUT", "/workspace/members/"+unknownID, ""), 405, "method_not_allowed")
	if allow := a.header.Values("Allow"); len(allow) != 1 || allow[0] != "PATCH, DELETE" {
		t.Errorf("Allow: %v", allow)
	}
	s.want("accept by another method", s.call(t, s.key, "GET", "/workspace/invitations/accept", ""), 405, "method_not_allowed")
}

// If the token issuer is unreachable, readiness shows it and known keys still work.
func TestIssuerAwayShowsInReadiness(t *testing.T) {
	t.Parallel()
	status := make(chan int, 1)
	status <- http.StatusServiceUnavailable
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		code := <-status
		status <- code
		w.WriteHeader(code)
		_, _ = w.Write([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`))
	}))
	defer source.Close()
	gate, err := auth.New(nil, auth.Config{JWKS: source.URL, Issuer: issuer, Audience: audience, JWKSRefresh: 20 * time.Millisecond})
	fatal(t, err)
	defer gate.Close()
	server := &api.Server{
		Core: endpoint.Core{
			Log: slog.New(slog.DiscardHandler),
			Probes: map[string]endpoint.Probe{
				"tokens": func(context.Context) error { return gate.Ready() },
			},
		},
	}
	handler := server.Handler()
	ready := func() (int, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/health/ready", nil))
		var body struct{ Backends map[string]string }
		fatal(t, json.Unmarshal(w.Body.Bytes(), &body))
		return w.Code, body.Backends["tokens"]
	}
	until := func(code int, state string) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(30 * time.Second); ; <-tick.C {
			gotCode, gotState := ready()
			if gotCode == code && gotState == state {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("readiness is %d %s, want %d %s", gotCode, gotState, code, state)
			}
		}
	}
	until(503, "unavailable")
	<-status
	status <- http.StatusOK
	until(200, "ok")
	<-status
	status <- http.StatusBadGateway
	until(503, "unavailable")
}
