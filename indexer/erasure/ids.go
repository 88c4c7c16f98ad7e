package erasure

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"atlas/search/catalog"
)

// A contact that is suppressed by its e-mail address can arrive with another one later. So its
// id is suppressed too, as an entry of that suppression. Phone numbers, and names with firms,
// add no ids: others can have them, and are left out only as long as they do.

// MaxIDs is the maximum number of ids that loads and deltas add to a suppression: an address of
// more contacts does not identify a person.
const MaxIDs = 100

// ByLink is the author of suppressions by a link.
const ByLink = "a link to the address on file"

// takesIDs reports whether the ids of later records with the value are added to it. A link is
// for one contact, so its suppression takes none.
func (s Suppression) takesIDs() bool { return s.Kind == Email && s.Of == uuid.Nil && s.By != ByLink }

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

// TooManyNote warns operators that a suppression is hardly a person's.
func TooManyNote(of uuid.UUID) string {
	return fmt.Sprintf(
		"the suppression %s would be of more than %d records: no more of their ids are suppressed, so look at whether its value is a person's", of,
		MaxIDs,
	)
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
