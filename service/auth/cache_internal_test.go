package auth

import (
	"context"
	"errors"
	"testing"
	"time"

	"atlas/internal/fault"
)

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache[int, int](3, time.Now)
	for i := range 10 {
		c.put(i, i, time.Now())
		c.get(0) // in use: stays
	}
	if len(c.entries) != 3 || c.recent.Len() != 3 {
		t.Fatalf("%d entries, %d in order; want 3", len(c.entries), c.recent.Len())
	}
	for _, k := range []int{0, 8, 9} {
		if v, ok := c.get(k); !ok || v != k {
			t.Errorf("%d: %v, %v", k, v, ok)
		}
	}
}

func TestCacheAnOlderReadDoesNotReplaceANewerOne(t *testing.T) {
	t.Parallel()
	c := newCache[int, string](3, time.Now)
	now := time.Now()
	c.put(1, "new", now)
	c.put(1, "old", now.Add(-time.Second))
	if v, _ := c.get(1); v != "new" {
		t.Errorf("kept %q", v)
	}
}

func TestCacheTheLookUpOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	c := newCache[int, int](3, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	started, finish, finished := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := c.load(ctx, 1, func(ctx context.Context) (int, error) {
			close(started)
			<-finish
			return 7, ctx.Err()
		})
		finished <- err
	}()
	<-started
	cancel() // the client of the look-up disconnected
	if err := <-finished; fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("the caller who left: %v", err)
	}
	second := make(chan int, 1)
	go func() {
		v, err := c.load(t.Context(), 1, func(context.Context) (int, error) { return 7, nil })
		if err != nil {
			t.Error(err)
		}
		second <- v
	}()
	close(finish)
	if v := <-second; v != 7 {
		t.Errorf("the one who stayed: %d", v)
	}
}

func TestCacheALookUpThatIsTooSlowIsNotUsed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := newCache[int, int](3, func() time.Time { return now })
	looks := 0
	_, err := c.load(t.Context(), 1, func(context.Context) (int, error) {
		looks++
		now = now.Add(cacheTTL)
		return 1, nil
	})
	if fault.CodeOf(err) != fault.Unavailable || looks != 3 {
		t.Errorf("%v after %d look-ups", err, looks)
	}
}

func TestErrorsAreNotCached(t *testing.T) {
	t.Parallel()
	c := newCache[int, int](3, time.Now)
	if _, err := c.load(t.Context(), 1, func(context.Context) (int, error) { return 0, errors.New("x") }); err == nil {
		t.Error("no error")
	}
	if v, err := c.load(t.Context(), 1, func(context.Context) (int, error) { return 5, nil }); v != 5 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
}
