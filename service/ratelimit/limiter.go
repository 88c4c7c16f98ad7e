// Package ratelimit limits how often a caller does something: a token bucket for each
// caller, in Redis, shared by all servers (docs/api.md, "The limit for free operations" and
// "Budgets of keys"). While Redis is away each server has its own buckets.
package ratelimit

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"atlas/internal/fault"
)

const (
	// DefaultRate is how many tokens a bucket gets each second.
	DefaultRate = 20
	// DefaultBurst is how many tokens a full bucket has.
	DefaultBurst = 60
	// defaultTimeout bounds a call of Redis.
	defaultTimeout = 100 * time.Millisecond
	// awayFor is the pause after a failed call of Redis.
	awayFor = time.Second
	// maxLocal limits the buckets of this server.
	maxLocal = 20_000
)

// Limiter has the buckets of all callers. A nil Limiter allows everything. It is safe
// for concurrent use.
type Limiter struct {
	redis  *redis_rate.Limiter
	prefix string
	// timeout bounds a call of Redis.
	timeout time.Duration

	awayUntil atomic.Int64 // Unix nanoseconds
	lock      sync.Mutex   // for own, which changes a bucket
	local     *Buckets[string]
}

// New returns a limiter. All keys in Redis begin with "rate:" and the prefix.
func New(client redis.UniversalClient, prefix string) *Limiter {
	return &Limiter{redis: redis_rate.NewLimiter(client), prefix: prefix, timeout: defaultTimeout, local: NewBuckets[string](maxLocal)}
}

// Limit is what a bucket has: PerSecond tokens each second, up to Burst. Without PerSecond
// there is no limit.
type Limit struct {
	PerSecond, Burst int
	// Per is the time in which PerSecond tokens are added, if it is not a second.
	Per time.Duration
	// Of names what is limited, for messages: "requests of this API key".
	Of string
}

// Bucket is the state of a caller's bucket.
type Bucket struct {
	// Limit is how many tokens a full bucket has, Remaining how many this one has.
	Limit, Remaining int
	// Reset is the time until the bucket is full.
	Reset time.Duration
}

// Take takes a token from the bucket of a caller: fault.TooManyRequests, with the time
// until there is one, if the bucket is empty. The limit of a bucket may change.
func (l *Limiter) Take(ctx context.Context, caller string, limit Limit) (Bucket, error) {
	return l.take(ctx, caller, limit, 1)
}

// Check is Take without taking: fault.TooManyRequests while the caller owes tokens.
func (l *Limiter) Check(ctx context.Context, caller string, limit Limit) (Bucket, error) {
	return l.take(ctx, caller, limit, 0)
}

// Owe takes tokens even if there are too few: the caller owes the rest, and is refused until
// they are added.
func (l *Limiter) Owe(ctx context.Context, caller string, limit Limit, tokens int) Bucket {
	if l == nil || limit.PerSecond == 0 {
		return Bucket{}
	}
	of := redis_rate.Limit{Rate: limit.PerSecond, Burst: math.MaxInt32, Period: limit.period()}
	r := l.shared(ctx, caller, of, tokens)
	if r == nil {
		of.Burst = limit.Burst
		r = l.own(caller, of, time.Now(), tokens, true)
	}
	gone := int(math.Ceil(r.ResetAfter.Seconds() * float64(limit.PerSecond) / limit.period().Seconds()))
	return Bucket{Limit: limit.Burst, Remaining: max(limit.Burst-gone, 0), Reset: r.ResetAfter}
}

func (l *Limiter) take(ctx context.Context, caller string, limit Limit, tokens int) (Bucket, error) {
	if l == nil || limit.PerSecond == 0 {
		return Bucket{}, nil
	}
	of := redis_rate.Limit{Rate: limit.PerSecond, Burst: limit.Burst, Period: limit.period()}
	r := l.shared(ctx, caller, of, tokens)
	if r == nil {
		r = l.own(caller, of, time.Now(), tokens, false)
	}
	b := Bucket{Limit: r.Limit.Burst, Remaining: r.Remaining, Reset: r.ResetAfter}
	if r.RetryAfter > 0 {
		err := fault.New(fault.TooManyRequests, "too many %s: at most %d %s, and %d at once", limit.Of, r.Limit.Rate, limit.each(), r.Limit.Burst)
		err.RetryAfter = r.RetryAfter
		return b, err
	}
	return b, nil
}

// shared takes tokens from the bucket in Redis. It returns nil when Redis is unavailable.
func (l *Limiter) shared(ctx context.Context, caller string, limit redis_rate.Limit, tokens int) *redis_rate.Result {
	if time.Now().UnixNano() < l.awayUntil.Load() {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	r, err := l.redis.AllowN(bounded, l.prefix+caller, limit, tokens)
	if err != nil {
		if ctx.Err() == nil {
			l.awayUntil.Store(time.Now().Add(awayFor).UnixNano())
		}
		return nil
	}
	return r
}

// own takes tokens from the bucket of this server, even missing ones if the caller may owe
// them.
func (l *Limiter) own(caller string, limit redis_rate.Limit, now time.Time, tokens int, owes bool) *redis_rate.Result {
	l.lock.Lock()
	defer l.lock.Unlock()
	bucket := l.local.Of(caller, limit.Rate, limit.Burst)
	bucket.SetLimitAt(now, perSecond(limit))
	bucket.SetBurstAt(now, limit.Burst)
	r := &redis_rate.Result{Limit: limit, RetryAfter: -1}
	refused := bucket.TokensAt(now) < float64(tokens)
	if owes || !refused {
		for left := tokens; left > 0; left -= limit.Burst { // at most a full bucket at once
			bucket.ReserveN(now, min(left, limit.Burst))
		}
		if tokens < 0 { // they are given back
			bucket.ReserveN(now, tokens)
		}
	}
	there := bucket.TokensAt(now) // negative if the caller owes some
	until := func(n float64) time.Duration {
		return time.Duration((n - there) / float64(limit.Rate) * float64(limit.Period))
	}
	r.Remaining, r.ResetAfter = int(math.Floor(max(there, 0))), until(float64(limit.Burst))
	if refused && !owes {
		r.RetryAfter = until(float64(tokens))
	}
	return r
}
