package indexer

import (
	"bufio"
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/search/document"
	"atlas/search/query"
)

// MaxProblems is how many problems a Report lists. All are counted, and
// Options.Rejects has them all.
const MaxProblems = 1_000

// Report is what became of a load.
type Report struct {
	// Generation is the name of the new generation; it is served when Switched.
	Generation string    `json:"generation"`
	Switched   bool      `json:"switched"`
	Started    time.Time `json:"started"`
	Seconds    float64   `json:"seconds"`
	// Datasets has a row for each dataset, in the order of ndjson.Datasets.
	Datasets []DatasetReport `json:"datasets"`
	// Problems lists what was left out, by file and line, at most MaxProblems.
	Problems []Problem `json:"problems"`
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
	// Seconds is the time spent on the dataset alone.
	Seconds float64 `json:"seconds"`
}

// Problem is one reason why a line or a document was left out; a line may have
// several.
type Problem struct {
	File  string `json:"file"`
	Line  int64  `json:"line"`            // counted from 1, blank lines included
	ID    string `json:"id,omitzero"`     // when Elasticsearch refused the document
	Field string `json:"field,omitempty"` // empty when the line as a whole is wrong
	// Reason is a sentence for people.
	Reason string `json:"reason"`
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

// rejects collects what is left out. It is safe for concurrent use.
type rejects struct {
	mu             sync.Mutex
	lines, refused []Problem
	file           *os.File
	buf            *bufio.Writer
	err            error
}

// reject is a line of the rejects file. Record is what the line held or the
// document was made of, Text the line when it is not JSON; both are missing
// when the line was too long to be read.
type reject struct {
	Dataset  query.Dataset      `json:"dataset"`
	File     string             `json:"file"`
	Line     int64              `json:"line"`
	Problems []document.Problem `json:"problems"`
	Record   jsontext.Value     `json:"record,omitzero"`
	Text     string             `json:"text,omitzero"`
}

func newRejects(path string, inputs []input) (*rejects, error) {
	r := &rejects{}
	if path == "" {
		return r, nil
	}
	if info, err := os.Stat(path); err == nil {
		for _, in := range inputs {
			if given, err := os.Stat(in.path); err == nil && os.SameFile(info, given) {
				return nil, fault.New(fault.BadRequest, "the rejects cannot be written to %s, which is to be loaded", path)
			}
		}
	}
	// Records may be about people: the file is its owner's.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fault.Wrap(err, fault.BadRequest, "the rejects cannot be written to %s", path)
	}
	r.file, r.buf = file, bufio.NewWriter(file)
	return r, nil
}

// line takes a line that is no record. raw is nil when it could not be read.
func (r *rejects) line(d query.Dataset, file string, line int64, problems []document.Problem, raw []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range problems {
		r.lines = append(r.lines, Problem{File: file, Line: line, Field: shown(p.Field), Reason: p.Reason})
	}
	// Workers are out of step by little, so these are the first of the file.
	if len(r.lines) > 2*MaxProblems {
		r.lines = firstProblems(r.lines)
	}
	rejected := reject{Dataset: d, File: file, Line: line, Problems: problems}
	if jsontext.Value(raw).IsValid() {
		rejected.Record = raw
	} else {
		rejected.Text = strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	r.write(rejected)
}

// maxShownField is how much of a field's name a report shows, in bytes. A key
// nobody knows can be as long as its line, and a report holds a thousand.
const maxShownField = 200

// shown is a field's name as a person may read it: short, and quoted where it
// holds what a terminal would obey.
func shown(field string) string {
	if len(field) > maxShownField {
		field = strings.ToValidUTF8(field[:maxShownField], "") + "…"
	}
	if strings.ContainsFunc(field, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return strconv.Quote(field)
	}
	return field
}

// document takes a document that Elasticsearch refused; record is its public
// part.
func (r *rejects) document(d query.Dataset, file string, line int64, id, reason string, record []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.refused) < MaxProblems {
		r.refused = append(r.refused, Problem{File: file, Line: line, ID: id, Reason: reason})
	}
	r.write(reject{Dataset: d, File: file, Line: line, Problems: []document.Problem{{Reason: reason}}, Record: record})
}

func (r *rejects) write(rejected reject) {
	if r.buf == nil || r.err != nil {
		return
	}
	line, err := json.Marshal(rejected)
	if err == nil {
		_, err = r.buf.Write(append(line, '\n'))
	}
	r.err = err
}

// problems lists what was collected, refused documents before bad lines where
// not all fit: they are few and nothing else tells of them.
func (r *rejects) problems() []Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := firstProblems(r.lines)
	lines = lines[:min(len(lines), MaxProblems-len(r.refused))]
	all := append(append(make([]Problem, 0, len(r.refused)+len(lines)), r.refused...), lines...)
	sortProblems(all)
	return all
}

// firstProblems keeps the first of what is listed. Files are read in the order
// of their names.
func firstProblems(all []Problem) []Problem {
	sortProblems(all)
	return all[:min(len(all), MaxProblems)]
}

func sortProblems(all []Problem) {
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}

// close writes the file's end. Rejects that could not be written are an error:
// whoever asked for them relies on them.
func (r *rejects) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := cmp.Or(r.err, r.buf.Flush(), r.file.Sync())
	err = cmp.Or(err, r.file.Close())
	path := r.file.Name()
	r.file, r.buf = nil, nil
	if err != nil {
		return fault.Wrap(err, fault.Internal, "the rejects cannot be written to %s", path)
	}
	return nil
}
