package indexer

import (
	"errors"
	"os"
	"slices"
	"sync"

	"atlas/indexer/journal"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/document"
)

// Problem is one reason why a line or a document was left out.
type Problem = journal.Problem

// deadLetters collects the dead letters of a load: all of them in a file, and the first
// problems for the report. It is safe for concurrent use.
type deadLetters struct {
	path  string
	file  *journal.DeadLetters // nil: none is written
	count func()               // called for each dead letter

	mu             sync.Mutex
	lines, refused []Problem
}

// checkDeadLettersPath refuses the path of an input.
func checkDeadLettersPath(path string, inputs []input) error {
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

// openDeadLetters opens the file and continues it after the length in the state. "" writes
// no file.
func openDeadLetters(path string, s *state, count func()) (*deadLetters, error) {
	l := &deadLetters{path: path, lines: s.Bad, refused: s.Refused, count: count}
	if path == "" {
		return l, nil
	}
	var err error
	l.file, err = journal.OpenDeadLetters(path, s.DeadLetterBytes)
	if errors.Is(err, journal.ErrCut) {
		return nil, fault.New(fault.BadRequest, "%s was cut or removed while the load was not finished; load anew (--restart) to write all of it", path)
	}
	return l, l.failed(err, fault.BadRequest)
}

func (l *deadLetters) failed(err error, code fault.Code) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(err, code, "the dead letters cannot be written to %s", l.path)
}

// add adds a line that is not a record. raw is nil when it could not be read. Write errors
// are returned by the next sync.
func (l *deadLetters) add(d catalog.Dataset, file string, line int64, problems []document.Problem, raw []byte) {
	letter := journal.NewDeadLetter(d, file, line, problems, raw)
	l.mu.Lock()
	l.lines = letter.AddProblems(l.lines)
	l.mu.Unlock()
	l.count()
	_ = l.file.Add(letter)
}

// addRefused adds the refusals of a complete range, and syncs.
func (l *deadLetters) addRefused(of *refusals) error {
	l.mu.Lock()
	l.refused = append(l.refused, of.problems[:min(len(of.problems), journal.MaxProblems-len(l.refused))]...)
	l.mu.Unlock()
	if err := of.moveTo(l.file); err != nil {
		return l.failed(err, fault.Internal)
	}
	return l.sync()
}

// sync writes the file to the disk.
func (l *deadLetters) sync() error { return l.failed(l.file.Sync(), fault.Internal) }

// known are the problems for a checkpoint.
func (l *deadLetters) known() (bad, refused []Problem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = journal.FirstProblems(l.lines)
	return slices.Clone(l.lines), slices.Clone(l.refused)
}

// dropRefused removes the refusals that were added after all lines had been read.
func (l *deadLetters) dropRefused(size int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = nil
	return l.failed(l.file.Truncate(size), fault.Internal)
}

// problems lists the problems for a report. If not all fit, refused documents come before
// bad lines: they are few, and the input does not show them.
func (l *deadLetters) problems() []Problem {
	bad, refused := l.known()
	return journal.FirstProblems(slices.Concat(
		make([]Problem, 0, len(bad)+len(refused)), refused, bad[:min(len(bad), journal.MaxProblems-len(refused))],
	))
}

func (l *deadLetters) close() error { return l.failed(l.file.Close(), fault.Internal) }

// refusals are the documents of a range that Elasticsearch refused. They have a file of
// their own until the range is complete: two ranges of a dataset can be in progress at
// once, and the file of dead letters must end with complete ranges, so that it can be
// truncated to its length at a checkpoint.
type refusals struct {
	dir   string
	count func()

	mu       sync.Mutex
	problems []Problem
	path     string
	file     *journal.DeadLetters // nil: there are none
}

// add takes a document; record is its public part.
func (r *refusals) add(d catalog.Dataset, file string, line int64, id, reason string, record []byte) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count()
	if len(r.problems) < journal.MaxProblems {
		r.problems = append(r.problems, Problem{File: file, Line: line, ID: id, Reason: reason})
	}
	if r.file == nil {
		err = r.create()
	}
	if err == nil {
		err = r.file.Add(journal.DeadLetter{Dataset: d, File: file, Line: line, Problems: []document.Problem{{Reason: reason}}, Record: record})
	}
	if err != nil {
		return fault.Wrap(err, fault.Internal, "a dead letter cannot be written to %s", r.dir)
	}
	return nil
}

func (r *refusals) create() error {
	file, err := os.CreateTemp(r.dir, "letters-*.tmp")
	if err != nil {
		return err
	}
	r.path = file.Name()
	if err = file.Close(); err == nil {
		r.file, err = journal.OpenDeadLetters(r.path, 0)
	}
	return err
}

// moveTo appends the refusals to the dead letters of the load.
func (r *refusals) moveTo(to *journal.DeadLetters) error {
	if r.file == nil {
		return nil
	}
	defer os.Remove(r.path)
	if err := r.file.Close(); err != nil {
		return err
	}
	from, err := os.Open(r.path)
	if err != nil {
		return err
	}
	defer from.Close()
	return to.AddAll(from)
}
