package search

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"atlas/indexer/ndjson"
)

const (
	byteOrderMark = "\ufeff"
	// maxRow bounds a row in bytes: an unclosed quote would make one row of everything
	// after it.
	maxRow = 16 << 20
)

// csvInput reads a CSV file row by row, with the bytes of each.
type csvInput struct {
	path      string
	file      *os.File
	reader    *csv.Reader
	separator rune
	// skipped is how many bytes precede the header: a byte order mark, a line sep=;.
	skipped int
	// linesBefore is the number of these lines.
	linesBefore int
	header      []string
	rows        int // read so far, with the header
	line        int // where the last row begins
	// head is the first row with its line end and the bytes before it.
	head csvRow
	// unread are the bytes that the reader has consumed beyond the last row, starting at
	// offset.
	unread bytes.Buffer
	offset int64
	digest hash.Hash
}

// csvRow is a row with its original bytes.
type csvRow struct {
	number int // from 1, without the header
	line   int // where it begins
	cells  []string
	// before are empty lines, text is the row, end its line end, which may be missing.
	before, text, end []byte
}

// openCSV opens a file and reads its header.
func openCSV(path string) (*csvInput, error) {
	file, err := os.Open(path) // #nosec G304 -- the user of the command names the file
	if err != nil {
		return nil, err
	}
	in := &csvInput{path: path, file: file, digest: sha256.New()}
	if err := in.start(); err != nil {
		_ = file.Close()
		return nil, err
	}
	return in, nil
}

func (in *csvInput) start() error {
	if info, err := in.file.Stat(); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file: it is read twice", in.path)
	}
	first := make([]byte, 64<<10)
	n, err := in.file.ReadAt(first, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	first = first[:n]
	switch {
	case bytes.HasPrefix(first, []byte{0xff, 0xfe}), bytes.HasPrefix(first, []byte{0xfe, 0xff}):
		return fmt.Errorf("%s is UTF-16: save it as CSV in UTF-8", in.path)
	case bytes.HasPrefix(first, []byte(ndjson.ZipMagic)):
		return fmt.Errorf("%s is a workbook, such as of Excel: save it as CSV in UTF-8", in.path)
	case bytes.IndexByte(first, 0) >= 0:
		return fmt.Errorf("%s has NUL characters, as a file in UTF-16 or of another kind than text has: save it as CSV in UTF-8", in.path)
	case len(bytes.TrimSpace(bytes.TrimPrefix(first, []byte(byteOrderMark)))) == 0:
		return fmt.Errorf("%s has no header: its first row names the columns", in.path)
	case !bytes.Contains(first, []byte("\n")) && bytes.Contains(first, []byte("\r")):
		return fmt.Errorf("%s has lines that end in CR alone: save it with LF or CRLF", in.path)
	}
	text := bytes.TrimPrefix(first, []byte(byteOrderMark))
	if line := separatorLine.Find(text); line != nil {
		in.separator, text, in.linesBefore = rune(line[len("sep=")]), text[len(line):], 1
	} else {
		in.separator = separatorOf(text)
	}
	in.skipped = n - len(text)
	if err := in.refuseTitle(text); err != nil {
		return err
	}
	return in.rewind()
}

// separatorLine is a first line that gives Excel the separator.
var separatorLine = regexp.MustCompile(`^sep=[,;|\t]\r?\n`)

// separators are the possible ones, the most usual first.
const separators = ",;\t|"

// separatorOf is the separator that yields most columns in the header, or else in a row
// below it.
func separatorOf(first []byte) rune {
	for rows := 1; rows <= titleRows; rows += titleRows - 1 {
		best, most := ',', 1
		for _, separator := range separators {
			for _, cells := range firstRows(first, separator, rows) {
				if len(cells) > most {
					best, most = separator, len(cells)
				}
			}
		}
		if most > 1 {
			return best
		}
	}
	return ','
}

// titleRows is the number of rows in which a header below titles is searched for.
const titleRows = 10

// firstRows are up to n rows with any number of cells.
func firstRows(first []byte, separator rune, n int) (rows [][]string) {
	r := csv.NewReader(bytes.NewReader(first))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = separator, -1, true
	for len(rows) < n {
		cells, err := r.Read()
		if err != nil {
			return rows
		}
		rows = append(rows, cells)
	}
	return rows
}

// refuseTitle refuses a file whose first row is a title above the header: it has fewer
// cells than the rows below, or text in only one of them.
func (in *csvInput) refuseTitle(first []byte) error {
	rows := firstRows(first, in.separator, titleRows)
	if len(rows) < 2 {
		return nil
	}
	named := func(cells []string) (n int) {
		for _, cell := range cells {
			if strings.TrimSpace(cell) != "" {
				n++
			}
		}
		return n
	}
	for i, row := range rows[1:] {
		if width := len(rows[0]); named(rows[0]) <= 1 && (width == 1 || width > 2) && named(row) > 1 && len(row) >= width {
			return fmt.Errorf(
				"%s: %.100q is no header, for it names one column and row %d has %d: delete the lines above the row that names the columns, or put cells with a %q in quotes",
				in.path, strings.TrimSpace(strings.Join(rows[0], " ")), i+2, named(row), in.separator,
			)
		}
	}
	return nil
}

// rewind goes back to the first row after the header.
func (in *csvInput) rewind() error {
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in.unread.Reset()
	in.digest.Reset()
	in.offset = 0
	in.reader = csv.NewReader((*teeing)(in))
	in.reader.Comma = in.separator
	in.rows, in.line = 0, 0
	before := make([]byte, in.skipped) // the reader does not see these bytes
	if _, err := io.ReadFull(in.file, before); err != nil {
		return err
	}
	in.digest.Write(before)
	head, err := in.next()
	if err != nil {
		return err
	}
	head.before = append(before, head.before...)
	in.head, in.header = head, head.cells
	return nil
}

// teeing stores the bytes that are read.
type teeing csvInput

func (t *teeing) Read(b []byte) (int, error) {
	if t.unread.Len() > maxRow {
		return 0, fmt.Errorf("the row after line %d has more than %d MB: a quote may not be closed", t.line, maxRow>>20)
	}
	n, err := t.file.Read(b)
	t.unread.Write(b[:n])
	t.digest.Write(b[:n])
	return n, err
}

// next returns the next row; io.EOF after the last one, with the empty lines after it.
// Other errors name the line.
func (in *csvInput) next() (csvRow, error) {
	row := csvRow{number: in.rows}
	cells, err := in.reader.Read()
	if errors.Is(err, io.EOF) {
		row.before = bytes.Clone(in.unread.Bytes())
		in.unread.Reset()
		return row, io.EOF
	}
	if err != nil {
		return row, in.explain(err, len(cells))
	}
	row.line, _ = in.reader.FieldPos(0)
	row.line += in.linesBefore
	for i, cell := range cells {
		if !utf8.ValidString(cell) {
			return row, fmt.Errorf("%s, line %d: the text of column %d is not UTF-8, perhaps Windows-1252: save the file as CSV in UTF-8", in.path, row.line, i+1)
		}
	}
	end := in.reader.InputOffset()
	raw := bytes.Clone(in.unread.Next(int(end - in.offset)))
	in.offset = end
	text := bytes.TrimLeft(raw, "\r\n")
	row.before = raw[:len(raw)-len(text)]
	row.text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	row.end, row.cells = text[len(row.text):], cells
	in.rows, in.line = in.rows+1, row.line
	return row, nil
}

// explain says what is wrong with a row, and in which line.
func (in *csvInput) explain(err error, cells int) error {
	e, ok := errors.AsType[*csv.ParseError](err)
	if ok {
		e.StartLine += in.linesBefore
		e.Line += in.linesBefore
	}
	switch {
	case !ok:
		return fmt.Errorf("%s: %w", in.path, err)
	case errors.Is(e.Err, csv.ErrFieldCount):
		return fmt.Errorf("%s, line %d: the row has %d cells, the header %d; put a cell that has a %q in double quotes", in.path, e.StartLine, cells, len(in.header), in.separator)
	case e.StartLine != e.Line:
		return fmt.Errorf("%s, line %d, in the row that begins in line %d: %w; a quote within quotes is doubled", in.path, e.Line, e.StartLine, e.Err)
	}
	return fmt.Errorf("%s, line %d: %w; put a cell that has double quotes in double quotes, and double those in it", in.path, e.Line, e.Err)
}

// sum is the SHA-256 of the file, when all rows are read.
func (in *csvInput) sum() string { return hex.EncodeToString(in.digest.Sum(nil)) }

// appended returns a row with more cells.
func (in *csvInput) appended(b []byte, row csvRow, cells []string) []byte {
	b = append(append(b, row.before...), row.text...)
	for _, cell := range cells {
		b = append(b, string(in.separator)...)
		b = appendCell(b, cell, in.separator)
	}
	return append(b, row.end...)
}

// oneLine is a cell without breaks and surplus spaces.
func oneLine(cell string) string { return strings.Join(strings.Fields(cell), " ") }
