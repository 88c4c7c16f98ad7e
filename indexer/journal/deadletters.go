package journal

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/catalog"
	"atlas/search/document"
)

// DeadLetter is a line of a file of dead letters. Record is the content of the line or of
// the document, Text the line when it is not JSON. Both are missing when the line was too
// long to be read.
type DeadLetter struct {
	Dataset  catalog.Dataset    `json:"dataset"`
	File     string             `json:"file"`
	Line     int64              `json:"line"`
	Problems []document.Problem `json:"problems"`
	Record   jsontext.Value     `json:"record,omitzero"`
	Text     string             `json:"text,omitzero"`
}

// NewDeadLetter is the dead letter of a line that is not a record. raw is the line,
// nil when it could not be read.
func NewDeadLetter(d catalog.Dataset, file string, line int64, problems []document.Problem, raw []byte) DeadLetter {
	l := DeadLetter{Dataset: d, File: file, Line: line, Problems: problems}
	if jsontext.Value(raw).IsValid() {
		l.Record = raw
	} else {
		l.Text = strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	return l
}

// Withheld are the problems of a line that is not a record and contains suppressed values.
// Its dead letter has nothing of the line, which may contain other records too.
func Withheld() []document.Problem {
	return []document.Problem{{Reason: "is no JSON object, and has a value that is suppressed or too many to compare: the line is not kept"}}
}

// DeadLetters appends to a file of dead letters. It is safe for concurrent use.
// After an error every later call returns that error. The nil DeadLetters drops
// everything.
type DeadLetters struct {
	mu     sync.Mutex
	file   *os.File
	buf    *bufio.Writer
	size   int64
	synced int64 // size at the last Sync; -1: never synced
	err    error
}

// ErrCut is the error of a file that is shorter than in its checkpoint.
var ErrCut = errors.New("the file of dead letters was cut or removed")

// OpenDeadLetters opens or creates a file, readable by its owner only: records can be about
// people. Writing continues after the first size bytes, which a checkpoint names; the rest
// belongs to work that will be repeated. A terminal or a pipe is accepted.
func OpenDeadLetters(path string, size int64) (*DeadLetters, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600) // #nosec G304 -- a file of the work folder, or one that who runs the command names
	if err != nil {
		return nil, err
	}
	l := &DeadLetters{file: file, buf: bufio.NewWriter(file), size: size, synced: -1}
	info, err := file.Stat()
	switch {
	case err != nil || !info.Mode().IsRegular():
	case info.Size() < size:
		err = ErrCut
	default:
		err = l.Truncate(size)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return l, nil
}

// Add appends a dead letter. It is on disk after the next Sync.
func (l *DeadLetters) Add(letter DeadLetter) error {
	if l == nil {
		return nil
	}
	line, err := json.Marshal(letter)
	if err != nil {
		return err
	}
	return l.append(func() (int64, error) {
		n, err := l.buf.Write(append(line, '\n'))
		return int64(n), err
	})
}

// AddAll appends the lines of another file of dead letters.
func (l *DeadLetters) AddAll(from io.Reader) error {
	if l == nil {
		return nil
	}
	return l.append(func() (int64, error) { return io.Copy(l.buf, from) })
}

func (l *DeadLetters) append(write func() (int64, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		var n int64
		n, l.err = write()
		l.size += n
	}
	return l.err
}

// Sync writes everything that was added to disk.
func (l *DeadLetters) Sync() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sync()
}

func (l *DeadLetters) sync() error {
	if l.err == nil {
		l.err = l.buf.Flush()
	}
	if l.err != nil || l.synced == l.size {
		return l.err
	}
	// A terminal or a pipe has nothing to sync.
	if l.err = l.file.Sync(); errors.Is(l.err, syscall.EINVAL) {
		l.err = nil
	}
	l.synced = l.size
	return l.err
}

// Size is the length of the file in bytes, including what is not synced yet.
func (l *DeadLetters) Size() int64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// Truncate cuts the file to a size and drops buffered dead letters.
func (l *DeadLetters) Truncate(size int64) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Reset(l.file)
	l.size, l.synced = size, -1
	l.err = l.file.Truncate(size)
	if l.err == nil {
		_, l.err = l.file.Seek(size, io.SeekStart)
	}
	return l.err
}

// Close syncs and closes the file. Dead letters that could not be written are an error:
// whoever corrects the records relies on them.
func (l *DeadLetters) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.sync()
	return cmp.Or(err, l.file.Close())
}

// ReadProblems returns the problems of a file that a report lists.
func ReadProblems(path string) ([]Problem, error) {
	file, err := os.Open(path) // #nosec G304 -- a file of the work folder
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all := []Problem{}
	decoder := jsontext.NewDecoder(bufio.NewReader(file))
	for {
		var letter DeadLetter
		if err := json.UnmarshalDecode(decoder, &letter); errors.Is(err, io.EOF) {
			return FirstProblems(all), nil
		} else if err != nil {
			return all, err
		}
		all = letter.AddProblems(all)
	}
}
