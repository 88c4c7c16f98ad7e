package search

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"atlas/cmd/internal/cli"
)

// stdout is the value of --out for the standard output.
const stdout = "-"

// shownOut names the output in messages.
func shownOut(path string) string {
	if path == stdout {
		return "the standard output"
	}
	return path
}

// endings maps the extensions of files to formats.
var endings = map[string]string{".ndjson": "ndjson", ".jsonl": "ndjson", ".csv": "csv", ".parquet": "parquet"}

// possibleEndings lists them in messages.
const possibleEndings = "FILE.ndjson, .jsonl or .csv, each also with .gz or .zst, or FILE.parquet"

// resolveFormat sets the format of an export by the name of its file, unless --format
// gives it, and how the file is compressed.
func (c *Export) resolveFormat(f *cli.Problems) {
	name := filepath.Base(c.Out)
	if c.Out == stdout {
		name = ""
	}
	name, c.packing = packingOf(name)
	ending := filepath.Ext(name)
	format := endings[ending]
	switch {
	case c.Format == "" && format == "" && ending != "":
		f.Add("--out: a name that ends in %s says no format: %s; or give --format ndjson, csv or parquet", ending, possibleEndings)
	case c.Format == "":
		c.Format = format
	case format != "" && c.Format != format:
		f.Add("--out: %s is no name for --format %s: %s", filepath.Base(c.Out), c.Format, possibleEndings)
	}
	if c.Format == "" {
		c.Format = "ndjson"
	}
	if c.Format == "parquet" && c.packing != "" {
		f.Add("--out: a Parquet file is compressed in itself: leave out the last ending")
	}
	if c.Format == "parquet" && c.Out == stdout {
		f.Add("--out: a Parquet file does not go to the standard output: it is written when all rows are there")
	}
	if c.Out == stdout && (c.CursorFile != "" || c.Restart) {
		f.Add("--cursor-file and --restart are for files: what went to the standard output cannot go on")
	}
}

// packings compress one page of a file. Each page is a member of its own, so that a file
// can be continued and cut at a page; readers of both formats read consecutive members.
var packings = map[string]func([]byte) ([]byte, error){".gz": gzipped, ".zst": zstandard}

// packingOf splits the extension of a packing off a name; "" if it has none.
func packingOf(name string) (rest, ending string) {
	for ending := range packings {
		if cut, ok := strings.CutSuffix(name, ending); ok {
			return cut, ending
		}
	}
	return name, ""
}

func gzipped(page []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(page); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

func zstandard(page []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	defer w.Close()
	return w.EncodeAll(page, slices.Grow([]byte(nil), len(page)/4)), nil
}
