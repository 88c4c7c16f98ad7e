package erasure

import (
	"slices"

	"github.com/google/uuid"

	"atlas/search/catalog"
)

// A record that is suppressed by another value than its id can arrive with another one later:
// its id is suppressed too, by an entry that belongs to that suppression.

// MaxIDs is the maximum number of ids of a suppression by another value: one of more records is
// no person's.
const MaxIDs = 1_000

// takesIDs reports whether the ids of the records with the value are suppressed too. The address
// that a link suppresses belongs to its contact: a link is for one.
func (s Suppression) takesIDs() bool { return s.Kind != ID && s.Of == uuid.Nil }

func (s Suppression) isID() bool { return s.Kind == ID && s.Of != uuid.Nil }

// Takes returns those of a record's suppressions that its id must still be added to.
func (s *Set) Takes(d catalog.Dataset, id string, because []uuid.UUID) (by []uuid.UUID) {
	if s == nil {
		return nil
	}
	var has []uuid.UUID
	for i, one := range because {
		if !s.takes[one] || slices.Contains(because[:i], one) {
			continue
		}
		if has == nil {
			has = append(s.find(s.ids, d, Values{ID: id}), uuid.Nil) // not computed again
		}
		if !slices.Contains(has, one) {
			by = append(by, one)
		}
	}
	return by
}

// Room is how many ids a suppression can take.
func (s *Set) Room(of uuid.UUID) int {
	if !s.takes[of] {
		return 0
	}
	return MaxIDs - s.taken[of]
}

// Hits are the ids of contacts that suppressions by other values left out, by suppression.
type Hits map[uuid.UUID][]uuid.UUID

// Add adds an id to suppressions, each of which has at most one more than MaxIDs.
func (h Hits) Add(id uuid.UUID, by ...uuid.UUID) {
	for _, one := range by {
		if len(h[one]) <= MaxIDs && !slices.Contains(h[one], id) {
			h[one] = append(h[one], id)
		}
	}
}
