package permits

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const (
	// maxJoined is how many lines a quoted field may span. It bounds the number of
	// lines that a stray quote can consume.
	maxJoined = 64
	// maxRow is the longest line, in bytes.
	maxRow = 1 << 20
)

// rows reads CSV rows. An error affects only its own row: encoding/csv by itself
// reads from a stray quote to the next one, over any number of good rows.
type rows struct {
	from   *bufio.Reader
	ahead  [][]byte // lines read, not yet used
	next   int64    // number of the first line of ahead
	end    error    // why there are no lines after ahead
	width  int      // fields of a row, 0 while not known
	ending byte     // of a line
	comma  rune     // between the fields of a row
}

// newRows reads a file as programs save them: in UTF-8, or UTF-16 with a byte order mark;
// with lines that end in LF, CRLF or CR alone; with commas, semicolons, tabs or bars; and
// with a first line sep=; or none.
func newRows(from io.Reader) *rows {
	const ahead = 64 << 10
	r := &rows{from: bufio.NewReaderSize(transform.NewReader(from, unicode.BOMOverride(transform.Nop)), ahead), next: 1, ending: '\n', comma: ','}
	first, _ := r.from.Peek(ahead)
	if bytes.IndexByte(first, '\n') < 0 && bytes.IndexByte(first, '\r') >= 0 {
		r.ending = '\r'
	}
	line, _, whole := bytes.Cut(first, []byte{r.ending})
	if told, is := bytes.CutPrefix(bytes.TrimSpace(line), []byte("sep=")); is && whole && len(told) == 1 {
		r.comma = rune(told[0])
		_, _ = r.from.Discard(len(line) + 1)
		r.next++
		return r
	}
	most := bytes.Count(line, []byte(","))
	for _, separator := range ";\t|" {
		if n := bytes.Count(line, []byte(string(separator))); n > most {
			r.comma, most = separator, n
		}
	}
	return r
}

// read returns the next row that is not blank and the line it begins on. An
// error of type *rowError is about that row only. Others end the file; io.EOF
// is its end.
func (r *rows) read() (int64, []string, error) {
	for {
		line, ok := r.peek(0)
		if !ok {
			return r.next, nil, r.end
		}
		if len(bytes.TrimSpace(line)) == 0 {
			r.drop(1)
			continue
		}
		break
	}
	at := r.next
	var text []byte
	quotes := 0
	for n := range maxJoined {
		line, ok := r.peek(n)
		if !ok {
			break
		}
		if len(line) > maxRow {
			if n > 0 {
				break
			}
			r.drop(1)
			return at, nil, &rowError{reason: fmt.Sprintf("longer than %d bytes", maxRow)}
		}
		text = append(text, line...)
		if quotes += bytes.Count(line, []byte(`"`)); quotes%2 != 0 {
			continue
		}
		fields, err := parseRow(text, r.comma)
		if err != nil {
			if n > 0 {
				break
			}
			r.drop(1)
			return at, nil, &rowError{reason: err.Error()}
		}
		if n > 0 && r.width > 0 && len(fields) != r.width {
			break // two stray quotes with good rows between them
		}
		r.drop(n + 1)
		return at, fields, nil
	}
	if r.end != nil && !errors.Is(r.end, io.EOF) {
		return at, nil, r.end
	}
	r.drop(1)
	return at, nil, &rowError{reason: "a quote is not closed"}
}

func parseRow(text []byte, comma rune) ([]string, error) {
	parser := csv.NewReader(bytes.NewReader(text))
	parser.Comma = comma
	parser.FieldsPerRecord = -1
	fields, err := parser.Read()
	if err != nil {
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, bad.Err
		}
		return nil, err
	}
	if _, err := parser.Read(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one row where quotes make it one")
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields, nil
}

// peek returns the nth line from here, its end included.
func (r *rows) peek(n int) ([]byte, bool) {
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

// readLine returns a copy of a line. A line that is too long is cut, but stays too
// long.
func (r *rows) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.from.ReadSlice(r.ending)
		if len(line) <= maxRow {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return line, err
	}
}

func (r *rows) drop(n int) {
	r.ahead = append(r.ahead[:0], r.ahead[n:]...)
	r.next += int64(n)
}

// rowError is an error of a row; field is a column's name, "" for the row as a
// whole.
type rowError struct {
	field, reason string
}

func (e *rowError) Error() string {
	if e.field == "" {
		return e.reason
	}
	return e.field + ": " + e.reason
}
