package endpoint

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// load is what the server has in progress. A request has three phases: fresh until its token
// is verified, then receiving its body, then working. Each phase has its own limiter, so that
// a client that prolongs one phase does not block the others.
type load struct {
	requests  atomic.Int64 // in any phase
	fresh     Limiter
	receiving Limiter
	// received limits the bytes of bodies over smallBody of requests in the second
	// phase, bodies those of requests in the third.
	received, bodies Limiter
	working          Limiter
	// waiting has the requests that wait for a change. They use no place meanwhile.
	waiting   Limiter
	draining  atomic.Bool
	readiness readiness
	// down maps the name of a backend to whether its last probe failed.
	down sync.Map
}

// readyAnswer is a rendered answer about the backends.
type readyAnswer struct {
	status int
	body   []byte
}

// readiness caches the state of the backends. All requests share it and the check in
// progress, so the backends are checked at most once a second. Failures are cached no longer
// than successes.
type readiness struct {
	lock  sync.Mutex
	known readyAnswer
	asked time.Time     // start of the check that found known
	asks  chan struct{} // closed when the check in progress ends; nil: none is
}

// readinessAge is the maximum age of the cached state of the backends, from the start of the
// check.
const readinessAge = time.Second

// get returns the state of at most readinessAge ago, or of the check in progress. If ctx ends
// before, it returns its error.
func (r *readiness) get(ctx context.Context, ask func() readyAnswer) (readyAnswer, error) {
	r.lock.Lock()
	if r.asks == nil && time.Since(r.asked) < readinessAge {
		defer r.lock.Unlock()
		return r.known, nil
	}
	if r.asks == nil {
		r.asks = make(chan struct{})
		go r.look(ask, r.asks)
	}
	ends := r.asks
	r.lock.Unlock()
	select {
	case <-ends:
		r.lock.Lock()
		defer r.lock.Unlock()
		return r.known, nil
	case <-ctx.Done():
		return readyAnswer{}, ctx.Err()
	}
}

func (r *readiness) look(ask func() readyAnswer, ends chan struct{}) {
	began := time.Now()
	known := ask()
	r.lock.Lock()
	defer r.lock.Unlock()
	r.known, r.asked, r.asks = known, began, nil
	close(ends)
}
