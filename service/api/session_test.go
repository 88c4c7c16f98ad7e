package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/devstack/backends"
	"atlas/internal/fault"
	"atlas/service/api"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/service/endpoint"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/people"
)

// browser is a client with a cookie jar of one cookie.
type browser struct {
	base, cookie string
	set          *http.Cookie // the last Set-Cookie
}

// send sends a request as a page of the origin would; "" sends no Origin.
func (b *browser) send(t *testing.T, method, path, body string, header map[string]string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.base+path, strings.NewReader(body))
	fatal(t, err)
	if b.cookie != "" {
		r.Header.Set("Cookie", b.cookie)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	fatal(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	fatal(t, err)
	for _, c := range res.Cookies() {
		b.set, b.cookie = c, c.Name+"="+c.Value
		if c.MaxAge < 0 {
			b.cookie = ""
		}
	}
	return res.StatusCode, string(text)
}

func (b *browser) want(t *testing.T, what string, status int, method, path, body string, header map[string]string) string {
	t.Helper()
	got, text := b.send(t, method, path, body, header)
	if got != status {
		t.Errorf("%s: %d, want %d: %s", what, got, status, text)
	}
	return text
}

// sessions are the sessions of a world whose clock a test can advance.
func (w *world) sessions(t *testing.T, o session.Options) *session.Store {
	t.Helper()
	redis, err := credits.Open(backends.Redis(t))
	fatal(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	o.Prefix, o.Timeout, o.Now = "test:"+uuid.NewString()+":", 5*time.Second, w.now
	return session.New(redis, o)
}

// serveSessions serves the world once more, with sessions.
func (w *world) serveSessions(t *testing.T, s *session.Store, plain bool) string {
	t.Helper()
	server := &api.Server{
		Core: endpoint.Core{
			Gate:   w.server.Gate,
			Ledger: w.ledger,
			Log:    w.server.Log,
		},
		Search:       w.server.Search,
		Facets:       w.server.Facets,
		Workspaces:   w.server.Workspaces,
		People:       w.server.People,
		Sessions:     s,
		PlainCookies: plain,
		SignInLog:    w.system,
	}
	listening := httptest.NewServer(server.Handler())
	t.Cleanup(listening.Close)
	return listening.URL
}

const workspacePath = endpoint.Version + "/workspace"

func TestSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "W", workspace.Pro, 0)
	owner := w.member(t, in, "owner@example.com", people.Owner)
	m := w.member(t, in, "member@example.com", people.MemberRole)
	sessions := w.sessions(t, session.Options{})
	base := w.serveSessions(t, sessions, true)
	user := auth.User{ID: m.ID, Email: m.Email, EmailVerified: true, Name: m.Name}
	link := func() string {
		token, err := sessions.Link(t.Context(), user)
		fatal(t, err)
		return `{"token":"` + token + `"}`
	}
	b := &browser{base: base}
	if text := b.want(t, "nobody", 200, "GET", "/session", "", nil); text != `{"data":{"user":null,"sign_in_by_key":"/session/key"}}` {
		t.Errorf("nobody is %s", text)
	}
	b.want(t, "no cookie", 401, "GET", workspacePath, "", nil)

	// The link works once, from pages of this server only.
	body := link()
	for name, header := range map[string]map[string]string{
		"another site": {"Sec-Fetch-Site": "cross-site"}, "another port": {"Sec-Fetch-Site": "same-site"},
		"another origin": {"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
	} {
		b.want(t, "sign-in from "+name, 403, "POST", "/session", body, header)
	}
	text := b.want(t, "sign-in", 200, "POST", "/session", body, nil)
	if !strings.Contains(text, `"email":"member@example.com"`) || strings.Contains(text, "token") {
		t.Errorf("signed in: %s", text)
	}
	if c := b.set; c.Name != "atlas-development" || !c.HttpOnly || c.Secure || c.SameSite != http.SameSiteLaxMode ||
		c.Path != "/" || c.Domain != "" {
		t.Errorf("the cookie is %v", c)
	}
	b.want(t, "the link again", 401, "POST", "/session", body, nil)
	b.want(t, "no token", 400, "POST", "/session", `{}`, nil)
	b.want(t, "no JSON", 400, "POST", "/session", `token`, nil)
	b.want(t, "a long body", 413, "POST", "/session", `{"token":"`+strings.Repeat("x", 5000)+`"}`, nil)

	// The session is the member, with the same checks as a token.
	if text := b.want(t, "the workspace", 200, "GET", workspacePath, "", nil); !strings.Contains(text, `"role":"member"`) {
		t.Errorf("the workspace: %s", text)
	}
	b.want(t, "without workspace_id", 400, "GET", endpoint.Version+"/data/usage", "", nil)
	b.want(t, "another workspace", 403, "GET", workspacePath+"?workspace_id="+workspace.NewID().String(), "", nil)
	b.want(t, "for admins", 403, "DELETE", workspacePath+"/members/"+owner.ID.String(), "", nil)
	b.want(t, "a method that is not", 405, "PUT", "/session", "", nil)

	// Pages of other origins cannot use it, not even to read.
	for _, header := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
	} {
		b.want(t, "another origin", 403, "GET", workspacePath, "", header)
		b.want(t, "another origin", 403, "POST", workspacePath+"/views/upsert", `{}`, header)
		b.want(t, "another origin", 403, "DELETE", "/session", "", header)
	}
	b.want(t, "typed by the user", 200, "GET", workspacePath, "", map[string]string{"Sec-Fetch-Site": "none"})

	// A page that another user of the browser had opened cannot act.
	b.want(t, "the user's page", 200, "GET", workspacePath, "", map[string]string{"Atlas-User": m.ID.String()})
	b.want(t, "another user's page", 401, "GET", workspacePath, "", map[string]string{"Atlas-User": owner.ID.String()})

	// With an Authorization header, the session is ignored.
	b.want(t, "a bad token beside the cookie", 401, "GET", workspacePath, "", map[string]string{"Authorization": "Bearer x"})
	b.want(t, "an empty one", 401, "GET", workspacePath, "", map[string]string{"Authorization": ""})
	if text := b.want(
		t, "a token beside the cookie", 200, "GET", workspacePath, "",
		map[string]string{"Authorization": "Bearer " + tokenFor(t, owner)},
	); !strings.Contains(text, `"role":"owner"`) {
		t.Errorf("the token's workspace: %s", text)
	}

	stranger := &browser{base: base, cookie: "atlas-development=" + strings.Repeat("A", 26)}
	stranger.want(t, "an invented cookie", 401, "GET", workspacePath, "", nil)
	stranger.want(t, "a link as a cookie", 401, "GET", workspacePath, "", map[string]string{"Cookie": "atlas-development=" + link()[10:36]})

	// A second sign-in ends the first session.
	first := *b
	b.want(t, "sign in again", 200, "POST", "/session", link(), nil)
	first.want(t, "the first session", 401, "GET", workspacePath, "", nil)

	// A removal ends the session's access to the workspace. A sign-out elsewhere ends the
	// session.
	_, err := w.directory.AddMember(
		t.Context(), w.workspace(t, "Second", workspace.Pro, 0),
		people.Member{ID: m.ID, Email: m.Email, Name: m.Name, Role: people.MemberRole},
	)
	fatal(t, err)
	other := &browser{base: base}
	other.want(t, "a second browser", 200, "POST", "/session", link(), nil)
	w.call(t, tokenFor(t, owner), "DELETE", "/workspace/members/"+m.ID.String(), "").into(t, nil, nil)
	b.want(t, "a member that was removed", 403, "GET", workspacePath+"?workspace_id="+in.String(), "", nil)
	old := *b
	b.want(t, "sign out", 200, "DELETE", "/session", "", nil)
	if b.cookie != "" {
		t.Errorf("the browser keeps %s", b.cookie)
	}
	old.want(t, "the old cookie", 401, "GET", workspacePath, "", nil)
	b.want(t, "sign out again", 200, "DELETE", "/session", "", nil)
	if text := other.want(t, "the second browser", 200, "GET", "/session", "", nil); !strings.Contains(text, m.ID.String()) {
		t.Errorf("the second browser: %s", text)
	}

	// Lifetime and the age of links.
	body = link()
	w.move(session.LinkLifetime)
	other.want(t, "an old link", 401, "POST", "/session", body, nil)
	w.move(session.DefaultLifetime)
	other.want(t, "an old session", 401, "GET", workspacePath, "", nil)
	other.want(t, "an old session", 200, "GET", "/session", "", nil)
	if other.cookie != "" {
		t.Error("the cookie of an old session stays")
	}
}

func TestSessionEndsWhenIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	redis, err := credits.Open(backends.Redis(t))
	fatal(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	prefix := "test:" + uuid.NewString() + ":"
	sessions := session.New(redis, session.Options{Prefix: prefix, Timeout: 5 * time.Second, Idle: time.Hour, Now: w.now})
	token, err := sessions.Start(t.Context(), session.Grant{User: auth.User{ID: workspace.UserID(uuid.New())}})
	fatal(t, err)
	keys, err := redis.Keys(t.Context(), prefix+"*").Result()
	fatal(t, err)
	if len(keys) != 1 || strings.Contains(keys[0], token) {
		t.Fatalf("Redis has %q for the token %s", keys, token)
	}
	left := func() time.Duration {
		t.Helper()
		d, err := redis.PTTL(t.Context(), keys[0]).Result()
		fatal(t, err)
		return d
	}
	if d := left(); d <= 0 || d > time.Hour {
		t.Errorf("the session lasts %v without a request", d)
	}
	fatal(t, redis.PExpire(t.Context(), keys[0], time.Minute).Err())
	_, err = sessions.Get(t.Context(), token)
	fatal(t, err)
	if d := left(); d <= time.Minute || d > time.Hour {
		t.Errorf("after a request the session lasts %v", d)
	}
	fatal(t, redis.PExpire(t.Context(), keys[0], 0).Err())
	if _, err := sessions.Get(t.Context(), token); fault.CodeOf(err) != fault.Unauthorized {
		t.Errorf("an idle session: %v", err)
	}
	if n, err := redis.Exists(t.Context(), keys[0]).Result(); n != 0 || err != nil {
		t.Errorf("the request brought the session back: %d, %v", n, err)
	}
}

func TestSecureCookie(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sessions := w.sessions(t, session.Options{})
	b := &browser{base: w.serveSessions(t, sessions, false)}
	token, err := sessions.Link(t.Context(), auth.User{ID: workspace.UserID(uuid.New())})
	fatal(t, err)
	b.want(t, "sign-in", 200, "POST", "/session", `{"token":"`+token+`"}`, nil)
	if c := b.set; c.Name != "__Host-atlas" || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" ||
		c.SameSite != http.SameSiteLaxMode {
		t.Errorf("the cookie is %v", c)
	}
	b.cookie = "atlas-development=" + strings.TrimPrefix(b.cookie, "__Host-atlas=")
	b.want(t, "the token in the cookie of development", 401, "GET", workspacePath, "", nil)
}

func TestNoSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := &browser{base: strings.TrimSuffix(w.base, endpoint.Version), cookie: "__Host-atlas=x"}
	for _, method := range []string{"GET", "POST", "DELETE"} {
		b.want(t, method, 404, method, "/session", "", nil)
	}
	b.want(t, "the cookie", 401, "GET", workspacePath, "", nil)
}
