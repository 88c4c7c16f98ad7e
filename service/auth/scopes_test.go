package auth_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/workspace"
)

// The types in a token's header: access tokens are JWT or at+jwt (RFC 9068).
func TestKindOfTokenInTheHeader(t *testing.T) {
	t.Parallel()
	a := configured(t, auth.Config{Secret: secret})
	for typ, ok := range map[string]bool{
		"JWT": true, "jwt": true, "at+jwt": true, "application/at+jwt": true, "AT+JWT": true, "": true,
		"logout+jwt": false, "id+jwt": false, "application/secevent+jwt": false, "dpop+jwt": false, "ID": false, "id_token": false,
	} {
		checkToken(t, a, "typ "+typ, sign(t, jwt.SigningMethodHS256, []byte(secret), map[string]any{"typ": typ}, with(nil)), ok)
	}
	checkToken(t, a, "no typ", sign(t, jwt.SigningMethodHS256, []byte(secret), map[string]any{"typ": nil}, with(nil)), true)
}

func TestLifetimeIsConfigured(t *testing.T) {
	t.Parallel()
	a := configured(t, auth.Config{Secret: secret, MaxLifetime: time.Hour})
	token := func(life time.Duration) string {
		return sign(
			t, jwt.SigningMethodHS256, []byte(secret), nil,
			with(map[string]any{"iat": tokenTime.Unix(), "exp": tokenTime.Add(life).Unix()}),
		)
	}
	checkToken(t, a, "an hour", token(time.Hour), true)
	checkToken(t, a, "longer", token(time.Hour+time.Second), false)
	if err := (auth.Config{Secret: secret, MaxLifetime: -1}).Validate(); err == nil || !strings.Contains(err.Error(), "--jwt-max-lifetime") {
		t.Errorf("a negative lifetime: %v", err)
	}
}

// A token is limited to its scopes. Scopes of the issuer itself mean nothing here, so they do
// not lock its users out.
func TestScopesOfATokenNarrowIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lax, strict := w.auth(t, auth.Config{Secret: secret}), w.auth(t, auth.Config{Secret: secret, RequireScopes: true})
	all := workspace.AllScopes()
	read, list, write := workspace.DataRead, workspace.WorkspaceRead, workspace.WorkspaceWrite
	for claims, want := range map[string]struct{ lax, strict []workspace.Scope }{
		`{}`:                                    {all, nil},
		`{"scope":""}`:                          {all, nil},
		`{"scope":null,"scp":null}`:             {all, nil},
		`{"scope":"openid profile email"}`:      {all, nil},
		`{"scp":["User.Read"]}`:                 {all, nil},
		`{"scope":"data:reader xdata:read"}`:    {all, nil},
		`{"scope":"DATA:READ"}`:                 {all, nil},
		`{"scope":"data:read"}`:                 {[]workspace.Scope{read}, []workspace.Scope{read}},
		`{"scope":"openid  data:read"}`:         {[]workspace.Scope{read}, []workspace.Scope{read}},
		`{"scp":"data:read workspace:read"}`:    {[]workspace.Scope{read, list}, []workspace.Scope{read, list}},
		`{"scp":["workspace:write","x"]}`:       {[]workspace.Scope{write}, []workspace.Scope{write}},
		`{"scope":["data:read"],"scp":["x"]}`:   {[]workspace.Scope{read}, []workspace.Scope{read}},
		`{"scope":"openid","scp":"data:read"}`:  {[]workspace.Scope{read}, []workspace.Scope{read}},
		`{"scp":["data:read workspace:write"]}`: {[]workspace.Scope{read, write}, []workspace.Scope{read, write}},
	} {
		given := jwt.MapClaims{"sub": w.alice.ID.String(), "exp": w.clock.Now().Add(time.Hour).Unix()}
		fatal(t, json.Unmarshal([]byte(claims), &given))
		token := sign(t, jwt.SigningMethodHS256, []byte(secret), nil, given)
		for a, want := range map[*auth.Authenticator][]workspace.Scope{lax: want.lax, strict: want.strict} {
			p, err := request(t.Context(), a, token, nil, false)
			fatal(t, err)
			if diff := cmp.Diff(want, p.Scopes); diff != "" {
				t.Errorf("%s (-want +got):\n%s", claims, diff)
			}
		}
	}
	// The message has the token's scopes, and says that it is not a key.
	p := auth.Principal{Kind: auth.ByUser, Scopes: []workspace.Scope{read}}
	if err := p.RequireScope(write); fault.CodeOf(err) != fault.Forbidden ||
		!strings.Contains(err.Error(), "this access token lacks the scope workspace:write; it has data:read") {
		t.Error(err)
	}
	p.Scopes = nil
	if err := p.RequireScope(write); fault.CodeOf(err) != fault.Forbidden || !strings.Contains(err.Error(), "it has none") {
		t.Error(err)
	}
}
