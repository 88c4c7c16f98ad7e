package auth_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/workspace"
	"atlas/workspace/people"
)

// A server with a key in its cache accepts a secret that the key got later. Guesses of a
// secret cost one look-up in 4 s, and a misspelled key costs none.
func TestSecretThatIsNewerThanTheCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{})
	ctx := t.Context()
	try := func(name, token string, want fault.Code) {
		t.Helper()
		_, err := request(ctx, a, token, nil, false)
		wantCode(t, name, err, want)
	}
	try("the first secret", w.tokenOne, "")
	_, second, err := w.directory.RotateKey(ctx, w.keyOne.ID, time.Hour)
	fatal(t, err)
	try("the second, at once", second, "")
	try("the first, which is good for an hour", w.tokenOne, "")
	before := w.gate.count("KeyByID")
	for range 20 {
		try("a guess", workspace.NewSecret().Token(w.keyOne.ID), fault.Unauthorized)
		try("the second beside guesses", second, "")
		try("a slip", second[:len(second)-1]+string(second[len(second)-1]^1), fault.Unauthorized)
	}
	if n := w.gate.count("KeyByID") - before; n > 1 {
		t.Errorf("%d look-ups for guesses", n)
	}
	w.clock.move(time.Hour)
	try("the first after its hour", w.tokenOne, fault.Forbidden)
	try("the second after that", second, "")
}

// A guess of a secret does not evict a key from the cache: while look-ups fail, and while
// those of strangers use up their places, the real secret still works.
func TestGuessesKeepAKeyInTheCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{})
	ctx := t.Context()
	try := func(name, token string, want fault.Code) {
		t.Helper()
		_, err := request(ctx, a, token, nil, false)
		wantCode(t, name, err, want)
	}
	try("the key", w.tokenOne, "")
	w.gate.set(fault.BackendUnavailable(errors.New("down"), "postgres"), nil)
	try("a guess while look-ups fail", workspace.NewSecret().Token(w.keyOne.ID), fault.Unavailable)
	try("the key while look-ups fail", w.tokenOne, "")
	w.gate.set(nil, nil)
	w.clock.move(time.Minute)
	try("the key, later", w.tokenOne, "")

	hang := make(chan struct{})
	defer close(hang)
	w.gate.set(nil, func(string) { <-hang })
	before := w.gate.count("KeyByID")
	for range auth.MaxColdLookups {
		go func() { _, _ = request(ctx, a, workspace.NewSecret().Token(workspace.NewKeyID()), nil, false) }()
	}
	for w.gate.count("KeyByID") < before+auth.MaxColdLookups {
		time.Sleep(time.Millisecond)
	}
	w.gate.set(nil, nil)
	try("a guess beside strangers", workspace.NewSecret().Token(w.keyOne.ID), fault.Unauthorized)
	try("the key beside strangers", w.tokenOne, "")
}

// The limits of a key are cached with it: using a key needs no further look-up.
func TestNetworksNeedNoLookUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{})
	ctx := t.Context()
	_, token, err := w.directory.CreateKey(ctx, people.NewKey{
		Name: "k", Workspaces: []workspace.ID{w.one.ID}, Networks: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")},
	})
	fatal(t, err)
	for range 10 {
		for from, want := range map[netip.Addr]fault.Code{
			netip.MustParseAddr("203.0.113.7"): "", netip.MustParseAddr("198.51.100.1"): fault.Forbidden, {}: fault.Forbidden,
		} {
			i, err := a.Authenticate(ctx, []string{"Bearer " + token})
			fatal(t, err)
			_, err = a.Authorize(ctx, i.From(from), w.one.ID)
			wantCode(t, from.String(), err, want)
		}
	}
	if n := w.gate.count("KeyByID"); n != 1 {
		t.Errorf("%d look-ups of a key", n)
	}
}

// BenchmarkAuthenticate is the cost of authenticating a request with a key, in each form.
func BenchmarkAuthenticate(b *testing.B) {
	id, secret := workspace.NewKeyID(), workspace.NewSecret()
	for name, token := range map[string]string{"checked": secret.Token(id), "plain": "atlas_" + secret.Text(id)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, s, err := workspace.ParseKey(token); err != nil || !s.Matches(secret.Hash()) {
					b.Fatal(err)
				}
			}
		})
	}
}
