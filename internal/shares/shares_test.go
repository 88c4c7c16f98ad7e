package shares

import (
	"context"
	"testing"
	"time"
)

// An owner whose calls wait for its share does not make others wait, and its share is dropped
// with its last call.
func TestShares(t *testing.T) {
	t.Parallel()
	var b Shares
	var done []func()
	acquire := func(owner string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		end, err := b.Acquire(ctx, owner, 20, 100, 200)
		if err == nil {
			done = append(done, end)
		}
		return err
	}
	for range 5 {
		if err := acquire("one"); err != nil {
			t.Fatal(err)
		}
	}
	if err := acquire("one"); err == nil {
		t.Error("beyond its share")
	}
	for range 5 {
		if err := acquire("two"); err != nil {
			t.Errorf("another owner: %v", err)
		}
	}
	if err := acquire("three"); err == nil {
		t.Error("beyond all units")
	}
	for _, end := range done {
		end()
	}
	if err := acquire("three"); err != nil {
		t.Error(err)
	}
	done[len(done)-1]()
	if len(b.of) > 0 {
		t.Errorf("%d owners are remembered", len(b.of))
	}
	// One that needs more than the whole budget gets all of it.
	if end, err := b.Acquire(t.Context(), "one", 500, 100, 200); err != nil {
		t.Error(err)
	} else {
		end()
	}
}
