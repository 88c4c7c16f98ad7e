package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/workspace"
	"atlas/workspace/auditlog"
	"atlas/workspace/people"
	"atlas/workspace/scim"
)

const tokenLife = time.Hour

var auditQuery = auditlog.Query{Limit: 100}

// The requests of Okta: it looks for a person, creates them, replaces them, deactivates and
// reactivates them without a path, and pushes a group.
func TestSCIMAsOkta(t *testing.T) {
	t.Parallel()
	o := newWorld(t).tenant(t, "okta.example")
	none := o.want(t, 200, "GET", "/Users?filter="+url.QueryEscape(`userName eq "maria@okta.example"`)+"&startIndex=1&count=100", "")
	if none.TotalResults != 0 || none.Resources == nil {
		t.Errorf("nobody: %s", none.text)
	}
	created := o.want(t, 201, "POST", "/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"maria@okta.example",
		"name":{"givenName":"María","familyName":"López"},"emails":[{"primary":true,"value":"maria@okta.example","type":"work"}],
		"displayName":"María López","locale":"en-US","externalId":"00ujl29u0le5T6Aj10h7","groups":[],"password":"1mz050nq","active":true}`)
	if created.Meta.Location == "" || created.header.Get("Location") != created.Meta.Location || created.header.Get("ETag") != `W/"1"` ||
		strings.Contains(created.text, "1mz050nq") || strings.Contains(created.text, "en-US") {
		t.Errorf("created: %v %s", created.header, created.text)
	}
	user := "/Users/" + created.ID
	found := o.want(t, 200, "GET", "/Users?filter="+url.QueryEscape(`userName eq "MARIA@okta.example"`), "")
	if found.TotalResults != 1 || found.Resources[0].ID != created.ID {
		t.Errorf("found: %s", found.text)
	}
	if p := o.people(t)["maria@okta.example"]; p.State != "pending" || p.UserID != nil {
		t.Errorf("pending: %+v", p)
	}
	id := o.join(t, "Maria@okta.example")
	if p := o.people(t)["maria@okta.example"]; p.State != "member" || p.UserID == nil || *p.UserID != id.String() || *p.Role != "member" {
		t.Errorf("member: %+v", p)
	}
	o.want(t, 200, "PUT", user, newUser("maria@okta.example",
		`,"id":"`+created.ID+`","active":true,"name":{"givenName":"Mary","familyName":"López"},
		"emails":[{"primary":true,"value":"maria@okta.example","type":"work"}],"displayName":"Mary López"`))
	group := o.want(t, 201, "POST", "/Groups",
		`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],"displayName":"Ops","members":[]}`)
	path := "/Groups/" + group.ID
	o.call(t, o.by, "POST", "/workspace/identity/scim/groups/"+group.ID, `{"role":"admin"}`).into(t, new(any), nil)
	o.want(t, 200, "PATCH", path, patchBody(
		`{"op":"add","path":"members","value":[{"value":"`+created.ID+`","display":"maria@okta.example"}]}`))
	if p := o.people(t)["maria@okta.example"]; p.Role == nil || *p.Role != "admin" {
		t.Errorf("of the group: %+v", p)
	}
	o.want(t, 200, "PATCH", path, patchBody(`{"op":"replace","value":{"id":"`+group.ID+`","displayName":"Operations"}}`))
	o.want(t, 200, "PATCH", path, patchBody(`{"op":"remove","path":"members[value eq \"`+created.ID+`\"]"}`))
	if p := o.people(t)["maria@okta.example"]; p.Role == nil || *p.Role != "member" {
		t.Errorf("out of the group: %+v", p)
	}
	if !o.acts(t, id, "maria@okta.example") {
		t.Error("a member may not act")
	}
	off := o.want(t, 200, "PATCH", user, patchBody(`{"op":"replace","value":{"active":false}}`))
	if off.Active || o.acts(t, id, "maria@okta.example") {
		t.Errorf("deactivated: %s", off.text)
	}
	o.want(t, 200, "PATCH", user, patchBody(`{"op":"replace","value":{"active":false}}`)) // again
	o.want(t, 200, "PATCH", user, patchBody(`{"op":"replace","value":{"active":true}}`))
	if p := o.people(t)["maria@okta.example"]; p.State != "member" || !o.acts(t, id, "maria@okta.example") {
		t.Errorf("reactivated: %+v", p)
	}
	o.want(t, 204, "DELETE", path, "")
	o.want(t, 204, "DELETE", user, "")
	o.want(t, 404, "DELETE", user, "")
	o.want(t, 404, "GET", user, "")
	if o.acts(t, id, "maria@okta.example") {
		t.Error("who was deleted acts")
	}
	want := []string{
		"scim_user.created", "scim_user.changed", "scim_group.created", "member.role_changed", "scim_group.members_changed",
		"scim_group.changed", "member.role_changed", "scim_group.members_changed",
		"member.removed", "scim_user.deactivated", "member.added", "scim_user.reactivated",
		"scim_group.deleted", "member.removed", "scim_user.deleted",
	}
	got := o.actions(t)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events: %s", diff)
	}
}

// The requests of Entra: capitalized operations, texts for booleans, paths with conditions,
// members in lists, and no members when it reads.
func TestSCIMAsEntra(t *testing.T) {
	t.Parallel()
	o := newWorld(t).tenant(t, "entra.example")
	o.want(t, 200, "GET", "/Users?filter="+url.QueryEscape(`externalId eq "jyoung"`), "")
	created := o.want(t, 201, "POST", "/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User",
		"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"],"externalId":"jyoung","userName":"Test_User_00aa00aa","active":true,
		"addresses":null,"displayName":"Joy Young","emails":[{"type":"work","value":"joy@entra.example","primary":true}],
		"meta":{"resourceType":"User"},"name":{"familyName":"Young","givenName":"Joy"},"phoneNumbers":null,"preferredLanguage":null,
		"title":null,"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":{"department":null,"manager":null}}`)
	user := "/Users/" + created.ID
	for _, filter := range []string{`externalId eq "jyoung"`, `userName eq "test_user_00AA00AA"`,
		`emails[type eq "work"].value eq "joy@entra.example"`} {
		if a := o.want(t, 200, "GET", "/Users?filter="+url.QueryEscape(filter), ""); a.TotalResults != 1 ||
			a.Resources[0].ID != created.ID {
			t.Errorf("%s: %s", filter, a.text)
		}
	}
	o.want(t, 200, "PATCH", user, patchBody(`{"op":"Replace","path":"emails[type eq \"work\"].value","value":"joyce@entra.example"},
		{"op":"Replace","path":"name.familyName","value":"Older"},{"op":"Add","path":"title","value":"CEO"},
		{"op":"Add","path":"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department","value":"Sales"}`))
	o.want(
		t,
		200,
		"PATCH",
		user,
		patchBody(
			`{"op":"Add","value":{"displayName":"Joyce","name.givenName":"Joyce","emails[type eq \"home\"].value":"j@home.example"}}`,
		),
	)
	got := o.want(t, 200, "GET", user, "")
	if got.Emails[0]["value"] != "joyce@entra.example" || !strings.Contains(got.text, `"name":{"familyName":"Older","givenName":"Joyce"}`) ||
		got.DisplayName != "Joyce" || len(got.Emails) != 2 ||
		strings.Contains(got.text, "CEO") ||
		got.header.Get("ETag") != `W/"3"` {
		t.Errorf("patched: %v %s", got.header, got.text)
	}
	id := o.join(t, "joyce@entra.example")
	group := o.want(t, 201, "POST", "/Groups", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group",
		"http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],"displayName":"Sales","externalId":"8aa1a0c0",
		"meta":{"resourceType":"Group"}}`)
	path := "/Groups/" + group.ID
	if a := o.want(t, 200, "GET", "/Groups?excludedAttributes=members&filter="+url.QueryEscape(`displayName eq "sales"`),
		""); a.TotalResults != 1 {
		t.Errorf("the group: %s", a.text)
	}
	o.want(t, 200, "PATCH", path, patchBody(`{"op":"Add","path":"members","value":[{"$ref":null,"value":"`+created.ID+`"}]}`))
	if a := o.want(t, 200, "GET", path, ""); len(a.Members) != 1 || a.Members[0].Value != created.ID {
		t.Errorf("members: %s", a.text)
	}
	if a := o.want(t, 200, "GET", path+"?excludedAttributes=members", ""); strings.Contains(a.text, "members") || a.DisplayName != "Sales" {
		t.Errorf("without members: %s", a.text)
	}
	if a := o.want(t, 200, "GET", "/Groups?filter="+url.QueryEscape(`id eq "`+group.ID+`" and members eq "`+created.ID+`"`),
		""); a.TotalResults != 1 {
		t.Errorf("who is in it: %s", a.text)
	}
	o.want(t, 200, "PATCH", path, patchBody(`{"op":"Remove","path":"members","value":[{"$ref":null,"value":"`+created.ID+`"}]}`))
	if a := o.want(t, 200, "GET", path, ""); len(a.Members) != 0 {
		t.Errorf("members: %s", a.text)
	}
	if a := o.want(t, 200, "PATCH", user, patchBody(`{"op":"Replace","path":"active","value":"False"}`)); a.Active || o.acts(t, id,
		"x@entra.example") {
		t.Errorf("deactivated: %s", a.text)
	}
	o.want(t, 200, "PATCH", user, patchBody(`{"op":"Replace","path":"active","value":"True"}`))
	if !o.acts(t, id, "x@entra.example") {
		t.Error("not reactivated")
	}
	o.want(t, 204, "DELETE", user, "")
}

// A person becomes a member only of a workspace that has proved their domain, wherever else
// they are one.
func TestSCIMTouchesNobodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o, other := w.tenant(t, "one.example"), w.tenant(t, "two.example")
	a := o.scim(t, "POST", "/Users", newUser("owner@two.example", ""))
	if a.status != 400 || a.ScimType != "invalidValue" || !strings.Contains(a.Detail, "two.example") {
		t.Errorf("another domain: %s", a.text)
	}
	// An existing member is linked, and a user of another workspace is not.
	stays := w.member(t, other.in, "ana@one.example", people.MemberRole)
	linked := w.member(t, o.in, "Bea@one.example", people.MemberRole)
	o.want(t, 201, "POST", "/Users", newUser("ana@one.example", ""))
	bea := o.want(t, 201, "POST", "/Users", newUser("bea@one.example", ""))
	all := o.people(t)
	if all["ana@one.example"].State != "pending" || all["bea@one.example"].State != "member" ||
		*all["bea@one.example"].UserID != linked.ID.String() {
		t.Errorf("%+v", all)
	}
	w.exec(t, `INSERT INTO members (workspace_id, user_id, role, joined_at) VALUES ($1, $2, 'member', now())`, other.in.String(),
		linked.ID.String())
	before := other.actions(t)
	o.want(t, 204, "DELETE", "/Users/"+bea.ID, "")
	if o.acts(t, linked.ID, linked.Email) || !other.acts(t, linked.ID, linked.Email) || !other.acts(t, stays.ID, stays.Email) {
		t.Error("the end of a membership is of one workspace")
	}
	if diff := cmp.Diff(before, other.actions(t)); diff != "" {
		t.Errorf("events of another workspace: %s", diff)
	}
	// Ids and tokens of another workspace.
	theirs := other.want(t, 201, "POST", "/Users", newUser("zoe@two.example", ""))
	group := other.want(t, 201, "POST", "/Groups",
		`{"schemas":["`+scim.GroupSchema+`"],"displayName":"G","members":[{"value":"`+theirs.ID+`"}]}`)
	for _, r := range [][3]string{
		{"GET", "/Users/" + theirs.ID, ""}, {"DELETE", "/Users/" + theirs.ID, ""}, {"PUT", "/Users/" + theirs.ID, newUser("x@one.example", "")},
		{"PATCH", "/Users/" + theirs.ID, patchBody(`{"op":"replace","path":"active","value":false}`)},
		{"GET", "/Groups/" + group.ID, ""}, {"DELETE", "/Groups/" + group.ID, ""},
		{"PATCH", "/Groups/" + group.ID, patchBody(`{"op":"replace","path":"displayName","value":"x"}`)},
	} {
		o.want(t, 404, r[0], r[1], r[2])
	}
	for _, filter := range []string{`id eq "` + theirs.ID + `"`, `userName eq "zoe@two.example"`, `userName co "two"`} {
		if a := o.want(t, 200, "GET", "/Users?filter="+url.QueryEscape(filter), ""); a.TotalResults != 0 {
			t.Errorf("%s: %s", filter, a.text)
		}
	}
	if a := o.scim(t, "POST", "/Groups",
		`{"schemas":["`+scim.GroupSchema+`"],"displayName":"G","members":[{"value":"`+theirs.ID+`"}]}`); a.status != 400 {
		t.Errorf("a member of another workspace: %s", a.text)
	}
	if a := w.call(t, o.by, "POST", "/workspace/identity/scim/groups/"+group.ID, `{"role":"admin"}`); a.code() != "not_found" {
		t.Errorf("the role of a group of another workspace: %s", a.text)
	}
	// The domain was lost: a pending person does not become a member by it.
	w.exec(t, `UPDATE identity_domains SET proved_at = NULL, proved_by = NULL WHERE workspace_id = $1`, o.in.String())
	if id := o.join(t, "ana@one.example"); o.acts(t, id, "ana@one.example") {
		t.Error("a domain that is lost lets somebody in")
	}
}

// The last owner stays, with an event, and is removed once there is another.
func TestSCIMKeepsTheLastOwner(t *testing.T) {
	t.Parallel()
	o := newWorld(t).tenant(t, "last.example")
	user := o.want(t, 201, "POST", "/Users", newUser("owner@last.example", ""))
	for _, r := range [][3]string{
		{"PATCH", "/Users/" + user.ID, patchBody(`{"op":"Replace","path":"active","value":"False"}`)},
		{"PUT", "/Users/" + user.ID, newUser("owner@last.example", `,"active":false`)}, {"DELETE", "/Users/" + user.ID, ""},
	} {
		if a := o.want(t, 409, r[0], r[1], r[2]); !strings.Contains(a.Detail, "last owner") {
			t.Errorf("%s: %s", r[0], a.text)
		}
	}
	if p := o.people(t)["owner@last.example"]; p.State != "member" || *p.Role != "owner" || p.RemovalRefusedAt == nil {
		t.Errorf("kept: %+v", p)
	}
	if n := len(slices.DeleteFunc(o.actions(t), func(a string) bool { return a != "scim_user.last_owner_retained" })); n != 3 {
		t.Errorf("%d events", n)
	}
	// No group makes somebody an owner, or demotes an owner.
	group := o.want(t, 201, "POST", "/Groups", `{"schemas":["`+scim.GroupSchema+`"],"displayName":"G","members":[{"value":"`+user.ID+`"}]}`)
	if a := o.call(t, o.by, "POST", "/workspace/identity/scim/groups/"+group.ID, `{"role":"owner"}`); a.code() != "validation" {
		t.Errorf("owner by a group: %s", a.text)
	}
	o.call(t, o.by, "POST", "/workspace/identity/scim/groups/"+group.ID, `{"role":"member"}`).into(t, new(any), nil)
	if p := o.people(t)["owner@last.example"]; *p.Role != "owner" {
		t.Errorf("an owner by a group: %+v", p)
	}
	second := o.member(t, o.in, "second@last.example", people.Owner)
	o.by = tokenFor(t, second)
	o.want(t, 200, "PATCH", "/Users/"+user.ID, patchBody(`{"op":"Replace","path":"active","value":"False"}`))
	if o.acts(t, o.owner.ID, o.owner.Email) {
		t.Error("an owner of two stays")
	}
}

// The keys that a person created end with their membership there, and nothing elsewhere.
func TestSCIMEndsKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o, other := w.tenant(t, "keys.example"), w.tenant(t, "elsewhere.example")
	admin := w.member(t, o.in, "kim@keys.example", people.Admin)
	w.exec(t, `INSERT INTO members (workspace_id, user_id, role, joined_at) VALUES ($1, $2, 'admin', now())`, other.in.String(),
		admin.ID.String())
	token := tokenFor(t, admin)
	key := func(in workspace.ID) string {
		var made struct {
			APIKey struct{ Secret string } `json:"api_key"`
		}
		w.call(t, token, "POST", "/workspace/api-keys?workspace_id="+in.String(), `{"name":"k","scopes":["workspace:read"]}`).into(t,
			&made, nil)
		return made.APIKey.Secret
	}
	here, there := key(o.in), key(other.in)
	kim := o.want(t, 201, "POST", "/Users", newUser("kim@keys.example", ""))
	w.call(t, here, "GET", "/workspace", "").into(t, new(any), nil)
	began := time.Now()
	o.want(t, 200, "PATCH", "/Users/"+kim.ID, patchBody(`{"op":"replace","value":{"active":false}}`))
	for w.call(t, here, "GET", "/workspace", "").status == 200 || o.acts(t, admin.ID, admin.Email) {
		if time.Since(began) > 5*time.Second {
			t.Fatal("what ended is good after 5 s")
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !other.acts(t, admin.ID, admin.Email) || w.call(t, there, "GET", "/workspace", "").status != 200 {
		t.Error("something elsewhere ended")
	}
}

// Fifty concurrent changes of one group and of one person: none is lost.
func TestSCIMAtOnce(t *testing.T) {
	t.Parallel()
	o := newWorld(t).tenant(t, "once.example")
	group := o.want(t, 201, "POST", "/Groups", `{"schemas":["`+scim.GroupSchema+`"],"displayName":"All"}`)
	user := o.want(t, 201, "POST", "/Users", newUser("a@once.example", `,"emails":[{"value":"a@once.example","primary":true}]`))
	const n = 50
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for _, step := range [][3]string{
				{"POST", "/Users", newUser(fmt.Sprintf("u%d@once.example", i), "")},
				{"PATCH", "/Users/" + user.ID, patchBody(fmt.Sprintf(`{"op":"replace","path":"externalId","value":"e%d"}`, i))},
			} {
				var a scimAnswer
				for a = o.scim(t, step[0], step[1], step[2]); a.status == 429; a = o.scim(t, step[0], step[1], step[2]) {
					time.Sleep(20 * time.Millisecond)
				}
				if a.status > 201 {
					t.Errorf("%s %s: %s", step[0], step[1], a.text)
				}
				if step[0] != "POST" {
					continue
				}
				for p := patchBody(`{"op":"add","path":"members","value":[{"value":"` + a.ID + `"}]}`); ; time.Sleep(20 * time.Millisecond) {
					if done := o.scim(t, "PATCH", "/Groups/"+group.ID, p); done.status == 200 {
						break
					} else if done.status != 429 {
						t.Errorf("the group: %s", done.text)
						break
					}
				}
			}
		})
	}
	all.Wait()
	g := o.want(t, 200, "GET", "/Groups/"+group.ID, "")
	u := o.want(t, 200, "GET", "/Users/"+user.ID, "")
	if len(g.Members) != n || g.Meta.Version != fmt.Sprintf(`W/"%d"`, n+1) || u.Meta.Version != fmt.Sprintf(`W/"%d"`, n+1) {
		t.Errorf("%d members, versions %s and %s", len(g.Members), g.Meta.Version, u.Meta.Version)
	}
}

// A SCIM token is valid only for SCIM in one workspace, and no other credential is valid for
// SCIM.
func TestSCIMTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.tenant(t, "tokens.example")
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{o.in}})
	member := tokenFor(t, w.member(t, o.in, "m@tokens.example", people.MemberRole))
	good := o.token
	for name, token := range map[string]string{
		"none": "", "a key": key, "an access token": o.by, "another checksum": good[:len(good)-1] + "0" + good[len(good):],
		"unknown": workspace.NewSecret().SCIMToken(scim.TokenID(workspace.NewUUID())), "long": good + strings.Repeat("x", 5000),
		"as a key": strings.Replace(good, "_s1_", "_k1_", 1),
	} {
		if o.token = token; token == good {
			continue
		}
		if a := o.scim(t, "GET", "/Users", ""); a.status != 401 || a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
	}
	o.token = good
	for _, path := range []string{"/workspace", "/workspace/members", "/data/accounts/search", "/workspace/identity/scim/tokens"} {
		if a := w.call(t, good, "GET", path, ""); a.status != 401 && a.status != 405 {
			t.Errorf("%s with a token of SCIM: %d %s", path, a.status, a.text)
		}
	}
	for _, r := range [][3]string{
		{"GET", "tokens", ""}, {"POST", "tokens", `{"name":"x"}`}, {"DELETE", "tokens/" + workspace.NewUUID().String(), ""}, {"GET",
			"people", ""},
		{"GET", "groups", ""}, {"POST", "groups/" + workspace.NewUUID().String(), `{"role":"admin"}`},
	} {
		for who, token := range map[string]string{"a member": member, "a key": key} {
			if a := w.call(t, token, r[0], "/workspace/identity/scim/"+r[1],
				r[2]); a.code() != "forbidden" && a.code() != "user_identity_required" {
				t.Errorf("%s %s as %s: %s", r[0], r[1], who, a.text)
			}
		}
	}
	type token struct {
		ID, Start, State, Secret string
		LastUsedAt               *string `json:"last_used_at"`
		LastNetwork              *string `json:"last_network"`
	}
	var list struct{ Tokens []token }
	o.want(t, 200, "GET", "/Users", "")
	w.call(t, o.by, "GET", "/workspace/identity/scim/tokens", "").into(t, &list, nil)
	if len(list.Tokens) != 1 || list.Tokens[0].Secret != "" || list.Tokens[0].LastUsedAt == nil || list.Tokens[0].LastNetwork == nil ||
		!strings.HasPrefix(good, list.Tokens[0].Start) || list.Tokens[0].State != "active" {
		t.Errorf("listed: %+v", list)
	}
	first := list.Tokens[0].ID
	o.newToken(t)
	for range 2 {
		w.call(t, o.by, "DELETE", "/workspace/identity/scim/tokens/"+first, "").into(t, new(any), nil)
	}
	o.want(t, 401, "GET", "/Users", "")
	short := w.tenant(t, "short.example")
	var made struct{ Token token }
	w.call(t, short.by, "POST", "/workspace/identity/scim/tokens", `{"name":"x","expires_in_days":1}`).into(t, &made, nil)
	short.token = made.Token.Secret
	short.want(t, 200, "GET", "/Users", "")
	w.move(25 * time.Hour)
	short.want(t, 401, "GET", "/Users", "")
	w.move(-25 * time.Hour)
	for range scim.MaxTokens - 2 {
		short.newToken(t)
	}
	if a := w.call(t, short.by, "POST", "/workspace/identity/scim/tokens", `{"name":"x"}`); a.code() != "limit_reached" {
		t.Errorf("one token too many: %s", a.text)
	}
	w.exec(t, `UPDATE workspaces SET plan = 'free' WHERE id = $1`, short.in.String())
	short.token = made.Token.Secret
	if a := short.scim(t, "GET", "/Users", ""); a.status != 403 {
		t.Errorf("the plan: %s", a.text)
	}
}

// Invalid requests are refused in the shape of SCIM, and never with a 5xx.
func TestSCIMHostile(t *testing.T) {
	t.Parallel()
	o := newWorld(t).tenant(t, "hostile.example")
	user := o.want(t, 201, "POST", "/Users", newUser("u@hostile.example", ""))
	path := "/Users/" + user.ID
	filter := func(f string) string { return "/Users?filter=" + url.QueryEscape(f) }
	for _, c := range []struct {
		status             int
		method, path, body string
		header             []string
	}{
		{400, "GET", filter(strings.Repeat("(", 1000) + "active pr"), "", nil},
		{400, "GET", filter(`userName eq "` + strings.Repeat("x", 64<<10) + `"`), "", nil},
		{400, "GET", "/Users?filter=", "", nil},
		{400, "GET", filter(`userName eq "x'; DROP TABLE scim_users"; --`), "", nil},
		{200, "GET", filter(`userName eq "x'; DROP TABLE scim_users; --"`), "", nil},
		{400, "GET", filter("userName eq \"\\u0000\""), "", nil},
		{200, "GET", filter("userName eq \"\xff\""), "", nil},
		{200, "GET", "/Users?startIndex=-5&count=99999999", "", nil},
		{200, "GET", "/Users?startIndex=999999999&count=0", "", nil},
		{400, "GET", "/Users?startIndex=x", "", nil},
		{400, "GET", "/Users?attributes=userName&excludedAttributes=name", "", nil},
		{200, "GET", "/Users?attributes=nothing," + strings.Repeat("x,", 2000), "", nil},
		{413, "POST", "/Users", newUser("x@hostile.example", `,"displayName":"`+strings.Repeat("x", 10<<20)+`"`), nil},
		{400, "POST", "/Users", `{`, nil}, {400, "POST", "/Users", `[]`, nil}, {400, "POST", "/Users", `{}`, nil}, {400, "POST", "/Users",
			`null`, nil},
		{400, "POST", "/Users", strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), nil},
		{400, "POST", "/Users", newUser("x@hostile.example", `,"userName":"y"`), nil},
		{400, "POST", "/Users", newUser("x@hostile.example", `,"USERNAME":"y"`), nil},
		{400, "POST", "/Users", newUser("x@hostile.example", `,"active":1`), nil},
		{400, "POST", "/Users", newUser("x@hostile.example", `,"emails":{"value":["x"]}`), nil},
		{400, "POST", "/Users", newUser("", ""), nil}, {400, "POST", "/Users", newUser("nobody", ""), nil},
		{400, "POST", "/Users", newUser("x\\u0000@hostile.example", ""), nil},
		{400, "POST", "/Users", newUser("x@hostile.example\\r\\nBcc: y", ""), nil},
		{400, "POST", "/Users", `{"schemas":["urn:nothing"],"userName":"x@hostile.example"}`, nil},
		{400, "POST", "/Users", `{"userName":"x@hostile.example"}`, nil},
		{400, "POST", "/Users", newUser("x@sub.hostile.example", ""), nil},
		{400, "POST", "/Users", newUser(`x@hostile.example`, `,"emails":[{"value":"x@elsewhere.example","primary":true}]`), nil},
		{409, "POST", "/Users", newUser("U@HOSTILE.example", ""), nil},
		{409, "POST", "/Users", newUser("other", `,"emails":[{"value":"u@hostile.example"}]`), nil},
		{415, "POST", "/Users", newUser("x@hostile.example", ""), []string{"Content-Type", "text/plain"}},
		{415, "POST", "/Users", newUser("x@hostile.example", ""), []string{"Content-Encoding", "gzip"}},
		{400, "PATCH", path, patchBody(`{"op":"replace","path":"active","value":0}`), nil},
		{400, "PATCH", path, patchBody(`{"op":"replace","path":"nothing[x eq 1].y","value":0}`), nil},
		{400, "PATCH", path, patchBody(`{"op":"replace","path":"userName","value":null}`), nil},
		{400, "PATCH", path, `{"Operations":[]}`, nil},
		{412, "PATCH", path, patchBody(`{"op":"replace","path":"displayName","value":"x"}`), []string{"If-Match", `W/"7"`}},
		{200, "PATCH", path, patchBody(`{"op":"replace","path":"displayName","value":"名前 \ud83c\udf88 \u202e"}`), []string{"If-Match",
			`W/"1"`}},
		{412, "DELETE", path, "", []string{"If-Match", `W/"1"`}},
		{304, "GET", path, "", []string{"If-None-Match", `W/"2"`}},
		{404, "GET", "/Users/nothing", "", nil}, {404, "GET", "/Users/00000000-0000-0000-0000-000000000000", "", nil},
		{404, "GET", "/Users/" + user.ID + "/x", "", nil}, {404, "GET", "/", "", nil}, {404, "POST", "/Bulk", "{}", nil}, {404, "GET",
			"/Me", "", nil},
		{405, "DELETE", "/Users", "", nil}, {405, "POST", path, "{}", nil},
		{404, "GET", "/Schemas/urn:nothing", "", nil},
		{400, "POST", "/Groups", `{"schemas":["` + scim.GroupSchema + `"],"displayName":"x","members":[{"value":"x"}]}`, nil},
		{400, "POST", "/Groups", `{"schemas":["` + scim.GroupSchema + `"]}`, nil},
	} {
		a := o.scim(t, c.method, c.path, c.body, c.header...)
		if a.status != c.status || len(a.text) > 3000 {
			t.Errorf("%s %.100s %.100s: %d, want %d: %.300s", c.method, c.path, c.body, a.status, c.status, a.text)
		}
	}
	for _, path := range []string{"/ServiceProviderConfig", "/ResourceTypes", "/ResourceTypes/User", "/Schemas",
		"/Schemas/" + scim.GroupSchema} {
		if a := o.want(t, 200, "GET", path, ""); len(a.Schemas) == 0 {
			t.Errorf("%s: %s", path, a.text)
		}
	}
	// A page that is asked for in parts.
	for i := range 7 {
		o.want(t, 201, "POST", "/Users", newUser(fmt.Sprintf("p%d@hostile.example", i), ""))
	}
	seen := map[string]bool{}
	for start := 1; start <= 8; start += 3 {
		a := o.want(t, 200, "GET", fmt.Sprintf("/Users?startIndex=%d&count=3&attributes=userName", start), "")
		if a.TotalResults != 8 || a.StartIndex != start || a.ItemsPerPage != len(a.Resources) {
			t.Errorf("page %d: %s", start, a.text)
		}
		for _, r := range a.Resources {
			if seen[r.UserName] = true; r.ID == "" || r.Meta.Location != "" {
				t.Errorf("chosen attributes: %s", a.text)
			}
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d were paged", len(seen))
	}
}

// A token has a rate of its own.
func TestSCIMPace(t *testing.T) {
	t.Parallel()
	o := newWorld(t).tenant(t, "pace.example")
	var mu sync.Mutex
	answered := map[int]int{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 20 {
				a := o.scim(t, "GET", "/ServiceProviderConfig", "")
				mu.Lock()
				answered[a.status]++
				mu.Unlock()
				if a.status == http.StatusTooManyRequests && a.header.Get("Retry-After") == "" {
					t.Error("no Retry-After")
				}
			}
		})
	}
	all.Wait()
	if answered[200] < 200 || answered[200]+answered[429] != 400 {
		t.Errorf("%v", answered)
	}
}

// An answer has only its attributes, in valid JSON.
func TestSCIMDescribesItself(t *testing.T) {
	t.Parallel()
	o := newWorld(t).tenant(t, "described.example")
	a := o.want(t, 200, "GET", "/ServiceProviderConfig", "")
	var config struct {
		Patch, Bulk, Sort, Etag struct{ Supported bool }
		Filter                  struct {
			Supported  bool
			MaxResults int
		}
	}
	fatal(t, json.Unmarshal([]byte(a.text), &config))
	if !config.Patch.Supported || config.Bulk.Supported || config.Sort.Supported ||
		!config.Etag.Supported || config.Filter.MaxResults != scim.MaxPage {
		t.Errorf("%s", a.text)
	}
	if a := o.want(t, 200, "GET", "/Schemas", ""); a.TotalResults != 2 || strings.Contains(a.text, "phoneNumbers") {
		t.Errorf("%s", a.text)
	}
}
