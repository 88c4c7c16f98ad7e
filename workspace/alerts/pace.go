package alerts

import (
	"context"
	"time"

	"atlas/internal/timer"
)

// After work a Watcher waits idle times as long, at most longestPause, so that searches of
// others have the processors.
const (
	idle         = 3
	longestPause = time.Second
)

// paced does work, then waits. Its error is that of the wait.
func (w *Watcher) paced(ctx context.Context, work func()) error {
	began := time.Now()
	work()
	d := min(idle*time.Since(began), longestPause)
	if w.Pause != nil {
		return w.Pause(ctx, d)
	}
	return timer.Sleep(ctx, d)
}
