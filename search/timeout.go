package search

import (
	"context"
	"fmt"
	"time"
)

// patience is what Elasticsearch may take for a search: Engine.Timeout, or what
// is left until the caller's deadline. So a search ends there, too, when nobody
// waits for it any more.
func (e *Engine) patience(ctx context.Context) string {
	left := e.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	return fmt.Sprintf("%dms", max(left.Milliseconds(), 1))
}
