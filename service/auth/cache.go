package auth

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"atlas/internal/fault"
)

// cacheTTL is how long a result may be used, from the start of its look-up.
const cacheTTL = 4 * time.Second

// loadTimeout bounds one look-up. The deadline of the request that started it does
// not apply, because other requests wait for the same look-up.
const loadTimeout = 2 * time.Second

// cache is an LRU cache of results of look-ups, with at most max entries. It does not
// cache errors.
type cache[K comparable, V any] struct {
	max int
	now func() time.Time

	flight  singleflight.Group
	mu      sync.Mutex
	entries map[K]*list.Element // of *entry[K, V]
	recent  *list.List          // most recently used first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	start time.Time // when its look-up began
}

func newCache[K comparable, V any](limit int, now func() time.Time) *cache[K, V] {
	return &cache[K, V]{max: limit, now: now, entries: map[K]*list.Element{}, recent: list.New()}
}

// get returns a cached result younger than cacheTTL.
func (c *cache[K, V]) get(k K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.entries[k]
	if !ok {
		return v, false
	}
	e := element.Value.(*entry[K, V])
	if c.now().Sub(e.start) >= cacheTTL {
		return v, false // it stays for seen until it is evicted
	}
	c.recent.MoveToFront(element)
	return e.value, true
}

// seen reports whether the cache has a result for the key, of any age.
func (c *cache[K, V]) seen(k K) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.entries[k]
	return ok
}

func (c *cache[K, V]) put(k K, v V, start time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.entries[k]; ok {
		e := element.Value.(*entry[K, V])
		if !start.Before(e.start) {
			e.value, e.start = v, start
		}
		c.recent.MoveToFront(element)
		return
	}
	c.entries[k] = c.recent.PushFront(&entry[K, V]{k, v, start})
	for len(c.entries) > c.max {
		oldest := c.recent.Back()
		c.recent.Remove(oldest)
		delete(c.entries, oldest.Value.(*entry[K, V]).key)
	}
}

// load returns a cached result or looks it up. Concurrent calls for one key share
// one look-up.
func (c *cache[K, V]) load(ctx context.Context, k K, look func(context.Context) (V, error)) (V, error) {
	if v, ok := c.get(k); ok {
		return v, nil
	}
	return c.renew(ctx, k, look)
}

// renew is load without using a cached result, which stays if the look-up fails.
func (c *cache[K, V]) renew(ctx context.Context, k K, look func(context.Context) (V, error)) (V, error) {
	var zero V
	// The result of a shared look-up may be too old when it ends: look up again.
	for range 3 {
		results := c.flight.DoChan(fmt.Sprint(k), func() (any, error) {
			start := c.now()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
			defer cancel()
			v, err := look(ctx)
			if err != nil {
				return nil, err
			}
			c.put(k, v, start)
			return &entry[K, V]{k, v, start}, nil
		})
		select {
		case <-ctx.Done():
			return zero, fault.BackendUnavailable(ctx.Err(), "authentication")
		case result := <-results:
			if result.Err != nil {
				return zero, result.Err
			}
			if e := result.Val.(*entry[K, V]); c.now().Sub(e.start) < cacheTTL {
				return e.value, nil
			}
		}
	}
	return zero, fault.BackendUnavailable(errors.New("look-ups take longer than they may be used"), "authentication")
}

func (c *cache[K, V]) drop(k K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.entries[k]; ok {
		c.recent.Remove(element)
		delete(c.entries, k)
	}
}
