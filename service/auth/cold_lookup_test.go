package auth_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/workspace"
)

// TestColdLookupsAreBounded: while look-ups hang, those of unknown keys, and of users in
// workspaces that they are not a member of, are refused at once above the limit. A known
// key is looked up all the same.
func TestColdLookupsAreBounded(t *testing.T) {
	t.Parallel()
	for kind, unknown := range map[string]func(*world) string{
		"keys":  func(*world) string { return workspace.NewSecret().Token(workspace.NewKeyID()) },
		"users": func(w *world) string { return w.token(t, workspace.NewUserID(), workspace.ID{}) },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			testColdLookups(t, unknown)
		})
	}
}

func testColdLookups(t *testing.T, unknown func(*world) string) {
	w := newWorld(t)
	a := w.auth(t, auth.Config{Secret: secret})
	authenticate := func(token string) error {
		_, err := request(t.Context(), a, token, []string{w.one.ID.String()}, false)
		return err
	}
	wantCode(t, "the known key", authenticate(w.tokenOne), "")
	w.clock.move(time.Minute) // it is looked up again

	hang := make(chan struct{})
	var opened sync.Once
	release := func() { opened.Do(func() { close(hang) }) }
	defer release()
	w.gate.set(nil, func(string) { <-hang })
	const beyond = 50
	answers := make(chan error, auth.MaxColdLookups+beyond)
	for range auth.MaxColdLookups + beyond {
		go func() { answers <- authenticate(unknown(w)) }()
	}
	for range beyond {
		err := <-answers // only the refused ones are answered
		_, shed := errors.AsType[fault.Shed](err)
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != fault.Unavailable || e.RetryAfter != time.Second || !shed {
			t.Errorf("above the limit: %v", err)
		}
	}
	before := w.gate.count("KeyByID")
	known := make(chan error, 1)
	go func() { known <- authenticate(w.tokenOne) }()
	for deadline := time.Now().Add(10 * time.Second); w.gate.count("KeyByID") == before; {
		if time.Now().After(deadline) {
			t.Fatal("the known key is not looked up")
		}
	}
	release()
	wantCode(t, "the known key meanwhile", <-known, "")
	for range auth.MaxColdLookups {
		if code := fault.CodeOf(<-answers); code != fault.Unauthorized && code != fault.Forbidden {
			t.Errorf("an unknown one: %s", code)
		}
	}
	wantCode(t, "one more, when they are done", authenticate(w.tokenNever), fault.Unauthorized)
}
