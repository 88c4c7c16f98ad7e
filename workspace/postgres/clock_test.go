package postgres_test

import (
	"sync"
	"testing"
	"time"
)

// The clock is that of Postgres, also for concurrent callers, and advances between reads.
func TestClockIsThatOfPostgres(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clock := w.system.Clock()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				var before, after time.Time
				if err := w.system.Pool().QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&before); err != nil {
					t.Error(err)
					return
				}
				now := clock.Now()
				if err := w.system.Pool().QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&after); err != nil {
					t.Error(err)
					return
				}
				// A read is placed in the middle of its time, which may be off by half of it.
				if off := time.Second; now.Before(before.Add(-off)) || now.After(after.Add(off)) {
					t.Errorf("%v is not between %v and %v", now, before, after)
				}
			}
		})
	}
	all.Wait()
}
