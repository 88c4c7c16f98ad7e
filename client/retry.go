package client

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// Retry is how requests that failed are sent again. The zero value is the
// default.
//
// By itself the client repeats only what nobody can tell was sent twice: reads,
// searches, and writes that say how something shall be, such as an upsert of a
// book's record. It does not repeat what creates (an invitation would be
// already_invited, and its link lost), what another's change may have overtaken
// (an upsert of a View with a revision), nor a deletion that answers 404 when it
// is repeated: after a lost answer only the caller can know what to do. Two
// failures are repeated whatever the request, for nothing was done: a connection
// that was refused, and 429.
//
// What is repeated is a lost connection or answer, 502, 503, 504, and 429 if it
// asks for a short wait. A search whose answer was lost was charged all the
// same, and is charged again.
type Retry struct {
	// Attempts is how often a request is sent at most; 0: 5, or without bound when
	// For is set; 1: never again.
	Attempts int
	// For bounds the time from the first attempt to the last one; 0: no bound.
	For time.Duration
	// First is the wait before the second attempt; 0: 250 ms. Each further one is
	// twice as long, up to Longest. Half of a wait is random, so that clients that
	// failed together do not come back together.
	First time.Duration
	// Longest bounds one wait; 0: 10 s. Retry-After is respected up to it: when the
	// service asks for more, the error is returned at once.
	Longest time.Duration
	// Unsafe repeats every request, for callers who prefer an already_invited, or a
	// 404 for what they deleted, to a lost connection.
	Unsafe bool
}

func (r Retry) attempts() int {
	switch {
	case r.Attempts != 0:
		return r.Attempts
	case r.For > 0:
		return math.MaxInt
	}
	return 5
}

func (r Retry) longest() time.Duration {
	if r.Longest == 0 {
		return 10 * time.Second
	}
	return r.Longest
}

// after tells whether to send again after a failure, and when. passed is the time
// since the first attempt began.
func (r Retry) after(attempt int, passed time.Duration, failure error, repeatable bool) (time.Duration, bool) {
	if attempt >= r.attempts() || !r.repeats(failure, repeatable || r.Unsafe) {
		return 0, false
	}
	wait, ok := r.wait(attempt, failure)
	return wait, ok && (r.For == 0 || passed+wait <= r.For)
}

// wait is how long to wait after an attempt, if it is not too long.
func (r Retry) wait(attempt int, failure error) (time.Duration, bool) {
	if e, ok := errors.AsType[*Error](failure); ok && e.RetryAfter > 0 {
		if e.RetryAfter > r.longest() {
			return 0, false
		}
		// Never before, and spread over a quarter more, up to the longest.
		return min(e.RetryAfter+rand.N(e.RetryAfter/4+1), r.longest()), true // #nosec G404 -- spreads retries, guards nothing
	}
	wait := r.First
	if wait == 0 {
		wait = 250 * time.Millisecond
	}
	for range attempt - 1 {
		if wait *= 2; wait >= r.longest() {
			break
		}
	}
	wait = min(wait, r.longest())
	return wait/2 + rand.N(wait/2+1), true // #nosec G404 -- spreads retries, guards nothing
}

// repeats tells whether a failure may pass, and repeating does no harm.
func (r Retry) repeats(failure error, repeatable bool) bool {
	if e, ok := errors.AsType[*Error](failure); ok {
		switch e.Status {
		case http.StatusTooManyRequests:
			return e.RetryAfter > 0
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return repeatable
		}
		return false
	}
	if _, ok := errors.AsType[*lostError](failure); !ok || errors.Is(failure, context.Canceled) {
		return false
	}
	op, ok := errors.AsType[*net.OpError](failure)
	return repeatable || ok && op.Op == "dial"
}
