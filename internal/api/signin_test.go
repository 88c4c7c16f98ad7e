package api_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"atlas/internal/api"
	"atlas/internal/auth"
	"atlas/internal/credits"
	"atlas/internal/devstack/backends"
	"atlas/internal/oidc"
	"atlas/internal/session"
	"atlas/workspace"
	"atlas/workspace/people"
)

// signInWorld is a world where people sign in by a provider.
type signInWorld struct {
	*world
	provider *provider
	log      *strings.Builder
	server   *httptest.Server
	in       workspace.ID
}

func newSignInWorld(t *testing.T) *signInWorld {
	t.Helper()
	w := &signInWorld{world: newWorld(t), provider: newProvider(t), log: &strings.Builder{}}
	w.in = w.workspace(t, "W", workspace.Pro, 0)
	log := slog.New(slog.NewTextHandler(w.log, nil))
	w.server = httptest.NewUnstartedServer(nil)
	public := "https://" + w.server.Listener.Addr().String()
	signIn := oidc.New(oidc.Config{
		Issuer: w.provider.URL, ClientID: clientID, ClientSecret: clientSecret, PublicURL: public,
		Scopes: []string{"openid", "email", "profile"}, SubjectsAreIDs: true, Keys: [][]byte{[]byte("a new key"), []byte("an old key")},
		Now: w.now, Log: log,
	}, w.system)
	t.Cleanup(signIn.Close)
	s := &api.Server{
		Search: w.world.server.Search, Facets: w.world.server.Facets, Gate: w.world.server.Gate, Ledger: w.ledger, Workspaces: w.world.server.Workspaces,
		People: w.world.server.People, Log: log, Memberships: w.system, SignIn: signIn,
		Sessions: w.sessions(t, session.Options{Renew: signIn.Renew}),
	}
	w.server.Config.Handler = s.Handler()
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	return w
}

// visitor is a browser at the service.
type visitor struct {
	t    *testing.T
	w    *signInWorld
	http *http.Client
}

func (w *signInWorld) visitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	fatal(t, err)
	return &visitor{t, w, &http.Client{Transport: w.server.Client().Transport, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (v *visitor) do(method, path string) (status int, location, text string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.w.server.URL+path, nil)
	fatal(v.t, err)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := v.http.Do(r)
	fatal(v.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	fatal(v.t, err)
	return res.StatusCode, res.Header.Get("Location"), string(raw)
}

// begin returns the provider's address.
func (v *visitor) begin(back string) string {
	v.t.Helper()
	status, location, text := v.do("GET", "/session/sign-in?return="+url.QueryEscape(back))
	if status != http.StatusSeeOther {
		v.t.Fatalf("sign-in: %d %s", status, text)
	}
	return location
}

// finish opens the callback and returns where it leads to.
func (v *visitor) finish(answer url.Values) string {
	v.t.Helper()
	status, location, text := v.do("GET", oidc.CallbackPath+"?"+answer.Encode())
	if status != http.StatusSeeOther {
		v.t.Fatalf("callback: %d %s", status, text)
	}
	return location
}

type who struct {
	User *struct {
		ID         workspace.UserID
		Email      string
		Workspaces []people.Membership
	}
	SignIn  string `json:"sign_in"`
	SignOut string `json:"sign_out"`
}

func (v *visitor) session(method string) (a who) {
	v.t.Helper()
	status, _, text := v.do(method, "/session")
	if status != http.StatusOK {
		v.t.Fatalf("session: %d %s", status, text)
	}
	fatal(v.t, json.Unmarshal([]byte(text), &struct{ Data *who }{&a}))
	return a
}

// signIn signs in as the provider's person.
func (v *visitor) signIn() who {
	v.t.Helper()
	if to := v.finish(v.w.provider.approve(v.t, v.begin("/"))); to != "/" {
		v.t.Errorf("signing in leads to %s", to)
	}
	return v.session("GET")
}

// cookies returns the cookies of the browser by name.
func (v *visitor) cookies() map[string]string {
	u, err := url.Parse(v.w.server.URL)
	fatal(v.t, err)
	all := map[string]string{}
	for _, c := range v.http.Jar.Cookies(u) {
		all[c.Name] = c.Value
	}
	return all
}

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
	if c := v.cookies(); len(c) != 1 || c["__Host-atlas-sign-in"] == "" || strings.Contains(address, c["__Host-atlas-sign-in"]) {
		t.Errorf("the cookies of a sign-in are %v", c)
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
	if m := a.User.Workspaces; len(m) != 1 || m[0] != (people.Membership{Workspace: w.in, Name: "W", Role: people.Admin}) || ann.ID == want {
		t.Errorf("the workspaces of Ann are %+v", m)
	}
	if status, _, text := v.do("GET", workspacePath); status != 200 || !strings.Contains(text, `"role":"admin"`) {
		t.Errorf("the workspace: %d %s", status, text)
	}

	// What the provider gave stays on the server, and Redis gives no session away.
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

	// Out, at the provider too.
	if a := v.session("DELETE"); !strings.HasPrefix(a.SignOut, w.provider.URL+"/end?client_id=explorer&post_logout_redirect_uri=https%3A%2F%2F") || a.SignIn == "" {
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

// plant puts a cookie into the browser.
func (v *visitor) plant(name, value string) {
	u, err := url.Parse(v.w.server.URL)
	fatal(v.t, err)
	v.http.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/", Secure: true}})
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
		"no cookie":                 {oidc.Expired, nil, func(v *visitor, _ url.Values) { v.plant("__Host-atlas-sign-in", "") }},
		"an invented cookie":        {oidc.Expired, nil, func(v *visitor, _ url.Values) { v.plant("__Host-atlas-sign-in", strings.Repeat("A", 300)) }},
		"another browser's code": {oidc.Refused, nil, func(v *visitor, a url.Values) {
			// Eve makes Ann's browser finish with the code of Eve: PKCE and nonce are not hers.
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
		if c := v.cookies(); len(c) != 0 {
			t.Errorf("%s: the browser has %v", name, c)
		}
		if a := v.session("GET"); a.User != nil {
			t.Errorf("%s: signed in as %+v", name, a.User)
		}
	}

	// What was used works no more, even with the cookie.
	w.provider.set(func(p *provider) { p.sign = p.signed })
	v := w.visitor(t)
	answer := w.provider.approve(t, v.begin("/"))
	cookie := v.cookies()["__Host-atlas-sign-in"]
	if to := v.finish(answer); to != "/" {
		t.Errorf("signing in leads to %s", to)
	}
	if to := v.finish(answer); to != "/#sign-in-failed=expired" {
		t.Errorf("the callback again leads to %s", to)
	}
	replay := w.visitor(t)
	replay.plant("__Host-atlas-sign-in", cookie)
	if to := replay.finish(answer); to != "/#sign-in-failed=refused" || replay.session("GET").User != nil {
		t.Errorf("a replay leads to %s", to)
	}

	w.provider.Close()
	if to := v.finish(w.provider.approve(t, v.begin("/x"))); to != "/x#sign-in-failed=away" {
		t.Errorf("without the provider signing in leads to %s", to)
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

// Who signs in becomes a member whom an operator named only by a verified address, once.
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
	isMember("a second account with the address", as(jwt.MapClaims{"sub": "eve", "email": "ann@example.com", "email_verified": true}), false)

	// A subject that is a UUID is the user of an access token of the issuer too.
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
	// Who may choose a subject cannot choose the id that is made of another's.
	isMember("the id of Ann as a subject", as(jwt.MapClaims{"sub": ann.User.ID.String()}), false)

	// Some providers tell the address only when asked.
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

// A session that was there before is not the one of who signs in.
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
