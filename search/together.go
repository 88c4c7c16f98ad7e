package search

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"atlas/internal/fault"
)

const (
	// tasksTogether is how many tasks of Engine.Together run at once, and how many of their
	// searches share a round trip, unless one task sends more at once.
	tasksTogether = 8
	// gatherFor is how long a search waits for searches of tasks that are busy with
	// something else.
	gatherFor = 2 * time.Millisecond
)

// Together runs tasks, started in order and some at once. The searches of their context
// share round trips, one at a time. Each task gets what it would get alone. Together
// returns when all tasks have returned; it panics if one of them did.
func (e *Engine) Together(ctx context.Context, tasks int, run func(ctx context.Context, task int)) {
	g := &gathering{engine: e, base: ctx, active: min(tasks, tasksTogether)}
	within := context.WithValue(ctx, gatheringKey{}, g)
	next := make(chan int, tasks)
	for i := range tasks {
		next <- i
	}
	close(next)
	var all sync.WaitGroup
	var first sync.Once
	var cause any
	for range g.active {
		all.Go(func() {
			defer g.leave()
			defer func() {
				if p := recover(); p != nil {
					first.Do(func() { cause = fmt.Sprintf("%v\n%s", p, debug.Stack()) })
				}
			}()
			for i := range next {
				run(within, i)
			}
		})
	}
	all.Wait()
	if cause != nil {
		panic(cause)
	}
}

// gathering collects the searches of tasks that run together.
type gathering struct {
	engine *Engine
	base   context.Context

	lock    sync.Mutex
	active  int         // running tasks
	waiting []*gathered // not sent
	flying  bool        // a round trip is in progress
}

type gatheringKey struct{}

// gathered are the searches that one caller waits for.
type gathered struct {
	ctx      context.Context
	requests []request
	since    time.Time
	done     chan struct{} // closed when the fields below are set
	results  []result
	err      error
}

// alone is a context whose searches share no round trips.
func alone(ctx context.Context) context.Context {
	if gatheringOf(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, gatheringKey{}, (*gathering)(nil))
}

// gatheringOf is the gathering of a context of Together, nil for any other.
func gatheringOf(ctx context.Context) *gathering {
	g, _ := ctx.Value(gatheringKey{}).(*gathering)
	return g
}

// gather sends searches together with those of other tasks.
func (g *gathering) gather(ctx context.Context, requests ...request) ([]result, error) {
	own := &gathered{ctx: ctx, requests: requests, since: time.Now(), done: make(chan struct{})}
	g.lock.Lock()
	g.waiting = append(g.waiting, own)
	g.launch()
	g.lock.Unlock()
	select {
	case <-own.done:
		return own.results, own.err
	case <-ctx.Done():
		return nil, fault.BackendUnavailable(context.Cause(ctx), "elasticsearch")
	}
}

// leave ends a worker.
func (g *gathering) leave() {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.active--
	g.launch()
}

// launch sends the waiting searches if no task can add to them, if they are enough, or if
// they have waited long. Call it with the lock held.
func (g *gathering) launch() {
	g.waiting = slices.DeleteFunc(g.waiting, func(w *gathered) bool { return w.ctx.Err() != nil }) // its caller has left
	if g.flying || len(g.waiting) == 0 {
		return
	}
	searches := 0
	for _, w := range g.waiting {
		searches += len(w.requests)
	}
	if left := gatherFor - time.Since(g.waiting[0].since); len(g.waiting) < g.active && searches < tasksTogether && left > 0 {
		time.AfterFunc(left, func() {
			g.lock.Lock()
			defer g.lock.Unlock()
			g.launch()
		})
		return
	}
	n, searches := 1, len(g.waiting[0].requests)
	for n < len(g.waiting) && searches+len(g.waiting[n].requests) <= tasksTogether {
		searches += len(g.waiting[n].requests)
		n++
	}
	batch := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	g.flying = true
	go g.fly(batch)
}

// fly makes one round trip, then the next.
func (g *gathering) fly(batch []*gathered) {
	defer func() {
		g.lock.Lock()
		defer g.lock.Unlock()
		g.flying = false
		g.launch()
	}()
	var all []request
	for _, w := range batch {
		all = append(all, w.requests...)
	}
	results, err := g.send(all)
	for _, w := range batch {
		if w.err = err; err == nil {
			w.results, results = results[:len(w.requests)], results[len(w.requests):]
		}
		close(w.done)
	}
}

// send is Engine.send, but returns a panic as an error, because no caller's goroutine would
// recover it.
func (g *gathering) send(all []request) (results []result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return g.engine.send(g.base, false, all...)
}
