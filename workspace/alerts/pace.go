package alerts

import (
	"context"
	"time"

	"atlas/internal/timer"
)

// idle is how many times as long as it compared a Watcher then waits, at most longestPause, so
// that searches of others have the processors.
const (
	idle         = 3
	longestPause = time.Second
)

// pause waits after work that began at a time of the machine's clock.
func (w *Watcher) pause(ctx context.Context, began time.Time) error {
	d := min(idle*time.Since(began), longestPause)
	if w.Pause != nil {
		return w.Pause(ctx, d)
	}
	return timer.Sleep(ctx, d)
}
