package api_test

import (
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"atlas/service/auth"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/people"
)

// A person who signs in with a verified address becomes the member whom an operator added by
// it, once.
func TestSignInByAddress(t *testing.T) {
	t.Parallel()
	w := newSignInWorld(t)
	as := func(claims jwt.MapClaims) who {
		t.Helper()
		w.provider.set(func(p *provider) { p.profile = claims })
		return w.visitor(t).signIn()
	}
	isMember := func(name string, a who, want bool) {
		t.Helper()
		if a.User == nil || a.User.Workspaces == nil || (len(a.User.Workspaces) > 0) != want {
			t.Errorf("%s: %+v, want a member: %v", name, a.User, want)
		}
	}
	w.member(t, w.in, "ann@example.com", people.Owner)
	for name, claims := range map[string]jwt.MapClaims{
		"unverified":    {"sub": "eve", "email": "ann@example.com", "email_verified": false},
		"not said":      {"sub": "eve", "email": "ann@example.com"},
		"said in words": {"sub": "eve", "email": "ann@example.com", "email_verified": "yes"},
		"null":          {"sub": "eve", "email": "ann@example.com", "email_verified": nil},
		"a number":      {"sub": "eve", "email": "ann@example.com", "email_verified": 1},
		"another":       {"sub": "eve", "email": "eve@example.com", "email_verified": true},
		"with a name":   {"sub": "eve", "email": "Ann <ann@example.com>", "email_verified": true},
		"with a space":  {"sub": "eve", "email": "ann@example.com\u0000", "email_verified": true},
		"a lookalike":   {"sub": "eve", "email": "ａnn@example.com", "email_verified": true},
		"no address":    {"sub": "eve", "email_verified": true},
	} {
		isMember(name, as(claims), false)
	}
	ann := as(jwt.MapClaims{"sub": "ann", "email": "ANN@example.com", "email_verified": true})
	isMember("Ann", ann, true)
	isMember("Ann again, with another address", as(jwt.MapClaims{"sub": "ann", "email": "new@example.com", "email_verified": false}), true)
	isMember(
		"a second account with the address",
		as(jwt.MapClaims{"sub": "eve", "email": "ann@example.com", "email_verified": true}),
		false,
	)

	// A UUID subject is also the user of an access token of the issuer.
	w.member(t, w.in, "ben@example.com", people.MemberRole)
	sub := uuid.NewString()
	ben := as(jwt.MapClaims{"sub": sub, "email": "ben@example.com", "email_verified": true})
	isMember("Ben", ben, true)
	if ben.User.ID.String() != sub {
		t.Errorf("the subject %s is the user %s", sub, ben.User.ID)
	}
	token := mint(t, secret, claims(ben.User.ID, "ben@example.com"), time.Hour)
	if a := w.call(t, token, "GET", "/workspace", ""); a.status != 200 {
		t.Errorf("an access token of Ben: %d %s", a.status, a.text)
	}
	// A person who can choose a subject cannot choose the id that is derived from another's.
	isMember("the id of Ann as a subject", as(jwt.MapClaims{"sub": ann.User.ID.String()}), false)

	// Some providers return the address only in the userinfo answer.
	w.member(t, w.in, "cleo@example.com", people.MemberRole)
	w.provider.set(func(p *provider) { p.apart = true })
	isMember("Cleo", as(jwt.MapClaims{"sub": "cleo", "email": "cleo@example.com", "email_verified": true}), true)
}

func TestSubjectsOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	sub := uuid.NewString()
	if auth.AccountID("https://a.example", sub, true).String() != sub {
		t.Error("the subject is not the id")
	}
	a, b := auth.AccountID("https://a.example", sub, false), auth.AccountID("https://b.example", sub, false)
	if a == b || a.String() == sub || uuid.UUID(a).Version() != 5 {
		t.Errorf("the ids are %s and %s", a, b)
	}
	if id := auth.AccountID("https://a.example", uuid.Nil.String(), true); id.IsZero() {
		t.Error("the zero UUID is an id")
	}
}

func TestSessionOfAMemberWhoIsRemoved(t *testing.T) {
	t.Parallel()
	w := newSignInWorld(t)
	owner := w.member(t, w.in, "owner@example.com", people.Owner)
	second := w.workspace(t, "Second", workspace.Pro, 0)
	foreign := w.workspace(t, "Foreign", workspace.Pro, 0)
	w.member(t, w.in, "ann@example.com", people.Admin)
	w.member(t, second, "ann@example.com", people.MemberRole)
	w.provider.profile = jwt.MapClaims{"sub": "ann", "email": "ann@example.com", "email_verified": true}
	v := w.visitor(t)
	ann := v.signIn()
	if len(ann.User.Workspaces) != 2 {
		t.Fatalf("Ann is in %+v", ann.User.Workspaces)
	}
	status := func(in workspace.ID) int {
		t.Helper()
		status, _, _ := v.do("GET", workspacePath+"?workspace_id="+in.String())
		return status
	}
	none, _, _ := v.do("GET", workspacePath)
	if a, b, c := status(w.in), status(second), status(foreign); a != 200 || b != 200 || c != 403 || none != 400 {
		t.Errorf("the workspaces answer %d, %d and %d, and without one %d", a, b, c, none)
	}
	w.call(t, tokenFor(t, owner), "DELETE", "/workspace/members/"+ann.User.ID.String(), "").into(t, nil, nil)
	if a, b := status(w.in), status(second); a != 403 || b != 200 {
		t.Errorf("after the removal the workspaces answer %d and %d", a, b)
	}
	if m := v.session("GET").User.Workspaces; len(m) != 1 || m[0].Workspace != second {
		t.Errorf("after the removal Ann is in %+v", m)
	}
	// Signing in again does not bring the membership back.
	if m := v.signIn().User.Workspaces; len(m) != 1 {
		t.Errorf("after signing in again Ann is in %+v", m)
	}
}

// A session ends when its provider requires a new sign-in, and not when the client is
// misconfigured.
func TestRenewalIsRefused(t *testing.T) {
	t.Parallel()
	w := newSignInWorld(t)
	w.provider.refresh = "a refresh token"
	ends := map[string]bool{
		"invalid_grant": true, "interaction_required": true, "login_required": true, "consent_required": true, "access_denied": true,
		"invalid_client": false, "invalid_request": false,
	}
	visitors := map[string]*visitor{}
	for code := range ends {
		visitors[code] = w.visitor(t)
		visitors[code].signIn()
	}
	w.move(session.DefaultRenewal)
	for code, v := range visitors {
		w.provider.set(func(p *provider) { p.fails, p.code = 400, code })
		if a := v.session("GET"); (a.User == nil) != ends[code] {
			t.Errorf("%s: the session is of %+v", code, a.User)
		}
	}
}
