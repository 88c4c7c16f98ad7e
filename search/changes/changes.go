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

// Op is the kind of a change.
type Op string

// The operations.
const (
	Upsert Op = "upsert" // it is new or has other values
	Delete Op = "delete" // it was deleted
	Merge  Op = "merge"  // it was deleted because it was merged into another record
	Leave  Op = "leave"  // it no longer matches the filters of the follower
)

// Change is a change of a record.
type Change struct {
	Dataset catalog.Dataset
	ID      uuid.UUID
	Op      Op
	// Into is the record that the record of a Merge was merged into. That record may have
	// been merged into another since.
	Into uuid.UUID
	// Fields are the names of the fields of an Upsert that changed. Nil means all fields.
	Fields []string
}

// Then combines the change with a later one of the same record.
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
	// Seq is the position in the feed.
	Seq int64
	// At is when the change was published.
	At time.Time
}

// Position is a position in the feed: everything up to Seq is published. Publication is the
// last publication at that time; it is unknown after Postgres was restored to an earlier
// time.
type Position struct {
	Publication uuid.UUID
	Seq         int64
}

// Page is a part of the feed of a dataset, in the order of Seq. It contains each record
// once, with its latest change.
type Page struct {
	Entries []Entry
	Next    Position
	// CaughtUp means that nothing after the page has been published yet.
	CaughtUp bool
	// PublishedAt is when the changes up to Next were published; zero if nothing was.
	PublishedAt time.Time
}

// State is the state of the feed as its writer sees it.
type State struct {
	// Head is the last published change, Tail the last written one.
	Head, Tail int64
	// Latest is the last publication, Publishing the one in progress. Accepted is the last
	// publication of Elasticsearch when the feed was restarted.
	Latest, Publishing, Accepted uuid.NullUUID
	// Abandoned are the publications that were prepared and abandoned since the last one.
	// Elasticsearch may have one of them.
	Abandoned []uuid.UUID
	// Writer is the writer that has not finished; "" for none. Switch means that it
	// switches searches to a generation. Origin is the generation before it, "" for none.
	// If there are several, joined by commas, each may have been served meanwhile.
	Writer, Origin string
	Switch         bool
	// Generation is the generation of the last switch, "" for none.
	Generation string
	// Marked are the generations whose search aliases are marked while they are served.
	Marked []string
	// Arrival is the last arrival that a writer was given for its new signals. Searches see
	// all signals that arrived up to Arrived.
	Arrival, Arrived time.Time
}

// Restored reports whether Postgres or Elasticsearch was restored to an earlier time, given
// the id of the last publication in Elasticsearch, zero for none.
func (s State) Restored(indexed uuid.UUID) bool {
	is := uuid.NullUUID{UUID: indexed, Valid: true}
	return is != s.Latest && is != s.Publishing && is != s.Accepted && !slices.Contains(s.Abandoned, indexed)
}
