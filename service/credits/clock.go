package credits

import (
	"sync"
	"time"
)

// clockTolerance is how far the stored time may be ahead of a server's clock.
const clockTolerance = time.Minute

// catchUpDivisor limits how fast a steadyClock approaches a system clock that is ahead:
// by 1/60 of the elapsed time, a minute per hour.
const catchUpDivisor = 60

// steadyClock does not follow a system clock that is set forward. It starts at the system
// time and advances with the monotonic clock. It slowly approaches a system clock that is
// ahead, which corrects time that the monotonic clock does not count (a suspended machine)
// and a wrong start. It never goes back.
type steadyClock struct {
	wall    func() time.Time     // the system time
	elapsed func() time.Duration // monotonic, from any fixed point

	mu        sync.Mutex
	current   time.Time
	currentAt time.Duration // elapsed() at current
}

func newSteadyClock(wall func() time.Time, elapsed func() time.Duration) *steadyClock {
	return &steadyClock{wall: wall, elapsed: elapsed, current: wall(), currentAt: elapsed()}
}

// systemClock returns the steady clock of this process.
func systemClock() *steadyClock {
	start := time.Now()
	// Round(0) strips the monotonic reading.
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
