package ndjson

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"atlas/internal/fault"
)

// sniffed is the size of the sample that is checked against a file's name, in
// bytes.
const sniffed = 64 << 10

// ZipMagic is the beginning of a zip archive, and so of an Excel workbook.
const ZipMagic = "PK\x03\x04"

var (
	utf8BOM    = []byte{0xEF, 0xBB, 0xBF}
	gzipMagic  = []byte{0x1F, 0x8B}
	zstdMagic  = []byte{0x28, 0xB5, 0x2F, 0xFD}
	zstdSkip   = []byte{0x2A, 0x4D, 0x18} // after one byte 0x50..0x5F
	otherMagic = []struct {
		magic []byte
		what  string
	}{
		{gzipMagic, "gzip data; its name should end in .gz"},
		{zstdMagic, "zstd data; its name should end in .zst"},
		{[]byte(ZipMagic), "a zip archive"},
		{[]byte("BZh"), "bzip2 data"},
		{[]byte("\xFD7zXZ\x00"), "xz data"},
		{[]byte("%PDF-"), "a PDF"},
		{[]byte("PAR1"), "a Parquet file"},
		{[]byte{0xFF, 0xFE}, "UTF-16 text; records are UTF-8"},
		{[]byte{0xFE, 0xFF}, "UTF-16 text; records are UTF-8"},
	}
)

// checkPacking checks the first bytes of a file against its name.
func checkPacking(path string, c Compression, file *bufio.Reader) error {
	head, err := file.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return fault.Wrap(err, fault.Internal, "%s cannot be read", path)
	}
	switch c {
	case Gzip:
		if !bytes.HasPrefix(head, gzipMagic) {
			return fault.New(fault.BadRequest, "%s is not what its name says: it holds no gzip data", path)
		}
	case Zstd:
		skippable := len(head) >= 4 && head[0]&0xF0 == 0x50 && bytes.Equal(head[1:4], zstdSkip)
		if !bytes.HasPrefix(head, zstdMagic) && !skippable {
			return fault.New(fault.BadRequest, "%s is not what its name says: it holds no zstd data", path)
		}
	}
	return nil
}

// checkText checks the first decompressed bytes; more means that the file is longer. It
// refuses other kinds of files as a whole. The parser reports single bad lines.
func checkText(path string, sample []byte, more bool) error {
	for _, other := range otherMagic {
		if bytes.HasPrefix(sample, other.magic) {
			return fault.New(fault.BadRequest, "%s is not what its name says: it holds %s", path, other.what)
		}
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(sample, utf8BOM))
	// A stray NUL in a file of records is an error of its line.
	if bytes.IndexByte(sample, 0) >= 0 && text[0] != '{' {
		return fault.New(fault.BadRequest, "%s is not what its name says: it holds binary data", path)
	}
	if isArray(text) {
		return fault.New(fault.BadRequest, "%s holds one JSON array; records go one a line", path)
	}
	// A file of one line may be a single bad record. Several lines without any
	// object are another kind of file.
	lines, objects := 0, 0
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		text = bytes.TrimSpace(rest)
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		lines++
		cut := !whole && more
		if line[0] == '{' && (cut || line[len(line)-1] == '}') {
			objects++
		}
	}
	if lines > 1 && objects == 0 {
		return fault.New(fault.BadRequest, "%s is not what its name says: no line of its beginning is a JSON object", path)
	}
	return nil
}

// isArray distinguishes a JSON array of objects from a line that happens to begin
// with a bracket.
func isArray(text []byte) bool {
	if len(text) == 0 || text[0] != '[' {
		return false
	}
	after := text[1:]
	inner := bytes.TrimLeft(after, " \t\r\n")
	return len(inner) > 0 && (inner[0] == '{' || bytes.IndexByte(after[:len(after)-len(inner)], '\n') >= 0)
}
