package read

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"atlas/internal/fault"
)

// sample is how much of a file is read to detect its format, in bytes.
const sample = 256 << 10

// File is a file that is being read. It is for one goroutine; only BytesRead is safe for
// others.
type File struct {
	Format Format
	rows   rows
	path   string
	read   atomic.Int64
	close  []func() error
}

// Open opens a file. Errors: NotFound, BadRequest for one without rows in a known format,
// Internal for the file system.
func Open(name string, o Options) (*File, error) {
	file, err := os.Open(name) // #nosec G304 -- a file that who runs the command names
	if errors.Is(err, os.ErrNotExist) {
		return nil, fault.Wrap(err, fault.NotFound, "%s does not exist", name)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "%s cannot be opened", name)
	}
	f := &File{path: name, close: []func() error{file.Close}}
	if err := f.start(file, o); err != nil {
		_ = f.Close()
		if fault.CodeOf(err) == fault.BadRequest {
			return nil, fault.Wrap(err, fault.BadRequest, "%s: %s", name, err.Error())
		}
		return nil, f.broken(err)
	}
	return f, nil
}

// Read reads rows of text from a stream that is not packed. Errors: those of Open.
func Read(from io.Reader, o Options) (*File, error) {
	f := &File{}
	if err := f.startText(bufio.NewReaderSize(&counter{from, &f.read}, sample), o); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) start(file *os.File, o Options) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return unusable("it is no file")
	}
	buffered := bufio.NewReaderSize(&counter{file, &f.read}, sample)
	magic, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case bytes.HasPrefix(magic, []byte("PK\x03\x04")):
		return f.startZip(file, info.Size(), o)
	case bytes.HasPrefix(magic, []byte{0xd0, 0xcf, 0x11, 0xe0}):
		return unusable("it is a workbook of an old form (.xls): save it as .xlsx or CSV")
	}
	return f.startPacked(buffered, o)
}

// startPacked unpacks gzip and zstd.
func (f *File) startPacked(from *bufio.Reader, o Options) error {
	magic, _ := from.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		packed, err := gzip.NewReader(from)
		if err != nil {
			return unusable("it is a damaged gzip file: %v", err)
		}
		return f.startText(bufio.NewReaderSize(packed, sample), o)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		packed, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return unusable("it is a damaged zstd file: %v", err)
		}
		f.close = append(f.close, func() error { packed.Close(); return nil })
		return f.startText(bufio.NewReaderSize(packed, sample), o)
	}
	return f.startText(from, o)
}

// startZip reads a workbook, or the one file of an archive.
func (f *File) startZip(file *os.File, size int64, o Options) error {
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return unusable("it is a damaged .zip: %v", err)
	}
	if slices.ContainsFunc(archive.File, func(m *zip.File) bool { return m.Name == "xl/workbook.xml" }) {
		f.Format = XLSX
		f.rows, err = f.openWorkbook(f.path, o)
		return err
	}
	member, err := memberOf(archive, o.Member)
	if err != nil {
		return err
	}
	content, err := member.Open()
	if err != nil {
		return unusable("%.100q in it cannot be unpacked: %v", member.Name, err)
	}
	f.close = append(f.close, content.Close)
	f.read.Store(0)
	return f.startPacked(bufio.NewReaderSize(&counter{content, &f.read}, sample), o)
}

// memberOf is the file of an archive that matches a pattern, else its only file with data.
func memberOf(archive *zip.Reader, pattern string) (*zip.File, error) {
	var found []*zip.File
	for _, m := range archive.File {
		base := path.Base(m.Name)
		if m.FileInfo().IsDir() || strings.HasPrefix(m.Name, "__MACOSX/") || strings.HasPrefix(base, ".") {
			continue
		}
		match := slices.Contains(
			[]string{".csv", ".tsv", ".txt", ".json", ".geojson", ".ndjson", ".jsonl", ".gz", ".zst"},
			strings.ToLower(path.Ext(base)),
		)
		if pattern != "" {
			match, _ = path.Match(pattern, base)
		}
		if match {
			found = append(found, m)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if pattern == "" && len(found) > 1 {
		return nil, unusable("it has %d files, such as %.100q; choose one with read.member, a pattern of its name", len(found), found[0].Name)
	}
	return nil, unusable("it has %d files of that name; there must be one", len(found))
}

// startText reads CSV or JSON.
func (f *File) startText(from *bufio.Reader, o Options) error {
	text, err := decoded(from, o.Encoding)
	if err != nil {
		return err
	}
	head, err := text.Peek(sample)
	if len(head) == 0 && err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch f.Format = o.Format; {
	case f.Format == "" && o.Path != "":
		f.Format = JSON
	case f.Format == "":
		f.Format = sniff(head)
	}
	err = nil
	switch f.Format {
	case CSV:
		f.rows, err = newCSV(text, o)
	case NDJSON:
		f.rows = newLines(text)
	case JSON:
		f.rows, err = newArray(text, o.Path)
	default:
		err = unusable("it is no workbook")
	}
	return err
}

// decoded is a file in UTF-8, except for rows that its reader decodes.
func decoded(from *bufio.Reader, encoding string) (*bufio.Reader, error) {
	mark, err := from.Peek(4)
	if err != nil && len(mark) == 0 && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var by transform.Transformer
	switch {
	case bytes.HasPrefix(mark, []byte{0xef, 0xbb, 0xbf}):
		_, _ = from.Discard(3)
		return from, nil
	case bytes.HasPrefix(mark, []byte{0xff, 0xfe}), bytes.HasPrefix(mark, []byte{0xfe, 0xff}):
		by = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()
	case encoding == UTF16, encoding != UTF8 && len(mark) == 4 && mark[1] == 0 && mark[3] == 0 && mark[0] != 0:
		by = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder()
	case encoding != UTF8 && len(mark) == 4 && mark[0] == 0 && mark[2] == 0 && mark[1] != 0:
		by = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder()
	case encoding == Windows1252:
		by = charmap.Windows1252.NewDecoder()
	default:
		return from, nil
	}
	return bufio.NewReaderSize(transform.NewReader(from, by), sample), nil
}

// sniff detects the format of a text.
func sniff(head []byte) Format {
	text := bytes.TrimLeft(head, " \t\r\n")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return CSV
	}
	if text[0] == '[' {
		return JSON
	}
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if isObject(first) && (len(rest) > 0 && rest[0] == '{' || len(rest) == 0 && !isEnvelope(first)) {
		return NDJSON
	}
	return JSON
}

// western is a text that is not UTF-8, read as Windows-1252.
func western(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	read, err := charmap.Windows1252.NewDecoder().String(text)
	if err != nil {
		return strings.ToValidUTF8(text, "�")
	}
	return read
}

// Columns are the columns known so far. JSON may add columns with each row; positions do
// not change.
func (f *File) Columns() []string { return f.rows.columns() }

// Next returns the next row, a *RowError for one row, or io.EOF. Other errors end the file:
// BadRequest if it does not match the format, Internal.
func (f *File) Next() (Row, error) {
	row, err := f.rows.next()
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return row, err
	}
	if _, one := errors.AsType[*RowError](err); one {
		return row, err
	}
	return row, f.broken(err)
}

// broken is an error that ends a file.
func (f *File) broken(err error) error {
	switch {
	case fault.CodeOf(err) == fault.BadRequest:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrChecksum), errors.Is(err, zip.ErrChecksum):
		return fault.Wrap(err, fault.BadRequest, "%s is cut off or damaged", f.path)
	}
	return fault.Wrap(err, fault.Internal, "%s cannot be read", f.path)
}

// BytesRead is how much of the file was read, accurate to a buffer.
func (f *File) BytesRead() int64 { return f.read.Load() }

// Close closes the file.
func (f *File) Close() error {
	var err error
	for _, c := range slices.Backward(f.close) {
		err = errors.Join(err, c())
	}
	f.close = nil
	return err
}

// counter counts the bytes read.
type counter struct {
	from io.Reader
	n    *atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n.Add(int64(n))
	return n, err
}
