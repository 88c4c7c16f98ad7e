package indexer

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/search/document"
	"atlas/search/query"
)

// letters are the dead letters: everything that is left out, in a file, and the
// first of the problems, for the report. It is safe for concurrent use.
type letters struct {
	mu             sync.Mutex
	lines, refused []Problem
	file           *os.File // nil: none is written
	buf            *bufio.Writer
	length         int64
	count          func() // called for each
	err            error
}

// Letter is a line of a file of dead letters, a load's or a delta's. Record is
// what the line held or the document was made of, Text the line when it is not
// JSON; both are missing when the line was too long to be read.
type Letter struct {
	Dataset  query.Dataset      `json:"dataset"`
	File     string             `json:"file"`
	Line     int64              `json:"line"`
	Problems []document.Problem `json:"problems"`
	Record   jsontext.Value     `json:"record,omitzero"`
	Text     string             `json:"text,omitzero"`
}

// NewLetter is the letter for a line that is no record; raw is the line, nil when
// it could not be read.
func NewLetter(d query.Dataset, file string, line int64, problems []document.Problem, raw []byte) Letter {
	l := Letter{Dataset: d, File: file, Line: line, Problems: problems}
	if jsontext.Value(raw).IsValid() {
		l.Record = raw
	} else {
		l.Text = strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	return l
}

// checkLettersPath refuses a path that is one of the inputs.
func checkLettersPath(path string, inputs []input) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	for _, in := range inputs {
		if given, err := os.Stat(in.path); err == nil && os.SameFile(info, given) {
			return fault.New(fault.BadRequest, "the dead letters cannot be written to %s, which is to be loaded", path)
		}
	}
	return nil
}

// openLetters opens the file and goes on after its first s.Letters bytes, which
// a checkpoint knows; what is behind them is written again. "" writes none.
func openLetters(path string, s *state, count func()) (*letters, error) {
	l := &letters{lines: s.Bad, refused: s.Refused, count: count}
	if path == "" {
		return l, nil
	}
	failed := func(err error) error {
		return fault.Wrap(err, fault.BadRequest, "the dead letters cannot be written to %s", path)
	}
	// Records may be about people: the file is its owner's.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600) // #nosec G304 -- a file of the work folder
	if err != nil {
		return nil, failed(err)
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() {
		if info.Size() < s.Letters {
			_ = file.Close()
			return nil, fault.New(fault.BadRequest, "%s was cut or removed while the load was not finished; load anew (--restart) to write all of it", path)
		}
		err = file.Truncate(s.Letters)
		if err == nil {
			_, err = file.Seek(s.Letters, io.SeekStart)
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, failed(err)
	}
	l.file, l.buf, l.length = file, bufio.NewWriter(file), s.Letters
	return l, nil
}

// line takes a line that is no record. raw is nil when it could not be read.
func (l *letters) line(d query.Dataset, file string, line int64, problems []document.Problem, raw []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range problems {
		l.lines = append(l.lines, Problem{File: file, Line: line, Field: ShownField(p.Field), Reason: p.Reason})
	}
	// Workers are out of step by little, so these are the first of the file.
	if len(l.lines) > 2*MaxProblems {
		l.lines = FirstProblems(l.lines)
	}
	dead := NewLetter(d, file, line, problems, raw)
	l.count()
	if l.buf == nil || l.err != nil {
		return
	}
	written, err := json.Marshal(dead)
	if err == nil {
		_, err = l.buf.Write(append(written, '\n'))
	}
	l.length += int64(len(written) + 1)
	l.err = err
}

// maxShownField is how much of a field's name a report shows, in bytes. A key
// nobody knows can be as long as its line, and a report holds a thousand.
const maxShownField = 200

// ShownField is a field's name as a person may read it: short, and quoted where it
// holds what a terminal would obey.
func ShownField(field string) string {
	if len(field) > maxShownField {
		field = strings.ToValidUTF8(field[:maxShownField], "") + "…"
	}
	if strings.ContainsFunc(field, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return strconv.Quote(field)
	}
	return field
}

// take adds what a range of documents has, which is complete, and makes the
// file durable.
func (l *letters) take(of *refusals) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = append(l.refused, of.problems[:min(len(of.problems), MaxProblems-len(l.refused))]...)
	if of.file != nil && l.buf != nil && l.err == nil {
		var n int64
		if _, l.err = of.file.Seek(0, io.SeekStart); l.err == nil {
			n, l.err = io.Copy(l.buf, of.file)
		}
		l.length += n
	}
	of.drop()
	return l.syncFile()
}

// sync makes the file durable.
func (l *letters) sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.syncFile()
}

func (l *letters) syncFile() error {
	if l.file == nil {
		return nil
	}
	err := cmp.Or(l.err, l.buf.Flush())
	if err == nil {
		// A terminal or a pipe has nothing to make durable.
		if err = l.file.Sync(); errors.Is(err, syscall.EINVAL) {
			err = nil
		}
	}
	if l.err = err; err != nil {
		return fault.Wrap(err, fault.Internal, "the dead letters cannot be written to %s", l.file.Name())
	}
	return nil
}

func (l *letters) size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.length
}

// known are the problems for a checkpoint.
func (l *letters) known() (bad, refused []Problem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = FirstProblems(l.lines)
	return slices.Clone(l.lines), slices.Clone(l.refused)
}

// forgetRefused goes back to when all lines had been read.
func (l *letters) forgetRefused(length int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused, l.length = nil, length
	if l.file == nil {
		return nil
	}
	l.buf.Reset(l.file)
	err := l.file.Truncate(length)
	if err == nil {
		_, err = l.file.Seek(length, io.SeekStart)
	}
	if err != nil {
		return fault.Wrap(err, fault.Internal, "the dead letters cannot be written to %s", l.file.Name())
	}
	return nil
}

// problems lists what was collected, refused documents before bad lines where
// not all fit: they are few and nothing else tells of them.
func (l *letters) problems() []Problem {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := FirstProblems(l.lines)
	lines = lines[:min(len(lines), MaxProblems-len(l.refused))]
	all := append(append(make([]Problem, 0, len(l.refused)+len(lines)), l.refused...), lines...)
	sortProblems(all)
	return all
}

// FirstProblems sorts problems by file and line, in place, and returns the first
// MaxProblems of them. Files are read in the order of their names.
func FirstProblems(all []Problem) []Problem {
	sortProblems(all)
	return all[:min(len(all), MaxProblems)]
}

func sortProblems(all []Problem) {
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}

// close writes the file's end. Letters that could not be written are an error:
// whoever mends them relies on them.
func (l *letters) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.syncFile()
	err = cmp.Or(err, l.file.Close())
	l.file, l.buf = nil, nil
	return err
}

// refusals are the documents of a range that Elasticsearch refused. They are
// kept apart until the range is complete: the ranges of a dataset are under way
// together, and the file must be cut where a checkpoint ends.
type refusals struct {
	mu       sync.Mutex
	dir      string
	count    func()
	problems []Problem
	file     *os.File
	err      error
}

// add takes a document; record is its public part.
func (r *refusals) add(d query.Dataset, file string, line int64, id, reason string, record []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count()
	if len(r.problems) < MaxProblems {
		r.problems = append(r.problems, Problem{File: file, Line: line, ID: id, Reason: reason})
	}
	if r.file == nil && r.err == nil {
		r.file, r.err = os.CreateTemp(r.dir, "letters-*.tmp")
	}
	if r.err == nil {
		var written []byte
		written, r.err = json.Marshal(Letter{Dataset: d, File: file, Line: line, Problems: []document.Problem{{Reason: reason}}, Record: record})
		if r.err == nil {
			_, r.err = r.file.Write(append(written, '\n'))
		}
	}
	if r.err != nil {
		return fault.Wrap(r.err, fault.Internal, "a dead letter cannot be written to %s", r.dir)
	}
	return nil
}

// drop removes the file.
func (r *refusals) drop() {
	if r.file != nil {
		_ = r.file.Close()
		_ = os.Remove(r.file.Name())
		r.file = nil
	}
}
