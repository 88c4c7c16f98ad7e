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
// The client repeats after a refused or lost connection or response, after 502, 503 and
// 504, after 429 with a short wait, and while the first attempt is still running
// (ErrIdempotencyInProgress). All attempts of a call have the same Idempotency-Key, so what
// an attempt did whose response was lost is neither done nor charged again. The response to
// a repetition has no secrets: the AcceptURL of an invitation and the Secret of a webhook
// are "" then. Only the acceptance of an invitation is not repeated when its response was
// lost.
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
	if attempt >= r.attempts() || !r.repeats(failure, repeatable) {
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
		return e.Code == ErrIdempotencyInProgress && e.RetryAfter > 0
	}
	if _, ok := errors.AsType[*lostError](failure); !ok || errors.Is(failure, context.Canceled) {
		return false
	}
	op, ok := errors.AsType[*net.OpError](failure)
	return repeatable || ok && op.Op == "dial"
}
