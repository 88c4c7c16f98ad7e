package ratelimit

import (
	"sync"

	"golang.org/x/time/rate"
)

// Buckets are token buckets of this process, one for each key. Beyond the maximum of
// NewBuckets the least recently used keys are dropped, and get full buckets. It is safe for
// concurrent use.
type Buckets[K comparable] struct {
	most int
	lock sync.Mutex
	// recent has the buckets in use since its creation, older those before it. Each has at most
	// half of the maximum.
	recent, older map[K]*rate.Limiter
}

// NewBuckets returns buckets for at most that many keys.
func NewBuckets[K comparable](most int) *Buckets[K] {
	return &Buckets[K]{most: most, recent: map[K]*rate.Limiter{}}
}

// Of returns the bucket of a key, a full one if it has none yet.
func (b *Buckets[K]) Of(key K, perSecond, burst int) *rate.Limiter {
	b.lock.Lock()
	defer b.lock.Unlock()
	bucket := b.recent[key]
	if bucket != nil {
		return bucket
	}
	if bucket = b.older[key]; bucket == nil {
		bucket = rate.NewLimiter(rate.Limit(perSecond), burst)
	}
	if len(b.recent) >= b.most/2 {
		b.older, b.recent = b.recent, map[K]*rate.Limiter{}
	}
	b.recent[key] = bucket
	return bucket
}

// Len is the number of buckets. A key that moved from the older to the recent ones counts
// twice.
func (b *Buckets[K]) Len() int {
	b.lock.Lock()
	defer b.lock.Unlock()
	return len(b.recent) + len(b.older)
}
