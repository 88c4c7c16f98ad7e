package ndjson

import (
	"os"
	"path/filepath"

	"atlas/internal/fault"
)

// Folder writes the four dataset files of a folder. It renames them to their final names
// together at the end, so that a folder mixes files of two runs only if the machine stops
// at that moment. Each Writer is for one goroutine.
type Folder struct {
	Accounts, Contacts, Projects, Signals *Writer
}

// CreateFolder creates dir if it is missing and starts the four files. Commit
// replaces files of the same names. A file of a dataset with another compression is
// a BadRequest error, because Find could not choose.
func CreateFolder(dir string, c Compression) (*Folder, error) {
	if !c.Valid() {
		return nil, fault.New(fault.BadRequest, "unknown compression %q; use gz, zst or none", string(c))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- records are for whoever may enter the folder above
		return nil, fault.Wrap(err, fault.Internal, "%s cannot be created", dir)
	}
	f := &Folder{}
	for i, dataset := range Datasets {
		name := FileName(dataset, c)
		for _, other := range []Compression{Plain, Gzip, Zstd} {
			if other == c {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, FileName(dataset, other))); err == nil {
				f.Abort()
				return nil, fault.New(fault.BadRequest,
					"%s already holds %s; remove it or write to another folder", dir, FileName(dataset, other))
			}
		}
		w, err := Create(filepath.Join(dir, name))
		if err != nil {
			f.Abort()
			return nil, err
		}
		*f.writers()[i] = w
	}
	return f, nil
}

func (f *Folder) writers() [4]**Writer {
	return [4]**Writer{&f.Accounts, &f.Contacts, &f.Projects, &f.Signals}
}

// Writers returns the four writers in the order of Datasets.
func (f *Folder) Writers() [4]*Writer {
	return [4]*Writer{f.Accounts, f.Contacts, f.Projects, f.Signals}
}

// Counts counts records by dataset.
type Counts struct {
	Accounts int64 `json:"accounts"`
	Contacts int64 `json:"contacts"`
	Projects int64 `json:"projects"`
	Signals  int64 `json:"signals"`
}

// Total is the number of records of all datasets.
func (c Counts) Total() int64 { return c.Accounts + c.Contacts + c.Projects + c.Signals }

// Counts returns how many records were written so far. No Writer may be in use.
func (f *Folder) Counts() Counts {
	return Counts{f.Accounts.Lines(), f.Contacts.Lines(), f.Projects.Lines(), f.Signals.Lines()}
}

// Commit makes all four files durable, then renames them to their final names. If
// it cannot finish one, it renames none.
func (f *Folder) Commit() error {
	for _, w := range f.Writers() {
		if err := w.finish(); err != nil {
			f.Abort()
			return err
		}
	}
	for _, w := range f.Writers() {
		if err := w.publish(); err != nil {
			f.Abort()
			return err
		}
	}
	return nil
}

// Abort removes the unfinished files. After Commit it does nothing.
func (f *Folder) Abort() {
	for _, w := range f.Writers() {
		if w != nil {
			w.Abort()
		}
	}
}
