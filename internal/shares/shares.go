// Package shares bounds what is in use at once: by everybody, and by each owner. Requests
// that do not fit wait.
package shares

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Shares are the units of a bound that are in use. The zero value is ready. All calls have
// the same bounds.
type Shares struct {
	lock sync.Mutex
	free *semaphore.Weighted
	of   map[string]*share // of the owners that have units or wait for them
}

// share is what one owner may use.
type share struct {
	free  *semaphore.Weighted
	calls int // that have units or wait for them
}

// Acquire waits for units of an owner. All owners together have at most all units, and each
// owner at most each. The caller has the units until it calls release. A request for more
// than a bound gets all of it. Errors: those of ctx, when it ends first.
func (s *Shares) Acquire(ctx context.Context, owner string, units, each, all int) (release func(), err error) {
	units = min(units, all)
	own := s.enter(owner, each, all)
	// The share comes first: an owner that needs more than its share waits for its own, and
	// does not block others.
	weight := int64(min(units, each))
	if err = own.free.Acquire(ctx, weight); err == nil {
		if err = s.free.Acquire(ctx, int64(units)); err == nil {
			return func() {
				s.free.Release(int64(units))
				own.free.Release(weight)
				s.leave(owner)
			}, nil
		}
		own.free.Release(weight)
	}
	s.leave(owner)
	return nil, err
}

func (s *Shares) enter(owner string, each, all int) *share {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.free == nil {
		s.free, s.of = semaphore.NewWeighted(int64(all)), map[string]*share{}
	}
	own := s.of[owner]
	if own == nil {
		own = &share{free: semaphore.NewWeighted(int64(each))}
		s.of[owner] = own
	}
	own.calls++
	return own
}

// leave ends a call of an owner. A share without calls is dropped.
func (s *Shares) leave(owner string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if own := s.of[owner]; own.calls == 1 {
		delete(s.of, owner)
	} else {
		own.calls--
	}
}
