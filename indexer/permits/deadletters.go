package permits

import (
	"bufio"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"atlas/indexer/source/people"
	"atlas/indexer/source/permit"
	"atlas/internal/durable"
	"atlas/internal/fault"
)

// deadLetters writes the rows that were left out, one JSON object a line, to a file that is
// readable by its owner only. Cells of columns about persons, and of columns that the
// description does not name, are left out. The nil deadLetters drops everything.
type deadLetters struct {
	path string
	file *os.File
	buf  *bufio.Writer
	err  error
}

// deadLetter is a row that was left out.
type deadLetter struct {
	File     string            `json:"file"`
	Line     int64             `json:"line"`
	Problems []permit.Trouble  `json:"problems"`
	Cells    map[string]string `json:"cells,omitempty"`
}

func newDeadLetters(path string) (*deadLetters, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.partial")
	if err != nil {
		return nil, fault.Wrap(err, fault.BadRequest, "%s cannot be written", path)
	}
	return &deadLetters{path: path, file: file, buf: bufio.NewWriter(file)}, nil
}

func (d *deadLetters) add(file string, line int64, t permit.Trouble, s *permit.Source, cells []string) {
	if d == nil || d.err != nil {
		return
	}
	l := deadLetter{file, line, []permit.Trouble{t}, nil}
	if cells != nil {
		l.Cells = shown(s, cells)
	}
	text, err := json.Marshal(l, json.Deterministic(true))
	if err == nil {
		_, err = d.buf.Write(append(text, '\n'))
	}
	d.err = err
}

// shown are the cells of a row that are not about persons.
func shown(s *permit.Source, cells []string) map[string]string {
	all := map[string]string{}
	for name, cell := range s.Cells(cells) {
		if clean, _ := people.Scrub(cell); cell != "" && !s.Personal(name) {
			if runes := []rune(clean); len(runes) > maxShownCell {
				clean = string(runes[:maxShownCell]) + "…"
			}
			all[name] = clean
		}
	}
	return all
}

const maxShownCell = 1000

// commit renames the file to its final name.
func (d *deadLetters) commit() error {
	if d == nil {
		return nil
	}
	if d.err == nil {
		d.err = d.buf.Flush()
	}
	if d.err == nil {
		d.err = d.file.Sync()
	}
	if err := d.file.Close(); d.err == nil {
		d.err = err
	}
	if d.err == nil {
		d.err = os.Rename(d.file.Name(), d.path)
	}
	if d.err == nil {
		d.err = durable.SyncFolder(filepath.Dir(d.path))
	}
	if d.err != nil {
		return fault.Wrap(d.err, fault.Internal, "%s cannot be written", d.path)
	}
	return nil
}

// abort removes the file. After commit it does nothing.
func (d *deadLetters) abort() {
	if d != nil {
		_ = d.file.Close()
		_ = os.Remove(d.file.Name())
	}
}
