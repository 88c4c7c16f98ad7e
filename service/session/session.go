// Package session stores the sessions of the Explorer in Redis (docs/security.md,
// "Sessions"). A session identifies a signed-in user. The user's permissions are looked up on
// each request, as for an access token.
package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"atlas/internal/fault"
	"atlas/internal/seal"
	"atlas/service/auth"
	"atlas/workspace/identity"
)

// Defaults of Options.
const (
	DefaultIdle     = 12 * time.Hour
	DefaultLifetime = 7 * 24 * time.Hour
	DefaultRenewal  = 15 * time.Minute
	DefaultTimeout  = 100 * time.Millisecond
)

// Options are the options of New. The zero value has the defaults.
type Options struct {
	// Prefix is the prefix of all keys in Redis.
	Prefix string
	// Idle is how long a session lasts after its last request.
	Idle time.Duration
	// Lifetime is how long a session lasts at most.
	Lifetime time.Duration
	// Renewal is how often a session with a refresh token is renewed.
	Renewal time.Duration
	// Renew exchanges a refresh token for the next one. fault.Unauthorized ends the session;
	// after any other error it stays valid, and is renewed later. After fault.Unavailable no
	// session is renewed for some seconds. Nil renews none.
	Renew func(ctx context.Context, g Grant) (next string, err error)
	// Issuer is the provider of all sessions: sessions of another one are invalid.
	Issuer string
	// Timeout bounds a call of Redis.
	Timeout time.Duration
	// Now is the clock of Lifetime and Renewal.
	Now func() time.Time
}

// Store has the sessions. Redis has only the hashes of tokens, and secrets encrypted with the
// tokens, so reading Redis reveals no session. It is safe for concurrent use.
type Store struct {
	redis redis.UniversalClient
	o     Options

	// renewing is for sessions of the service's provider, renewingOwn for those of workspaces: a
	// slow one of these does not block the others.
	renewing, renewingOwn *semaphore.Weighted
	mu                    sync.Mutex
	waiting               map[identity.Own]int // see takePlace

	awayUntil atomic.Int64 // Unix nanoseconds; see awayFor
}

// New returns the sessions in a Redis.
func New(client redis.UniversalClient, o Options) *Store {
	o.Idle = cmp.Or(o.Idle, DefaultIdle)
	o.Lifetime = cmp.Or(o.Lifetime, DefaultLifetime)
	o.Renewal = cmp.Or(o.Renewal, DefaultRenewal)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{
		redis: client, o: o, renewing: semaphore.NewWeighted(maxRenewals), renewingOwn: semaphore.NewWeighted(maxRenewals),
		waiting: map[identity.Own]int{},
	}
}

// Grant is what a new session consists of.
type Grant struct {
	User auth.User
	// Subject is the provider's id of the user, "" for another way of signing in.
	Subject string
	// Refresh is the provider's refresh token, "" without one.
	Refresh string
	// Key is an API key that takes the place of the user, in development.
	Key string
	// Own is the workspace provider by which they signed in, zero for none.
	Own identity.Own
	// Idle and Lifetime shorten those of Options; 0: they do not.
	Idle, Lifetime time.Duration
}

// Session is a session as of one request.
type Session struct {
	Grant
	// Began is when it began.
	Began time.Time
	// Ends is the end of its lifetime.
	Ends time.Time
}

// entry is a session or a link in Redis.
type entry struct {
	User   auth.User `json:"user"`
	Began  time.Time `json:"began,omitzero"` // zero for a link
	Ends   time.Time `json:"ends"`
	Issuer string    `json:"issuer,omitempty"`
	// Own replaces Issuer for a session by a provider of a workspace.
	Own identity.Own `json:"own,omitzero"`
	// Renew is when the session is renewed next, zero without a refresh token.
	Renew time.Time `json:"renew,omitzero"`
	// Secrets are the sealed secrets, empty for a session that has none.
	Secrets []byte `json:"secrets,omitempty"`
}

// secrets are the parts of a Grant that are encrypted.
type secrets struct {
	Subject string `json:"subject,omitempty"`
	Refresh string `json:"refresh,omitempty"`
	Key     string `json:"key,omitempty"`
}

// Kinds of keys. A link is not valid as a session, nor a session as a link.
const (
	ofSession = "session:"
	ofLink    = "link:"
	ofRenewal = "renewal:"
	ofFirst   = "first:"
)

// purpose is that of encrypted secrets.
const purpose = "atlas session secrets"

func (s *Store) key(kind, token string) string {
	sum := sha256.Sum256([]byte(token))
	return s.o.Prefix + kind + hex.EncodeToString(sum[:])
}

// Start begins a session and returns its token. Errors: fault.Unavailable.
func (s *Store) Start(ctx context.Context, g Grant) (token string, err error) {
	token = rand.Text()
	lifetime := s.o.Lifetime
	if g.Lifetime > 0 {
		lifetime = min(lifetime, g.Lifetime)
	}
	if g.Idle > 0 {
		token += "." + strconv.Itoa(int(g.Idle/time.Minute))
	}
	now := s.o.Now()
	e := entry{User: g.User, Began: now, Ends: now.Add(lifetime), Issuer: s.o.Issuer, Own: g.Own}
	if err := s.fill(&e, token, secrets{g.Subject, g.Refresh, g.Key}); err != nil {
		return "", err
	}
	return token, s.put(ctx, ofSession, token, e, s.idle(token))
}

// idle returns how long the session of a token lasts after its last request. The token has
// it, so that a request needs one command of Redis. A modified token is another token.
func (s *Store) idle(token string) time.Duration {
	_, minutes, _ := strings.Cut(token, ".")
	n, err := strconv.Atoi(minutes)
	if err != nil || n <= 0 {
		return s.o.Idle
	}
	return min(s.o.Idle, time.Duration(n)*time.Minute)
}

// fill encrypts the secrets of a session into its entry.
func (s *Store) fill(e *entry, token string, n secrets) (err error) {
	if n == (secrets{}) {
		return nil
	}
	if n.Refresh != "" {
		e.Renew = s.o.Now().Add(s.o.Renewal)
	}
	e.Secrets, err = seal.Seal([]byte(token), purpose, n)
	return err
}

func (s *Store) put(ctx context.Context, kind, token string, e entry, expires time.Duration) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	return unavailable(s.redis.Set(ctx, s.key(kind, token), raw, expires).Err())
}

// over is the message for a session that has ended.
const over = "the session is over: sign in again"

// Get returns a session, extends it by Options.Idle, and renews it when that is due. Errors:
// fault.Unauthorized, fault.Unavailable.
func (s *Store) Get(ctx context.Context, token string) (Session, error) {
	e, err := s.use(ctx, token)
	if err != nil {
		return Session{}, err
	}
	if s.renewable(e) {
		if e, err = s.renew(ctx, token, e); err != nil {
			return Session{}, err
		}
	}
	n, err := e.open(token)
	return Session{e.grant(n), e.Began, e.Ends}, err
}

func (e entry) grant(n secrets) Grant {
	return Grant{User: e.User, Subject: n.Subject, Refresh: n.Refresh, Key: n.Key, Own: e.Own}
}

func (s *Store) use(ctx context.Context, token string) (entry, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	// One command, so that a request never restores a session that ended meanwhile.
	raw, err := s.redis.GetEx(ctx, s.key(ofSession, token), s.idle(token)).Bytes()
	e, err := s.read(raw, err, over)
	if err == nil && e.Own == (identity.Own{}) && e.Issuer != s.o.Issuer {
		if err = s.End(ctx, token); err == nil {
			err = fault.New(fault.Unauthorized, over)
		}
	}
	return e, err
}

// read reads an entry. gone is the message when there is none.
func (s *Store) read(raw []byte, err error, gone string) (e entry, _ error) {
	switch {
	case errors.Is(err, redis.Nil):
		return e, fault.New(fault.Unauthorized, "%s", gone)
	case err != nil:
		return e, unavailable(err)
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return e, err
	}
	if !s.o.Now().Before(e.Ends) {
		return e, fault.New(fault.Unauthorized, "%s", gone)
	}
	return e, nil
}

// open decrypts the secrets of a session.
func (e entry) open(token string) (n secrets, err error) {
	if len(e.Secrets) == 0 {
		return n, nil
	}
	return n, seal.Open([]byte(token), purpose, e.Secrets, &n)
}

// End ends a session. It succeeds also if there is none. Errors: fault.Unavailable.
func (s *Store) End(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	return unavailable(s.redis.Del(ctx, s.key(ofSession, token)).Err())
}

func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fault.BackendUnavailable(err, "sessions")
}
