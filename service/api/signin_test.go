package api_test

import (
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"atlas/internal/devstack/backends"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/service/oidc"
	"atlas/workspace/people"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	w := newSignInWorld(t)
	ann := w.member(t, w.in, "ann@example.com", people.Admin)
	w.provider.profile = jwt.MapClaims{"sub": "sub of ann", "email": "Ann@example.com", "email_verified": true, "name": "Ann"}
	w.provider.refresh = "a refresh token"
	v := w.visitor(t)
	if a := v.session("GET"); a.User != nil || a.SignIn != "/session/sign-in" {
		t.Errorf("nobody is %+v", a)
	}
	const page = "/projects?q=garage&stage=filed&workspace=12345678"
	address := v.begin(page)
	if cookie := v.cookies()[v.flow()]; cookie == "" || strings.Contains(address, cookie) {
		t.Errorf("the cookie of a sign-in is %s", cookie)
	}
	answer := w.provider.approve(t, address)
	if to := v.finish(answer); to != page {
		t.Errorf("signing in leads to %s", to)
	}
	cookies := v.cookies()
	token := cookies["__Host-atlas"]
	if len(cookies) != 1 || token == "" {
		t.Errorf("the cookies are %v", cookies)
	}
	want := auth.AccountID(w.provider.URL, "sub of ann", true)
	a := v.session("GET")
	if a.User == nil || a.User.ID != want || uuid.UUID(want).Version() != 5 || a.User.Email != "Ann@example.com" || a.SignIn != "" {
		t.Fatalf("signed in as %+v, want %s", a.User, want)
	}
	if m := a.User.Workspaces; len(m) != 1 || m[0] != (people.Membership{Workspace: w.in, Name: "W", Role: people.Admin}) ||
		ann.ID == want {
		t.Errorf("the workspaces of Ann are %+v", m)
	}
	if status, _, text := v.do("GET", workspacePath); status != 200 || !strings.Contains(text, `"role":"admin"`) {
		t.Errorf("the workspace: %d %s", status, text)
	}

	// The provider's tokens stay on the server, and reading Redis reveals no session.
	redis, err := credits.Open(backends.Redis(t))
	fatal(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	found := 0
	keys, err := redis.Keys(t.Context(), "test:*:session:*").Result()
	fatal(t, err)
	for _, key := range keys {
		raw, err := redis.Get(t.Context(), key).Result()
		if err != nil || !strings.Contains(raw, want.String()) {
			continue // another test's
		}
		found++
		if strings.Contains(raw, "refresh token") || strings.Contains(raw, "sub of ann") || strings.Contains(key+raw, token) {
			t.Errorf("Redis has %s: %s", key, raw)
		}
	}
	if found != 1 {
		t.Errorf("Redis has %d sessions of Ann", found)
	}

	// Signing out, at the provider too.
	if a := v.session("DELETE"); !strings.HasPrefix(
		a.SignOut,
		w.provider.URL+"/end?client_id=explorer&post_logout_redirect_uri=https%3A%2F%2F",
	) ||
		a.SignIn == "" {
		t.Errorf("signed out: %+v", a)
	}
	if c := v.cookies(); len(c) != 0 {
		t.Errorf("the browser keeps %v", c)
	}
	thief := w.visitor(t)
	thief.plant("__Host-atlas", token)
	if status, _, _ := thief.do("GET", workspacePath); status != 401 {
		t.Errorf("the token of a session that ended: %d", status)
	}
	for _, secret := range []string{"Ann@", "a refresh token", "an access token", token, answer.Get("code"), answer.Get("state")} {
		if log := w.log.String(); strings.Contains(log, secret) {
			t.Errorf("the log has %s: %s", secret, log)
		}
	}
}

func TestSignInIsRefused(t *testing.T) {
	t.Parallel()
	w := newSignInWorld(t)
	w.member(t, w.in, "ann@example.com", people.Owner)
	good := jwt.MapClaims{"sub": "sub of ann", "email": "ann@example.com", "email_verified": true}
	other := newProvider(t)
	changed := func(name string, value any) func(*provider) {
		return func(p *provider) {
			p.sign = func(c jwt.MapClaims) string {
				c[name] = value
				return p.signed(c)
			}
		}
	}
	for name, c := range map[string]struct {
		want    oidc.Failure
		change  func(p *provider)
		between func(v *visitor, answer url.Values)
	}{
		"another audience":          {oidc.Refused, changed("aud", "another"), nil},
		"two audiences":             {oidc.Refused, changed("aud", []string{clientID, "another"}), nil},
		"another party":             {oidc.Refused, changed("azp", "another"), nil},
		"another issuer":            {oidc.Refused, changed("iss", "https://evil.example"), nil},
		"another nonce":             {oidc.Refused, changed("nonce", "another"), nil},
		"no nonce":                  {oidc.Refused, changed("nonce", nil), nil},
		"an old ID token":           {oidc.Refused, changed("exp", time.Now().Add(-time.Hour).Unix()), nil},
		"no subject":                {oidc.Refused, changed("sub", ""), nil},
		"a long subject":            {oidc.Refused, changed("sub", strings.Repeat("x", 256)), nil},
		"a claim in two cases":      {oidc.Refused, changed("Email", "eve@example.com"), nil},
		"a foreign key":             {oidc.Refused, func(p *provider) { p.sign = other.signed }, nil},
		"no signature":              {oidc.Refused, func(p *provider) { p.sign = unsigned }, nil},
		"the secret as a key":       {oidc.Refused, func(p *provider) { p.sign = signedBySecret }, nil},
		"no ID token":               {oidc.Refused, func(p *provider) { p.sign = func(jwt.MapClaims) string { return "" } }, nil},
		"the provider fails":        {oidc.Away, func(p *provider) { p.fails = 500 }, nil},
		"the client is refused":     {oidc.Refused, func(p *provider) { p.fails, p.code = 401, "invalid_client" }, nil},
		"the person declines":       {oidc.Declined, nil, func(_ *visitor, a url.Values) { a.Set("error", "access_denied") }},
		"the provider is away":      {oidc.Away, nil, func(_ *visitor, a url.Values) { a.Set("error", "temporarily_unavailable") }},
		"another error":             {oidc.Refused, nil, func(_ *visitor, a url.Values) { a.Set("error", "<script>") }},
		"an answer of another":      {oidc.Refused, nil, func(_ *visitor, a url.Values) { a.Set("iss", "https://evil.example") }},
		"a code that was not given": {oidc.Refused, nil, func(_ *visitor, a url.Values) { a.Set("code", "invented") }},
		"no state":                  {oidc.Expired, nil, func(_ *visitor, a url.Values) { a.Del("state") }},
		"another state":             {oidc.Expired, nil, func(_ *visitor, a url.Values) { a.Set("state", "another") }},
		"no cookie":                 {oidc.Expired, nil, func(v *visitor, _ url.Values) { v.plant(v.flow(), "") }},
		"an invented cookie":        {oidc.Expired, nil, func(v *visitor, _ url.Values) { v.plant(v.flow(), strings.Repeat("A", 300)) }},
		"another browser's code": {oidc.Refused, nil, func(v *visitor, a url.Values) {
			// Eve makes Ann's browser finish with Eve's code: PKCE and nonce do not match.
			eve := w.visitor(t)
			a.Set("code", w.provider.approve(t, eve.begin("/")).Get("code"))
		}},
		"another browser's answer": {oidc.Expired, nil, func(v *visitor, a url.Values) {
			maps.Copy(a, w.provider.approve(t, w.visitor(t).begin("/")))
		}},
		"too late": {oidc.Expired, nil, func(*visitor, url.Values) { w.move(oidc.Lifetime) }},
	} {
		w.provider.set(func(p *provider) {
			p.profile, p.sign, p.fails, p.code = maps.Clone(good), p.signed, 0, ""
			if c.change != nil {
				c.change(p)
			}
		})
		v := w.visitor(t)
		answer := w.provider.approve(t, v.begin("/accounts?q=x"))
		if c.between != nil {
			c.between(v, answer)
		}
		back := "/accounts?q=x"
		if c.want == oidc.Expired {
			back = "/"
		}
		if to := v.finish(answer); to != back+"#sign-in-failed="+string(c.want) {
			t.Errorf("%s: leads to %s, want the failure %s", name, to, c.want)
		}
		if has := v.cookies(); has["__Host-atlas"] != "" || len(has) != 0 && c.want != oidc.Expired {
			t.Errorf("%s: the browser has %v", name, has)
		}
		if a := v.session("GET"); a.User != nil {
			t.Errorf("%s: signed in as %+v", name, a.User)
		}
	}

	wantReasons(t, w.log.String())

	w.provider.set(func(p *provider) { p.sign = p.signed })
	v := w.visitor(t)
	answer := w.provider.approve(t, v.begin("/x"))
	w.provider.Close()
	if to := v.finish(answer); to != "/x#sign-in-failed=away" {
		t.Errorf("without the provider signing in leads to %s", to)
	}
}

// wantReasons fails unless the log has the reasons of refused sign-ins, without anything from
// a token, a person or the provider.
func wantReasons(t *testing.T, log string) {
	t.Helper()
	for _, value := range []string{"ann@", "sub of ann", "eve@", "evil", "script", "invented", "xxxx", "eyJ", `\"another\"`} {
		if strings.Contains(log, value) {
			t.Errorf("the log has %s", value)
		}
	}
	for _, reason := range []string{
		"the ID token is for another application", "the ID token is for another application too", "the ID token is another issuer's",
		"the nonce is another sign-in's", "the ID token has expired", "the ID token has no usable subject",
		"the claims are of another subject, or ambiguous", "the signature of the ID token is by no key of the provider",
		"is signed by an algorithm that is not accepted", "the answer has no ID token", "status 500", "the provider answers invalid_client",
		"the provider answers access_denied", "the provider answers temporarily_unavailable",
		"the provider answers an error that is no standard's", "the answer is another issuer's",
	} {
		if !strings.Contains(log, reason) {
			t.Errorf("the log does not say: %s", reason)
		}
	}
	if t.Failed() {
		t.Log(log)
	}
}

func unsigned(c jwt.MapClaims) string {
	text, err := jwt.NewWithClaims(jwt.SigningMethodNone, c).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		panic(err)
	}
	return text
}

func signedBySecret(c jwt.MapClaims) string {
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString([]byte(clientSecret))
	if err != nil {
		panic(err)
	}
	return text
}

func TestProviderIsAway(t *testing.T) {
	t.Parallel()
	w := newSignInWorld(t)
	w.provider.Close()
	v := w.visitor(t)
	if to := v.begin("/signals?q=x"); to != "/signals?q=x#sign-in-failed=away" {
		t.Errorf("without the provider signing in leads to %s", to)
	}
}

// A session that existed before is not the one of the new sign-in.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	w := newSignInWorld(t)
	eve := w.visitor(t)
	w.provider.profile = jwt.MapClaims{"sub": "eve"}
	eve.signIn()
	planted := eve.cookies()["__Host-atlas"]
	w.member(t, w.in, "ann@example.com", people.Owner)
	w.provider.set(func(p *provider) {
		p.profile = jwt.MapClaims{"sub": "ann", "email": "ann@example.com", "email_verified": true}
	})
	ann := w.visitor(t)
	ann.plant("__Host-atlas", planted)
	if a := ann.signIn(); len(a.User.Workspaces) != 1 || ann.cookies()["__Host-atlas"] == planted {
		t.Errorf("Ann is %+v", a.User)
	}
	if a := eve.session("GET"); a.User != nil {
		t.Errorf("Eve's session goes on: %+v", a.User)
	}
}

func TestLocalPath(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"/": "/", "/projects?q=a%20b&cost=1..#x": "/projects?q=a%20b&cost=1..", "/%2F%2Fevil.example": "/%2F%2Fevil.example",
		"": "/", "//evil.example": "/", "/\\evil.example": "/", "https://evil.example": "/", "https:/evil.example": "/",
		"javascript:alert(1)": "/", "\t//evil.example": "/", "/\t/evil.example": "/", "evil": "/", "/ü": "/", "/a\r\nSet-Cookie: x": "/",
		"/session/callback": "/", "/a/../session/sign-in": "/", "/api/v1/data/projects/1": "/", "/%zz": "/",
		"/" + strings.Repeat("x", 3000): "/",
	} {
		if got := oidc.LocalPath(address); got != want {
			t.Errorf("%q is %q, want %q", address, got, want)
		}
	}
}
