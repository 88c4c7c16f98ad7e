package generation_test

import (
	"testing"
	"time"

	"atlas/indexer/generation"
)

// Loads of small files follow each other within a second: their names still sort by time.
func TestNamesSortByTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 14, 9, 30, 0, 0, time.UTC)
	before := generation.NewName(at)
	for range 3_000 {
		at = at.Add(time.Millisecond)
		now := generation.NewName(at)
		if now <= before {
			t.Fatalf("%s at %s is not after %s", now, at, before)
		}
		before = now
	}
}
