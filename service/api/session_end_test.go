package api_test

import (
	"strings"
	"testing"
	"time"

	"atlas/service/auth"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/people"
)

// Sessions end with the person's last membership, or when the operator signs them out. They
// may sign in again.
func TestSessionsEndWithThePerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.workspace(t, "One", workspace.Pro, 0), w.workspace(t, "Two", workspace.Pro, 0)
	m := w.member(t, one, "member@example.com", people.MemberRole)
	_, err := w.directory.AddMember(t.Context(), two, people.Member{ID: m.ID, Email: m.Email, Name: m.Name, Role: people.MemberRole})
	fatal(t, err)
	w.member(t, one, "owner@example.com", people.Owner)
	stays := w.member(t, one, "stays@example.com", people.MemberRole)
	sessions := w.sessions(t, session.Options{})
	base := w.serveSessions(t, sessions, true)
	signIn := func(m people.Member) *browser {
		t.Helper()
		token, err := sessions.Link(t.Context(), auth.User{ID: m.ID, Email: m.Email, EmailVerified: true, Name: m.Name})
		fatal(t, err)
		b := &browser{base: base}
		b.want(t, "sign-in", 200, "POST", "/session", `{"token":"`+token+`"}`, nil)
		return b
	}
	first, second, other := signIn(m), signIn(m), signIn(stays)
	at := func(in workspace.ID) string { return workspacePath + "?workspace_id=" + in.String() }
	remove := func(in workspace.ID) {
		t.Helper()
		removed, err := w.server.People.Members.Remove(t.Context(), in, people.OperatorActor, m.ID)
		fatal(t, err)
		if !removed {
			t.Error("nobody was removed")
		}
	}
	gone := func(name string, b *browser) {
		t.Helper()
		b.want(t, name, 401, "GET", at(two), "", nil)
		if text := b.want(t, name, 200, "GET", "/session", "", nil); !strings.Contains(text, `"user":null`) || b.cookie != "" {
			t.Errorf("%s: %s, the cookie %q", name, text, b.cookie)
		}
	}

	remove(one)
	first.want(t, "after one of two memberships, there", 403, "GET", at(one), "", nil)
	first.want(t, "after one of two memberships", 200, "GET", at(two), "", nil)
	remove(two)
	gone("after the last membership", first)
	gone("after the last membership, another browser", second)
	other.want(t, "another's session", 200, "GET", at(one), "", nil)

	// A person without a membership may sign in, to accept an invitation.
	again := signIn(m)
	again.want(t, "signed in again", 403, "GET", at(two), "", nil)

	// The operator's command takes effect on servers within 5 s.
	u, err := w.directory.SignOutUser(t.Context(), stays.ID)
	fatal(t, err)
	if u.Email != stays.Email {
		t.Errorf("signed out: %+v", u)
	}
	for until := time.Now().Add(5 * time.Second); ; {
		if status, _ := other.send(t, "GET", at(one), "", nil); status == 401 {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the session goes on for longer than 5 s")
		}
		time.Sleep(50 * time.Millisecond)
	}
	gone("after the sign-out", other)
	signIn(stays).want(t, "signed in after it", 200, "GET", at(one), "", nil)
	again.want(t, "another's session", 403, "GET", at(two), "", nil)
	if _, err := w.directory.SignOutUser(t.Context(), workspace.NewUserID()); err == nil {
		t.Error("nobody was signed out")
	}
}
