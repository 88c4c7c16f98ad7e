package ndjson

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"atlas/internal/fault"
)

// maxZstdWindow bounds the memory that a .zst file can require, in bytes. It is the
// default of the zstd command.
const maxZstdWindow = 128 << 20

// LineError is an error of one line. The following lines can be read.
type LineError struct {
	Path   string
	Line   int64 // counted from 1, blank lines included
	Reason string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%s: line %d: %s", e.Path, e.Line, e.Reason)
}

// Reader reads a dataset file line by line. It is for one goroutine; only BytesRead
// is safe for others.
type Reader struct {
	path   string
	file   *os.File
	size   int64
	read   atomic.Int64
	unzip  func()
	buf    *bufio.Reader
	plain  bool  // the file is not packed
	offset int64 // in the unpacked file, of the first byte that Next has not read
	line   int64
	long   []byte // holds a line that does not fit buf
	failed error
}

// Open opens a file and decompresses it according to its name. A file whose content does
// not match its name (a folder, a .gz without gzip data, a .ndjson that is compressed,
// binary, UTF-16, one JSON array or no JSON at all) is a BadRequest error, an error of the
// file system Internal.
func Open(path string) (*Reader, error) {
	c, err := CompressionOf(path)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path) // #nosec G304 -- a file that who runs the command names
	if err != nil {
		if os.IsNotExist(err) {
			return nil, fault.Wrap(err, fault.NotFound, "%s does not exist", path)
		}
		return nil, fault.Wrap(err, fault.Internal, "%s cannot be opened", path)
	}
	r := &Reader{path: path, file: file}
	if err := r.start(c); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Reader) start(c Compression) error {
	info, err := r.file.Stat()
	if err != nil {
		return fault.Wrap(err, fault.Internal, "%s cannot be looked at", r.path)
	}
	if !info.Mode().IsRegular() {
		return fault.New(fault.BadRequest, "%s is not a file", r.path)
	}
	r.size = info.Size()
	packed := bufio.NewReaderSize(&counter{from: r.file, n: &r.read}, 256<<10)
	if err := checkPacking(r.path, c, packed); err != nil {
		return err
	}
	var lines io.Reader = packed
	switch c {
	case Gzip:
		unpack, err := gzip.NewReader(packed)
		if err != nil {
			return r.broken(err)
		}
		r.unzip, lines = func() { _ = unpack.Close() }, unpack
	case Zstd:
		unpack, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return r.broken(err)
		}
		r.unzip, lines = unpack.Close, unpack
	}
	r.plain = c == Plain
	r.buf = bufio.NewReaderSize(lines, 256<<10)
	sample, err := r.buf.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return r.broken(err)
	}
	if err := checkText(r.path, sample, err == nil); err != nil {
		return err
	}
	if bytes.HasPrefix(sample, utf8BOM) {
		_, _ = r.buf.Discard(len(utf8BOM))
		r.offset = int64(len(utf8BOM))
	}
	return nil
}

// Next returns the next line that is not blank, and its number. The bytes are valid until
// the next call. Errors:
//   - io.EOF after the last line;
//   - a *LineError for a line of more than MaxLine bytes: continue with Next;
//   - a *fault.Error when the file cannot be read further (damaged or cut
//     short: BadRequest; the disk: Internal). Every later call returns it too.
//
// A damaged file is never mistaken for a short one, and no part of the damaged line is
// returned.
func (r *Reader) Next() (int64, []byte, error) {
	for r.failed == nil {
		line, err := r.readLine()
		if err != nil {
			if _, ok := errors.AsType[*LineError](err); !ok {
				r.failed = err
			}
			return r.line, nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return r.line, line, nil
		}
	}
	return r.line, nil, r.failed
}

// EachLine passes the lines of a dataset's file in a folder to each, with their numbers,
// until each returns an error. A line is valid during the call. An error names the file and
// the line.
func EachLine(dir, dataset string, each func(n int64, line []byte) error) error {
	path, err := Find(dir, dataset)
	if err != nil {
		return err
	}
	r, err := Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	for {
		n, line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = each(n, line)
		}
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", path, n, err)
		}
	}
}

// Offset is the offset of the next line in the unpacked file, for Resume.
func (r *Reader) Offset() int64 { return r.offset }

// Line returns the number of the last line, blank ones included.
func (r *Reader) Line() int64 { return r.line }

// Resume moves a newly opened Reader to the Offset and Line of another Reader of
// the same file. A compressed file is decompressed up to there. Error: BadRequest
// for a file that ends before.
func (r *Reader) Resume(ctx context.Context, offset, line int64) error {
	if offset < r.offset {
		return nil // only a byte order mark had been read
	}
	if r.plain {
		if offset > r.size {
			return fault.New(fault.BadRequest, "%s ends before line %d", r.path, line)
		}
		if _, err := r.file.Seek(offset, io.SeekStart); err != nil {
			return r.broken(err)
		}
		r.read.Store(offset)
		r.buf.Reset(&counter{from: r.file, n: &r.read})
	}
	for !r.plain && r.offset < offset {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := r.buf.Discard(int(min(offset-r.offset, resumeStep)))
		r.offset += int64(n)
		if errors.Is(err, io.EOF) {
			return fault.New(fault.BadRequest, "%s ends before line %d", r.path, line)
		}
		if err != nil {
			return r.broken(err)
		}
	}
	r.offset, r.line = offset, line
	return nil
}

// resumeStep is how much is skipped between checks of the context, in bytes.
const resumeStep = 16 << 20

// readLine returns a line, possibly blank, without its end.
func (r *Reader) readLine() ([]byte, error) {
	part, err := r.buf.ReadSlice('\n')
	r.offset += int64(len(part))
	if len(part) > 0 {
		r.line++
	}
	if err == nil {
		return part[:len(part)-1], nil
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		return r.lastLine(part, err)
	}
	r.long = append(r.long[:0], part...)
	for tooLong := false; ; {
		part, err = r.buf.ReadSlice('\n')
		r.offset += int64(len(part))
		if !tooLong {
			r.long = append(r.long, part...)
			tooLong = len(bytes.TrimRight(r.long, "\r\n")) > MaxLine
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, r.broken(err)
		case tooLong:
			r.long = nil
			return nil, &LineError{Path: r.path, Line: r.line,
				Reason: fmt.Sprintf("longer than %d bytes", MaxLine)}
		default:
			return bytes.TrimSuffix(r.long, []byte("\n")), nil
		}
	}
}

// lastLine returns a line that ends with the file instead of a line end.
func (r *Reader) lastLine(part []byte, err error) ([]byte, error) {
	if !errors.Is(err, io.EOF) {
		return nil, r.broken(err)
	}
	if len(part) == 0 {
		return nil, io.EOF
	}
	return part, nil
}

// broken adds the position to an error of the file or its decompression.
func (r *Reader) broken(err error) error {
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return fault.Wrap(err, fault.Internal, "%s cannot be read after line %d", r.path, r.line)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.Wrap(err, fault.BadRequest, "%s is cut short: it ends within its compressed data after line %d", r.path, r.line)
	}
	return fault.Wrap(err, fault.BadRequest, "%s is damaged: it cannot be unpacked after line %d", r.path, r.line)
}

// Size returns the size of the file on disk, in bytes.
func (r *Reader) Size() int64 { return r.size }

// BytesRead returns how many of Size were read so far.
func (r *Reader) BytesRead() int64 { return r.read.Load() }

// Close closes the file.
func (r *Reader) Close() error {
	if r.unzip != nil {
		r.unzip()
		r.unzip = nil
	}
	return r.file.Close()
}

type counter struct {
	from io.Reader
	n    *atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n.Add(int64(n))
	return n, err
}
