package projection

import (
	"context"
	"sync"
)

// coalescer runs one function at a time per key and shares runs between callers. A
// caller never joins a run that has begun, because that run may have missed its
// change: it gets the next run, together with all who call before that one begins.
type coalescer[K comparable] struct {
	lock sync.Mutex
	// runs has the keys that run now.
	runs    map[K]*runs
	running sync.WaitGroup
}

// runs are the run of a key that has begun, and the one after it; next may be nil.
type runs struct{ current, next *call }

// call is one run; err is set when done is closed.
type call struct {
	done chan struct{}
	err  error
}

// schedule returns the next run of a key.
func (c *coalescer[K]) schedule(key K, run func() error) *call {
	c.lock.Lock()
	defer c.lock.Unlock()
	r, running := c.runs[key]
	if !running {
		r = &runs{}
		if c.runs == nil {
			c.runs = map[K]*runs{}
		}
		c.runs[key] = r
		c.running.Go(func() { c.loop(key, r, run) })
	}
	if r.next == nil {
		r.next = &call{done: make(chan struct{})}
	}
	return r.next
}

// current returns the run of a key that has begun, or nil.
func (c *coalescer[K]) current(key K) *call {
	c.lock.Lock()
	defer c.lock.Unlock()
	if r, running := c.runs[key]; running {
		return r.current
	}
	return nil
}

func (c *coalescer[K]) loop(key K, r *runs, run func() error) {
	for {
		c.lock.Lock()
		r.current, r.next = r.next, nil
		if r.current == nil {
			delete(c.runs, key)
			c.lock.Unlock()
			return
		}
		c.lock.Unlock()
		r.current.err = run()
		close(r.current.done)
	}
}

func (c *coalescer[K]) wait() { c.running.Wait() }

func (c *call) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
