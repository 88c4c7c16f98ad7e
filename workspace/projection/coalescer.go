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
	// next has the keys that run now, each with the call that follows, or nil.
	next    map[K]*call
	running sync.WaitGroup
}

// call is one run; err is set when done is closed.
type call struct {
	done chan struct{}
	err  error
}

// schedule returns the next run of a key.
func (c *coalescer[K]) schedule(key K, run func() error) *call {
	c.lock.Lock()
	defer c.lock.Unlock()
	next, running := c.next[key]
	if next == nil {
		next = &call{done: make(chan struct{})}
		if c.next == nil {
			c.next = map[K]*call{}
		}
		c.next[key] = next
	}
	if !running {
		c.running.Go(func() { c.loop(key, run) })
	}
	return next
}

func (c *coalescer[K]) loop(key K, run func() error) {
	for {
		c.lock.Lock()
		current := c.next[key]
		if current == nil {
			delete(c.next, key)
			c.lock.Unlock()
			return
		}
		c.next[key] = nil
		c.lock.Unlock()
		current.err = run()
		close(current.done)
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
