package search

import (
	"context"
	"testing"
	"time"

	"atlas/internal/fault"
)

// A workspace whose searches wait for rows of its share keeps no other one
// waiting, and is forgotten when the last has ended.
func TestRowsBeforeOffsetsAreShared(t *testing.T) {
	t.Parallel()
	var p places
	var done []func()
	enter := func(of string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		end, err := p.enter(ctx, of, 200, 20)
		if err == nil {
			done = append(done, end)
		}
		return err
	}
	for range 5 {
		if err := enter("one"); err != nil {
			t.Fatal(err)
		}
	}
	if err := enter("one"); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("beyond its share: %v", err)
	}
	for range 5 {
		if err := enter("two"); err != nil {
			t.Errorf("another workspace: %v", err)
		}
	}
	if err := enter("three"); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("beyond all rows: %v", err)
	}
	for _, end := range done {
		end()
	}
	if err := enter("three"); err != nil {
		t.Error(err)
	}
	done[len(done)-1]()
	if len(p.own) > 0 {
		t.Errorf("%d workspaces are remembered", len(p.own))
	}
	// More than there is room for: it has all of it, alone.
	if end, err := p.enter(t.Context(), "one", 200, 500); err != nil {
		t.Error(err)
	} else {
		end()
	}
}
