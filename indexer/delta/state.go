package delta

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/extsort"
	"atlas/internal/durable"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

// The work folder of an installation holds the one delta that is being applied:
//
//	lock            held by the process that applies it
//	state.json      the checkpoint; without it the delta has not begun
//	<dataset>.list  the effective entries, sorted by id
//	<dataset>.unmerged  merges of the list that cannot be applied, and why
//	<dataset>.dirty records of the dataset whose related records changed
//	renamed.dirty   projects whose firms have new names
//	<dataset>.changed  records of the dataset that changed, for the feed
//	letters.ndjson  dead letters
//	scratch/        temporary files
//	dead-letters/   dead letters of finished deltas without a requested path

type stage string

const (
	applying stage = "apply" // records are being written
	// naming: all passes are over, and projects whose firms have new names are written a second
	// time.
	naming     stage = "name"
	publishing stage = "publish" // all are written and found by searches
	done       stage = "done"    // only cleaning up is left
)

// state is the checkpoint. It is replaced as a whole.
type state struct {
	Version       int          `json:"version"`
	Delta         string       `json:"delta"`
	Started       time.Time    `json:"started"`
	Inputs        []inputStamp `json:"inputs"`
	DeadLettersTo string       `json:"letters_to"`
	Stage         stage        `json:"stage"`
	// Generation is what the delta writes to. Done and Begun are positions in Dataset:
	// everything up to Done is written; everything up to Begun is counted, may be written, and
	// has its dirty records on disk.
	Generation string          `json:"generation"`
	Dataset    catalog.Dataset `json:"dataset"`
	Done       recordID        `json:"done"`
	Begun      recordID        `json:"begun"`
	// Lists has the list of each dataset with changes. DeadLetterBytes is the length of the
	// file of dead letters, ReadDeadLetterBytes the one when all files had been read.
	Lists               map[catalog.Dataset]extsort.Run `json:"lists"`
	DeadLetterBytes     int64                           `json:"letters"`
	ReadDeadLetterBytes int64                           `json:"read_letters"`
	Counts              map[catalog.Dataset]*Counts     `json:"counts"`
	// Arrival is the first arrival in the generation that this delta gave to signals, in
	// milliseconds since 1970.
	Arrival int64 `json:"arrival,omitempty"`
	// Merges counts the merges of each list. Unmerged lists those of Dataset that cannot be
	// applied, nil before they are known.
	Merges   map[catalog.Dataset]int64 `json:"merges,omitempty"`
	Unmerged *extsort.Run              `json:"unmerged,omitempty"`
	// TooMany are the suppressions that are of too many records: no id is added to them.
	TooMany []uuid.UUID `json:"too_many,omitempty"`
	// Sources are what the sources of the records say about their data.
	Sources catalog.Sources `json:"sources,omitempty"`
}

// stateVersion increases when the meaning of the state, or of a file that it names, changes.
const stateVersion = 2

// inputStamp identifies an input.
type inputStamp struct {
	Dataset catalog.Dataset `json:"dataset,omitempty"`
	Path    string          `json:"path"`
	Size    int64           `json:"size"`
	Time    time.Time       `json:"time"`
}

func newInputStamp(d catalog.Dataset, path string) (inputStamp, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return inputStamp{}, fault.Wrap(err, fault.Internal, "%s cannot be found", path)
	}
	info, err := os.Stat(absolute)
	if err != nil {
		return inputStamp{}, fault.Wrap(err, fault.BadRequest, "%s cannot be read", path)
	}
	return inputStamp{d, absolute, info.Size(), info.ModTime().UTC()}, nil
}

func equalInputs(a, b []inputStamp) bool {
	return slices.EqualFunc(a, b, func(a, b inputStamp) bool {
		return a.Dataset == b.Dataset && a.Path == b.Path && a.Size == b.Size && a.Time.Equal(b.Time)
	})
}

// MarshalText and UnmarshalText make ids readable in the state.
func (id recordID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

func (id *recordID) UnmarshalText(text []byte) error {
	return (*uuid.UUID)(id).UnmarshalText(text)
}

// folder is the work folder.
type folder struct {
	path string
	lock *os.File
}

func openFolder(path string) (*folder, error) {
	lock, err := durable.Lock(filepath.Join(path, "lock"), 0o600)
	switch {
	case errors.Is(err, durable.ErrLocked):
		return nil, fault.New(fault.BadRequest, "the work folder %s is in use by another process", path)
	case err != nil:
		return nil, unusable(err, path)
	}
	f := &folder{path, lock}
	_ = os.RemoveAll(f.scratch())
	// A process that was killed while it replaced its state left this file.
	begun, _ := filepath.Glob(filepath.Join(path, ".state.json.*"))
	for _, name := range begun {
		_ = os.Remove(name)
	}
	if err := os.MkdirAll(f.scratch(), 0o700); err != nil {
		f.close()
		return nil, unusable(err, path)
	}
	return f, nil
}

func (f *folder) close() {
	_ = os.RemoveAll(f.scratch())
	_ = durable.Unlock(f.lock)
}

func (f *folder) scratch() string               { return filepath.Join(f.path, "scratch") }
func (f *folder) list(d catalog.Dataset) string { return filepath.Join(f.path, string(d)+".list") }
func (f *folder) unmerged(d catalog.Dataset) string {
	return filepath.Join(f.path, string(d)+".unmerged")
}
func (f *folder) dirty(d catalog.Dataset) string { return filepath.Join(f.path, string(d)+".dirty") }
func (f *folder) changed(d catalog.Dataset) string {
	return filepath.Join(f.path, string(d)+".changed")
}
func (f *folder) renamed() string     { return filepath.Join(f.path, "renamed.dirty") }
func (f *folder) deadLetters() string { return filepath.Join(f.path, "letters.ndjson") }
func (f *folder) stateFile() string   { return filepath.Join(f.path, "state.json") }

// read returns the state of an unfinished delta, nil without one. It refuses the state of
// another version, whose files can have another format.
func (f *folder) read() (*state, error) {
	var of struct {
		Version int `json:"version"`
	}
	found, err := durable.ReadJSON(f.stateFile(), &of)
	if _, unreadable := errors.AsType[*fs.PathError](err); unreadable {
		return nil, unusable(err, f.stateFile())
	}
	if err == nil && !found {
		return nil, nil
	}
	var s state
	if err == nil && of.Version == stateVersion {
		_, err = durable.ReadJSON(f.stateFile(), &s)
	}
	if err != nil || of.Version != stateVersion {
		return nil, fault.Wrap(err, fault.Internal,
			"%s was written by another version of Atlas; finish the delta with that one, or give it up", f.stateFile())
	}
	return &s, nil
}

// write replaces the state. It is on disk when write returns.
func (f *folder) write(s *state) error {
	if err := durable.ReplaceJSON(f.stateFile(), s); err != nil {
		return unusable(err, f.stateFile())
	}
	return nil
}

// clear ends the delta. It removes the state first: without it the other files mean nothing.
func (f *folder) clear() error {
	if err := os.Remove(f.stateFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return unusable(err, f.stateFile())
	}
	_ = durable.SyncFolder(f.path)
	for _, d := range catalog.Datasets {
		_ = os.Remove(f.list(d))
		_ = os.Remove(f.unmerged(d))
		_ = os.Remove(f.dirty(d))
		_ = os.Remove(f.changed(d))
	}
	_ = os.Remove(f.renamed())
	_ = os.Remove(f.deadLetters())
	return nil
}

func unusable(err error, path string) error {
	return fault.Wrap(err, fault.Internal, "the file %s of the work folder cannot be used", path)
}
