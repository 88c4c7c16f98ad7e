package ratelimit

import (
	"context"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"golang.org/x/time/rate"
)

// period is the time in which PerSecond tokens are added.
func (l Limit) period() time.Duration {
	if l.Per == 0 {
		return time.Second
	}
	return l.Per
}

// each names the period, for messages.
func (l Limit) each() string {
	if l.period() == time.Hour {
		return "an hour"
	}
	return "a second"
}

func perSecond(l redis_rate.Limit) rate.Limit {
	return rate.Limit(float64(l.Rate) / l.Period.Seconds())
}

// GiveBack returns a token that Take took. A bucket that was full before refills by itself.
func (l *Limiter) GiveBack(ctx context.Context, caller string, limit Limit) Bucket {
	if l == nil || limit.PerSecond == 0 {
		return Bucket{}
	}
	b, _ := l.take(ctx, caller, limit, -1) // never refused
	return b
}
