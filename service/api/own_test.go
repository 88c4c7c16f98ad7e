package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"atlas/service/auth"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
)

// send makes a request of the API with a JSON body in the session of the visitor.
func (v *visitor) send(method, path, body string) (int, string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.w.server.URL+path, strings.NewReader(body))
	fatal(v.t, err)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Content-Type", "application/json")
	res, err := v.http.Do(r)
	fatal(v.t, err)
	defer res.Body.Close()
	var text strings.Builder
	buffer := make([]byte, 4096)
	for n := 1; n > 0; {
		n, _ = res.Body.Read(buffer)
		text.Write(buffer[:n])
	}
	return res.StatusCode, text.String()
}

// From an address to a session that acts in one workspace, which can then require the
// provider.
func TestOwnProvider(t *testing.T) {
	t.Parallel()
	w := newOwnWorld(t)
	second := w.workspace(t, "Second", workspace.Pro, 0)
	_, err := w.directory.AddMember(
		t.Context(),
		second,
		people.Member{ID: w.owner.ID, Email: w.owner.Email, Name: "Olga", Role: people.Owner},
	)
	fatal(t, err)
	w.prove(t, w.in, w.owner, "firm.example")
	p := w.provide(t, w.in, w.owner, w.hers.URL)
	v := w.visitor(t)

	// The page finds the provider by the domain, and reveals no addresses.
	for email, found := range map[string]bool{
		"olga@firm.example": true, "nobody@FIRM.example": true, "olga@firm.example.evil.example": false, "olga@sub.firm.example": false,
		"firm.example": false, "x": false,
	} {
		status, text := v.send("POST", "/session/provider", `{"email":"`+email+`"}`)
		leads := strings.Contains(text, "/session/sign-in?workspace="+w.in.String())
		if status != 200 || leads != found || !found && !strings.Contains(text, `"sign_in":null`) {
			t.Errorf("%s: %d %s", email, status, text)
		}
	}

	a := v.enter(w.in, w.hers)
	if a.User == nil || a.User.ID != w.owner.ID || len(a.User.Workspaces) != 1 || a.User.Workspaces[0].Workspace != w.in {
		t.Fatalf("the session is %+v", a.User)
	}
	if status, text := v.status(w.in); status != 200 {
		t.Errorf("its workspace: %d %s", status, text)
	}
	if status, _, text := v.do("GET", workspacePath); status != 200 || !strings.Contains(text, w.in.String()) {
		t.Errorf("without a workspace: %d %s", status, text)
	}
	if status, text := v.status(second); status != 403 {
		t.Errorf("another workspace of the person: %d %s", status, text)
	}
	_, token := w.invite(t, second, w.owner.Email)
	if status, text := v.send("POST", workspacePath+"/invitations/accept", `{"token":"`+token+`"}`); status != 403 {
		t.Errorf("an invitation: %d %s", status, text)
	}

	// The provider can be required only in a session of it.
	require := `{"issuer":"` + w.hers.URL + `","client_id":"` + clientID + `","required":true}`
	other := w.visitor(t)
	w.provider.set(func(p *provider) {
		p.profile = jwt.MapClaims{"sub": w.owner.ID.String(), "email": w.owner.Email, "email_verified": true}
	})
	other.signIn()
	at := workspacePath + "/identity/provider?workspace_id=" + w.in.String()
	if status, text := other.send("POST", at, require); status != 403 {
		t.Errorf("required from outside: %d %s", status, text)
	}
	if status, text := other.status(w.in); status != 200 {
		t.Errorf("before: %d %s", status, text)
	}
	if status, text := v.send("POST", at, require); status != 200 || !strings.Contains(text, `"required":true`) {
		t.Fatalf("required: %d %s", status, text)
	}
	status, text := other.status(w.in)
	if status != 403 || !strings.Contains(text, "provider_required") ||
		!strings.Contains(text, "/session/sign-in?workspace="+w.in.String()) {
		t.Errorf("another session: %d %s", status, text)
	}
	if status, text := other.status(second); status != 200 {
		t.Errorf("another session elsewhere: %d %s", status, text)
	}
	if a := w.call(t, tokenFor(t, w.owner), "GET", "/workspace?workspace_id="+w.in.String(), ""); a.status != 403 {
		t.Errorf("an access token: %d %s", a.status, a.text)
	}
	if a := w.call(t, w.keyOf(t, w.in), "GET", "/workspace", ""); a.status != 200 {
		t.Errorf("a key: %d %s", a.status, a.text)
	}
	if status, text := v.status(w.in); status != 200 {
		t.Errorf("the session of the provider: %d %s", status, text)
	}
	// Neither another client nor the loss of their own domain locks out the last person.
	if status, text := v.send("POST", at, strings.Replace(require, clientID, "another", 1)); status != 400 {
		t.Errorf("another client: %d %s", status, text)
	}
	if status, text := v.send("DELETE", workspacePath+"/identity/domains/firm.example", ""); status != 403 {
		t.Errorf("the own domain: %d %s", status, text)
	}

	// Nor does a secret, scope or claim by which nobody has signed in yet.
	for _, change := range []string{`"client_secret":"wrong"`, `"scopes":["openid"]`, `"role_claim":"none","roles":{"x":"owner"}`} {
		if status, text := v.send("POST", at, strings.Replace(require, "}", ","+change+"}", 1)); status != 403 {
			t.Errorf("%s while required: %d %s", change, status, text)
		}
	}
	if status, text := v.send("POST", at, strings.Replace(require, "}", `,"session_hours":2}`, 1)); status != 200 {
		t.Errorf("the length of sessions: %d %s", status, text)
	}
	w.move(time.Second)
	changed := strings.NewReplacer("true", "false", "}", `,"client_secret":"`+clientSecret+`"}`).Replace(require)
	if status, text := v.send("POST", at, changed); status != 200 {
		t.Errorf("another secret: %d %s", status, text)
	}
	w.move(time.Second)
	if status, text := v.send("POST", at, require); status != 403 {
		t.Errorf("required in a session from before: %d %s", status, text)
	}
	v.enter(w.in, w.hers)
	if status, text := v.send("POST", at, require); status != 200 {
		t.Errorf("required anew: %d %s", status, text)
	}

	// The operator lifts the requirement while the provider is down.
	_, err = w.system.SetRequired(t.Context(), w.in, false, w.now())
	fatal(t, err)
	other.within("after the operator opened", w.in, 200)
	if p.Revision != 1 {
		t.Errorf("%+v", p)
	}
}

func (w *ownWorld) keyOf(t *testing.T, in workspace.ID) string {
	t.Helper()
	_, token, err := w.directory.CreateKey(t.Context(), people.NewKey{Name: "k", Workspaces: []workspace.ID{in}})
	fatal(t, err)
	return token
}

func (w *ownWorld) invite(t *testing.T, in workspace.ID, email string) (people.CreatedInvitation, string) {
	t.Helper()
	made, err := w.world.server.People.Invitations.Create(t.Context(), in, people.KeyActor, "new."+email, people.MemberRole)
	fatal(t, err)
	_, token, _ := strings.Cut(made.Link, "token=")
	return made, token
}

// Permissions for the settings: owners the provider, admins the domains, and no key.
func TestWhoSetsIdentity(t *testing.T) {
	t.Parallel()
	w := newOwnWorld(t)
	admin, member := w.member(t, w.in, "admin@firm.example", people.Admin), w.member(t, w.in, "member@firm.example", people.MemberRole)
	foreign := w.member(t, w.workspace(t, "F", workspace.Pro, 0), "f@f.example", people.Owner)
	body := `{"issuer":"https://id.firm.example","client_id":"atlas","client_secret":"a secret"}`
	for _, c := range []struct {
		by, method, path, body string
		want                   int
	}{
		{tokenFor(t, admin), "POST", "/workspace/identity/provider", body, 403},
		{tokenFor(t, member), "POST", "/workspace/identity/provider", body, 403},
		{tokenFor(t, member), "GET", "/workspace/identity/provider", "", 403},
		{w.keyOf(t, w.in), "GET", "/workspace/identity/provider", "", 400},
		{tokenFor(t, foreign), "GET", "/workspace/identity/provider", "", 403},
		{tokenFor(t, w.owner), "DELETE", "/workspace/identity/provider", "", 404},
		{tokenFor(t, w.owner), "POST", "/workspace/identity/provider", body, 200},
		{tokenFor(t, admin), "GET", "/workspace/identity/provider", "", 200},
		{tokenFor(t, admin), "DELETE", "/workspace/identity/provider", "", 403},
		{tokenFor(t, admin), "POST", "/workspace/identity/domains", `{"domain":"Firm.example."}`, 200},
		{tokenFor(t, member), "POST", "/workspace/identity/domains", `{"domain":"firm.example"}`, 403},
		{tokenFor(t, admin), "POST", "/workspace/identity/domains", `{"domain":"localhost"}`, 400},
		{tokenFor(t, admin), "POST", "/workspace/identity/domains", `{"domain":"fírm.example"}`, 400},
		{tokenFor(t, admin), "POST", "/workspace/identity/domains", `{"domain":"a@firm.example"}`, 400},
		{tokenFor(t, admin), "POST", "/workspace/identity/domains/firm.example/check", "", 200},
		{tokenFor(t, admin), "POST", "/workspace/identity/domains/other.example/check", "", 404},
		{tokenFor(t, admin), "GET", "/workspace/identity/domains", "", 200},
		{tokenFor(t, admin), "DELETE", "/workspace/identity/domains/firm.example", "", 403},
		{tokenFor(t, w.owner), "DELETE", "/workspace/identity/domains/firm.example", "", 200},
		{tokenFor(t, w.owner), "DELETE", "/workspace/identity/domains/firm.example", "", 404},
		{tokenFor(t, w.owner), "POST", "/workspace/identity/provider", strings.Replace(body, "https", "http", 1), 400},
		{tokenFor(t, w.owner), "POST", "/workspace/identity/provider", strings.Replace(body, "id.firm.example", "169.254.169.254", 1), 400},
		{tokenFor(t, w.owner), "POST", "/workspace/identity/provider", strings.Replace(body, "}", `,"scopes":["email"]}`, 1), 400},
		{tokenFor(t, w.owner), "POST", "/workspace/identity/provider", strings.Replace(body, "}", `,"roles":{"x":"admin"}}`, 1), 400},
		{tokenFor(t, w.owner), "POST", "/workspace/identity/provider", strings.Replace(body, "}", `,"role_claim":"groups"}`, 1), 400},
		{tokenFor(t, w.owner), "POST", "/workspace/identity/provider", strings.Replace(body, "}", `,"default_role":"owner"}`, 1), 400},
		{tokenFor(t, w.owner), "POST", "/workspace/identity/provider", strings.Replace(body, "}", `,"revision":9}`, 1), 409},
		{tokenFor(t, w.owner), "POST", "/workspace/identity/provider", `{"issuer":"https://new.example","client_id":"atlas"}`, 400},
		{tokenFor(t, w.owner), "DELETE", "/workspace/identity/provider", "", 200},
		{tokenFor(t, admin), "POST", "/workspace/identity/domains", `{"domain":"firm.example"}`, 200},
		{tokenFor(t, admin), "DELETE", "/workspace/identity/domains/firm.example", "", 200},
	} {
		a := w.call(t, c.by, c.method, c.path+"?workspace_id="+w.in.String(), c.body)
		if a.status != c.want || strings.Contains(a.text, "a secret") {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.path, c.body, a.status, a.text, c.want)
		}
	}
}

// Sessions of a provider end within 5 s with the membership, the domain, the provider, and
// when an admin ends them; other sessions of the person then end only in the workspace.
func TestOwnSessionsEnd(t *testing.T) {
	t.Parallel()
	w := newOwnWorld(t)
	w.prove(t, w.in, w.owner, "firm.example")
	w.provide(t, w.in, w.owner, w.hers.URL, func(c *identity.Change) { c.DefaultRole = people.MemberRole })
	second := w.workspace(t, "Second", workspace.Pro, 0)
	enter := func(name string) (*visitor, who) {
		w.hers.set(func(p *provider) {
			p.profile = jwt.MapClaims{"sub": name, "email": name + "@firm.example", "email_verified": true}
		})
		v := w.visitor(t)
		return v, v.enter(w.in, w.hers)
	}
	removed, a := enter("removed")
	_, err := w.world.server.People.Members.Remove(t.Context(), w.in, people.OperatorActor, a.User.ID)
	fatal(t, err)
	removed.within("removed", w.in, 401)

	out, a := enter("out")
	stays, _ := enter("stays")
	same := people.Member{ID: a.User.ID, Email: "out@firm.example", Name: "O", Role: people.MemberRole}
	_, err = w.directory.AddMember(t.Context(), second, same)
	fatal(t, err)
	link, err := w.store.Link(t.Context(), auth.User{ID: a.User.ID, Email: "out@firm.example", Name: "O"})
	fatal(t, err)
	elsewhere := w.visitor(t)
	if status, text := elsewhere.send("POST", "/session", `{"token":"`+link+`"}`); status != 200 {
		t.Fatalf("a link: %d %s", status, text)
	}
	path := "/workspace/members/" + a.User.ID.String() + "/sign-out?workspace_id=" + w.in.String()
	if a := w.call(t, tokenFor(t, w.member(t, w.in, "plain@firm.example", people.MemberRole)), "POST", path, ""); a.status != 403 {
		t.Errorf("a member signs others out: %d %s", a.status, a.text)
	}
	w.call(t, tokenFor(t, w.owner), "POST", path, "").into(t, nil, nil)
	out.within("signed out", w.in, 401)
	elsewhere.within("another session of the person, there", w.in, 401)
	if status, text := elsewhere.status(second); status != 200 {
		t.Errorf("elsewhere: %d %s", status, text)
	}
	if status, text := stays.status(w.in); status != 200 {
		t.Errorf("another person: %d %s", status, text)
	}
	if again, _ := enter("out"); again.cookies()["__Host-atlas"] == "" {
		t.Error("they cannot sign in again")
	}

	fatal(t, w.system.RemoveDomain(t.Context(), w.in, "firm.example"))
	stays.within("the domain is gone", w.in, 401)
	w.prove(t, w.in, w.owner, "firm.example")
	stays, _ = enter("stays")
	fatal(t, w.settings.DeleteProvider(t.Context(), w.in, identity.By{User: w.owner.ID}))
	stays.within("the provider is gone", w.in, 401)
}

// A session has the lifetime that its provider sets, and its roles are renewed.
func TestOwnSessionLength(t *testing.T) {
	t.Parallel()
	w := newOwnWorld(t)
	w.prove(t, w.in, w.owner, "firm.example")
	w.provide(t, w.in, w.owner, w.hers.URL, func(c *identity.Change) {
		c.SessionHours, c.IdleMinutes, c.RoleClaim = 1, 5, "groups"
		c.Roles = map[string]people.Role{"leads": people.Admin, "all": people.MemberRole}
	})
	w.hers.refresh = "a refresh token"
	w.hers.profile = jwt.MapClaims{"sub": "mia", "email": "mia@firm.example", "email_verified": true, "groups": []string{"x", "leads"}}
	v := w.visitor(t)
	a := v.enter(w.in, w.hers)
	if a.User.Workspaces[0].Role != people.Admin {
		t.Errorf("the role is %v", a.User.Workspaces)
	}
	if _, minutes, _ := strings.Cut(v.cookies()["__Host-atlas"], "."); minutes != "5" {
		t.Errorf("the idle time is %q minutes", minutes)
	}
	w.hers.set(func(p *provider) { p.profile["groups"] = "all" })
	w.move(session.DefaultRenewal)
	if a := v.session("GET"); a.User == nil || a.User.Workspaces[0].Role != people.MemberRole {
		t.Errorf("after the renewal: %+v", a.User)
	}
	v = w.visitor(t)
	v.enter(w.in, w.hers)
	w.hers.set(func(p *provider) { p.profile["groups"] = "none" })
	w.move(session.DefaultRenewal)
	if a := v.session("GET"); a.User != nil {
		t.Errorf("without a role: %+v", a.User)
	}
	w.hers.set(func(p *provider) { p.profile["groups"], p.refresh = "all", "" })
	v.enter(w.in, w.hers)
	w.move(time.Hour)
	if a := v.session("GET"); a.User != nil {
		t.Errorf("after its hour: %+v", a.User)
	}
}

// Roles stay, and with them API keys, if the provider does not send them.
func TestRolesThatAreNotSaid(t *testing.T) {
	t.Parallel()
	w := newOwnWorld(t)
	w.prove(t, w.in, w.owner, "firm.example")
	w.provide(t, w.in, w.owner, w.hers.URL, func(c *identity.Change) {
		c.RoleClaim, c.DefaultRole = "groups", people.MemberRole
		c.Roles = map[string]people.Role{"leads": people.Admin}
	})
	good := func(p *provider) {
		p.profile = jwt.MapClaims{"sub": "mia", "email": "mia@firm.example", "email_verified": true, "groups": []string{"leads"}}
		p.refresh, p.silent, p.mute = "a refresh token", "", 0
		p.sign = func(c jwt.MapClaims) string { // the clock is moved forward
			c["exp"] = time.Now().Add(24 * time.Hour).Unix()
			return p.signed(c)
		}
	}
	for name, c := range map[string]struct {
		change func(*provider)
		signIn string // "": it succeeds
		want   people.Role
	}{
		"the user cannot be asked": {func(p *provider) { p.silent, p.mute = "groups", 503 }, "away", people.Admin},
		"the claim is elsewhere": {func(p *provider) {
			delete(p.profile, "groups")
			p.profile["_claim_names"] = map[string]string{"groups": "src1"}
			p.profile["_claim_sources"] = map[string]any{"src1": map[string]string{"endpoint": "https://graph.example/groups"}}
		}, "away", people.Admin},
		"no claim":      {func(p *provider) { delete(p.profile, "groups") }, "", people.Admin},
		"null":          {func(p *provider) { p.profile["groups"] = nil }, "", people.Admin},
		"an empty list": {func(p *provider) { p.profile["groups"] = []string{} }, "", people.MemberRole},
		"the user cannot be asked, but the token says it": {func(p *provider) { p.mute = 503 }, "", people.Admin},
	} {
		t.Run(name, func(t *testing.T) {
			role := func(when string, want people.Role, a who) {
				t.Helper()
				if a.User == nil || len(a.User.Workspaces) != 1 || a.User.Workspaces[0].Role != want {
					t.Errorf("%s: %+v, want %s", when, a.User, want)
				}
			}
			w.hers.set(good)
			v := w.visitor(t)
			role("before", people.Admin, v.enter(w.in, w.hers))
			_, made := v.send("POST", workspacePath+"/api-keys?workspace_id="+w.in.String(), `{"name":"k","scopes":["workspace:read"]}`)
			_, secret, _ := strings.Cut(made, `"secret":"`)
			secret, _, _ = strings.Cut(secret, `"`)
			w.hers.set(c.change)
			w.move(session.DefaultRenewal)
			role("after a renewal", c.want, v.session("GET"))
			w.hers.set(good)
			w.visitor(t).enter(w.in, w.hers)
			w.hers.set(c.change)
			other := w.visitor(t)
			to := other.finishOwn(w.in, w.hers.approve(t, other.beginOwn(w.in)))
			if c.signIn != "" && to != "/x#sign-in-failed="+c.signIn {
				t.Errorf("signing in leads to %s", to)
			} else if c.signIn == "" {
				role("after signing in", c.want, other.session("GET"))
			}
			want := map[people.Role]int{people.Admin: 200, people.MemberRole: 403}[c.want]
			if a := w.call(t, secret, "GET", "/workspace", ""); a.status != want {
				t.Errorf("the key of who is %s: %d %s", c.want, a.status, a.text)
			}
		})
	}
	// A person who is not a member gets the default role.
	w.hers.set(good)
	w.hers.set(func(p *provider) {
		p.profile = jwt.MapClaims{"sub": "new", "email": "new@firm.example", "email_verified": true}
	})
	if a := w.visitor(t).enter(w.in, w.hers); a.User.Workspaces[0].Role != people.MemberRole {
		t.Errorf("somebody new: %+v", a.User)
	}
}

// Another site cannot sign anybody in to a workspace of its choice: they are asked, and their
// current session stays meanwhile.
func TestOtherSitesAskFirst(t *testing.T) {
	t.Parallel()
	w := newOwnWorld(t)
	w.prove(t, w.in, w.owner, "firm.example")
	w.provide(t, w.in, w.owner, w.hers.URL)
	v := w.visitor(t)
	v.enter(w.in, w.hers)
	from := func(site, in string) (int, string, string) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", w.server.URL+"/session/sign-in?workspace="+in+"&return=%2Fx%3Fa%3D1", nil)
		fatal(t, err)
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		res, err := v.http.Do(r)
		fatal(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		fatal(t, err)
		return res.StatusCode, res.Header.Get("Location") + res.Header.Get("Content-Security-Policy"), string(text)
	}
	for _, site := range []string{"same-origin", "none"} {
		if status, to, text := from(site, w.in.String()); status != 303 || !strings.HasPrefix(to, w.hers.URL+"/auth") {
			t.Errorf("%s: %d %s %s", site, status, to, text)
		}
	}
	for _, site := range []string{"cross-site", "same-site", ""} {
		status, policy, text := from(site, w.in.String())
		if status != 200 || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(text, "“W”") ||
			!strings.Contains(text, `href="/session/sign-in?workspace=`+w.in.String()+`&amp;return=%2Fx%3Fa%3D1"`) {
			t.Errorf("%q: %d %s %s", site, status, policy, text)
		}
	}
	if status, to, _ := from("cross-site", workspace.NewID().String()); status != 303 || !strings.Contains(to, "#sign-in-failed=") {
		t.Errorf("no workspace: %d %s", status, to)
	}
	if status, text := v.status(w.in); status != 200 {
		t.Errorf("the session: %d %s", status, text)
	}
}
