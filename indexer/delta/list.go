package delta

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/klauspost/compress/s2"

	"atlas/internal/fault"
	"atlas/search/query"
)

// A list is a file of a dataset's entries in the order of their ids. It is on
// the disk when it is complete, and read as often as needed.

// packSize is how much of a list is compressed at once, in bytes.
const packSize = 64 << 10

type listWriter struct {
	path    string
	file    *os.File
	packer  *s2.Writer
	buf     *bufio.Writer
	payload []byte
	entries int64
}

func createList(path string) (*listWriter, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // #nosec G304 -- a file of the work folder
	if err != nil {
		return nil, broken(err, path)
	}
	packer := s2.NewWriter(file, s2.WriterBlockSize(packSize), s2.WriterConcurrency(1))
	return &listWriter{path: path, file: file, packer: packer, buf: bufio.NewWriterSize(packer, packSize)}, nil
}

// add takes an id and what entry.append wrote.
func (w *listWriter) add(id, payload []byte) error {
	w.payload = append(w.payload[:0], id...)
	w.payload = binary.AppendUvarint(w.payload, uint64(len(payload)))
	w.payload = append(w.payload, payload...)
	w.entries++
	_, err := w.buf.Write(w.payload)
	return err
}

// close makes the list durable; its name in the folder is the state's to see to.
func (w *listWriter) close() error {
	err := errors.Join(w.buf.Flush(), w.packer.Close())
	if err == nil {
		err = w.file.Sync()
	}
	if err = errors.Join(err, w.file.Close()); err != nil {
		return broken(err, w.path)
	}
	return nil
}

func (w *listWriter) abort() {
	_ = w.packer.Close()
	_ = w.file.Close()
}

type listReader struct {
	path    string
	dataset query.Dataset
	file    *os.File
	buf     *bufio.Reader
	left    int64
	payload []byte
}

// openList opens a list, of which the state knows how many entries it has: one
// that lost its end must not pass for whole.
func openList(path string, d query.Dataset, entries int64) (*listReader, error) {
	file, err := os.Open(path) // #nosec G304 -- a file of the work folder
	if err != nil {
		return nil, broken(err, path)
	}
	unpack := s2.NewReader(file, s2.ReaderMaxBlockSize(packSize), s2.ReaderAllocBlock(packSize))
	return &listReader{path: path, dataset: d, file: file, buf: bufio.NewReader(unpack), left: entries}, nil
}

// next returns the next entry whose id is past after; false after the last.
func (r *listReader) next(after recordID) (entry, bool, error) {
	for r.left > 0 {
		r.left--
		var id recordID
		if _, err := io.ReadFull(r.buf, id[:]); err != nil {
			return entry{}, false, broken(err, r.path)
		}
		length, err := binary.ReadUvarint(r.buf)
		if err != nil {
			return entry{}, false, broken(err, r.path)
		}
		if cap(r.payload) < int(length) { // #nosec G115 -- a length that this program wrote
			r.payload = make([]byte, length)
		}
		r.payload = r.payload[:length]
		if _, err := io.ReadFull(r.buf, r.payload); err != nil {
			return entry{}, false, broken(err, r.path)
		}
		if !id.past(after) {
			continue
		}
		e, err := decodeEntry(r.dataset, id, r.payload)
		if err != nil {
			return entry{}, false, broken(err, r.path)
		}
		return e, true, nil
	}
	return entry{}, false, nil
}

func (r *listReader) close() { _ = r.file.Close() }

func broken(err error, path string) error {
	return fault.Wrap(err, fault.Internal, "the file %s of the work folder cannot be used", path)
}
