package delta

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/indexer"
	"atlas/search/document"
	"atlas/search/query"
)

// letters is the file of what is left out. What stands past the state's length
// is of work that will be done again.
type letters struct {
	file *os.File
	buf  []byte
	size int64
	safe int64 // what of size is surely on the disk
}

func openLetters(path string, size int64) (*letters, error) {
	// Records may be about people: the file is its owner's.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- a file of the work folder
	if err == nil {
		err = file.Truncate(size)
	}
	if err != nil {
		return nil, broken(err, path)
	}
	return &letters{file: file, size: size, safe: size}, nil
}

// add takes a line that was left out; raw is nil when it could not be read.
func (l *letters) add(d query.Dataset, file string, line int64, problems []document.Problem, raw []byte) error {
	encoded, err := json.Marshal(indexer.NewLetter(d, file, line, problems, raw))
	if err != nil {
		return err
	}
	l.buf = append(append(l.buf, encoded...), '\n')
	if len(l.buf) > 1<<20 {
		return l.flush()
	}
	return nil
}

func (l *letters) flush() error {
	if len(l.buf) == 0 {
		return nil
	}
	if _, err := l.file.WriteAt(l.buf, l.size); err != nil {
		return broken(err, l.file.Name())
	}
	l.size += int64(len(l.buf))
	l.buf = l.buf[:0]
	return nil
}

func (l *letters) sync() error {
	if err := l.flush(); err != nil {
		return err
	}
	if l.safe == l.size {
		return nil
	}
	if err := l.file.Sync(); err != nil {
		return broken(err, l.file.Name())
	}
	l.safe = l.size
	return nil
}

func (l *letters) close() { _ = l.file.Close() }

// problems reads what is listed in a report: the first ones by file and line.
func (l *letters) problems() ([]indexer.Problem, error) {
	all := []indexer.Problem{}
	decoder := jsontext.NewDecoder(bufio.NewReader(io.NewSectionReader(l.file, 0, l.size)))
	for {
		var left indexer.Letter
		if err := json.UnmarshalDecode(decoder, &left); errors.Is(err, io.EOF) {
			return indexer.FirstProblems(all), nil
		} else if err != nil {
			return all, broken(err, l.file.Name())
		}
		for _, p := range left.Problems {
			all = append(all, indexer.Problem{File: left.File, Line: left.Line, Field: indexer.ShownField(p.Field), Reason: p.Reason})
		}
		if len(all) > 2*indexer.MaxProblems {
			all = indexer.FirstProblems(all)
		}
	}
}
