package search

import (
	"context"
	"time"
)

// timeout is how long Elasticsearch may take for a search: Engine.Timeout, or the time
// until the caller's deadline if that is shorter, so that the search ends when its caller
// gives up.
func (e *Engine) timeout(ctx context.Context) time.Duration {
	left := e.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	return max(left.Truncate(time.Millisecond), time.Millisecond)
}
