package api_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"atlas/service/api"
	"atlas/service/auth"
	"atlas/service/endpoint"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/people"
)

// logged are the lines of a log.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// take returns the lines since the last call, once that of a request is there: it is
// written after the answer.
func (l *logged) take(t *testing.T) (lines []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for until := time.Now().Add(30 * time.Second); !bytes.Contains(l.text.Bytes(), []byte(`"msg":"request"`)); {
		if time.Now().After(until) {
			t.Fatalf("no request is logged: %s", l.text.String())
		}
		l.mu.Unlock()
		time.Sleep(time.Millisecond)
		l.mu.Lock()
	}
	for _, text := range bytes.Split(bytes.TrimSpace(l.text.Bytes()), []byte("\n")) {
		var line map[string]any
		fatal(t, json.Unmarshal(text, &line))
		lines = append(lines, line)
	}
	l.text.Reset()
	return lines
}

// Each line of a request has its origin and sender; signing in and out have lines of their
// own.
func TestLinesSayWhoAndFromWhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "W", workspace.Pro, 0)
	m := w.member(t, in, "member@example.com", people.MemberRole)
	keyID, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	sessions := w.sessions(t, session.Options{})
	log := &logged{}
	server := &api.Server{
		Core: endpoint.Core{
			Gate:   w.server.Gate,
			Ledger: w.ledger,
			Log:    slog.New(slog.NewJSONHandler(log, nil)),
		},
		Workspaces:   w.server.Workspaces,
		People:       w.server.People,
		Sessions:     sessions,
		PlainCookies: true,
	}
	listening := httptest.NewServer(server.Handler())
	t.Cleanup(listening.Close)
	link, err := sessions.Link(t.Context(), auth.User{ID: m.ID, Email: m.Email})
	fatal(t, err)

	b := &browser{base: listening.URL}
	user, byKey, nobody := m.ID.String(), keyID.String(), ""
	for _, step := range []struct {
		what, method, path, body string
		header                   map[string]string
		status                   int
		user, key                string
		event                    string // a second line
	}{
		{"a refused link", "POST", "/session", `{"token":"x"}`, nil, 401, nobody, nobody, "signing in was refused"},
		{
			"a refused key", "POST", "/session/key", `{"key":"` + workspace.NewSecret().Token(keyID) + `"}`, nil, 401,
			nobody, nobody, "signing in was refused",
		},
		{"a link", "POST", "/session", `{"token":"` + link + `"}`, nil, 200, user, nobody, "signed in"},
		{"a session", "GET", "/session", "", nil, 200, user, nobody, ""},
		{"a request of a session", "GET", workspacePath, "", nil, 200, user, nobody, ""},
		{"a refused request", "DELETE", workspacePath + "/members/" + user, "", nil, 403, user, nobody, ""},
		{
			"another workspace", "GET", workspacePath + "?workspace_id=" + workspace.NewID().String(), "",
			map[string]string{"Authorization": "Bearer " + key}, 403, nobody, byKey, "",
		},
		{"the end", "DELETE", "/session", "", nil, 200, user, nobody, "signed out"},
		{"nobody", "GET", "/session", "", nil, 200, nobody, nobody, ""},
		{
			"an invented key", "GET", workspacePath, "",
			map[string]string{"Authorization": "Bearer " + workspace.NewSecret().Token(keyID)}, 401, nobody, nobody,
			"",
		},
		{"a key", "GET", workspacePath, "", map[string]string{"Authorization": "Bearer " + key}, 200, nobody, byKey, ""},
		{"a session of a key", "POST", "/session/key", `{"key":"` + key + `"}`, nil, 200, nobody, byKey, "signed in"},
		{"its end", "DELETE", "/session", "", nil, 200, nobody, byKey, "signed out"},
	} {
		b.want(t, step.what, step.status, step.method, step.path, step.body, step.header)
		events := map[string]bool{}
		for _, line := range log.take(t) {
			events[line["msg"].(string)] = true
			text := func(name string) string { s, _ := line[name].(string); return s }
			if text("client") != "127.0.0.1" || text("user") != step.user || text("key") != step.key {
				t.Errorf("%s: %v, want user %q and key %q", step.what, line, step.user, step.key)
			}
		}
		if !events["request"] || step.event != "" && !events[step.event] {
			t.Errorf("%s: the log has %v, want request and %q", step.what, events, step.event)
		}
	}
}

// The requests of an agent's tools have the agent's address.
func TestLinesOfTools(t *testing.T) {
	t.Parallel()
	log := &logged{}
	a := newAgents(t, 0, func(s *api.Server) { s.Log = slog.New(slog.NewJSONHandler(log, nil)) })
	a.agent(t, a.key, nil).call("credits", `{}`)
	var tools int
	for _, line := range log.take(t) {
		if line["msg"] == "request" && line["operation"] == "get_usage" {
			tools++
		}
		if line["msg"] == "request" && (line["client"] != "127.0.0.1" || line["key"] == nil) {
			t.Errorf("a line has %v", line)
		}
	}
	if tools == 0 {
		t.Error("no tool sent a request")
	}
}
