package projection

import (
	"context"
	"sync"
)

// coalescer runs one thing at a time for each key. Who asks while it runs gets the
// next run, which all who ask until then share: a run is shared only by those
// who asked before it began.
type coalescer[K comparable] struct {
	lock    sync.Mutex
	queues  map[K]*queue
	running sync.WaitGroup
}

type queue struct{ next *call }

// call is one run; err is set when done is closed.
type call struct {
	done chan struct{}
	err  error
}

// schedule returns the run of a key that begins next, and sees that it does.
func (t *coalescer[K]) schedule(key K, run func() error) *call {
	t.lock.Lock()
	defer t.lock.Unlock()
	q, busy := t.queues[key]
	if !busy {
		if t.queues == nil {
			t.queues = map[K]*queue{}
		}
		q = &queue{}
		t.queues[key] = q
		t.running.Go(func() { t.loop(key, q, run) })
	}
	if q.next == nil {
		q.next = &call{done: make(chan struct{})}
	}
	return q.next
}

func (t *coalescer[K]) loop(key K, q *queue, run func() error) {
	for {
		t.lock.Lock()
		current := q.next
		if current == nil {
			delete(t.queues, key)
			t.lock.Unlock()
			return
		}
		q.next = nil
		t.lock.Unlock()
		current.err = run()
		close(current.done)
	}
}

func (t *coalescer[K]) wait() { t.running.Wait() }

func (t *call) wait(ctx context.Context) error {
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
