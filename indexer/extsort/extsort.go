// Package extsort sorts more entries than memory holds: a key of fixed size
// and a payload each, sorted in memory by parts, the parts kept as compressed
// files, and merged when they are read. It compares keys as bytes and knows
// nothing of what they or the payloads mean. It is not for keeping data: its
// files are temporary and follow no promised format.
package extsort

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
	// Name begins the files' names and must be the Sorter's own within Dir.
	Name string
	// KeySize is the length of every key, in bytes, at least 8.
	KeySize int
	// Memory bounds what each Writer holds before it writes a file, in bytes;
	// 0 means DefaultMemory. A single larger entry is held all the same.
	Memory int
	// FanIn bounds how many files are read at once, each with about 200 kB of
	// buffers; 0 means DefaultFanIn. With more files some are merged first.
	FanIn int
}

// Sorter takes entries through its Writers and gives them back in the order of
// their keys. Equal keys come in no particular order.
type Sorter struct {
	opts    Options
	entries atomic.Int64

	mu   sync.Mutex
	runs []run
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

// Len returns how many entries were added so far.
func (s *Sorter) Len() int64 { return s.entries.Load() }

// newRun names the next file; it counts once keep is called with it.
func (s *Sorter) newRun() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	return filepath.Join(s.opts.Dir, fmt.Sprintf("%s-%05d.run", s.opts.Name, s.made))
}

func (s *Sorter) keep(r run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, r)
}

// Iterate returns the entries in order. All Writers must be closed before, and
// the Sorter is used up by it: the files go as they are read.
func (s *Sorter) Iterate(ctx context.Context) (*Iterator, error) {
	s.mu.Lock()
	runs := s.runs
	s.runs = nil
	s.mu.Unlock()
	for len(runs) > s.opts.FanIn {
		// Only as many as bring the rest down to FanIn, or FanIn at most: an
		// entry is rewritten as few times as possible.
		n := min(s.opts.FanIn, len(runs)-s.opts.FanIn+1)
		merged, err := s.mergeRuns(ctx, runs[:n])
		if err != nil {
			remove(runs)
			return nil, err
		}
		runs = append(runs[n:], merged)
	}
	return open(runs, s.opts.KeySize)
}

// mergeRuns makes one file of several.
func (s *Sorter) mergeRuns(ctx context.Context, runs []run) (run, error) {
	it, err := open(runs, s.opts.KeySize)
	if err != nil {
		return run{}, err
	}
	defer it.Close()
	w, err := createRun(s.newRun())
	if err != nil {
		return run{}, err
	}
	for n := 0; it.Next(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			w.abort()
			return run{}, ctx.Err()
		}
		w.add(it.Key(), it.Payload())
	}
	if err := it.Err(); err != nil {
		w.abort()
		return run{}, err
	}
	return w.close()
}

// Discard drops what was added and not iterated.
func (s *Sorter) Discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	remove(s.runs)
	s.runs = nil
}

func remove(runs []run) {
	for _, r := range runs {
		_ = os.Remove(r.path)
	}
}

func failed(err error, path, what string) error {
	return fault.Wrap(err, fault.Internal, "the temporary file %s cannot be %s", path, what)
}
