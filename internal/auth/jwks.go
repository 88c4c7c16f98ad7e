package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/sync/singleflight"

	"atlas/internal/fault"
)

const (
	maxJWKS     = 1 << 20 // bytes of a document
	maxJWKSKeys = 100     // a token without a key id is tried against all
	jwksTimeout = 3 * time.Second
)

// keySet holds the public keys of a JWKS document and keeps them up to date:
// read at an interval, and sooner when a token names a key that is not there,
// which is how a rotation reaches us without a restart. A document that cannot
// be read leaves the known keys in force, and shows in err. (jwkset's own HTTP
// client is not used: it makes requests wait for its rate limit, reads bodies
// of any size and takes keys of any kind.)
type keySet struct {
	source      string
	minInterval time.Duration
	client      *http.Client
	now         func() time.Time
	log         *slog.Logger

	keys   *jwkset.MemoryJWKSet
	lookup keyfunc.Keyfunc
	flight singleflight.Group
	asking chan struct{} // held by the request that asks for an unknown key

	mu     sync.Mutex
	loaded bool      // keys have been read at least once
	last   error     // of the last reading
	asked  time.Time // when an unknown key last had the document read

	stop    context.CancelFunc
	stopped chan struct{}
}

// newKeySet reads the document and goes on reading it until close. A file that
// cannot be read is an error; an address that does not answer is not, for it may
// yet.
func newKeySet(c Config) (*keySet, error) {
	s := &keySet{
		source: c.JWKS, minInterval: c.JWKSMinInterval, now: c.Now, log: c.Log,
		keys: jwkset.NewMemoryStorage(), stopped: make(chan struct{}), asking: make(chan struct{}, 1),
		client: &http.Client{
			Timeout: jwksTimeout,
			// An address of keys does not move; a redirect could leave https.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     http.DefaultTransport.(*http.Transport).Clone(),
		},
	}
	lookup, err := keyfunc.New(keyfunc.Options{Storage: s.keys, UseWhitelist: []jwkset.USE{jwkset.UseSig, ""}})
	if err != nil {
		return nil, err
	}
	s.lookup = lookup
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	if err := s.refresh(ctx); err != nil && !remote(s.source) {
		cancel()
		return nil, fmt.Errorf("the JWKS: %w", err)
	}
	go s.keepUp(ctx, c.JWKSRefresh)
	return s, nil
}

func (s *keySet) close() {
	s.stop()
	<-s.stopped
	s.client.CloseIdleConnections()
}

func (s *keySet) keepUp(ctx context.Context, interval time.Duration) {
	defer close(s.stopped)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = s.refresh(ctx) // kept for err, and logged
		}
	}
}

// err says whether the keys are up to date.
func (s *keySet) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// refresh reads the document, once for all who ask at the same time.
func (s *keySet) refresh(ctx context.Context) error {
	_, err, _ := s.flight.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), jwksTimeout)
		defer cancel()
		keys, err := s.read(ctx)
		if err == nil {
			err = s.keys.KeyReplaceAll(ctx, keys)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last = err
		if err == nil {
			s.loaded = true
		} else {
			s.log.Error("reading the JWKS failed; known keys stay in force", "source", s.source, "error", err)
		}
		return nil, err
	})
	return err
}

func (s *keySet) read(ctx context.Context) ([]jwkset.JWK, error) {
	text, err := s.fetch(ctx)
	if err != nil {
		return nil, err
	}
	if len(text) > maxJWKS {
		return nil, fmt.Errorf("the document is larger than %d bytes", maxJWKS)
	}
	var document jwkset.JWKSMarshal
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("no JWKS document: %w", err)
	}
	var keys []jwkset.JWK
	for _, marshaled := range document.Keys {
		key, err := jwkset.NewJWKFromMarshal(marshaled, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err != nil || !fit(key.Key()) {
			// One key of another kind or make must not lock everyone out.
			s.log.Warn("a key of the JWKS is not used", "kid", marshaled.KID, "kty", marshaled.KTY.String(), "error", err)
			continue
		}
		keys = append(keys, key)
	}
	switch {
	case len(keys) == 0:
		return nil, errors.New("the document has no key that could be used")
	case len(keys) > maxJWKSKeys:
		return nil, fmt.Errorf("the document has more than %d keys", maxJWKSKeys)
	}
	return keys, nil
}

func (s *keySet) fetch(ctx context.Context) ([]byte, error) {
	if !remote(s.source) {
		file, err := os.Open(s.source)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		return io.ReadAll(io.LimitReader(file, maxJWKS+1))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.source, nil)
	if err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxJWKS+1))
}

// fit reports whether a key is a public one of the accepted algorithms. Shared
// secrets above all are not: whoever reads the document could sign.
func fit(key any) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen() >= 2048
	case *ecdsa.PublicKey:
		return key.Curve == elliptic.P256()
	case ed25519.PublicKey:
		return true
	}
	return false
}

// key finds the key of a token, for jwt.
func (s *keySet) key(ctx context.Context) jwt.Keyfunc {
	find := s.lookup.KeyfuncCtx(ctx)
	return func(token *jwt.Token) (any, error) {
		key, err := find(token)
		if !errors.Is(err, jwkset.ErrKeyNotFound) && s.known() {
			return key, err
		}
		// One at a time: who waits here meanwhile finds the key, if the reading
		// that another request is having done brings it.
		select {
		case s.asking <- struct{}{}:
			defer func() { <-s.asking }()
		case <-ctx.Done():
			return nil, fault.Away(ctx.Err(), "jwks")
		}
		if key, err := find(token); err == nil && s.known() {
			return key, nil
		}
		if s.mayAsk() {
			_ = s.refresh(ctx) // kept for err, and logged
		}
		if !s.known() {
			// Nothing can be said about any token: not that this one is bad.
			return nil, fault.Away(s.err(), "jwks")
		}
		return find(token)
	}
}

func (s *keySet) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// mayAsk reports whether a request may have the document read now: at most one
// per interval may, so that tokens of invented keys cannot make us hammer the
// issuer.
func (s *keySet) mayAsk() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.asked.IsZero() || now.Sub(s.asked) >= s.minInterval {
		s.asked = now
		return true
	}
	return false
}
