package api_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"atlas/service/api"
	"atlas/service/endpoint"
	"atlas/service/oidc"
	"atlas/service/session"
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

func newSignInWorld(t *testing.T, change ...func(*api.Server)) *signInWorld {
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
	}, w.system, w.sessions(t, session.Options{}))
	t.Cleanup(signIn.Close)
	s := &api.Server{
		Core: endpoint.Core{
			Gate:   w.world.server.Gate,
			Ledger: w.ledger,
			Log:    log,
		},
		Search:      w.world.server.Search,
		Facets:      w.world.server.Facets,
		Workspaces:  w.world.server.Workspaces,
		People:      w.world.server.People,
		Memberships: w.system,
		SignIn:      signIn,
		Sessions:    w.sessions(t, session.Options{Renew: signIn.Renew}),
	}
	for _, each := range change {
		each(s)
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
	return &visitor{t, w, &http.Client{
		Transport: w.server.Client().Transport, Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
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

// finish opens the callback and returns the address that it redirects to.
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

// plant puts a cookie into the browser.
func (v *visitor) plant(name, value string) {
	u, err := url.Parse(v.w.server.URL)
	fatal(v.t, err)
	v.http.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/", Secure: true}})
}

// flow returns the name of the only cookie, which must be that of a sign-in in progress.
func (v *visitor) flow() (name string) {
	v.t.Helper()
	all := v.cookies()
	for name = range all {
	}
	if len(all) != 1 || !strings.HasPrefix(name, "__Host-atlas-sign-in-") {
		v.t.Errorf("the cookies of a sign-in are %v", all)
	}
	return name
}
