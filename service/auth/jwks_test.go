package auth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/internal/fault"
	"atlas/service/auth"
)

func jwksFile(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// issuer serves a JWKS that can be changed.
type issuer struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	text   []byte
	reads  atomic.Int32
}

func newIssuer(t *testing.T, signers ...signer) *issuer {
	t.Helper()
	i := &issuer{}
	i.serve(http.StatusOK, jwksOf(signers...))
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		i.reads.Add(1)
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.status == http.StatusFound {
			w.Header().Set("Location", "http://evil.example/keys")
		}
		w.WriteHeader(i.status)
		_, _ = w.Write(i.text)
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) serve(status int, text []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status, i.text = status, text
}

func (s signer) token(t testing.TB) string {
	return sign(t, s.method, s.private, map[string]any{"kid": s.kid}, with(nil))
}

func TestRotationWithoutARestart(t *testing.T) {
	t.Parallel()
	first, second, third := newSigner(t, "1", "ES256"), newSigner(t, "2", "EdDSA"), newSigner(t, "3", "ES256")
	i := newIssuer(t, first)
	c := &clock{at: tokenTime}
	a := configured(t, auth.Config{JWKS: i.URL, Now: c.Now, JWKSMinInterval: 10 * time.Second, JWKSRefresh: time.Hour})
	checkToken(t, a, "the first key", first.token(t), true)
	i.serve(http.StatusOK, jwksOf(second))
	checkToken(t, a, "the first key, withdrawn but not yet read", first.token(t), true)

	// Many requests have the new key at the same time: one triggers a read and is
	// accepted. The others are accepted or get unavailable.
	before := i.reads.Load()
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := a.Authenticate(t.Context(), []string{"Bearer " + second.token(t)}); fault.CodeOf(err) != fault.Unavailable {
				wantCode(t, "the new key", err, "")
			}
		})
	}
	group.Wait()
	checkToken(t, a, "the new key, read", second.token(t), true)
	if n := i.reads.Load() - before; n != 1 {
		t.Errorf("%d readings for one new key", n)
	}
	checkToken(t, a, "the first key, withdrawn", first.token(t), false)

	// Invented keys do not trigger further reads.
	before = i.reads.Load()
	for range 20 {
		checkToken(t, a, "an invented key", third.token(t), false)
	}
	if n := i.reads.Load() - before; n != 0 {
		t.Errorf("%d readings for invented keys within the interval", n)
	}
	i.serve(http.StatusOK, jwksOf(second, third))
	c.move(10 * time.Second)
	checkToken(t, a, "the third key", third.token(t), true)
	checkToken(t, a, "the second key", second.token(t), true)
}

func TestRotationOfAFile(t *testing.T) {
	t.Parallel()
	first, second := newSigner(t, "1", "ES256"), newSigner(t, "2", "ES256")
	path := jwksFile(t, jwksOf(first))
	a := configured(t, auth.Config{JWKS: path})
	checkToken(t, a, "the first key", first.token(t), true)
	fatal(t, os.WriteFile(path, jwksOf(second), 0o600))
	checkToken(t, a, "the second key", second.token(t), true)
}

func TestReadAtAnInterval(t *testing.T) {
	t.Parallel()
	first, second := newSigner(t, "1", "ES256"), newSigner(t, "2", "ES256")
	i := newIssuer(t, first)
	a := configured(t, auth.Config{JWKS: i.URL, JWKSRefresh: 10 * time.Millisecond})
	i.serve(http.StatusOK, jwksOf(second))
	// Without a token of the new key the periodic read removes the old key.
	for deadline := time.Now().Add(10 * time.Second); ; {
		_, err := a.Authenticate(t.Context(), []string{"Bearer " + first.token(t)})
		if fault.CodeOf(err) == fault.Unauthorized {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a withdrawn key stays in force")
		}
	}
}

func TestUnreachableIssuerKeepsTheKnownKeys(t *testing.T) {
	t.Parallel()
	own, other := newSigner(t, "own", "ES256"), newSigner(t, "other", "ES256")
	c := &clock{at: tokenTime}
	for name, broken := range map[string]struct {
		status int
		text   []byte
	}{
		"an error":              {http.StatusInternalServerError, nil},
		"an error with keys":    {http.StatusInternalServerError, jwksOf(other)},
		"a redirect":            {http.StatusFound, jwksOf(other)},
		"no JSON":               {http.StatusOK, []byte("<html>")},
		"no keys":               {http.StatusOK, []byte(`{"keys":[]}`)},
		"another JSON":          {http.StatusOK, []byte(`{"error":"x"}`)},
		"more than anyone has":  {http.StatusOK, append(jwksOf(other), []byte(strings.Repeat(" ", 1<<20))...)},
		"only keys of no use":   {http.StatusOK, []byte(`{"keys":[{"kty":"oct","kid":"other","k":"AAAA"}]}`)},
		"a key without a value": {http.StatusOK, []byte(`{"keys":[{"kty":"EC","crv":"P-256","kid":"other"}]}`)},
	} {
		i := newIssuer(t, own)
		a := configured(t, auth.Config{JWKS: i.URL, Now: c.Now, JWKSRefresh: time.Hour})
		fatal(t, a.Ready())
		i.serve(broken.status, broken.text)
		checkToken(t, a, name+": an unknown key", other.token(t), false)
		checkToken(t, a, name+": a known key", own.token(t), true)
		wantCode(t, name+": readiness", a.Ready(), fault.Unavailable)
		i.serve(http.StatusOK, jwksOf(own, other))
		c.move(10 * time.Second)
		checkToken(t, a, name+": mended", other.token(t), true)
		wantCode(t, name+": readiness, mended", a.Ready(), "")
	}
}

func TestIssuerDownAtTheStart(t *testing.T) {
	t.Parallel()
	own := newSigner(t, "own", "ES256")
	i := newIssuer(t, own)
	i.serve(http.StatusServiceUnavailable, nil)
	c := &clock{at: tokenTime}
	a := configured(t, auth.Config{JWKS: i.URL, Now: c.Now, JWKSRefresh: time.Hour})
	wantCode(t, "readiness", a.Ready(), fault.Unavailable)
	for name, token := range map[string]string{
		"with a key id":    own.token(t),
		"without a key id": sign(t, own.method, own.private, nil, with(nil)),
	} {
		_, err := a.Authenticate(t.Context(), []string{"Bearer " + token})
		e, ok := errors.AsType[*fault.Error](err)
		if !ok || e.Code != fault.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	checkToken(t, a, "what is no token at all", "hello", false)
	i.serve(http.StatusOK, jwksOf(own))
	c.move(10 * time.Second)
	checkToken(t, a, "once it is up", own.token(t), true)
	wantCode(t, "readiness", a.Ready(), "")
}

func TestAFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := auth.New(nil, auth.Config{JWKS: filepath.Join(t.TempDir(), "none.json")}); err == nil {
		t.Error("accepted")
	}
}
