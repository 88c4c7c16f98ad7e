// Package changes reads the feed of changes of global records (docs/api.md, "Changes").
//
// It does not write the feed: package indexer/feed does.
package changes

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/search/catalog"
)

// Op is what became of a record.
type Op string

// The operations.
const (
	Upsert Op = "upsert" // it is new or has other values
	Delete Op = "delete" // it is gone
	Merge  Op = "merge"  // it is gone, because it became another record
	Leave  Op = "leave"  // it does not match the filters of the follower
)

// Change is a change of a record.
type Change struct {
	Dataset catalog.Dataset
	ID      uuid.UUID
	Op      Op
	// Into is what the record of a Merge became. That may have become another since.
	Into uuid.UUID
	// Fields are the names of the fields of an Upsert that have other values. Nil means
	// all fields.
	Fields []string
}

// Then is the change and a later one of the same record as one change.
func (c Change) Then(later Change) Change {
	if c.Op == Upsert && later.Op == Upsert && c.Fields != nil && later.Fields != nil {
		later.Fields = slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.Fields, later.Fields))))
	} else if later.Op == Upsert {
		later.Fields = nil // it was new, or gone, in between
	}
	return later
}

// Entry is a Change in the feed.
type Entry struct {
	Change
	// Seq is the place in the feed.
	Seq int64
	// At is when the change was published.
	At time.Time
}

// Position is a place in the feed: everything up to Seq is published. Publication is the
// last one at the time; it is unknown after Postgres was restored to an earlier time.
type Position struct {
	Publication uuid.UUID
	Seq         int64
}

// Page is a part of the feed of a dataset, in the order of Seq. It has each record
// once, in its latest state.
type Page struct {
	Entries []Entry
	Next    Position
	// CaughtUp means that nothing after the page is published yet.
	CaughtUp bool
	// PublishedAt is when the changes up to Next were published; zero if nothing was.
	PublishedAt time.Time
}

// State is the state of the feed as its writer sees it.
type State struct {
	// Head is the last change that is published, Tail the last one that is written.
	Head, Tail int64
	// Latest is the last publication, Publishing the one in progress. Accepted is what
	// Elasticsearch had as the last one when the feed was started over.
	Latest, Publishing, Accepted uuid.NullUUID
	// Abandoned were prepared and given up since the last publication. Elasticsearch may
	// have one of them.
	Abandoned []uuid.UUID
	// Writer has not finished; "" for none. Switch means that it is a generation that
	// searches are switched to, from the generation Origin, "" for none: of several, joined
	// by commas, each may have been served meanwhile.
	Writer, Origin string
	Switch         bool
	// Generation is the one that the feed was last switched to, "" for none.
	Generation string
	// Marked are the generations whose search aliases have a mark while they are served.
	Marked []string
	// Arrival is the last arrival that a writer was given for its new signals. Searches
	// see all signals that arrived up to Arrived.
	Arrival, Arrived time.Time
}

// Restored reports whether Postgres or Elasticsearch was restored to an earlier time, by
// the id of the last publication that Elasticsearch has, zero for none.
func (s State) Restored(kept uuid.UUID) bool {
	is := uuid.NullUUID{UUID: kept, Valid: true}
	return is != s.Latest && is != s.Publishing && is != s.Accepted && !slices.Contains(s.Abandoned, kept)
}
