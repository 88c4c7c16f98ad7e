package session

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"atlas/internal/fault"
	"atlas/workspace/identity"
)

const (
	// renewalTimeout bounds the provider's answer.
	renewalTimeout = 10 * time.Second
	// renewalPause is the time between two attempts to renew a session, across all servers. It is
	// longer than an attempt takes.
	renewalPause = time.Minute
	// maxRenewals limits the requests of this server that wait for the provider, maxOfWorkspace
	// those for the provider of one workspace, so that a slow one does not block others.
	maxRenewals    = 16
	maxOfWorkspace = 4
	// awayFor is the pause in renewals of this server after the provider did not answer.
	awayFor = 10 * time.Second
	// saves is how often saving a new refresh token is tried, the second time after firstWait,
	// then after twice as long each time. A provider accepts the former token only once, so
	// failing to save ends the session at the next renewal.
	saves     = 6
	firstWait = 50 * time.Millisecond
)

func (s *Store) renewable(e entry) bool {
	return s.o.Renew != nil && !e.Renew.IsZero() && !s.o.Now().Before(e.Renew)
}

// renew renews a session, unless another request does or did so within renewalPause, or too
// many wait for the provider. The current session stays valid until the provider refuses.
// Errors: fault.Unauthorized, fault.Unavailable.
func (s *Store) renew(ctx context.Context, token string, e entry) (entry, error) {
	own, renewing := e.Own != identity.Own{}, s.renewing
	if own {
		renewing = s.renewingOwn
	}
	if !own && s.o.Now().UnixNano() < s.awayUntil.Load() || !renewing.TryAcquire(1) {
		return e, nil
	}
	defer renewing.Release(1)
	if own {
		if !s.takePlace(e.Own) {
			return e, nil
		}
		defer s.leavePlace(e.Own)
	}
	// A used refresh token must be replaced, even if the client has disconnected.
	ctx = context.WithoutCancel(ctx)
	mine, err := s.first(ctx, ofRenewal, token, renewalPause)
	if err != nil || !mine {
		return e, err
	}
	// Another request may have renewed it since this one read it.
	if e, err = s.use(ctx, token); err != nil || !s.renewable(e) {
		return e, err
	}
	n, err := e.open(token)
	if err != nil {
		return e, err
	}
	asking, cancel := context.WithTimeout(ctx, renewalTimeout)
	defer cancel()
	next, err := s.o.Renew(asking, e.grant(n))
	switch fault.CodeOf(err) {
	case "":
	case fault.Unauthorized:
		return s.refused(ctx, token, n.Refresh, err)
	case fault.Unavailable:
		if own {
			return e, nil
		}
		s.awayUntil.Store(s.o.Now().Add(awayFor).UnixNano())
		return e, nil
	default:
		return e, nil // tried again after renewalPause
	}
	n.Refresh = next
	if err := s.fill(&e, token, n); err != nil {
		return e, err
	}
	return e, s.replace(ctx, token, e)
}

// takePlace takes one of the places of a provider of a workspace, if one is left.
func (s *Store) takePlace(of identity.Own) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[of] >= maxOfWorkspace {
		return false
	}
	s.waiting[of]++
	return true
}

func (s *Store) leavePlace(of identity.Own) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[of]--; s.waiting[of] == 0 {
		delete(s.waiting, of)
	}
}

// refused ends a session because the provider refused its refresh token, unless a concurrent
// request has replaced the token.
func (s *Store) refused(ctx context.Context, token, refresh string, cause error) (entry, error) {
	e, err := s.use(ctx, token)
	if err != nil {
		return e, err
	}
	if n, err := e.open(token); err != nil || n.Refresh != refresh {
		return e, err
	}
	if err := s.End(ctx, token); err != nil {
		return e, err
	}
	return e, fault.Wrap(cause, fault.Unauthorized, over)
}

// replace saves a session if it still exists.
func (s *Store) replace(ctx context.Context, token string, e entry) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	for i := range saves {
		if i > 0 {
			time.Sleep(firstWait << (i - 1))
		}
		if err = s.replaceOnce(ctx, token, raw); err == nil || errors.Is(err, redis.Nil) {
			break
		}
	}
	if errors.Is(err, redis.Nil) {
		return fault.New(fault.Unauthorized, over)
	}
	return unavailable(err)
}

func (s *Store) replaceOnce(ctx context.Context, token string, raw []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	return s.redis.SetArgs(ctx, s.key(ofSession, token), raw, redis.SetArgs{Mode: "XX", KeepTTL: true}).Err()
}
