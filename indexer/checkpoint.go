package indexer

import (
	"encoding/hex"
	"time"

	"atlas/indexer/extsort"
	"atlas/internal/durable"
	"atlas/internal/fault"
	"atlas/search/query"
)

// state is how far a load is: what a checkpoint keeps, and all that its report
// is made of. It changes at checkpoints only. What happened since the last one
// is done again by the process that resumes the load, and counted then.
type state struct {
	// Resumed counts the processes that went on with the load.
	Resumed int `json:"resumed"`
	// Seconds is the time spent by all of them.
	Seconds  float64                         `json:"seconds"`
	Datasets map[query.Dataset]*datasetState `json:"datasets"`
	// Links are files of links, by the relation; they go with the parents' being
	// indexed.
	Links map[string][]extsort.Run `json:"links"`
	// Created: the new indices are there, with all that the datasets count.
	Created bool `json:"created"`
	// Previous are the indices that were served when the switch was about to be
	// made.
	Previous []string `json:"previous,omitempty"`
	// Letters is the length of the dead letters in bytes; LettersRead what it
	// was when all lines had been read.
	Letters     int64 `json:"letters"`
	LettersRead int64 `json:"letters_read"`
	// Bad and Refused are the problems of lines and of documents that a report
	// lists.
	Bad     []Problem `json:"bad,omitempty"`
	Refused []Problem `json:"refused,omitempty"`
}

type datasetState struct {
	counters
	// Read: all lines are read and sorted. Until then Offset and Line say how
	// many are.
	Read   bool  `json:"read"`
	Offset int64 `json:"offset"`
	Line   int64 `json:"line"`
	// Runs are the files of sorted records. They stay until the switch: should
	// the new indices be lost, they are filled again from them.
	Runs []extsort.Run `json:"runs,omitempty"`
	// Indexed: all documents are acknowledged. Until then those up to and with
	// the id After are; "" stands for none.
	Indexed bool   `json:"indexed"`
	After   string `json:"after"`
}

type counters struct {
	Lines     int64   `json:"lines"`
	Rejected  int64   `json:"rejected"`
	Replaced  int64   `json:"replaced"`
	Refused   int64   `json:"refused"`
	Documents int64   `json:"documents"`
	Dangling  int64   `json:"dangling"`
	ReadTime  float64 `json:"read_seconds"`
	IndexTime float64 `json:"index_seconds"`
}

func newState() *state {
	s := &state{Datasets: map[query.Dataset]*datasetState{}, Links: map[string][]extsort.Run{}}
	for _, d := range query.Datasets {
		s.Datasets[d] = &datasetState{}
	}
	return s
}

// after is the id that indexing goes on after, nil when it begins.
func (d *datasetState) after() []byte {
	id, err := hex.DecodeString(d.After)
	if err != nil || len(id) != idSize {
		return nil
	}
	return id
}

// began tells whether there is anything to resume.
func (s *state) began() bool {
	for _, d := range s.Datasets {
		if d.Read || d.Line > 0 {
			return true
		}
	}
	return false
}

// done is how many records were dealt with by indexing.
func (s *state) done() (n int64) {
	for _, d := range s.Datasets {
		n += d.Replaced + d.Refused + d.Documents
	}
	return n
}

// files names the files that are needed.
func (s *state) files() map[string]bool {
	named := map[string]bool{}
	for _, d := range s.Datasets {
		for _, r := range d.Runs {
			named[r.File] = true
		}
	}
	for _, runs := range s.Links {
		for _, r := range runs {
			named[r.File] = true
		}
	}
	return named
}

// resetIndex goes back to when all lines had been read.
func (s *state) resetIndex() {
	s.Created, s.Letters, s.Refused = false, s.LettersRead, nil
	s.Links = map[string][]extsort.Run{}
	for _, d := range s.Datasets {
		d.Indexed, d.After = false, ""
		d.Replaced, d.Refused, d.Documents, d.Dangling, d.IndexTime = 0, 0, 0, 0, 0
	}
}

// save writes a checkpoint. What it names must be on the disk by then.
func (l *load) save() error {
	if l.folder == nil {
		return nil
	}
	now := time.Now()
	l.state.Seconds += now.Sub(l.saved).Seconds()
	l.saved = now
	if err := durable.SyncFolder(l.folder.path); err != nil {
		return fault.Wrap(err, fault.Internal, "the work folder %s cannot be used", l.folder.path)
	}
	l.state.Letters = l.deadLetters.file.Size()
	l.state.Bad, l.state.Refused = l.deadLetters.known()
	return l.folder.save(checkpointName, l.state)
}
