package auth

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"atlas/internal/fault"
)

// cacheTTL is how long a look-up may be used, from its start.
const cacheTTL = 4 * time.Second

// loadTimeout bounds one look-up. It is detached from the request that began
// it, since others wait for it too.
const loadTimeout = 2 * time.Second

// cache keeps the answers of a look-up, the most recently used ones, at most
// max of them. Errors are not kept.
type cache[K comparable, V any] struct {
	max  int
	now  func() time.Time
	text func(K) string // a distinct text per key

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

func newCache[K comparable, V any](limit int, now func() time.Time, text func(K) string) *cache[K, V] {
	return &cache[K, V]{max: limit, now: now, text: text, entries: map[K]*list.Element{}, recent: list.New()}
}

// get returns a kept answer that is young enough.
func (c *cache[K, V]) get(k K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.entries[k]
	if !ok {
		return v, false
	}
	e := element.Value.(*entry[K, V])
	if c.now().Sub(e.start) >= cacheTTL {
		return v, false // it stays, for met, until others need its room
	}
	c.recent.MoveToFront(element)
	return e.value, true
}

// met tells whether an answer was found for the key before, however long ago,
// among the most recently used ones.
func (c *cache[K, V]) met(k K) bool {
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
		if start.After(e.start) {
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

// load returns a kept answer or looks it up, once for all who ask at the same
// time.
func (c *cache[K, V]) load(ctx context.Context, k K, look func(context.Context) (V, error)) (V, error) {
	// A look-up that others began may be too old when it ends: then another.
	for range 3 {
		if v, ok := c.get(k); ok {
			return v, nil
		}
		results := c.flight.DoChan(c.text(k), func() (any, error) {
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
		var zero V
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
	var zero V
	return zero, fault.BackendUnavailable(errors.New("look-ups take longer than they may be used"), "authentication")
}
