package postgres_test

import (
	"sync"
	"testing"

	"atlas/workspace"
	"atlas/workspace/people"
)

// Whichever way the last membership ends, the sessions end with it, also when the last two
// end at once.
func TestSignedOutWithTheLastMembership(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	signedOut := func(user workspace.UserID) bool {
		t.Helper()
		at, err := w.system.SignedOut(t.Context(), user)
		fatal(t, err)
		return !at.IsZero()
	}
	add := func(name string) workspace.UserID {
		t.Helper()
		m, err := w.directory.AddMember(t.Context(), w.one.ID, people.Member{Email: name + "@example.com", Name: name, Role: people.MemberRole})
		fatal(t, err)
		_, err = w.directory.AddMember(t.Context(), w.two.ID, people.Member{ID: m.ID, Email: m.Email, Name: name, Role: people.MemberRole})
		fatal(t, err)
		return m.ID
	}
	remove := func(s people.MemberStore, in workspace.ID, user workspace.UserID) error {
		_, err := people.NewMembers(s, nil).Remove(t.Context(), in, people.OperatorActor, user)
		return err
	}
	ann := add("Ann")
	fatal(t, remove(w.app, w.one.ID, ann))
	if signedOut(ann) {
		t.Error("signed out after the first of two")
	}
	fatal(t, remove(w.app, w.two.ID, ann)) // the server sees one workspace alone
	if !signedOut(ann) {
		t.Error("the session outlives the last membership")
	}

	ben := add("Ben")
	_, err := w.system.Pool().Exec(t.Context(), `DELETE FROM members WHERE user_id = $1`, ben.String())
	fatal(t, err)
	if !signedOut(ben) {
		t.Error("the session outlives a deletion by hand")
	}

	for range 10 {
		both := add("Cleo")
		var removals sync.WaitGroup
		for s, in := range map[people.MemberStore]workspace.ID{w.app: w.one.ID, w.system: w.two.ID} {
			removals.Go(func() {
				if err := remove(s, in, both); err != nil {
					t.Error(err)
				}
			})
		}
		removals.Wait()
		if !signedOut(both) {
			t.Error("the session outlives two removals at once")
		}
	}
	if signedOut(workspace.NewUserID()) {
		t.Error("an unknown user is signed out")
	}
}
