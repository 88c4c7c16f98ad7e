package session

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"atlas/service/auth"
)

// LinkLifetime is how long a sign-in link can be redeemed.
const LinkLifetime = 10 * time.Minute

// Link returns a token that Redeem exchanges for a session, once and within
// LinkLifetime. Errors: fault.Unavailable.
func (s *Store) Link(ctx context.Context, u auth.User) (token string, err error) {
	token = rand.Text()
	return token, s.put(ctx, ofLink, token, entry{User: u, Ends: s.o.Now().Add(LinkLifetime)}, LinkLifetime)
}

// Redeem begins a session for the user of a link. Errors: fault.Unauthorized,
// fault.Unavailable.
func (s *Store) Redeem(ctx context.Context, link string) (token string, err error) {
	e, err := s.take(ctx, link)
	if err != nil {
		return "", err
	}
	return s.Start(ctx, Grant{User: e.User})
}

func (s *Store) take(ctx context.Context, link string) (entry, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	raw, err := s.redis.GetDel(ctx, s.key(ofLink, link)).Bytes()
	return s.read(raw, err, "this sign-in link was used already, or is older than ten minutes")
}

// First reports whether this is the first call with a name, on all servers, within lifetime.
// Errors: fault.Unavailable.
func (s *Store) First(ctx context.Context, name string, lifetime time.Duration) (bool, error) {
	return s.first(ctx, ofFirst, name, lifetime)
}

func (s *Store) first(ctx context.Context, kind, name string, lifetime time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	err := s.redis.SetArgs(ctx, s.key(kind, name), 1, redis.SetArgs{Mode: "NX", TTL: lifetime}).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, unavailable(err)
}
