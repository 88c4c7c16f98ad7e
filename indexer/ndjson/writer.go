package ndjson

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"atlas/internal/durable"
	"atlas/internal/fault"
)

// writeBuffer is the size of the buffer in front of the compressor and of the
// one in front of the file, in bytes.
const writeBuffer = 256 << 10

// partialEnd ends the name of a file that is still being written. No reader accepts such a
// name for a dataset.
const partialEnd = ".partial"

// Writer writes one dataset file. Until Close the lines are in a file beside it
// whose name ends in ".partial", so that a killed run never leaves a partial file
// that looks complete. The next run overwrites it. A Writer is for one goroutine.
type Writer struct {
	path    string
	file    *os.File
	toFile  *bufio.Writer
	packer  io.WriteCloser // nil for a plain file
	lines   *bufio.Writer
	count   int64
	settled bool
}

// Create starts a file with the compression of its name. An unknown name and a file
// that another process is writing are BadRequest errors, an error of the file
// system Internal.
func Create(path string) (*Writer, error) {
	c, err := CompressionOf(path)
	if err != nil {
		return nil, err
	}
	// Locked, so that two processes do not write into one file.
	file, err := durable.Lock(path+partialEnd, 0o644)
	if errors.Is(err, durable.ErrLocked) {
		return nil, fault.New(fault.BadRequest, "%s is being written by another process", path+partialEnd)
	}
	if err == nil {
		err = file.Truncate(0)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "%s cannot be created", path+partialEnd)
	}
	w := &Writer{path: path, file: file, toFile: bufio.NewWriterSize(file, writeBuffer)}
	var sink io.Writer = w.toFile
	switch c {
	case Gzip:
		packer, err := gzip.NewWriterLevel(w.toFile, gzip.BestSpeed)
		if err != nil {
			w.Abort()
			return nil, fault.Wrap(err, fault.Internal, "%s cannot be compressed", path)
		}
		w.packer, sink = packer, packer
	case Zstd:
		// One goroutine and a fixed level, so that equal lines give equal files.
		packer, err := zstd.NewWriter(w.toFile, zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true))
		if err != nil {
			w.Abort()
			return nil, fault.Wrap(err, fault.Internal, "%s cannot be compressed", path)
		}
		w.packer, sink = packer, packer
	}
	w.lines = bufio.NewWriterSize(sink, writeBuffer)
	return w, nil
}

// Write appends one line and a line end. The line must not contain one.
func (w *Writer) Write(line []byte) error {
	if _, err := w.lines.Write(line); err != nil {
		return w.failed(err)
	}
	if err := w.lines.WriteByte('\n'); err != nil {
		return w.failed(err)
	}
	w.count++
	return nil
}

// Lines returns how many lines were written.
func (w *Writer) Lines() int64 { return w.count }

// Close makes the file durable and renames it to its final name. After an error the
// file does not exist under that name, unless an older one did.
func (w *Writer) Close() error {
	if w.settled {
		return nil
	}
	if err := w.finish(); err != nil {
		w.Abort()
		return err
	}
	return w.publish()
}

// Abort removes the unfinished file. After Close it does nothing.
func (w *Writer) Abort() {
	if w.settled {
		return
	}
	w.settled = true
	// Remove it under the lock, so that it cannot be another writer's file.
	_ = os.Remove(w.path + partialEnd)
	_ = durable.Unlock(w.file)
}

// finish syncs the file to disk, still under its partial name.
func (w *Writer) finish() error {
	if err := w.lines.Flush(); err != nil {
		return w.failed(err)
	}
	if w.packer != nil {
		if err := w.packer.Close(); err != nil {
			return w.failed(err)
		}
	}
	if err := w.toFile.Flush(); err != nil {
		return w.failed(err)
	}
	if err := w.file.Sync(); err != nil {
		return w.failed(err)
	}
	return nil
}

// publish renames a finished file to its final name.
func (w *Writer) publish() error {
	if err := os.Rename(w.path+partialEnd, w.path); err != nil {
		w.Abort()
		return w.failed(err)
	}
	w.settled = true
	if err := errors.Join(durable.Unlock(w.file), durable.SyncFolder(filepath.Dir(w.path))); err != nil {
		return w.failed(err)
	}
	return nil
}

func (w *Writer) failed(err error) error {
	return fault.Wrap(err, fault.Internal, "%s cannot be written", w.path)
}
