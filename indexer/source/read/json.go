package read

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// envelopes are the dotted paths of the rows in answers of common interfaces.
var envelopes = []string{
	"features", "d.results", "d", "value", "results", "data", "records", "items", "rows", "result.records", "result",
	"response.docs", "permits",
}

// arrayRows reads an array of objects. A syntax error ends the file, because the beginning
// of the next record is unknown.
type arrayRows struct {
	flat
	from   *jsontext.Decoder
	budget *budget
	number int64
}

// newArray finds the array of the rows: that of the given path, else the only one at the
// top, else one of the envelopes.
func newArray(from *bufio.Reader, path string) (*arrayRows, error) {
	r := &arrayRows{budget: &budget{from: from, left: maxRecord}}
	r.from = jsontext.NewDecoder(r.budget, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	found, err := r.enter("", path)
	if err != nil {
		return nil, notJSON(err)
	}
	if !found && path != "" {
		return nil, unusable("it has no array at %.100q", path)
	}
	if !found {
		return nil, unusable("it has no array of rows at a known place; say where with read.path, such as d.results")
	}
	return r, nil
}

// enter reads up to the beginning of the array of the rows.
func (r *arrayRows) enter(at, path string) (bool, error) {
	r.budget.left = maxRecord
	switch kind := r.from.PeekKind(); kind {
	case '[':
		if wanted(at, path) {
			_, err := r.from.ReadToken()
			return true, err
		}
		return false, r.from.SkipValue()
	case '{':
		if !leads(at, path) {
			return false, r.from.SkipValue()
		}
		if _, err := r.from.ReadToken(); err != nil {
			return false, err
		}
		for r.from.PeekKind() == '"' {
			name, err := r.from.ReadToken()
			if err != nil {
				return false, err
			}
			if found, err := r.enter(joined(at, name.String()), path); found || err != nil {
				return found, err
			}
		}
		_, err := r.from.ReadToken()
		return false, err
	}
	return false, r.from.SkipValue()
}

func joined(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func wanted(at, path string) bool {
	if path != "" {
		return at == path
	}
	return at == "" || slices.Contains(envelopes, at)
}

// leads reports whether rows may be below a path.
func leads(at, path string) bool {
	if at == "" {
		return true
	}
	if path != "" {
		return strings.HasPrefix(path, at+".")
	}
	return slices.ContainsFunc(envelopes, func(e string) bool { return strings.HasPrefix(e, at+".") })
}

func notJSON(err error) error {
	if errors.Is(err, errLong) {
		return unusable("a record is longer than %d bytes", maxRecord)
	}
	if _, syntax := errors.AsType[*jsontext.SyntacticError](err); syntax {
		return unusable("it is not JSON: %v", err)
	}
	return err
}

func (r *arrayRows) next() (Row, error) {
	r.budget.left = maxRecord
	switch r.from.PeekKind() {
	case ']':
		return Row{Line: r.number}, io.EOF
	case '{':
		value, err := r.from.ReadValue()
		if errors.Is(err, errLong) {
			if err := r.skipLong(); err != nil {
				return Row{Line: r.number}, r.cut(err)
			}
			r.number++
			return Row{Line: r.number}, tooLong(r.number, maxRecord)
		}
		if err != nil {
			return Row{Line: r.number}, r.cut(err)
		}
		r.number++
		return r.flatRow(r.number, value)
	case 0: // an error, which the next call returns
		_, err := r.from.ReadToken()
		return Row{Line: r.number}, r.cut(err)
	}
	if err := r.from.SkipValue(); err != nil {
		return Row{Line: r.number}, r.cut(err)
	}
	r.number++
	return Row{Line: r.number}, &RowError{r.number, "not an object"}
}

// skipLong skips a record that is too long, and continues after it.
func (r *arrayRows) skipLong() error {
	rest := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(r.from.UnreadBuffer())), r.budget.from), sample)
	depth, text := 0, false
	for {
		switch c, err := rest.ReadByte(); {
		case err != nil:
			return err
		case text && c == '\\':
			_, _ = rest.Discard(1) // the next byte is part of the text
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth > 0 {
				continue
			}
			// The decoder restarts, within an array.
			r.budget = &budget{from: io.MultiReader(strings.NewReader("[null"), rest), left: maxRecord}
			r.from = jsontext.NewDecoder(r.budget, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
			_, begun := r.from.ReadToken()
			_, first := r.from.ReadToken()
			return errors.Join(begun, first)
		}
	}
}

func tooLong(line int64, most int) *RowError {
	return &RowError{line, fmt.Sprintf("longer than %d bytes", most)}
}

// cut is the error of a file that ends before its array does.
func (r *arrayRows) cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return unusable("the file is cut off after record %d", r.number)
	}
	return notJSON(err)
}

// lineRows reads an object per line.
type lineRows struct {
	flat
	from *bufio.Reader
	line int64
}

func newLines(from *bufio.Reader) *lineRows { return &lineRows{from: from} }

func (r *lineRows) next() (Row, error) {
	for {
		text, err := r.readLine()
		if err != nil && len(text) == 0 {
			return Row{Line: r.line}, err
		}
		r.line++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		switch {
		case len(text) > maxLine:
			return Row{Line: r.line}, tooLong(r.line, maxLine)
		case !isObject(text):
			return Row{Line: r.line}, &RowError{r.line, "not a JSON object"}
		}
		return r.flatRow(r.line, text)
	}
}

func (r *lineRows) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.from.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func isObject(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] == '{' && jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// isEnvelope reports whether an object on one line has the rows in it.
func isEnvelope(text []byte) bool {
	_, err := newArray(bufio.NewReader(bytes.NewReader(text)), "")
	return err == nil
}

// budget is a reader that ends after a number of bytes, so that one record cannot take all
// memory. A decoder reads ahead; its buffer counts for the next record.
type budget struct {
	from io.Reader
	left int
}

var errLong = errors.New("longer than a record may be")

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLong
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// flat maps each value of an object to a column: a.b for a member of a member, a.1.b for a
// member of the first element. Lists of plain values are one cell.
type flat struct {
	names []string
	at    map[string]int
	cells []string
	over  bool // the row has columns beyond the bound
}

func (f *flat) columns() []string { return f.names }

// flatRow is the row of an object.
func (f *flat) flatRow(line int64, object jsontext.Value) (Row, error) {
	f.over = false
	before := len(f.names)
	cells := f.row(object)
	if f.over {
		for _, name := range f.names[before:] { // later records need them
			delete(f.at, name)
		}
		f.names, f.cells = f.names[:before], f.cells[:min(before, len(f.cells))]
		return Row{Line: line}, &RowError{line, fmt.Sprintf("more than %d columns", maxColumns)}
	}
	return Row{line, cells}, nil
}

// row returns the cells of an object. The properties of a GeoJSON feature and the
// attributes of ArcGIS have no prefix; a geometry is geometry.x and geometry.y.
func (f *flat) row(object jsontext.Value) []string {
	if f.at == nil {
		f.at = map[string]int{}
	}
	clear(f.cells)
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	f.object(d, "", 0)
	return f.cells
}

// transparent are objects whose members become columns without a prefix.
func transparent(name string) bool { return name == "properties" || name == "attributes" }

func (f *flat) object(d *jsontext.Decoder, prefix string, depth int) {
	_, _ = d.ReadToken()
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return
		}
		name := token.String()
		switch {
		case depth == 0 && transparent(name) && d.PeekKind() == '{':
			f.object(d, "", depth+1)
		case depth == 0 && name == "geometry" && d.PeekKind() == '{':
			f.geometry(d)
		default:
			f.value(d, joined(prefix, name), depth)
		}
	}
	_, _ = d.ReadToken()
}

func (f *flat) value(d *jsontext.Decoder, name string, depth int) {
	switch kind := d.PeekKind(); {
	case kind == '{' && depth < maxDepth:
		f.object(d, name, depth+1)
	case kind == '[' && depth < maxDepth:
		f.array(d, name, depth+1)
	case kind == 'n', kind == '{', kind == '[':
		f.put(name, "")
		_ = d.SkipValue()
	default:
		token, err := d.ReadToken()
		if err == nil {
			f.put(name, strings.TrimSpace(token.String()))
		}
	}
}

func (f *flat) array(d *jsontext.Decoder, name string, depth int) {
	_, _ = d.ReadToken()
	var list []string
	n := 0
	for d.PeekKind() != ']' && d.PeekKind() != 0 {
		switch kind := d.PeekKind(); {
		case n >= maxElements:
			_ = d.SkipValue()
		case kind == '{':
			f.object(d, joined(name, strconv.Itoa(n+1)), depth)
		case kind == '[' || kind == 'n':
			_ = d.SkipValue()
		default:
			if token, err := d.ReadToken(); err == nil {
				list = append(list, strings.TrimSpace(token.String()))
			}
		}
		n++
	}
	_, _ = d.ReadToken()
	if len(list) > 0 || n == 0 {
		f.put(name, strings.Join(list, "; "))
	}
}

func (f *flat) put(name, cell string) {
	i, known := f.at[name]
	if !known {
		if len(f.names) >= maxColumns {
			f.over = true
			return
		}
		i = len(f.names)
		f.at[name] = i
		f.names = append(f.names, name)
	}
	for len(f.cells) <= i {
		f.cells = append(f.cells, "")
	}
	f.cells[i] = cell
}
