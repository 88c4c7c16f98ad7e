package credits

import (
	"sync"
	"time"
)

// breaker fails calls fast while Redis is away, so that a dead Redis costs a
// request nothing instead of a whole timeout. After limit failures in a row it
// is open for pause, then lets one call at a time through as a probe; the first
// success closes it. Calls that ran side by side and failed together are one
// failure: a stall of a moment is no absence.
type breaker struct {
	limit int
	pause time.Duration

	mu       sync.Mutex
	failures int
	last     time.Time // when a failure was last counted
	until    time.Time
	probing  bool
}

// outcome is what a call says about Redis.
type outcome int

const (
	succeeded    outcome = iota // Redis is there
	failed                      // Redis is away or too slow
	inconclusive                // the caller gave up first
)

// allow reports whether a call may be made. Each allowed call must be reported.
func (b *breaker) allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < b.limit {
		return true
	}
	if b.probing || time.Now().Before(b.until) {
		return false
	}
	b.probing = true
	return true
}

// report takes in how a call that began then ended; opened and closed say that
// it changed the breaker's state.
func (b *breaker) report(o outcome, began time.Time) (opened, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.failures >= b.limit
	switch o {
	case succeeded:
		b.failures, b.probing = 0, false
	case failed:
		if !was && began.Before(b.last) {
			break
		}
		b.last = time.Now()
		b.failures = min(b.failures+1, b.limit)
		if b.failures >= b.limit {
			b.until, b.probing = time.Now().Add(b.pause), false
		}
	case inconclusive:
		b.probing = false
	}
	is := b.failures >= b.limit
	return is && !was, was && !is
}
