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

// Retry configures how failed requests are repeated. The zero value is the
// default.
//
// By default the client repeats only idempotent requests: reads, searches, and
// writes that set a state, such as an upsert of a book's record. It does not
// repeat a creation (an invitation would be already_invited, and its link
// lost), a write that depends on a revision (an upsert of a View with one), or
// a deletion, which would answer 404: after a lost response only the caller can
// decide. It repeats every request after two failures that had no effect: a
// refused connection, and 429.
//
// It repeats after a lost connection or response, after 502, 503 and 504, and
// after 429 with a short wait. A search whose response was lost has been
// charged, and is charged again.
type Retry struct {
	// Attempts is the maximum number of attempts; 0: 5, or unlimited when For
	// is set; 1: no retry.
	Attempts int
	// For bounds the time from the first to the last attempt; 0: no limit.
	For time.Duration
	// First is the wait before the second attempt; 0: 250 ms. It doubles up to
	// Longest. Half of each wait is random, so that clients do not retry in
	// step.
	First time.Duration
	// Longest bounds one wait; 0: 10 s. If Retry-After exceeds it, the error is
	// returned at once.
	Longest time.Duration
	// Unsafe repeats every request, for callers that prefer an already_invited,
	// or a 404 for a deletion, to a lost connection.
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

// after decides whether and when to retry after a failure. passed is the time
// since the start of the first attempt.
func (r Retry) after(attempt int, passed time.Duration, failure error, repeatable bool) (time.Duration, bool) {
	if attempt >= r.attempts() || !r.repeats(failure, repeatable || r.Unsafe) {
		return 0, false
	}
	wait, ok := r.wait(attempt, failure)
	return wait, ok && (r.For == 0 || passed+wait <= r.For)
}

// wait is the pause after an attempt; false when it is too long.
func (r Retry) wait(attempt int, failure error) (time.Duration, bool) {
	if e, ok := errors.AsType[*Error](failure); ok && e.RetryAfter > 0 {
		if e.RetryAfter > r.longest() {
			return 0, false
		}
		// Wait the requested time plus up to a quarter, at most the longest.
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

// repeats reports whether a failure is transient and a retry is safe.
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
