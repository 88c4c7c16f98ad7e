package indexer

import (
	"time"

	"atlas/search/catalog"
)

// Report is the outcome of a load.
type Report struct {
	// Generation is the name of the new generation. Searches use it if Switched.
	Generation string    `json:"generation"`
	Switched   bool      `json:"switched"`
	Started    time.Time `json:"started"`
	// Seconds is the time of all processes of the load.
	Seconds float64 `json:"seconds"`
	// Resumed is how often the load was resumed.
	Resumed int `json:"resumed"`
	// Datasets has a row for each dataset, in the order of ndjson.Datasets.
	Datasets []DatasetReport `json:"datasets"`
	// Problems lists what the load left out, by file and line, at most journal.MaxProblems.
	Problems []Problem `json:"problems"`
	// DeadLetters is the path of the NDJSON file with everything that was left out,
	// "" when nothing was.
	DeadLetters string `json:"dead_letters"`
	// WorkDir is the folder from which an unfinished load can be resumed, "" when
	// there is nothing to resume.
	WorkDir string `json:"work_dir"`
	// Shares compare the new generation with the previously served one, if any.
	Shares []Share `json:"shares"`
	// Notes are for people: ignored files, missing datasets.
	Notes []string `json:"notes"`
	// Previous lists the indices that were served before and remain, Deleted those of older
	// and unfinished generations that were deleted.
	Previous []string `json:"previous"`
	Deleted  []string `json:"deleted"`
}

// DatasetReport counts the lines of a dataset. Lines = Rejected + Replaced +
// Merged + Suppressed + Documents + Refused.
type DatasetReport struct {
	Dataset catalog.Dataset `json:"dataset"`
	File    string          `json:"file"`  // "" when there was none
	Lines   int64           `json:"lines"` // blank ones are not counted
	// Rejected lines are not records, or merge a record into one that does not exist: see
	// Problems.
	Rejected int64 `json:"rejected"`
	// Replaced records have a newer record of the same id: one with a later
	// updated_at, or a later line.
	Replaced int64 `json:"replaced"`
	// Merged records were merged into others.
	Merged int64 `json:"merged"`
	// Suppressed records are left out on request (docs/privacy.md), without being listed
	// among the Problems.
	Suppressed int64 `json:"suppressed"`
	// Records are the distinct records.
	Records int64 `json:"records"`
	// Refused documents were rejected by Elasticsearch: see Problems.
	Refused int64 `json:"refused"`
	// Documents counts the documents in the index.
	Documents int64 `json:"documents"`
	// Dangling counts references to records that are not in the load. The records retain
	// them.
	Dangling int64 `json:"dangling"`
	// Seconds is the time of this dataset: ReadSeconds for reading and sorting its
	// lines, IndexSeconds for building and writing its documents.
	Seconds      float64 `json:"seconds"`
	ReadSeconds  float64 `json:"read_seconds"`
	IndexSeconds float64 `json:"index_seconds"`
}

// Share is the number of records of a dataset in the new generation and in the
// served one.
type Share struct {
	Dataset catalog.Dataset `json:"dataset"`
	Before  int64           `json:"before"`
	Now     int64           `json:"now"`
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
