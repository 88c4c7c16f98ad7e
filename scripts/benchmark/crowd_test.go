package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestCrowdDoesEachOnce(t *testing.T) {
	t.Parallel()
	var done [100]atomic.Int32
	var workers, now, most atomic.Int32
	l, err := crowd(t.Context(), 4, len(done), func() func(context.Context, int) error {
		workers.Add(1)
		return func(_ context.Context, i int) error {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			done[i].Add(1)
			now.Add(-1)
			return nil
		}
	})
	if err != nil || len(l.each) != len(done) || l.took <= 0 || workers.Load() != 4 || most.Load() > 4 {
		t.Errorf("%v, %d times, %v, %d workers, %d at once", err, len(l.each), l.took, workers.Load(), most.Load())
	}
	for i := range done {
		if n := done[i].Load(); n != 1 {
			t.Errorf("%d was done %d times", i, n)
		}
	}
}

func TestCrowdEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var done atomic.Int32
	_, err := crowd(t.Context(), 4, 1_000_000, func() func(context.Context, int) error {
		return func(_ context.Context, i int) error {
			if done.Add(1) >= 10 {
				return broken
			}
			return nil
		}
	})
	if n := done.Load(); !errors.Is(err, broken) || n > 14 {
		t.Errorf("%v after %d", err, n)
	}
}
