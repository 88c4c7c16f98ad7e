package search

import (
	"context"
	"fmt"
	"time"
)

// timeout is how long Elasticsearch may take for a search: Engine.Timeout, or the
// time until the caller's deadline if that is shorter, so that the search ends
// when its caller gives up.
func (e *Engine) timeout(ctx context.Context) string {
	left := e.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	return fmt.Sprintf("%dms", max(left.Milliseconds(), 1))
}
