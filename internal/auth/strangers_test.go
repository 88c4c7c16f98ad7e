package auth_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"atlas/internal/auth"
	"atlas/internal/fault"
	"atlas/workspace"
)

// TestInventedKeysLeaveRoomForKnownOnes: while look-ups hang, those of keys that
// nobody has seen are bounded and refused beyond that, at once; a key that was
// seen before is looked up beside them.
func TestInventedKeysLeaveRoomForKnownOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{Secret: secret})
	authenticate := func(token string) error {
		_, err := a.Authenticate(t.Context(), []string{"Bearer " + token})
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
	answers := make(chan error, auth.MaxStrangers+beyond)
	for range auth.MaxStrangers + beyond {
		go func() { answers <- authenticate(workspace.NewSecret().Token(workspace.NewKeyID())) }()
	}
	for range beyond {
		err := <-answers // none of the others can be answered
		_, shed := errors.AsType[fault.Shed](err)
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != fault.Unavailable || e.RetryAfter != time.Second || !shed {
			t.Errorf("beyond the bound: %v", err)
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
	wantCode(t, "the known key beside them", <-known, "")
	for range auth.MaxStrangers {
		wantCode(t, "an invented key", <-answers, fault.Unauthorized)
	}
	wantCode(t, "one more, when they are done", authenticate(w.tokenNever), fault.Unauthorized)
}
