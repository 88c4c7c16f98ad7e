package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"atlas/workspace"
	"atlas/workspace/people"
)

// A key that writes cannot create an admin who stays when the key is revoked: that needs
// workspace:admin. For users the role decides, whatever scopes their token has.
func TestKeysNeedAScopeToActAsAdmins(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	_, plain := s.world.key(t, people.NewKey{
		Workspaces: []workspace.ID{s.in}, Scopes: []workspace.Scope{workspace.WorkspaceRead, workspace.WorkspaceWrite},
	})
	invite := func(name, token, role, more string, status int) (id string) {
		t.Helper()
		email := strings.ReplaceAll(name, " ", "-") + "@example.com"
		a := s.call(t, token, "POST", "/workspace/invitations", fmt.Sprintf(`{"email":%q,"role":%q%s}`, email, role, more))
		if a.status != status || status == 403 && !strings.Contains(a.text, "workspace:admin") {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
		var data struct{ Invitation struct{ ID string } }
		if status == 200 {
			a.into(t, &data, nil)
		}
		return data.Invitation.ID
	}
	change := func(name, token, method, path, body string, status int) {
		t.Helper()
		if a := s.call(t, token, method, path, body); a.status != status || status == 403 && !strings.Contains(a.text, "workspace:admin") {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
	}
	member := func(m people.Member) string { return "/workspace/members/" + m.ID.String() }

	invite("an admin", plain, "admin", "", 403)
	ofMember := invite("a member", plain, "member", "", 200)
	ofAdmin := invite("by an admin", s.adminTok, "admin", "", 200)
	invite("by an admin", plain, "member", `,"replace":true`, 403) // it would revoke the admin's
	invite("a member", plain, "member", `,"replace":true`, 200)
	invite("a member", plain, "admin", `,"replace":true`, 403)
	change("revoke an admin's invitation", plain, "DELETE", "/workspace/invitations/"+ofAdmin, "", 403)
	change("revoke what was replaced", plain, "DELETE", "/workspace/invitations/"+ofMember, "", 404)
	change("revoke", plain, "DELETE", "/workspace/invitations/"+invite("another", plain, "member", "", 200), "", 200)

	other := s.world.member(t, s.in, "other@one.example", people.MemberRole)
	change("promote a member", plain, "PATCH", member(other), `{"role":"admin"}`, 403)
	change("demote an admin", plain, "PATCH", member(s.admin), `{"role":"member"}`, 403)
	change("leave a member as they are", plain, "PATCH", member(other), `{"role":"member"}`, 200)
	change("remove an admin", plain, "DELETE", member(s.admin), "", 403)
	change("remove the owner", plain, "DELETE", member(s.owner), "", 403)
	change("remove a member", plain, "DELETE", member(other), "", 200)
	change("remove nobody", plain, "DELETE", member(other), "", 200)
	change("list members", plain, "GET", "/workspace/members", "", 200)

	invite("an admin", s.key, "admin", "", 200)
	change("revoke an admin's invitation, with the scope", s.key, "DELETE", "/workspace/invitations/"+ofAdmin, "", 200)
	change("remove an admin, with the scope", s.key, "DELETE", member(s.world.member(t, s.in, "second@one.example", people.Admin)), "", 200)
}

// A narrow access token allows only its scopes: it neither reads beyond them, nor joins a
// workspace.
func TestNarrowTokens(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	token := func(m people.Member, scope string) string {
		t.Helper()
		var c jwt.MapClaims
		_, _, err := jwt.NewParser().ParseUnverified(tokenFor(t, m), &c)
		fatal(t, err)
		c["scope"] = scope
		text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString([]byte(secret))
		fatal(t, err)
		return text
	}
	var made struct {
		AcceptURL string `json:"accept_url"`
	}
	host := s.workspace(t, "Host", workspace.Pro, 0)
	_, hosts := s.world.key(t, people.NewKey{Workspaces: []workspace.ID{host}})
	body, err := json.Marshal(map[string]string{"email": s.admin.Email, "role": "member"})
	fatal(t, err)
	s.call(t, hosts, "POST", "/workspace/invitations", string(body)).into(t, &made, nil)
	_, invited, _ := strings.Cut(made.AcceptURL, "token=")
	accept := `{"token":"` + invited + `"}`
	in := "?workspace_id=" + s.in.String()

	narrow := token(s.admin, "openid data:read")
	s.want("what it may", s.call(t, narrow, "POST", "/data/accounts/search"+in, `{}`), 200, "")
	s.want("a read", s.call(t, narrow, "GET", "/workspace"+in, ""), 403, "forbidden")
	s.want("a write", s.call(t, narrow, "DELETE", "/workspace/members/"+s.member.ID.String()+in, ""), 403, "forbidden")
	s.want("an acceptance", s.call(t, narrow, "POST", "/workspace/invitations/accept", accept), 403, "forbidden")
	writer := token(s.admin, "workspace:write") // workspace:admin is for keys
	s.want("a change of an admin", s.call(t, writer, "DELETE", "/workspace/members/"+s.member.ID.String()+in, ""), 200, "")
	s.want("an acceptance with the scope", s.call(t, writer, "POST", "/workspace/invitations/accept", accept), 200, "")
	s.want("none of Atlas", s.call(t, token(s.owner, "openid profile email"), "GET", "/workspace"+in, ""), 200, "")
}
