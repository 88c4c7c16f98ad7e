package extsort

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/s2"
)

// packSize is the size of a compressed block, in bytes.
const packSize = 64 << 10

// Run is a file of sorted entries: payload length, key, payload each. Entries detects a
// truncated file.
type Run struct {
	File    string `json:"file"` // its name in Options.Dir
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"` // the file's size
}

// RunWriter writes a Run. Entries must come in the order of their keys.
type RunWriter struct {
	path   string
	file   *os.File
	buf    *bufio.Writer
	packer *s2.Writer
	length [binary.MaxVarintLen64]byte
	count  int64
	sync   bool // the file must outlive the process and the machine
	err    error
}

// CreateRun starts a file, which must not exist. Close makes it durable.
func CreateRun(path string) (*RunWriter, error) { return createRun(path, true) }

func createRun(path string, sync bool) (*RunWriter, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // #nosec G304 -- a file of the work folder
	if err != nil {
		return nil, fileError(err, path, "created")
	}
	packer := s2.NewWriter(file, s2.WriterBlockSize(packSize), s2.WriterConcurrency(1))
	return &RunWriter{path: path, sync: sync, file: file, packer: packer, buf: bufio.NewWriterSize(packer, packSize)}, nil
}

// Add writes an entry. Close returns the first error.
func (w *RunWriter) Add(key, payload []byte) {
	if w.err != nil {
		return
	}
	n := binary.PutUvarint(w.length[:], uint64(len(payload)))
	for _, part := range [][]byte{w.length[:n], key, payload} {
		if _, w.err = w.buf.Write(part); w.err != nil {
			return
		}
	}
	w.count++
}

// Close completes the file. After an error the file is gone.
func (w *RunWriter) Close() (Run, error) {
	err := w.err
	if err == nil {
		err = w.buf.Flush()
	}
	err = cmp.Or(err, w.packer.Close()) // it would repeat the first error
	if err == nil && w.sync {
		err = w.file.Sync()
	}
	var size int64
	if err == nil {
		size, err = w.file.Seek(0, io.SeekCurrent)
	}
	err = cmp.Or(err, w.file.Close())
	if err != nil {
		_ = os.Remove(w.path)
		return Run{}, fileError(err, w.path, "written")
	}
	return Run{filepath.Base(w.path), w.count, size}, nil
}

// Abort removes the file.
func (w *RunWriter) Abort() {
	_ = w.packer.Close()
	_ = w.file.Close()
	_ = os.Remove(w.path)
}

type runReader struct {
	path      string
	keepFile  bool
	file      *os.File
	buf       *bufio.Reader
	prefix    uint64
	entry     []byte // key and payload
	keySize   int
	remaining int64
}

func openRun(opts Options, from Run) (*runReader, error) {
	path := filepath.Join(opts.Dir, from.File)
	file, err := os.Open(path) // #nosec G304 -- a file of the work folder
	if err != nil {
		return nil, fileError(err, path, "opened")
	}
	unpack := s2.NewReader(file, s2.ReaderMaxBlockSize(packSize), s2.ReaderAllocBlock(packSize))
	return &runReader{path: path, keepFile: opts.Keep, file: file, buf: bufio.NewReaderSize(unpack, 16<<10),
		keySize: opts.KeySize, remaining: from.Entries}, nil
}

// seek moves to the first entry whose key has a prefix larger than start.
func (r *runReader) seek(ctx context.Context, start []byte) (more bool, err error) {
	for n := 0; ; n++ {
		if more, err := r.next(); !more || err != nil {
			return more, err
		}
		if start == nil || bytes.Compare(r.entry[:len(start)], start) > 0 {
			return true, nil
		}
		if n%65536 == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
	}
}

// next reads an entry. It returns false after the last one.
func (r *runReader) next() (bool, error) {
	if r.remaining == 0 {
		return false, nil
	}
	r.remaining--
	length, err := binary.ReadUvarint(r.buf)
	if err != nil {
		return false, fileError(err, r.path, "read")
	}
	n := r.keySize + int(length) // #nosec G115 -- a length that this program wrote
	if cap(r.entry) < n {
		r.entry = make([]byte, n, n+n/4)
	}
	r.entry = r.entry[:n]
	if _, err := io.ReadFull(r.buf, r.entry); err != nil {
		return false, fileError(err, r.path, "read")
	}
	r.prefix = binary.BigEndian.Uint64(r.entry)
	return true, nil
}

func (r *runReader) close() {
	_ = r.file.Close()
	if !r.keepFile {
		_ = os.Remove(r.path)
	}
}
