package permits

import (
	"bytes"
	"path/filepath"
	"time"

	"atlas/indexer/ndjson"
	"atlas/indexer/source"
	"atlas/indexer/source/read"
)

// Options configure Convert.
type Options struct {
	Source *source.Description
	Inputs []Input
	// Dir is the folder of the four files. It is created if it is missing, and
	// files of the same names are replaced.
	Dir string
	// Compression of the files; none by default.
	Compression ndjson.Compression
	// Since is the file of the state of an earlier conversion. With it, only changes are
	// written: a delta.
	Since string
	// State is the file for the state of this conversion, "" for none. It may be Since.
	State string
	// AsOf is the day of the files. By default the files say it.
	AsOf time.Time
	// Part means that the files are a part of the source, such as a pull of changes. So
	// missing permits are not deleted.
	Part bool
	// Accounts are files of accounts, or folders with one: firms that exist already.
	Accounts []string
	// Merge writes what was learnt about those firms into their full records.
	Merge bool
	// Decisions is the operator's file on which firms are the same, "" for none.
	Decisions string
	// DeadLetters is the file of rows that were left out, "" for none.
	DeadLetters string
	// TempDir is for sorting on disk; by default the system's.
	TempDir string
	// Progress, when set, is called periodically with the bytes of the input read so far.
	Progress func(bytes int64)

	// sample, when set, adds what the permits of the sample lack.
	sample time.Time
}

// Input is a file of permits, which may be opened more than once.
type Input struct {
	Name string
	Open func(read.Options) (*read.File, error)
}

// File is the input at a path.
func File(path string) Input {
	return Input{path, func(o read.Options) (*read.File, error) { return read.Open(path, o) }}
}

// Memory is an input that is in memory already.
func Memory(name string, text []byte) Input {
	return Input{name, func(o read.Options) (*read.File, error) { return read.Read(bytes.NewReader(text), o) }}
}

// base is the name of an input in reports.
func (i Input) base() string { return filepath.Base(i.Name) }
