package credits

import (
	"sync"
	"time"
)

// clockTolerance is how far Redis's clock may be ahead of a server's before the
// window stops following it.
const clockTolerance = time.Minute

// catchUpDivisor is the share of the passed time by which a steadyClock nears a system
// clock that is ahead of it: a minute an hour.
const catchUpDivisor = 60

// steadyClock tells the time without following a system clock that is set
// forward: it starts with the system's time and goes on with the time that
// really passes. It catches up slowly, so that what the monotonic clock does
// not count (a suspended machine) or a clock that was wrong at the start mends
// by itself. A system clock set back does not turn it back.
type steadyClock struct {
	wall    func() time.Time     // the system's time
	elapsed func() time.Duration // monotonic, from any fixed point

	mu        sync.Mutex
	current   time.Time
	currentAt time.Duration // elapsed() when told was told
}

func newSteadyClock(wall func() time.Time, elapsed func() time.Duration) *steadyClock {
	return &steadyClock{wall: wall, elapsed: elapsed, current: wall(), currentAt: elapsed()}
}

// systemClock is the steady clock of this process.
func systemClock() *steadyClock {
	start := time.Now()
	// Round(0) leaves the wall clock's reading only.
	wall := func() time.Time { return time.Now().Round(0) }
	return newSteadyClock(wall, func() time.Duration { return time.Since(start) })
}

func (c *steadyClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.elapsed()
	passed := at - c.currentAt
	c.currentAt = at
	c.current = c.current.Add(passed)
	if behind := c.wall().Sub(c.current); behind > 0 {
		c.current = c.current.Add(min(behind, passed/catchUpDivisor))
	}
	return c.current
}
