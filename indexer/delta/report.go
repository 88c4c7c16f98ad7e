package delta

import (
	"time"

	"atlas/indexer/journal"
	"atlas/search/query"
)

// Report is what became of a delta.
type Report struct {
	// Delta is its name; Generation what it was written to.
	Delta      string `json:"delta"`
	Generation string `json:"generation"`
	// Finished tells that everything is written, found by searches, and told to
	// who keeps copies. Otherwise the same call goes on with it.
	Finished bool `json:"finished"`
	// Resumed tells that a part of it was applied by an earlier call.
	Resumed bool      `json:"resumed"`
	Started time.Time `json:"started"`
	// Seconds is what this call took.
	Seconds  float64         `json:"seconds"`
	Datasets []DatasetReport `json:"datasets"`
	// Problems lists what was left out, at most journal.MaxProblems; DeadLetters
	// is the file that has all of it, "" when there is nothing.
	Problems    []journal.Problem `json:"problems"`
	DeadLetters string            `json:"dead_letters"`
	Notes       []string          `json:"notes"`
}

// DatasetReport is what became of a dataset's lines.
type DatasetReport struct {
	Dataset query.Dataset `json:"dataset"`
	Counts
}

// Counts count lines: Lines = Rejected + Replaced + Older + Unchanged + Created
// + Updated + Deleted + Absent + Refused.
type Counts struct {
	Lines int64 `json:"lines"` // blank ones are not counted
	// Rejected lines are neither records nor deletions: see Problems.
	Rejected int64 `json:"rejected"`
	// Replaced lines gave way to another of the same id.
	Replaced int64 `json:"replaced"`
	// Older lines have an earlier updated_at than the record that is there, or
	// than its deletion.
	Older int64 `json:"older"`
	// Unchanged records are there already, the same.
	Unchanged int64 `json:"unchanged"`
	Created   int64 `json:"created"`
	Updated   int64 `json:"updated"`
	Deleted   int64 `json:"deleted"`
	// Absent are deletions of records that are not there.
	Absent int64 `json:"absent"`
	// Refused records were not taken by Elasticsearch: see Problems.
	Refused int64 `json:"refused"`
	// Followed counts records that no line is about and that were written
	// because related records changed.
	Followed int64 `json:"followed"`
}

// LeftOut is how many lines were left out.
func (r Report) LeftOut() int64 {
	var n int64
	for _, d := range r.Datasets {
		n += d.Rejected + d.Refused
	}
	return n
}

// Changed is how many records were written or deleted for a line of the delta.
func (r Report) Changed() int64 {
	var n int64
	for _, d := range r.Datasets {
		n += d.Created + d.Updated + d.Deleted
	}
	return n
}
