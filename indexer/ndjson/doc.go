// Package ndjson reads and writes files of records: one JSON object a line, UTF-8,
// one file for each dataset, plain or compressed (.ndjson, .ndjson.gz,
// .ndjson.zst). It handles file names, lines, compression and damaged files, and
// builds lines. It does not parse JSON and does not know the fields of a dataset.
package ndjson

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"atlas/internal/fault"
	"atlas/internal/input"
)

// MaxLine is the maximum length of a line that a Reader returns, in bytes without
// the line end. A longer line causes an error for that line only.
const MaxLine = 4 << 20

// Datasets are the names of the dataset files, in the order reports list them.
var Datasets = [4]string{"accounts", "contacts", "projects", "signals"}

// Compression is the compression of a file, given by the end of its name.
type Compression string

// The compressions a dataset file may have.
const (
	Plain Compression = ""
	Gzip  Compression = "gz"
	Zstd  Compression = "zst"
)

// Valid reports whether c is a known compression.
func (c Compression) Valid() bool { return c == Plain || c == Gzip || c == Zstd }

// FileName returns the name of a dataset's file: "accounts.ndjson.gz".
func FileName(dataset string, c Compression) string {
	name := dataset + ".ndjson"
	if c != Plain {
		name += "." + string(c)
	}
	return name
}

// CompressionOf returns a file's compression by its name. Error: BadRequest for a
// name that does not end in .ndjson, .ndjson.gz or .ndjson.zst.
func CompressionOf(path string) (Compression, error) {
	base := filepath.Base(path)
	for _, c := range []Compression{Plain, Gzip, Zstd} {
		if strings.HasSuffix(base, FileName("", c)) {
			return c, nil
		}
	}
	return Plain, fault.New(fault.BadRequest,
		"%s: the name must end in .ndjson, .ndjson.gz or .ndjson.zst", path)
}

// Find returns the path of a dataset's file in dir, "" when there is none. Two
// files for one dataset, such as accounts.ndjson and accounts.ndjson.gz, are a
// BadRequest error.
func Find(dir, dataset string) (string, error) {
	found := ""
	for _, c := range []Compression{Plain, Gzip, Zstd} {
		path := filepath.Join(dir, FileName(dataset, c))
		switch _, err := os.Stat(path); {
		case os.IsNotExist(err):
		case err != nil:
			return "", fault.Wrap(err, fault.Internal, "%s cannot be looked at", path)
		case found != "":
			return "", fault.New(fault.BadRequest, "%s holds both %s and %s; remove one",
				dir, filepath.Base(found), filepath.Base(path))
		default:
			found = path
		}
	}
	return found, nil
}

// HasFiles reports whether a folder has a file of a dataset.
func HasFiles(dir string) bool {
	return slices.ContainsFunc(Datasets[:], func(dataset string) bool {
		path, err := Find(dir, dataset)
		return path != "" || err != nil
	})
}

// Instead says what a folder has instead of a dataset's file: "" if it has no file of
// records.
func Instead(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		base, ending, _ := strings.Cut(e.Name(), ".")
		switch below := filepath.Join(dir, e.Name()); {
		case len(names) == 5:
		case e.IsDir() && HasFiles(below):
			names = append(names, "the folder "+below+" with such files")
		case e.IsDir() || ending == "":
		case slices.Contains(Datasets[:], base):
			names = append(names, e.Name())
		default:
			names = append(names, e.Name()+input.DidYouMean(" (", base, Datasets[:], ")"))
		}
	}
	if names == nil {
		return "; it is empty"
	}
	return "; it has " + strings.Join(names, ", ")
}
