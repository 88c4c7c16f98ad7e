package search

import (
	"bytes"
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

// limited puts a time limit into each search of an _msearch body, which has no
// parameter for all of them. Every second line is a search.
func limited(body []byte, timeout string) []byte {
	limit := fmt.Appendf(nil, `{"timeout":%q,`, timeout)
	out := make([]byte, 0, len(body)+4*len(limit))
	odd := true
	for line := range bytes.Lines(body) {
		if odd = !odd; odd && len(line) > 0 && line[0] == '{' {
			out = append(out, limit...)
			line = line[1:]
		}
		out = append(out, line...)
	}
	return out
}
