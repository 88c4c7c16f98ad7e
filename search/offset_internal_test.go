package search

import (
	"context"
	"testing"
	"time"

	"atlas/internal/fault"
)

// A workspace whose searches wait for its share does not make others wait, and
// its share is dropped with its last search.
func TestRowsBeforeOffsetsAreShared(t *testing.T) {
	t.Parallel()
	var b rowBudget
	var done []func()
	acquire := func(workspace string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		end, err := b.acquire(ctx, workspace, 200, 20)
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
	if err := acquire("one"); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("beyond its share: %v", err)
	}
	for range 5 {
		if err := acquire("two"); err != nil {
			t.Errorf("another workspace: %v", err)
		}
	}
	if err := acquire("three"); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("beyond all rows: %v", err)
	}
	for _, end := range done {
		end()
	}
	if err := acquire("three"); err != nil {
		t.Error(err)
	}
	done[len(done)-1]()
	if len(b.shares) > 0 {
		t.Errorf("%d workspaces are remembered", len(b.shares))
	}
	// One that needs more than the whole budget gets all of it.
	if end, err := b.acquire(t.Context(), "one", 200, 500); err != nil {
		t.Error(err)
	} else {
		end()
	}
}
