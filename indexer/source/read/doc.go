// Package read reads the rows of files as cities publish them: CSV in all its forms, JSON
// (arrays, lines, envelopes, GeoJSON, ArcGIS), workbooks, each packed or not. It streams:
// memory does not grow with the file, except for workbooks, which are bounded. It knows no
// column of any source.
package read

import (
	"fmt"

	"atlas/internal/fault"
)

// Format is the format of rows.
type Format string

// The formats.
const (
	CSV    Format = "csv"    // a row per line, the first one names the columns
	JSON   Format = "json"   // an array of objects, alone or within other objects
	NDJSON Format = "ndjson" // an object per line
	XLSX   Format = "xlsx"   // a sheet of a workbook
)

// Formats lists them.
var Formats = []Format{CSV, JSON, NDJSON, XLSX}

// Encodings of text files. Auto reads a byte order mark, else UTF-8, and rows that are not
// UTF-8 as Windows-1252.
const (
	Auto        = "auto"
	UTF8        = "utf-8"
	UTF16       = "utf-16"
	Windows1252 = "windows-1252"
)

// Encodings lists them.
var Encodings = []string{Auto, UTF8, UTF16, Windows1252}

// Options say how a file is read. What they omit is detected.
type Options struct {
	Format    Format
	Encoding  string
	Delimiter string // one character; CSV
	SkipLines int    // above the row that names the columns; CSV and workbooks
	FillShort bool   // rows with too few cells lack the last ones; CSV
	Path      string // of the array within a JSON file, such as d.results
	Sheet     string // of a workbook; the first by default
	Member    string // pattern of the name of a file within a .zip
}

// Bounds of what is read.
const (
	maxColumns  = 4096
	maxLine     = 1 << 20  // bytes of a line of CSV
	maxRecord   = 16 << 20 // bytes of a record of JSON
	maxWorkbook = 512 << 20
	maxJoined   = 200 // lines of a quoted cell
	maxElements = 64  // elements of an array in a record of JSON
	maxDepth    = 8   // objects within objects
)

// Row is a row of a file. Cells has one cell for each column so far, or fewer; it is valid
// until the next row is read.
type Row struct {
	// Line is the line on which the row begins, from 1. Of JSON and workbooks: the number
	// of the record or row.
	Line  int64
	Cells []string
}

// RowError is an error of one row; the following rows can be read.
type RowError struct {
	Line   int64
	Reason string
}

func (e *RowError) Error() string { return e.Reason }

// rows is a reader of one format.
type rows interface {
	// columns are those known so far. JSON may add columns with each row.
	columns() []string
	// next returns the next row, a *RowError, io.EOF, or an error that ends the file.
	next() (Row, error)
}

// unusable is the error of a file that does not match its format.
func unusable(format string, args ...any) error {
	return fault.New(fault.BadRequest, format, args...)
}

// named names the columns of a header: trimmed, a blank one by its number, and repeated
// names with a count.
func named(cells []string) ([]string, error) {
	if len(cells) > maxColumns {
		return nil, unusable("it has %d columns; at most %d can be read", len(cells), maxColumns)
	}
	seen := map[string]int{}
	names := make([]string, len(cells))
	for i, name := range cells {
		if name == "" {
			name = fmt.Sprintf("column %d", i+1)
		}
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, seen[name])
		}
		names[i] = name
	}
	return names, nil
}
