package indexer

import (
	"time"

	"atlas/search/query"
)

// Report is what became of a load.
type Report struct {
	// Generation is the name of the new generation; it is served when Switched.
	Generation string    `json:"generation"`
	Switched   bool      `json:"switched"`
	Started    time.Time `json:"started"`
	// Seconds is the time spent, by all processes when the load was resumed.
	Seconds float64 `json:"seconds"`
	// Resumed is how often the load was gone on with after its process had ended.
	Resumed int `json:"resumed"`
	// Datasets has a row for each dataset, in the order of ndjson.Datasets.
	Datasets []DatasetReport `json:"datasets"`
	// Problems lists what was left out, by file and line, at most journal.MaxProblems.
	Problems []Problem `json:"problems"`
	// DeadLetters is the path of an NDJSON file of everything that was left out;
	// "" when nothing was.
	DeadLetters string `json:"dead_letters"`
	// WorkDir is where an unfinished load can be gone on with; "" when there is
	// nothing to be gone on with.
	WorkDir string `json:"work_dir"`
	// Shares compare the new generation with what was served before; empty when
	// nothing was.
	Shares []Share `json:"shares"`
	// Notes are for people: ignored files, missing datasets.
	Notes []string `json:"notes"`
	// Previous lists the indices that were served before and are kept, Deleted
	// those of older and unfinished generations that were deleted.
	Previous []string `json:"previous"`
	Deleted  []string `json:"deleted"`
}

// DatasetReport counts what became of a dataset's lines. Lines = Rejected +
// Replaced + Documents + Refused.
type DatasetReport struct {
	Dataset query.Dataset `json:"dataset"`
	File    string        `json:"file"`  // "" when there was none
	Lines   int64         `json:"lines"` // blank ones are not counted
	// Rejected lines are no records: see Problems.
	Rejected int64 `json:"rejected"`
	// Replaced records gave way to one of the same id with a later updated_at,
	// or a later line.
	Replaced int64 `json:"replaced"`
	// Records are the different ones that are left.
	Records int64 `json:"records"`
	// Refused documents were not taken by Elasticsearch: see Problems.
	Refused int64 `json:"refused"`
	// Documents are in the index.
	Documents int64 `json:"documents"`
	// Dangling counts references to records that are not in the load. They are
	// kept.
	Dangling int64 `json:"dangling"`
	// Seconds is the time spent on the dataset alone, and its parts: reading and
	// sorting the lines, and building and writing the documents.
	Seconds      float64 `json:"seconds"`
	ReadSeconds  float64 `json:"read_seconds"`
	IndexSeconds float64 `json:"index_seconds"`
}

// Share is how many records a dataset has in the new generation and in the one
// served before.
type Share struct {
	Dataset query.Dataset `json:"dataset"`
	Before  int64         `json:"before"`
	Now     int64         `json:"now"`
}

// LeftOut is how many lines and documents were left out.
func (r Report) LeftOut() int64 {
	var n int64
	for _, d := range r.Datasets {
		n += d.Rejected + d.Refused
	}
	return n
}

// Documents is how many documents were written.
func (r Report) Documents() int64 {
	var n int64
	for _, d := range r.Datasets {
		n += d.Documents
	}
	return n
}
