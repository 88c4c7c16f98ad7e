package client

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// Retry configures retries of failed requests. The zero value is the default.
//
// The client retries after a refused or lost connection or response, after 502, 503 and
// 504, after 429 with a short wait, and while the first attempt is still running
// (ErrIdempotencyInProgress). All attempts of a call have the same Idempotency-Key, so the
// effect of an attempt whose response was lost is neither repeated nor charged twice. The
// response to a repetition has no secrets: then the AcceptURL of an invitation and the
// Secret of a webhook are "". Only the acceptance of an invitation is not retried when its
// response was lost.
type Retry struct {
	// Attempts is the maximum number of attempts; 0: no limit; 1: no retry.
	Attempts int
	// For bounds the time from the first failure to the start of the last attempt;
	// 0: 15 s, or no limit when Attempts is set.
	For time.Duration
	// First is the wait before the second attempt; 0: 250 ms. It doubles up to
	// Longest. Half of each wait is random, so that clients do not retry in
	// step. No wait is shorter than Retry-After.
	First time.Duration
	// Longest bounds one wait; 0: 10 s. If Retry-After exceeds it, the error is
	// returned at once.
	Longest time.Duration
}

// withDefaults replaces zero fields by their defaults.
func (r Retry) withDefaults() Retry {
	if r.For == 0 && r.Attempts == 0 {
		r.For = 15 * time.Second // a failover of Redis or Postgres takes less
	}
	r.For = cmp.Or(r.For, math.MaxInt64)
	r.Attempts = cmp.Or(r.Attempts, math.MaxInt)
	r.First, r.Longest = cmp.Or(r.First, 250*time.Millisecond), cmp.Or(r.Longest, 10*time.Second)
	return r
}

// after decides whether and when to retry after a failure. passed is the time since the
// first failure. The last wait ends at For, so that all clients outlast a shorter outage.
func (r Retry) after(attempt int, passed time.Duration, failure error, repeatable bool) (time.Duration, bool) {
	r = r.withDefaults()
	if attempt >= r.Attempts || passed >= r.For || !r.repeats(failure, repeatable) {
		return 0, false
	}
	wait := min(r.pause(attempt), r.For-passed)
	if e, ok := errors.AsType[*Error](failure); ok && e.RetryAfter > 0 {
		// The requested time plus up to a quarter, at most the longest.
		wait = max(wait, min(e.RetryAfter+rand.N(e.RetryAfter/4+1), r.Longest, r.For-passed)) // #nosec G404 -- spreads retries, guards nothing
		if e.RetryAfter > min(r.Longest, r.For-passed) {
			return 0, false
		}
	}
	return wait, true
}

// pause is the wait after an attempt, unless the service asks for a longer one.
func (r Retry) pause(attempt int) time.Duration {
	wait := r.First
	for range attempt - 1 {
		if wait *= 2; wait >= r.Longest {
			break
		}
	}
	wait = min(wait, r.Longest)
	return wait/2 + rand.N(wait/2+1) // #nosec G404 -- spreads retries, guards nothing
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
