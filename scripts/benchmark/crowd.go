package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// loop is what a closed loop took: each call's time, in no order.
type loop struct {
	took time.Duration
	each []time.Duration
}

// perSecond is its rate.
func (l loop) perSecond() float64 { return float64(len(l.each)) / l.took.Seconds() }

// crowd has n workers do something so many times together, each at once after
// its last. Every worker is made anew, so that it may keep a buffer. The first
// error ends it.
func crowd(ctx context.Context, n, total int, worker func() func(ctx context.Context, i int) error) (loop, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		each = make([]time.Duration, total)
		next atomic.Int64
		wg   sync.WaitGroup
	)
	began := time.Now()
	for range n {
		work := worker()
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= total {
					return
				}
				start := time.Now()
				if err := work(ctx, i); err != nil {
					cancel(err)
				}
				each[i] = time.Since(start)
			}
		})
	}
	wg.Wait()
	l := loop{time.Since(began), each}
	if ctx.Err() != nil {
		return l, context.Cause(ctx)
	}
	return l, nil
}
