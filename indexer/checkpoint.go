package indexer

import (
	"encoding/hex"
	"slices"
	"time"

	"atlas/indexer/erasure"
	"atlas/indexer/extsort"
	"atlas/internal/durable"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

// state is the progress of a load: the content of a checkpoint, and what the report counts. It
// changes only at checkpoints, because a resumed load repeats and counts everything after the
// last one.
type state struct {
	// Resumed counts the processes that resumed the load.
	Resumed int `json:"resumed"`
	// Seconds is the time spent by all of them.
	Seconds  float64                           `json:"seconds"`
	Datasets map[catalog.Dataset]*datasetState `json:"datasets"`
	// Links are the files of links by relation, and of the digests of documents by dataset.
	// Links are removed when their parents are indexed.
	Links map[string][]extsort.Run `json:"links"`
	// Created means that the new indices exist, with all documents that the datasets count.
	Created bool `json:"created"`
	// Arrival is when new signals arrive, in milliseconds since 1970: those that the index
	// ArrivedIn lacks ("": no index). That index has the arrivals of all others.
	Arrival   int64  `json:"arrival"`
	ArrivedIn string `json:"arrived_in"`
	// Suppressions is the position in the list of suppressions (erasure.Set.Through) that
	// reading began with. SuppressionsKnown means that the list was read.
	Suppressions      int64 `json:"suppressions"`
	SuppressionsKnown bool  `json:"suppressions_known"`
	// SuppressedIDs are the records that other values left out, whose ids are to be suppressed.
	SuppressedIDs erasure.Hits `json:"suppressed_ids,omitempty"`
	// Previous are the indices that were served just before the switch.
	Previous []string `json:"previous,omitempty"`
	// DeadLetterBytes is the length of the file of dead letters, in bytes.
	// DeadLetterBytesRead is its length when all lines had been read.
	DeadLetterBytes     int64 `json:"letters"`
	DeadLetterBytesRead int64 `json:"letters_read"`
	// Bad and Refused are the problems of lines and of documents that a report lists.
	Bad     []Problem `json:"bad,omitempty"`
	Refused []Problem `json:"refused,omitempty"`
}

type datasetState struct {
	counters
	// Read means that all lines are read and sorted. Before that, Offset and Line are the
	// position in the file.
	Read   bool  `json:"read"`
	Offset int64 `json:"offset"`
	Line   int64 `json:"line"`
	// Runs are the files of sorted records. They exist until the switch, so that lost
	// indices can be filled a second time.
	Runs []extsort.Run `json:"runs,omitempty"`
	// MergeLines counts the lines that merge records. Resolved means that Unmerged has the
	// files of the merges that cannot be applied.
	MergeLines int64         `json:"merge_lines"`
	Resolved   bool          `json:"resolved"`
	Unmerged   []extsort.Run `json:"unmerged,omitempty"`
	// Indexed means that all documents are acknowledged. Before that, those up to and
	// including the id After are; "" means none.
	Indexed bool   `json:"indexed"`
	After   string `json:"after"`
}

type counters struct {
	Lines     int64 `json:"lines"`
	Rejected  int64 `json:"rejected"`
	Replaced  int64 `json:"replaced"`
	Merged    int64 `json:"merged"`
	BadMerges int64 `json:"bad_merges"`
	// Suppressed counts suppressed records, SuppressedLines suppressed lines that are no
	// records.
	Suppressed      int64   `json:"suppressed"`
	SuppressedLines int64   `json:"suppressed_lines"`
	Refused         int64   `json:"refused"`
	Documents       int64   `json:"documents"`
	Dangling        int64   `json:"dangling"`
	ReadTime        float64 `json:"read_seconds"`
	IndexTime       float64 `json:"index_seconds"`
}

func newState() *state {
	s := &state{Datasets: map[catalog.Dataset]*datasetState{}, Links: map[string][]extsort.Run{}}
	for _, d := range catalog.Datasets {
		s.Datasets[d] = &datasetState{}
	}
	return s
}

// after is the id after which indexing continues, nil at its start.
func (d *datasetState) after() []byte {
	id, err := hex.DecodeString(d.After)
	if err != nil || len(id) != idSize {
		return nil
	}
	return id
}

// began reports whether there is anything to resume.
func (s *state) began() bool {
	for _, d := range s.Datasets {
		if d.Read || d.Line > 0 {
			return true
		}
	}
	return false
}

// done is the number of records that indexing has processed.
func (s *state) done() (n int64) {
	for _, d := range s.Datasets {
		n += d.Replaced + d.Refused + d.Documents + d.Merged + d.BadMerges + d.Suppressed
	}
	return n
}

// files are the names of the files that the state needs.
func (s *state) files() map[string]bool {
	named := map[string]bool{}
	for _, d := range s.Datasets {
		for _, r := range slices.Concat(d.Runs, d.Unmerged) {
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

// resetIndex resets the state to the end of reading.
func (s *state) resetIndex() {
	s.Created, s.DeadLetterBytes, s.Refused, s.SuppressedIDs = false, s.DeadLetterBytesRead, nil, nil
	s.Links = map[string][]extsort.Run{}
	for _, d := range s.Datasets {
		d.Indexed, d.After = false, ""
		d.Replaced, d.Refused, d.Documents, d.Dangling, d.IndexTime = 0, 0, 0, 0, 0
		d.Merged, d.BadMerges, d.Suppressed, d.Resolved, d.Unmerged = 0, 0, 0, false, nil
	}
}

// save writes a checkpoint. The files that it names must be synced to disk before.
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
	l.state.DeadLetterBytes = l.deadLetters.file.Size()
	l.state.Bad, l.state.Refused = l.deadLetters.known()
	return l.folder.save(checkpointName, l.state)
}

func (s *state) addHits(hits erasure.Hits) {
	if s.SuppressedIDs == nil && len(hits) > 0 {
		s.SuppressedIDs = erasure.Hits{}
	}
	for by, ids := range hits {
		for _, id := range ids {
			s.SuppressedIDs.Add(id, by)
		}
	}
}
