package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// maxInFlight bounds the requests of an open loop under way at once. Past it
// requests start late, which their latencies show.
const maxInFlight = 128

// openLoop sends so many calls at a fixed rate per second, whether or not the
// ones before were answered, and returns how long after the moment it was due
// each one had its answer: what waits for a slow one before it counts in full.
// The first wrong answer ends it, and so does falling behind for ever.
func (c client) openLoop(ctx context.Context, calls []*call, rate float64, total int) ([]time.Duration, error) {
	planned := time.Duration(float64(total) / rate * float64(time.Second))
	ctx, cancelTimeout := context.WithTimeoutCause(ctx, 3*planned+10*time.Second, fmt.Errorf("%.0f requests/s are more than can be served", rate))
	defer cancelTimeout()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		latencies = make([]time.Duration, total)
		next      atomic.Int64
		wg        sync.WaitGroup
	)
	// Each worker waits for the moment of its own request: none is handed over.
	began := time.Now().Add(10 * time.Millisecond)
	for range min(maxInFlight, total) {
		wg.Go(func() {
			alarm, err := newAlarm(ctx)
			if err != nil {
				cancel(err)
				return
			}
			defer alarm.close()
			var buf []byte
			for {
				i := int(next.Add(1)) - 1
				if i >= total {
					return
				}
				due := began.Add(time.Duration(float64(i) / rate * float64(time.Second)))
				if err := alarm.wait(ctx, due); err != nil {
					cancel(err)
					return
				}
				if buf, err = c.check(ctx, calls[i%len(calls)], buf); err != nil {
					cancel(err)
					return
				}
				latencies[i] = time.Since(due)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return latencies, nil
}
