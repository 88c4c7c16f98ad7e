package auth_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/workspace"
	"atlas/workspace/people"
)

func TestCachedFor4SecondsFromTheStartOfTheRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{Secret: secret})
	ctx := t.Context()
	// The look-up takes a second.
	w.gate.set(nil, func(method string) {
		if method == "KeyByID" {
			w.clock.move(time.Second)
		}
	})
	try := func(name string, reads int, want fault.Code) {
		t.Helper()
		_, err := request(ctx, a, w.tokenOne, nil, false)
		wantCode(t, name, err, want)
		if n := w.gate.count("KeyByID"); n != reads {
			t.Errorf("%s: %d reads, want %d", name, n, reads)
		}
	}
	try("first", 1, "")
	_, err := w.directory.RevokeKey(ctx, w.keyOne.ID)
	fatal(t, err)
	w.clock.move(3*time.Second - time.Millisecond)
	try("just before 4 s", 1, "")
	w.clock.move(time.Millisecond)
	try("at 4 s", 2, fault.Forbidden)
}

func TestNeverStaleOnAnOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{Secret: secret})
	ctx := t.Context()
	alice := w.token(t, w.alice.ID, workspace.ID{})
	try := func(name string, want fault.Code) {
		t.Helper()
		for _, token := range []string{w.tokenOne, alice} {
			_, err := request(ctx, a, token, nil, false)
			wantCode(t, name, err, want)
		}
	}
	try("up", "")
	w.gate.set(fault.BackendUnavailable(errors.New("gone"), "postgres"), nil)
	try("down, within 4 s", "")
	w.clock.move(4 * time.Second)
	try("down", fault.Unavailable)
	_, err := request(ctx, a, w.tokenNever, nil, false)
	wantCode(t, "an unknown key while down", err, fault.Unavailable)
	w.gate.set(errors.New("a surprise"), nil)
	try("any other error", fault.Unavailable)
	w.gate.set(nil, nil)
	try("up again", "")
}

func TestOnlyUnknownKeysAreCachedAsUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{Secret: secret})
	ctx := t.Context()
	for range 3 {
		_, err := request(ctx, a, w.tokenNever, nil, false)
		wantCode(t, "an unknown key", err, fault.Unauthorized)
	}
	if n := w.gate.count("KeyByID"); n != 1 {
		t.Errorf("an unknown key was read %d times within 4 s", n)
	}
	w.clock.move(4 * time.Second)
	_, err := request(ctx, a, w.tokenNever, nil, false)
	wantCode(t, "an unknown key", err, fault.Unauthorized)
	if n := w.gate.count("KeyByID"); n != 2 {
		t.Errorf("an unknown key was read %d times after 4 s", n)
	}
	// A new membership takes effect at once.
	dan := w.token(t, w.dan, workspace.ID{})
	in := []string{w.one.ID.String()}
	_, err = request(ctx, a, dan, in, true)
	wantCode(t, "no member", err, fault.Forbidden)
	_, err = request(ctx, a, dan, nil, false)
	wantCode(t, "no workspace", err, fault.BadRequest)
	_, err = w.directory.AddMember(ctx, w.one.ID, people.Member{ID: w.dan, Email: "dan@example.com", Name: "Dan", Role: people.MemberRole})
	fatal(t, err)
	_, err = request(ctx, a, dan, in, true)
	wantCode(t, "a member now", err, "")
	_, err = request(ctx, a, dan, nil, false)
	wantCode(t, "their only workspace", err, "")
}

func TestPlanAndRoleChangeWithin5Seconds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{Secret: secret})
	ctx := t.Context()
	alice := w.token(t, w.alice.ID, workspace.ID{})
	p, err := request(ctx, a, alice, nil, false)
	fatal(t, err)
	wantCode(t, "an admin", p.RequireAdmin(), "")
	_, err = w.directory.EnsureMember(ctx, w.one.ID, people.Member{ID: w.alice.ID, Email: w.alice.Email, Name: "A", Role: people.MemberRole})
	fatal(t, err)
	w.clock.move(4 * time.Second)
	p, err = request(ctx, a, alice, nil, false)
	fatal(t, err)
	wantCode(t, "no admin any more", p.RequireAdmin(), fault.Forbidden)
	free := workspace.Free
	_, err = w.directory.SetWorkspace(ctx, w.one.ID, people.WorkspaceChange{Plan: &free})
	fatal(t, err)
	w.clock.move(4 * time.Second)
	_, err = request(ctx, a, alice, nil, false)
	wantCode(t, "free now", err, fault.Forbidden)
}

func TestOneReadForManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{})
	const callers = 50
	arrived, go_ := make(chan struct{}, callers), make(chan struct{})
	var once sync.Once
	w.gate.set(nil, func(method string) {
		if method == "KeyByID" {
			// The first look-up waits until all callers have started.
			once.Do(func() {
				for range callers {
					<-arrived
				}
			})
			<-go_
		}
	})
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			arrived <- struct{}{}
			_, err := a.Authenticate(t.Context(), []string{"Bearer " + w.tokenOne})
			wantCode(t, "one of many", err, "")
		})
	}
	close(go_)
	group.Wait()
	// A caller that arrives after the look-up has ended finds the cached result: there
	// is one look-up in every order of events.
	if n := w.gate.count("KeyByID"); n != 1 {
		t.Errorf("%d reads for %d callers", n, callers)
	}
}

func TestUseIsNotedOnceAMinuteAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{})
	ctx := t.Context()
	stuck := make(chan struct{})
	w.gate.set(nil, func(method string) {
		if method == "TouchKey" {
			<-stuck
		}
	})
	for range 5 {
		_, err := request(ctx, a, w.tokenOne, nil, false) // while the store hangs
		fatal(t, err)
		w.clock.move(11 * time.Second)
	}
	w.clock.move(5 * time.Second) // a minute after the first
	_, err := request(ctx, a, w.tokenOne, nil, false)
	fatal(t, err)
	noted := func() *time.Time {
		k, err := w.gate.System.KeyByID(ctx, w.keyOne.ID)
		fatal(t, err)
		return k.LastUsedAt
	}
	if at := noted(); at != nil {
		t.Fatalf("noted at %v, while the store hung", at)
	}
	close(stuck)
	a.Close() // writes what waits
	if n := w.gate.count("TouchKey"); n != 2 {
		t.Errorf("%d notes of 6 uses in a minute, want 2", n)
	}
	if noted() == nil {
		t.Error("no use is noted")
	}
}
