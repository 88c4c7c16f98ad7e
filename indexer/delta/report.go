package delta

import (
	"time"

	"atlas/indexer/journal"
	"atlas/search/catalog"
)

// Report is the outcome of a delta.
type Report struct {
	// Delta is the name of the delta, Generation the generation that it wrote to.
	Delta      string `json:"delta"`
	Generation string `json:"generation"`
	// Finished means that everything is written and searchable, and the listener was notified.
	// Otherwise the same call resumes the delta.
	Finished bool `json:"finished"`
	// Resumed means that an earlier call applied a part of the delta.
	Resumed bool      `json:"resumed"`
	Started time.Time `json:"started"`
	// Seconds is the time of this call.
	Seconds  float64         `json:"seconds"`
	Datasets []DatasetReport `json:"datasets"`
	// Problems lists what was left out, at most journal.MaxProblems. DeadLetters is the file
	// that has all of it, "" for none.
	Problems    []journal.Problem `json:"problems"`
	DeadLetters string            `json:"dead_letters"`
	Notes       []string          `json:"notes"`
}

// DatasetReport counts the lines of a dataset.
type DatasetReport struct {
	Dataset catalog.Dataset `json:"dataset"`
	Counts
}

// Counts count lines: Lines = Rejected + Replaced + Older + Unchanged + Created +
// Updated + Deleted + Merged + Absent + Refused.
type Counts struct {
	Lines int64 `json:"lines"` // blank ones are not counted
	// Rejected lines are neither records nor deletions, or merge a record into one that does
	// not exist: see Problems.
	Rejected int64 `json:"rejected"`
	// Replaced lines have a newer line of the same id.
	Replaced int64 `json:"replaced"`
	// Older lines have an earlier updated_at than the present record, or than its
	// deletion.
	Older int64 `json:"older"`
	// Unchanged lines equal the present record.
	Unchanged int64 `json:"unchanged"`
	Created   int64 `json:"created"`
	Updated   int64 `json:"updated"`
	Deleted   int64 `json:"deleted"`
	// Merged records were merged into others.
	Merged int64 `json:"merged"`
	// Suppressed lines are left out on request (docs/privacy.md); their records are deleted
	// if they existed.
	Suppressed int64 `json:"suppressed"`
	// SuppressedLines are suppressed lines that are no records. A Report counts them in
	// Suppressed.
	SuppressedLines int64 `json:"suppressed_lines,omitempty"`
	// Absent are deletions of records that do not exist.
	Absent int64 `json:"absent"`
	// Refused records were rejected by Elasticsearch: see Problems.
	Refused int64 `json:"refused"`
	// Followed counts records without a line that were written because related records
	// changed.
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

// Changed is how many records were written or deleted because of a line.
func (r Report) Changed() int64 {
	var n int64
	for _, d := range r.Datasets {
		n += d.Created + d.Updated + d.Deleted + d.Merged
	}
	return n
}
