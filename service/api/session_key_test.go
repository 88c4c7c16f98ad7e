package api_test

import (
	"strings"
	"testing"

	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/people"
)

// In development an API key is exchanged for a session with the permissions of the key.
func TestSignInByKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "W", workspace.Pro, 0)
	owner := w.member(t, in, "owner@example.com", people.Owner)
	id, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: []workspace.Scope{workspace.WorkspaceRead}})
	b := &browser{base: w.serveSessions(t, w.sessions(t, session.Options{}), true)}
	body := func(key string) string { return `{"key":"` + key + `"}` }
	b.want(t, "another site", 403, "POST", "/session/key", body(key), map[string]string{"Sec-Fetch-Site": "cross-site"})
	b.want(t, "no key", 400, "POST", "/session/key", `{}`, nil)
	b.want(t, "a token", 401, "POST", "/session/key", body(tokenFor(t, owner)[:100]), nil)
	b.want(t, "an invented key", 401, "POST", "/session/key", body(key[:len(key)-4]+"AAAA"), nil)
	if b.cookie != "" {
		t.Errorf("what is refused gets the cookie %s", b.cookie)
	}
	text := b.want(t, "the key", 200, "POST", "/session/key", body(key), nil)
	if !strings.Contains(text, in.String()) || strings.Contains(text+b.cookie, key) || !b.set.HttpOnly {
		t.Errorf("signed in: %s, %v", text, b.set)
	}
	if again := b.want(t, "the session", 200, "GET", "/session", "", nil); again != text {
		t.Errorf("the session is %s", again)
	}
	if text := b.want(t, "the workspace", 200, "GET", workspacePath, "", nil); !strings.Contains(text, `"role":null`) {
		t.Errorf("the workspace: %s", text)
	}
	b.want(t, "beyond its scopes", 403, "POST", workspacePath+"/views/upsert", `{}`, nil)
	_, err := w.directory.RevokeKey(t.Context(), id)
	fatal(t, err)
	waitUntil(t, "the key is revoked", func() bool {
		status, _ := b.send(t, "GET", workspacePath, "", nil)
		return status != 200
	}, func() string { return "the session still reads the workspace" })
}

func TestNoSignInByKeyInProduction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "W", workspace.Pro, 0)}})
	b := &browser{base: w.serveSessions(t, w.sessions(t, session.Options{}), false)}
	b.want(t, "the key", 404, "POST", "/session/key", `{"key":"`+key+`"}`, nil)
	if text := b.want(t, "nobody", 200, "GET", "/session", "", nil); text != `{"data":{"user":null}}` || b.cookie != "" {
		t.Errorf("nobody is %s", text)
	}
}
