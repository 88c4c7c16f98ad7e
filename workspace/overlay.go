package workspace

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Limits of an overlay, in characters but for MaxTags.
const (
	MaxStatus = 100
	MaxNotes  = 10_000
	MaxTag    = 64
	MaxTags   = 50
)

// Overlay is what a workspace says of a global record. The records that have
// one are the workspace's book.
type Overlay struct {
	Record uuid.UUID
	// ICPTier is one of query.ICPTiers; accounts only. Nil: unknown.
	ICPTier *string
	// Status is 1..MaxStatus characters, Notes at most MaxNotes. Nil: unknown.
	Status, Notes *string
	// Tags are at most MaxTags, each 1..MaxTag characters, as DistinctTags makes
	// them.
	Tags []string
	// Score is 0..100 and Trend rising, steady or falling, both as computed at
	// ScoredAt; accounts only.
	Score    int
	Trend    string
	ScoredAt time.Time
	// UpdatedAt is when the workspace last changed something: the computed
	// values do not move it.
	CreatedAt, UpdatedAt time.Time
}

// Change is a new value of a field that can be unknown. The zero Change leaves
// the field as it is.
type Change struct {
	Set bool
	To  *string // nil: unknown
}

// OverlayChange says what becomes of an overlay.
type OverlayChange struct {
	ICPTier, Status, Notes Change
	// Tags replaces all of them; nil leaves them.
	Tags *[]string
}

// Apply returns the overlay as the change makes it, and whether anything is
// different.
func (c OverlayChange) Apply(o Overlay) (Overlay, bool) {
	changed := false
	for _, f := range []struct {
		change Change
		value  **string
	}{{c.ICPTier, &o.ICPTier}, {c.Status, &o.Status}, {c.Notes, &o.Notes}} {
		if f.change.Set && !sameText(f.change.To, *f.value) {
			*f.value, changed = f.change.To, true
		}
	}
	if c.Tags != nil && !slices.Equal(*c.Tags, o.Tags) {
		o.Tags, changed = *c.Tags, true
	}
	return o, changed
}

func sameText(a, b *string) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// Scored is a computed score.
type Scored struct {
	Score int
	Trend string
	At    time.Time
}
