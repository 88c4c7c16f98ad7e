package postgres

import (
	"context"
	"sync"
	"time"
)

const (
	// clockEvery is how often a Clock reads that of Postgres.
	clockEvery = time.Minute
	// clockTimeout bounds a read, clockPause is the time between reads that fail.
	clockTimeout, clockPause = time.Second, time.Second
)

// Clock is the clock of Postgres, for times that are stored and that other servers compare: a
// server whose own clock is a year ahead would postpone things by a year. Between reads it adds
// the elapsed time, which steps of the server's clock do not change. It is safe for concurrent
// use.
type Clock struct {
	read func(context.Context) (time.Time, error)

	first sync.Mutex // held while the first answer is awaited
	mu    sync.Mutex
	// base is the time of Postgres at the local time at, zero before the first answer. tried is
	// when the last read began.
	base, at, tried time.Time
}

// Clock returns a clock that reads that of Postgres.
func (s *System) Clock() *Clock {
	return &Clock{read: func(ctx context.Context) (now time.Time, err error) {
		err = s.pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
		return now, err
	}}
}

// Now returns the time of Postgres. The first calls wait for it. Before Postgres has answered
// it is the server's own time: nothing can be stored then anyway.
func (c *Clock) Now() time.Time {
	now, known := c.known()
	if known {
		if c.due(clockEvery) {
			go c.update()
		}
		return now
	}
	c.first.Lock()
	defer c.first.Unlock()
	if now, known = c.known(); !known && c.due(clockPause) {
		c.update()
		now, known = c.known()
	}
	if !known {
		return time.Now().UTC()
	}
	return now
}

func (c *Clock) known() (now time.Time, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Add(time.Since(c.at)).UTC(), !c.base.IsZero()
}

// due reports whether it is time for a read, which the caller must then do.
func (c *Clock) due(every time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.tried.IsZero() && time.Since(c.tried) < every {
		return false
	}
	c.tried = time.Now()
	return true
}

func (c *Clock) update() {
	ctx, cancel := context.WithTimeout(context.Background(), clockTimeout)
	defer cancel()
	began := time.Now()
	now, err := c.read(ctx)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base, c.at = now, began.Add(time.Since(began)/2)
}
