package extsort

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/klauspost/compress/s2"
)

// packSize is how much of a file is compressed, and held, at once, in bytes.
const packSize = 64 << 10

// run is a file of sorted entries: payload length, key, payload each. Their
// number is kept here, so that a file that lost its end does not pass for whole.
type run struct {
	path    string
	entries int64
}

type runWriter struct {
	path   string
	file   *os.File
	buf    *bufio.Writer
	packer *s2.Writer
	length [binary.MaxVarintLen64]byte
	count  int64
	err    error
}

func createRun(path string) (*runWriter, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, failed(err, path, "created")
	}
	packer := s2.NewWriter(file, s2.WriterBlockSize(packSize), s2.WriterConcurrency(1))
	return &runWriter{path: path, file: file, packer: packer, buf: bufio.NewWriterSize(packer, packSize)}, nil
}

// add keeps the first error for close.
func (w *runWriter) add(key, payload []byte) {
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

func (w *runWriter) close() (run, error) {
	err := w.err
	if err == nil {
		err = w.buf.Flush()
	}
	err = errors.Join(err, w.packer.Close(), w.file.Close())
	if err != nil {
		_ = os.Remove(w.path)
		return run{}, failed(err, w.path, "written")
	}
	return run{w.path, w.count}, nil
}

func (w *runWriter) abort() {
	_ = w.packer.Close()
	_ = w.file.Close()
	_ = os.Remove(w.path)
}

type runReader struct {
	path    string
	file    *os.File
	buf     *bufio.Reader
	prefix  uint64
	entry   []byte // key and payload
	keySize int
	left    int64
}

func openRun(from run, keySize int) (*runReader, error) {
	file, err := os.Open(from.path)
	if err != nil {
		return nil, failed(err, from.path, "opened")
	}
	unpack := s2.NewReader(file, s2.ReaderMaxBlockSize(packSize), s2.ReaderAllocBlock(packSize))
	return &runReader{path: from.path, file: file, buf: bufio.NewReaderSize(unpack, 16<<10), keySize: keySize, left: from.entries}, nil
}

// next reads an entry; false says that there is none left.
func (r *runReader) next() (bool, error) {
	if r.left == 0 {
		return false, nil
	}
	r.left--
	length, err := binary.ReadUvarint(r.buf)
	if err != nil {
		return false, failed(err, r.path, "read")
	}
	n := r.keySize + int(length)
	if cap(r.entry) < n {
		r.entry = make([]byte, n, n+n/4)
	}
	r.entry = r.entry[:n]
	if _, err := io.ReadFull(r.buf, r.entry); err != nil {
		return false, failed(err, r.path, "read")
	}
	r.prefix = binary.BigEndian.Uint64(r.entry)
	return true, nil
}

func (r *runReader) close() {
	_ = r.file.Close()
	_ = os.Remove(r.path)
}
