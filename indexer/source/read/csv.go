package read

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// csvRows reads CSV. An error concerns only its own row: a parser that reads from a stray
// quote to the next one would lose all good rows between them.
type csvRows struct {
	from    *bufio.Reader
	ahead   [][]byte // lines read, not yet used
	line    int64    // number of the first line of ahead
	end     error    // why there are no lines after ahead
	names   []string
	ending  byte // of a line
	comma   byte // between the cells of a row
	fill    bool
	strict  bool // rows that are not UTF-8 remain unchanged
	cells   []string
	unquote []byte
}

// newCSV reads a header. Lines end in LF, CRLF or CR alone; cells are separated by commas,
// semicolons, tabs or bars; a first line may be sep=;.
func newCSV(from *bufio.Reader, o Options) (*csvRows, error) {
	r := &csvRows{from: from, line: 1, ending: '\n', comma: ',', fill: o.FillShort, strict: o.Encoding == UTF8}
	head, _ := from.Peek(sample)
	if bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 {
		r.ending = '\r'
	}
	for range o.SkipLines {
		if _, ok := r.peek(0); ok {
			r.drop(1)
		}
	}
	if len(r.ahead) > 0 {
		head = bytes.Join(r.ahead, nil)
	} else if o.SkipLines > 0 {
		head, _ = from.Peek(sample)
	}
	r.separate(head, o.Delimiter)
	if err := r.header(o.SkipLines == 0); err != nil {
		return nil, err
	}
	return r, nil
}

// separate chooses the separator of cells: the given one, else the most frequent one in the
// first lines.
func (r *csvRows) separate(head []byte, delimiter string) {
	line, rest, whole := bytes.Cut(head, []byte{r.ending})
	if named, is := bytes.CutPrefix(bytes.TrimSpace(line), []byte("sep=")); is && whole && len(named) == 1 {
		r.comma = named[0]
		r.peek(0)
		r.drop(1)
		return
	}
	if delimiter != "" {
		r.comma = delimiter[0]
		return
	}
	// Titles above the header may have no separator.
	for range maxTitles {
		most := 0
		for _, separator := range []byte(",;\t|") {
			if n := bytes.Count(line, []byte{separator}); n > most {
				r.comma, most = separator, n
			}
		}
		if most > 0 || len(rest) == 0 {
			return
		}
		line, rest, _ = bytes.Cut(rest, []byte{r.ending})
	}
}

// maxTitles is how many lines above a header are skipped.
const maxTitles = 10

// header reads the row that names the columns. Rows of one cell above it are titles.
func (r *csvRows) header(titles bool) error {
	var title []string
	for range maxTitles + 1 {
		_, cells, err := r.row()
		if errors.Is(err, io.EOF) {
			if title != nil { // a file of one column
				cells, err = title, nil
				r.names, err = named(cells)
				return err
			}
			return unusable("it is empty: its first row must name the columns")
		}
		if bad, is := errors.AsType[*RowError](err); is {
			return unusable("its first row names no columns: %s", bad.Reason)
		}
		if err != nil {
			return err
		}
		if titles && filled(cells) == 1 && title == nil {
			if bytes.IndexByte(r.filledLine(), r.comma) >= 0 || r.tableBelow() {
				title = slices.Clone(cells)
				continue
			}
		}
		if title != nil && filled(cells) <= 1 {
			continue
		}
		r.names, err = named(cells)
		return err
	}
	return unusable("none of its first rows names columns; skip what is above them with read.skip_lines")
}

// filledLine is the next line that is not blank, within the next few.
func (r *csvRows) filledLine() []byte {
	for n := range maxTitles {
		line, ok := r.peek(n)
		if !ok || len(bytes.TrimSpace(line)) > 0 {
			return line
		}
	}
	return nil
}

// tableBelow reports whether one of the next few lines has more than two cells.
func (r *csvRows) tableBelow() bool {
	for n := range maxTitles {
		line, ok := r.peek(n)
		if !ok {
			return false
		}
		if bytes.Count(line, []byte{r.comma}) > 1 {
			return true
		}
	}
	return false
}

func filled(cells []string) (n int) {
	for _, c := range cells {
		if c != "" {
			n++
		}
	}
	return n
}

func (r *csvRows) columns() []string { return r.names }

func (r *csvRows) next() (Row, error) {
	line, cells, err := r.row()
	if err != nil {
		return Row{Line: line}, err
	}
	width := len(r.names)
	for len(cells) > width && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) > width || len(cells) < width && !r.fill {
		return Row{Line: line}, &RowError{line, fmt.Sprintf("%d fields where the first row has %d", len(cells), width)}
	}
	return Row{line, cells}, nil
}

// row returns the next row that is not blank, and the line on which it begins.
func (r *csvRows) row() (int64, []string, error) {
	for {
		line, ok := r.peek(0)
		if !ok {
			return r.line, nil, r.end
		}
		if len(bytes.TrimSpace(line)) > 0 {
			break
		}
		r.drop(1)
	}
	at := r.line
	line := r.ahead[0]
	if len(line) > maxLine {
		r.drop(1)
		return at, nil, tooLong(at, maxLine)
	}
	if bytes.IndexByte(line, '"') < 0 {
		cells := r.split(line)
		r.drop(1)
		return at, cells, nil
	}
	return r.quoted(at)
}

// quoted reads a row with quotes, which may have several lines.
func (r *csvRows) quoted(at int64) (int64, []string, error) {
	var text []byte
	quotes := 0
	for n := range maxJoined {
		line, ok := r.peek(n)
		if !ok || len(text)+len(line) > maxLine {
			break
		}
		text = append(text, line...)
		if quotes += bytes.Count(line, []byte(`"`)); quotes%2 != 0 {
			continue
		}
		cells, err := r.parse(text, false)
		if err != nil || n > 0 && r.names != nil && len(cells) != len(r.names) {
			break // stray quotes, maybe with good rows between them
		}
		r.drop(n + 1)
		return at, cells, nil
	}
	if r.end != nil && !errors.Is(r.end, io.EOF) && len(r.ahead) < maxJoined {
		return at, nil, r.end
	}
	// A single line whose quotes mean inches, or were not doubled.
	cells, err := r.parse(r.ahead[0], true)
	if err == nil && r.names != nil && len(cells) == len(r.names) {
		r.drop(1)
		return at, cells, nil
	}
	if _, err = r.parse(r.ahead[0], false); err == nil {
		err = errOpen
	}
	r.drop(1)
	return at, nil, &RowError{at, err.Error()}
}

var (
	errOpen = errors.New("a quote is not closed")
	errBare = errors.New("a quote within a cell that is not quoted")
	errText = errors.New("text after the quote that ends a cell")
)

// split returns the cells of a line without quotes.
func (r *csvRows) split(line []byte) []string {
	text := r.text(bytes.TrimRight(line, "\r\n"))
	cells := r.cells[:0]
	for {
		i := strings.IndexByte(text, r.comma)
		if i < 0 {
			break
		}
		cells = append(cells, strings.TrimSpace(text[:i]))
		text = text[i+1:]
	}
	r.cells = append(cells, strings.TrimSpace(text))
	return r.cells
}

// text is a row in UTF-8.
func (r *csvRows) text(row []byte) string {
	text := string(row)
	if !r.strict && !utf8.ValidString(text) {
		return western(text)
	}
	return text
}

// parse returns the cells of a row with quotes. If lax, a quote that does not end a cell is
// a character.
func (r *csvRows) parse(row []byte, lax bool) ([]string, error) {
	text := r.text(bytes.TrimRight(row, "\r\n"))
	cells := r.cells[:0]
	for {
		start := strings.TrimLeft(text, " ")
		if !strings.HasPrefix(start, `"`) {
			end := strings.IndexByte(text, r.comma)
			cell := text
			if end >= 0 {
				cell = text[:end]
			}
			if !lax && strings.IndexByte(cell, '"') >= 0 {
				return nil, errBare
			}
			cells = append(cells, strings.TrimSpace(cell))
			if end < 0 {
				break
			}
			text = text[end+1:]
			continue
		}
		cell, rest, err := r.cell(start[1:], lax)
		if err != nil {
			return nil, err
		}
		cells = append(cells, strings.TrimSpace(cell))
		if rest == "" {
			break
		}
		text = rest[1:]
	}
	r.cells = cells
	return cells, nil
}

// cell reads a quoted cell after its opening quote. rest begins with the separator, or is
// empty.
func (r *csvRows) cell(text string, lax bool) (cell, rest string, err error) {
	r.unquote = r.unquote[:0]
	for {
		i := strings.IndexByte(text, '"')
		if i < 0 {
			return "", "", errOpen
		}
		r.unquote = append(r.unquote, text[:i]...)
		text = text[i+1:]
		after := strings.TrimLeft(text, " \r\n")
		switch {
		case strings.HasPrefix(text, `"`):
			r.unquote = append(r.unquote, '"')
			text = text[1:]
		case after == "" || after[0] == r.comma:
			return string(r.unquote), after, nil
		case r.comma == '\t' && strings.HasPrefix(text, "\t"):
			return string(r.unquote), text, nil
		case lax:
			r.unquote = append(r.unquote, '"')
		default:
			return "", "", errText
		}
	}
}

// peek returns the nth line from here, including its end.
func (r *csvRows) peek(n int) ([]byte, bool) {
	for len(r.ahead) <= n && r.end == nil {
		line, err := r.readLine()
		if len(line) > 0 {
			r.ahead = append(r.ahead, line)
		}
		r.end = err
	}
	if n < len(r.ahead) {
		return r.ahead[n], true
	}
	return nil, false
}

// readLine returns a copy of a line. An overlong line is cut, but stays too long.
func (r *csvRows) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.from.ReadSlice(r.ending)
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return line, err
	}
}

func (r *csvRows) drop(n int) {
	n = min(n, len(r.ahead))
	r.ahead = append(r.ahead[:0], r.ahead[n:]...)
	r.line += int64(n)
}
