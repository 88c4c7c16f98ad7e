package ratelimit

import (
	"fmt"
	"testing"
	"time"
)

// Callers of one moment do not make more buckets than the limit, and a caller in use
// keeps its own.
func TestLocalBucketsAreBounded(t *testing.T) {
	t.Parallel()
	l := New(nil, "", 1, 3)
	now := time.Now()
	for i := range 3 * maxLocal {
		l.own(fmt.Sprint("caller ", i), now, 1, false)
		if r := l.own("one", now, 1, false); r.RetryAfter <= 0 && i >= 3 {
			t.Fatalf("after %d other callers the empty bucket is full again", i)
		}
		if n := len(l.recent) + len(l.older); n > maxLocal {
			t.Fatalf("%d buckets", n)
		}
	}
}
