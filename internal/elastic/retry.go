package elastic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"atlas/internal/fault"
	"atlas/internal/timer"
)

// Retry bounds the retries of transient failures: Elasticsearch is unavailable,
// busy (429) or broken (5xx). The zero value has the defaults.
type Retry struct {
	// For is the time without any success after which to stop, default 5 minutes.
	For time.Duration
	// First and Max bound the pauses, default 200 ms and 15 s. A pause is random, up to
	// First, then up to twice that, and so on up to Max, so that clients that failed
	// together do not retry together.
	First, Max time.Duration
	// Pace, when set, is the size of the requests of Bulk, and adapts to their
	// outcome.
	Pace *Pace
	// Notify, when set, is called with each failure and the pause after it, also by
	// several goroutines at once.
	Notify func(err error, pause time.Duration)
}

// Passing reports whether an error is transient, so that a retry can help.
func Passing(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class() != Rejected
	}
	return fault.CodeOf(err) == fault.Unavailable
}

// Do calls op until it succeeds, fails permanently, or For is over.
func (r Retry) Do(ctx context.Context, op func(context.Context) error) error {
	pauses := r.start(nil)
	for {
		err := op(ctx)
		if err == nil || !Passing(err) {
			return err
		}
		if err := pauses.wait(ctx, err); err != nil {
			return err
		}
	}
}

// backoff is the state of one retried operation.
type backoff struct {
	Retry
	since  time.Time // of the last success, or of the beginning
	next   time.Duration
	jitter func(most time.Duration) time.Duration
}

// start begins an operation. jitter chooses the pauses; nil means at random.
func (r Retry) start(jitter func(time.Duration) time.Duration) *backoff {
	if r.For <= 0 {
		r.For = 5 * time.Minute
	}
	if r.First <= 0 {
		r.First = 200 * time.Millisecond
	}
	if r.Max <= 0 {
		r.Max = 15 * time.Second
	}
	if jitter == nil {
		jitter = func(most time.Duration) time.Duration { return rand.N(most) + 1 } // #nosec G404 -- spreads retries, guards nothing
	}
	p := &backoff{Retry: r, jitter: jitter}
	p.progress()
	return p
}

// progress restarts the backoff after a success.
func (p *backoff) progress() { p.since, p.next = time.Now(), p.First }

// wait pauses after a failure. It fails when the time is over or the context ended.
func (p *backoff) wait(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	left := p.For - time.Since(p.since)
	if left <= 0 {
		return fmt.Errorf("elasticsearch did not recover within %v: %w", p.For, cause)
	}
	pause := min(p.jitter(p.next), left)
	p.next = min(2*p.next, p.Max)
	if p.Notify != nil {
		p.Notify(cause, pause)
	}
	return timer.Sleep(ctx, pause)
}
