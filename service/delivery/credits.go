package delivery

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"atlas/workspace"
)

// Notices creates deliveries of credit thresholds, once in a window. *postgres.System
// implements it.
type Notices interface {
	NoticeCredits(ctx context.Context, in workspace.ID, percent int, used, ceiling int64, now time.Time, window time.Duration) error
}

const (
	// noticeWindow is that of credits.
	noticeWindow = 24 * time.Hour
	// renotifyAfter is how long a server remembers that a workspace was notified before it asks
	// Postgres.
	renotifyAfter = 10 * time.Minute
	noticeTimeout = 10 * time.Second
)

// thresholds are in percent of the ceiling, the highest first.
var thresholds = []int{100, 80}

// Credits notifies webhooks when a workspace has used much of its credits.
type Credits struct {
	Notices Notices
	// Made, when not nil, is called when there may be deliveries to send.
	Made func()
	Log  *slog.Logger
	// Now is the clock for the times in Notices; nil is time.Now.
	Now func() time.Time

	mu    sync.Mutex
	asked map[notice]time.Time
}

type notice struct {
	in      workspace.ID
	percent int
}

// Used is called after each charge. It does not wait for Postgres.
func (c *Credits) Used(in workspace.ID, used, ceiling int64) {
	for _, percent := range thresholds {
		if ceiling <= 0 || used*100 < ceiling*int64(percent) {
			continue
		}
		if c.due(notice{in, percent}) {
			go c.notify(in, percent, used, ceiling)
		}
		return // only the highest
	}
}

// due reports whether to ask Postgres about a notice.
func (c *Credits) due(n notice) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if last, ok := c.asked[n]; ok && now.Sub(last) < renotifyAfter {
		return false
	}
	if c.asked == nil || len(c.asked) > 10_000 {
		c.asked = map[notice]time.Time{}
	}
	c.asked[n] = now
	return true
}

func (c *Credits) notify(in workspace.ID, percent int, used, ceiling int64) {
	ctx, cancel := context.WithTimeout(context.Background(), noticeTimeout)
	defer cancel()
	if err := c.Notices.NoticeCredits(ctx, in, percent, used, ceiling, workspace.Clock(c.Now)(), noticeWindow); err != nil {
		c.Log.Warn("webhooks were not notified of used credits; trying on", "workspace", in.String(), "percent", percent, "error", err.Error())
		c.mu.Lock()
		delete(c.asked, notice{in, percent})
		c.mu.Unlock()
		return
	}
	if c.Made != nil {
		c.Made()
	}
}
