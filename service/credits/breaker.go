package credits

import (
	"sync"
	"time"
)

// breaker is a circuit breaker: it fails calls at once while Redis is unavailable, so
// that they do not wait for a timeout. After limit failures in a row it is open for
// pause, then lets one call at a time through as a probe. The first success closes it.
// Concurrent calls that fail together count as one failure, because a short stall is no
// outage.
type breaker struct {
	limit int
	pause time.Duration

	mu       sync.Mutex
	failures int
	last     time.Time // when a failure was last counted
	until    time.Time
	probing  bool
}

// outcome is what the end of a call says about Redis.
type outcome int

const (
	succeeded    outcome = iota // Redis replied
	failed                      // Redis is unavailable or too slow
	inconclusive                // the caller gave up before
)

// allow reports whether a call may be made. The caller must report each allowed call.
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

// closed reports whether calls are made.
func (b *breaker) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures < b.limit
}

// report records the outcome of a call that started at began. opened and closed say
// whether it changed the state of the breaker.
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
