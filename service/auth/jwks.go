package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"atlas/internal/fault"
)

const (
	maxJWKS     = 1 << 20 // bytes of a document
	maxJWKSKeys = 100     // a token without a key id is verified with each
	jwksTimeout = 3 * time.Second
	// requestTimeout is how long the request that triggers a read waits for it.
	requestTimeout = 500 * time.Millisecond
)

// keySet has the public keys of a JWKS document. It reads the document periodically,
// and earlier when a token names an unknown key, so that a key rotation needs no
// restart. During a read, a token with an unknown key is refused at once: tokens with
// invented keys would otherwise hold requests for as long as the document hangs. When
// a read fails, the known keys stay valid and err returns the error. (jwkset's own HTTP
// client is not used: it makes requests wait for its rate limit, reads bodies of any
// size and accepts keys of any kind.)
type keySet struct {
	source      string
	minInterval time.Duration
	client      *http.Client
	now         func() time.Time
	log         *slog.Logger

	mu          sync.Mutex
	keys        []PublicKey
	unusable    string        // of the last document, as it was logged
	loaded      bool          // true after the first successful read
	lastErr     error         // of the last read
	lastRequest time.Time     // when an unknown key last triggered a read
	refreshing  chan struct{} // closed when the current read ends; nil without one

	ctx   context.Context // of reads
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// newKeySet reads the document, and reads it again until close. A file that cannot be
// read is an error. A URL that does not answer is not, because it may later.
func newKeySet(c Config) (*keySet, error) {
	s := &keySet{
		source: c.JWKS, minInterval: c.JWKSMinInterval, now: c.Now, log: c.Log,
		client: &http.Client{
			Timeout: jwksTimeout,
			// A redirect could leave https.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     http.DefaultTransport.(*http.Transport).Clone(),
		},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	<-s.refresh()
	if err := s.err(); err != nil && !isURL(s.source) {
		s.close()
		return nil, fmt.Errorf("the JWKS: %w", err)
	}
	s.tasks.Go(func() { s.refreshPeriodically(c.JWKSRefresh) })
	return s, nil
}

func (s *keySet) close() {
	s.mu.Lock() // no read starts after Wait began
	s.stop()
	s.mu.Unlock()
	s.tasks.Wait()
	s.client.CloseIdleConnections()
}

func (s *keySet) refreshPeriodically(interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			<-s.refresh()
		}
	}
}

// err returns the error of the last read, nil when the keys are current.
func (s *keySet) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastErr
}

// refresh starts to read the document, unless a read is in progress, and returns a
// channel that is closed when the read ends.
func (s *keySet) refresh() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refreshLocked()
}

func (s *keySet) refreshLocked() <-chan struct{} {
	if s.refreshing != nil {
		return s.refreshing
	}
	ended := make(chan struct{})
	if s.ctx.Err() != nil {
		close(ended)
		return ended
	}
	s.refreshing = ended
	s.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, jwksTimeout)
		defer cancel()
		keys, err := s.read(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			s.keys = keys
		}
		s.lastErr, s.loaded = err, s.loaded || err == nil
		if err != nil && s.ctx.Err() == nil {
			s.log.Error("reading the JWKS failed; known keys stay in force", "source", s.source, "error", err)
		}
		s.refreshing = nil
		close(ended)
	})
	return ended
}

func (s *keySet) read(ctx context.Context) ([]PublicKey, error) {
	text, err := s.fetch(ctx)
	if err != nil {
		return nil, err
	}
	if len(text) > maxJWKS {
		return nil, fmt.Errorf("the document is larger than %d bytes", maxJWKS)
	}
	keys, unusable, err := ReadJWKS(text)
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(k PublicKey) bool {
		fits := slices.ContainsFunc(DefaultAlgorithms, k.signsAs)
		if !fits {
			unusable = append(unusable, fmt.Errorf("kid %.60q: it signs by none of %s", k.ID, strings.Join(DefaultAlgorithms, ", ")))
		}
		return !fits
	})
	s.report(errors.Join(unusable...))
	switch {
	case len(keys) == 0:
		return nil, errors.New("the document has no key that could be used")
	case len(keys) > maxJWKSKeys:
		return nil, fmt.Errorf("the document has more than %d keys", maxJWKSKeys)
	}
	return keys, nil
}

func (s *keySet) fetch(ctx context.Context) ([]byte, error) {
	if !isURL(s.source) {
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

// report logs which keys are not used, when that changes.
func (s *keySet) report(unusable error) {
	text := ""
	if unusable != nil {
		text = unusable.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if text != s.unusable && text != "" {
		s.log.Warn("keys of the JWKS are not used; the others are", "source", s.source, "error", text)
	}
	s.unusable = text
}

// errRefreshing refuses a token with an unknown key during a read. It counts as load
// shedding, not as a failure.
const errRefreshing = fault.Shed("the JWKS is being read, and the token's key is not known yet")

// key returns a function that finds the key of a token.
func (s *keySet) key(ctx context.Context) jwt.Keyfunc {
	return func(token *jwt.Token) (any, error) {
		keys, err := s.find(token)
		if !errors.Is(err, errNoKey) && s.everLoaded() {
			return keys, err
		}
		if started, inProgress := s.requestRefresh(); inProgress || started != nil && !waitFor(ctx, started) {
			return nil, fault.BackendUnavailable(errRefreshing, "jwks")
		}
		if !s.everLoaded() {
			// Without keys no token is known to be invalid.
			return nil, fault.BackendUnavailable(s.err(), "jwks")
		}
		return s.find(token)
	}
}

var errNoKey = errors.New("the document has no key of this kid and algorithm")

// find returns the keys that may have signed a token, or errNoKey.
func (s *keySet) find(token *jwt.Token) (any, error) {
	s.mu.Lock()
	known := s.keys
	s.mu.Unlock()
	fitting, err := candidates(known, token.Header)
	if err == nil && len(fitting) == 0 {
		err = errNoKey
	}
	set := jwt.VerificationKeySet{}
	for _, k := range fitting {
		set.Keys = append(set.Keys, k.Key)
	}
	return set, err
}

// waitFor waits for a read, for at most requestTimeout, and reports whether it ended.
func waitFor(ctx context.Context, read <-chan struct{}) bool {
	limit := time.NewTimer(requestTimeout)
	defer limit.Stop()
	select {
	case <-read:
		return true
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

func (s *keySet) everLoaded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// requestRefresh starts a read for an unknown key, at most once per interval, so that
// tokens with invented keys cannot overload the issuer. started is the read that this
// call started, nil without one. inProgress is true when another read was running.
func (s *keySet) requestRefresh() (started <-chan struct{}, inProgress bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refreshing != nil {
		return nil, true
	}
	now := s.now()
	if !s.lastRequest.IsZero() && now.Sub(s.lastRequest) < s.minInterval {
		return nil, false
	}
	s.lastRequest = now
	return s.refreshLocked(), false
}
