package auth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/internal/fault"
	"atlas/service/auth"
)

// hangingIssuer serves a JWKS and does not answer while it hangs.
type hangingIssuer struct {
	*httptest.Server
	mu    sync.Mutex
	hang  chan struct{} // nil: it answers
	text  []byte
	reads atomic.Int32
}

func newHangingIssuer(t *testing.T, signers ...signer) *hangingIssuer {
	t.Helper()
	i := &hangingIssuer{text: jwksOf(signers...)}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.reads.Add(1)
		i.mu.Lock()
		hang := i.hang
		i.mu.Unlock()
		if hang != nil {
			select {
			case <-hang:
			case <-r.Context().Done():
				return
			}
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		_, _ = w.Write(i.text)
	}))
	t.Cleanup(func() { i.answers(); i.Close() })
	return i
}

func (i *hangingIssuer) hangs() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hang = make(chan struct{})
}

// answers makes it answer again, also the requests in progress.
func (i *hangingIssuer) answers() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.hang != nil {
		close(i.hang)
		i.hang = nil
	}
}

func (i *hangingIssuer) serve(signers ...signer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.text = jwksOf(signers...)
}

// While a read hangs, tokens with unknown keys are refused at once as unavailable, and
// tokens with known keys are accepted.
func TestUnknownKeysDoNotWaitForAReading(t *testing.T) {
	t.Parallel()
	known, added, invented := newSigner(t, "known", "ES256"), newSigner(t, "added", "ES256"), newSigner(t, "invented", "ES256")
	i := newHangingIssuer(t, known)
	c := &clock{at: tokenTime}
	a := configured(t, auth.Config{JWKS: i.URL, Now: c.Now, JWKSMinInterval: 10 * time.Second, JWKSRefresh: time.Hour})
	checkToken(t, a, "a known key", known.token(t), true)
	i.serve(known, added)
	i.hangs()
	before := i.reads.Load()

	// All come at the same time; the read would hang for 3 s.
	const many = 200
	token, began := invented.token(t), time.Now()
	var unavailable atomic.Int64
	var group sync.WaitGroup
	for range many {
		group.Go(func() {
			_, err := a.Authenticate(t.Context(), []string{"Bearer " + token})
			if e, ok := errors.AsType[*fault.Error](err); ok && e.Code == fault.Unavailable && e.RetryAfter == time.Second {
				unavailable.Add(1)
			}
		})
	}
	group.Wait()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the last one was answered after %v", took)
	}
	if n := unavailable.Load(); n != many {
		t.Errorf("%d of %d were asked to come back after a second", n, many)
	}
	checkToken(t, a, "a known key meanwhile", known.token(t), true)
	_, err := a.Authenticate(t.Context(), []string{"Bearer " + added.token(t)})
	wantCode(t, "a key that the reading will bring", err, fault.Unavailable)
	if n := i.reads.Load() - before; n != 1 {
		t.Errorf("%d readings", n)
	}

	// After the read, tokens with its keys are accepted and the others are unauthorized.
	i.answers()
	c.move(10 * time.Second) // should it have been given up before
	for deadline := time.Now().Add(10 * time.Second); ; {
		if _, err = a.Authenticate(t.Context(), []string{"Bearer " + added.token(t)}); err == nil {
			break
		}
		wantCode(t, "while the reading ends", err, fault.Unavailable)
		if time.Now().After(deadline) {
			t.Fatal("the new key is not accepted")
		}
	}
	checkToken(t, a, "an invented key", token, false)
}
