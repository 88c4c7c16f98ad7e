package ratelimit

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
)

// Patient makes a limiter wait for Redis on a busy machine.
func (l *Limiter) Patient() *Limiter {
	l.timeout = 30 * time.Second
	return l
}

// Concurrent callers do not create more buckets than the limit, and a caller in use keeps its
// own.
func TestLocalBucketsAreBounded(t *testing.T) {
	t.Parallel()
	l := New(nil, "")
	now, limit := time.Now(), redis_rate.Limit{Rate: 1, Burst: 3, Period: time.Second}
	for i := range 3 * maxLocal {
		l.own(fmt.Sprint("caller ", i), limit, now, 1, false)
		if r := l.own("one", limit, now, 1, false); r.RetryAfter <= 0 && i >= 3 {
			t.Fatalf("after %d other callers the empty bucket is full again", i)
		}
		if n := l.local.Len(); n > maxLocal {
			t.Fatalf("%d buckets", n)
		}
	}
}
