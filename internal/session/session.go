// Package session keeps the sessions of the Explorer in Redis (docs/security.md,
// "Sessions"). A session says who signed in. What that user may do is looked up on each
// request, as for an access token.
package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"atlas/internal/auth"
	"atlas/internal/fault"
)

// Defaults of Options.
const (
	DefaultIdle     = 12 * time.Hour
	DefaultLifetime = 7 * 24 * time.Hour
	DefaultTimeout  = 100 * time.Millisecond
)

// LinkLifetime is how long a sign-in link can be redeemed.
const LinkLifetime = 10 * time.Minute

// Options are the options of New. The zero value has the defaults.
type Options struct {
	// Prefix is what the names of all keys in Redis begin with.
	Prefix string
	// Idle is how long a session lasts after its last request.
	Idle time.Duration
	// Lifetime is how long a session lasts at most.
	Lifetime time.Duration
	// Timeout bounds a call of Redis.
	Timeout time.Duration
	// Now is the clock of Lifetime.
	Now func() time.Time
}

// Store has the sessions. Redis has the hashes of tokens only, so reading Redis gives
// no session away. It is safe for concurrent use.
type Store struct {
	redis redis.UniversalClient
	o     Options
}

// New returns the sessions in a Redis.
func New(client redis.UniversalClient, o Options) *Store {
	o.Idle = cmp.Or(o.Idle, DefaultIdle)
	o.Lifetime = cmp.Or(o.Lifetime, DefaultLifetime)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{client, o}
}

// entry is what Redis has of a session or a link.
type entry struct {
	User auth.User `json:"user"`
	Ends time.Time `json:"ends"`
}

// Kinds of keys. A link is no session, and a session no link.
const (
	ofSession = "session:"
	ofLink    = "link:"
)

func (s *Store) key(kind, token string) string {
	sum := sha256.Sum256([]byte(token))
	return s.o.Prefix + kind + hex.EncodeToString(sum[:])
}

// Start begins a session and returns its token. Errors: fault.Unavailable.
func (s *Store) Start(ctx context.Context, u auth.User) (token string, err error) {
	return s.put(ctx, ofSession, entry{u, s.o.Now().Add(s.o.Lifetime)}, s.o.Idle)
}

// Link returns a token that Redeem exchanges for a session, once and within
// LinkLifetime. Errors: fault.Unavailable.
func (s *Store) Link(ctx context.Context, u auth.User) (token string, err error) {
	return s.put(ctx, ofLink, entry{u, s.o.Now().Add(LinkLifetime)}, LinkLifetime)
}

func (s *Store) put(ctx context.Context, kind string, e entry, expires time.Duration) (token string, err error) {
	raw, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	token = rand.Text()
	if err := s.redis.Set(ctx, s.key(kind, token), raw, expires).Err(); err != nil {
		return "", fault.BackendUnavailable(err, "sessions")
	}
	return token, nil
}

// Redeem begins a session for the user of a link. Errors: fault.Unauthorized,
// fault.Unavailable.
func (s *Store) Redeem(ctx context.Context, link string) (token string, err error) {
	u, err := s.take(ctx, link)
	if err != nil {
		return "", err
	}
	return s.Start(ctx, u)
}

func (s *Store) take(ctx context.Context, link string) (auth.User, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	raw, err := s.redis.GetDel(ctx, s.key(ofLink, link)).Bytes()
	return s.user(raw, err, "this sign-in link was used already, or is older than ten minutes")
}

// User returns whose session it is, and keeps the session for another Options.Idle.
// Errors: fault.Unauthorized, fault.Unavailable.
func (s *Store) User(ctx context.Context, token string) (auth.User, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	// One command, so that a request never brings back a session that ended meanwhile.
	raw, err := s.redis.GetEx(ctx, s.key(ofSession, token), s.o.Idle).Bytes()
	return s.user(raw, err, "the session is over: sign in again")
}

// user reads an entry. over is the message when there is none.
func (s *Store) user(raw []byte, err error, over string) (auth.User, error) {
	switch {
	case errors.Is(err, redis.Nil):
		return auth.User{}, fault.New(fault.Unauthorized, "%s", over)
	case err != nil:
		return auth.User{}, fault.BackendUnavailable(err, "sessions")
	}
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		return auth.User{}, err
	}
	if !s.o.Now().Before(e.Ends) {
		return auth.User{}, fault.New(fault.Unauthorized, "%s", over)
	}
	return e.User, nil
}

// End ends a session. It succeeds also if there is none. Errors: fault.Unavailable.
func (s *Store) End(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	if err := s.redis.Del(ctx, s.key(ofSession, token)).Err(); err != nil {
		return fault.BackendUnavailable(err, "sessions")
	}
	return nil
}
