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

	"atlas/internal/fault"
	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

const (
	maxJWKS     = 1 << 20 // bytes of a document
	maxJWKSKeys = 100     // a token without a key id is tried against all
	jwksTimeout = 3 * time.Second
	// askTimeout is how long the one request that has the document read waits for
	// it: a reading that takes longer is waited for by nobody.
	askTimeout = 500 * time.Millisecond
)

// keySet holds the public keys of a JWKS document and keeps them up to date:
// read at an interval, and sooner when a token names a key that is not there,
// which is how a rotation reaches us without a restart. While it is read, nothing
// is known about a key that is not there, and nobody waits to learn: tokens of
// invented keys would hold requests for as long as the document hangs. A document
// that cannot be read leaves the known keys in force, and shows in err. (jwkset's
// own HTTP client is not used: it makes requests wait for its rate limit, reads
// bodies of any size and takes keys of any kind.)
type keySet struct {
	source      string
	minInterval time.Duration
	client      *http.Client
	now         func() time.Time
	log         *slog.Logger

	keys   *jwkset.MemoryJWKSet
	lookup keyfunc.Keyfunc

	mu      sync.Mutex
	loaded  bool          // keys have been read at least once
	last    error         // of the last reading
	asked   time.Time     // when an unknown key last had the document read
	reading chan struct{} // closed when the reading under way ends; nil: none is

	life  context.Context // of readings
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// newKeySet reads the document and goes on reading it until close. A file that
// cannot be read is an error; an address that does not answer is not, for it may
// yet.
func newKeySet(c Config) (*keySet, error) {
	s := &keySet{
		source: c.JWKS, minInterval: c.JWKSMinInterval, now: c.Now, log: c.Log,
		keys: jwkset.NewMemoryStorage(),
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
	s.life, s.stop = context.WithCancel(context.Background())
	<-s.refresh()
	if err := s.err(); err != nil && !remote(s.source) {
		s.close()
		return nil, fmt.Errorf("the JWKS: %w", err)
	}
	s.tasks.Go(func() { s.keepUp(c.JWKSRefresh) })
	return s, nil
}

func (s *keySet) close() {
	s.mu.Lock() // no reading begins beside the waiting
	s.stop()
	s.mu.Unlock()
	s.tasks.Wait()
	s.client.CloseIdleConnections()
}

func (s *keySet) keepUp(interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-tick.C:
			<-s.refresh()
		}
	}
}

// err says whether the keys are up to date.
func (s *keySet) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// refresh begins to read the document, unless that is under way, and returns what
// is closed when the reading has ended.
func (s *keySet) refresh() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refreshLocked()
}

func (s *keySet) refreshLocked() <-chan struct{} {
	if s.reading != nil {
		return s.reading
	}
	ended := make(chan struct{})
	if s.life.Err() != nil {
		close(ended)
		return ended
	}
	s.reading = ended
	s.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(s.life, jwksTimeout)
		defer cancel()
		keys, err := s.read(ctx)
		if err == nil {
			err = s.keys.KeyReplaceAll(ctx, keys)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last, s.loaded = err, s.loaded || err == nil
		if err != nil && s.life.Err() == nil {
			s.log.Error("reading the JWKS failed; known keys stay in force", "source", s.source, "error", err)
		}
		s.reading = nil
		close(ended)
	})
	return ended
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

// errReading is why a token of an unknown key is refused while the document is
// read: counted as a refusal of load, and no fault to look into.
const errReading = fault.Shed("the JWKS is being read, and the token's key is not known yet")

// key finds the key of a token, for jwt.
func (s *keySet) key(ctx context.Context) jwt.Keyfunc {
	find := s.lookup.KeyfuncCtx(ctx)
	return func(token *jwt.Token) (any, error) {
		key, err := find(token)
		if !errors.Is(err, jwkset.ErrKeyNotFound) && s.known() {
			return key, err
		}
		if mine, underWay := s.ask(); underWay || mine != nil && !ended(ctx, mine) {
			return nil, fault.BackendUnavailable(errReading, "jwks")
		}
		if !s.known() {
			// Nothing can be said about any token: not that this one is bad.
			return nil, fault.BackendUnavailable(s.err(), "jwks")
		}
		return find(token)
	}
}

// ended waits for a reading, for askTimeout at most; false when it goes on.
func ended(ctx context.Context, reading <-chan struct{}) bool {
	limit := time.NewTimer(askTimeout)
	defer limit.Stop()
	select {
	case <-reading:
		return true
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

func (s *keySet) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// ask has the document read on account of an unknown key, at most once per
// interval, so that tokens of invented keys cannot make us hammer the issuer. mine
// is the reading that this call began, nil when it may not; underWay tells that
// one had been begun before.
func (s *keySet) ask() (mine <-chan struct{}, underWay bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading != nil {
		return nil, true
	}
	now := s.now()
	if !s.asked.IsZero() && now.Sub(s.asked) < s.minInterval {
		return nil, false
	}
	s.asked = now
	return s.refreshLocked(), false
}
