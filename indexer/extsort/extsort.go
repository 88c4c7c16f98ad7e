// Package extsort sorts more entries than fit into memory. An entry is a key of fixed size
// and a payload. Parts are sorted in memory, written to compressed files and merged when
// they are read. Keys are compared as bytes; the package does not know what keys and
// payloads mean. With Options.Keep another process can reopen a Sorter. It is not for
// storing data: the format of the files can change.
package extsort

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"atlas/internal/fault"
)

// Defaults of Options.
const (
	DefaultMemory = 32 << 20
	DefaultFanIn  = 48
)

// Options say where and how a Sorter works.
type Options struct {
	// Dir is an existing folder for the files; several Sorters may share it.
	Dir string
	// Name is the prefix of the files' names. It must be unique within Dir.
	Name string
	// KeySize is the length of every key, in bytes, at least 8.
	KeySize int
	// Memory bounds what each Writer holds before it writes a file, in bytes; 0 means
	// DefaultMemory. A single entry may be larger.
	Memory int
	// FanIn bounds how many files are read at once, each with about 200 kB of
	// buffers; 0 means DefaultFanIn. With more files some are merged first.
	FanIn int
	// Keep leaves the files in place after they have been read: their owner must remove
	// them (see Runs). A file is on disk before Runs names it.
	Keep bool
}

// Sorter takes entries through its Writers and returns them in the order of their keys.
// Equal keys come in no particular order.
type Sorter struct {
	opts    Options
	entries atomic.Int64

	mu   sync.Mutex
	runs []Run
	made int
}

// New returns an empty Sorter. It touches no file yet.
func New(opts Options) *Sorter {
	if opts.Memory <= 0 {
		opts.Memory = DefaultMemory
	}
	if opts.FanIn < 2 {
		opts.FanIn = DefaultFanIn
	}
	if opts.KeySize < 8 {
		panic("extsort: keys have at least 8 bytes")
	}
	return &Sorter{opts: opts}
}

// Reopen returns a Sorter over the files of a Sorter with the same Dir, Name and KeySize,
// and Keep. A missing file, or one of another size, is an error.
func Reopen(opts Options, runs []Run) (*Sorter, error) {
	s := New(opts)
	for _, r := range runs {
		path := filepath.Join(opts.Dir, r.File)
		info, err := os.Stat(path)
		if err != nil {
			return nil, fileError(err, path, "found")
		}
		if info.Size() != r.Bytes {
			return nil, fileError(fmt.Errorf("it has %d bytes, not %d", info.Size(), r.Bytes), path, "used")
		}
		number := 0
		if _, err := fmt.Sscanf(strings.TrimPrefix(r.File, opts.Name+"-"), "%d", &number); err != nil {
			return nil, fileError(err, path, "used")
		}
		s.made = max(s.made, number)
		s.entries.Add(r.Entries)
	}
	s.runs = slices.Clone(runs)
	return s, nil
}

// Runs returns the files with the added entries, except those that Writers have not
// flushed.
func (s *Sorter) Runs() []Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.runs)
}

// Len returns how many entries were added so far.
func (s *Sorter) Len() int64 { return s.entries.Load() }

// create makes the next file. It does not count before addRun.
func (s *Sorter) create() (*RunWriter, error) {
	s.mu.Lock()
	s.made++
	path := filepath.Join(s.opts.Dir, fmt.Sprintf("%s-%05d.run", s.opts.Name, s.made))
	s.mu.Unlock()
	return createRun(path, s.opts.Keep)
}

func (s *Sorter) addRun(r Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, r)
}

// Iterate returns the entries in order. All Writers must be closed before. Call it once: it
// removes the files as they are read, unless Keep is set.
func (s *Sorter) Iterate(ctx context.Context) (*Iterator, error) {
	return s.IterateAfter(ctx, nil)
}

// IterateAfter is Iterate, beginning at the first entry whose key has a prefix larger than
// start; nil means the first entry. It reads and skips the entries before.
func (s *Sorter) IterateAfter(ctx context.Context, start []byte) (*Iterator, error) {
	if err := s.Compact(ctx, func() error { return nil }); err != nil {
		if !s.opts.Keep {
			s.Discard()
		}
		return nil, err
	}
	s.mu.Lock()
	runs := s.runs
	s.runs = nil
	s.mu.Unlock()
	return Open(ctx, s.opts, runs, start)
}

// Compact merges files until they can be read at once. It calls commit after each
// merge and removes the merged files when commit returns, so that a crash loses
// none.
func (s *Sorter) Compact(ctx context.Context, commit func() error) error {
	runs := s.Runs()
	for len(runs) > s.opts.FanIn {
		// Merge only as many files as bring the rest down to FanIn, at most FanIn, so that
		// entries are rewritten as few times as possible.
		n := min(s.opts.FanIn, len(runs)-s.opts.FanIn+1)
		merged, err := s.mergeRuns(ctx, runs[:n])
		if err != nil {
			return err
		}
		used := runs[:n]
		runs = append(slices.Clone(runs[n:]), merged)
		s.mu.Lock()
		s.runs = runs
		s.mu.Unlock()
		if err := commit(); err != nil {
			return err
		}
		Remove(s.opts.Dir, used)
	}
	return nil
}

// mergeRuns merges files into a file, and leaves them in place.
func (s *Sorter) mergeRuns(ctx context.Context, runs []Run) (Run, error) {
	opts := s.opts
	opts.Keep = true
	it, err := Open(ctx, opts, runs, nil)
	if err != nil {
		return Run{}, err
	}
	defer it.Close()
	w, err := s.create()
	if err != nil {
		return Run{}, err
	}
	for n := 0; it.Next(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			w.Abort()
			return Run{}, ctx.Err()
		}
		w.Add(it.Key(), it.Payload())
	}
	if err := it.Err(); err != nil {
		w.Abort()
		return Run{}, err
	}
	return w.Close()
}

// Discard drops the added entries that were not iterated.
func (s *Sorter) Discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	Remove(s.opts.Dir, s.runs)
	s.runs = nil
}

// Remove removes files of a folder. Missing ones are not an error.
func Remove(dir string, runs []Run) {
	for _, r := range runs {
		_ = os.Remove(filepath.Join(dir, r.File))
	}
}

func fileError(err error, path, what string) error {
	return fault.Wrap(err, fault.Internal, "the temporary file %s cannot be %s", path, what)
}
