package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"atlas/indexer"
	"atlas/search/catalog"
)

// builtFile holds the documents of a dataset's records as bodies of `_bulk`
// requests.
type builtFile struct {
	path      string
	documents int64
	bytes     int64 // of the bodies
	file      *os.File
	buf       *bufio.Writer
	body      []byte
}

// A file is frames: the length of a body and how many documents it has, 4 bytes
// each, and the body.
const frameHead = 8

// buildDocuments writes the documents that a load of the folder would send.
func buildDocuments(ctx context.Context, records, dir string, batch int) (built map[catalog.Dataset]*builtFile, err error) {
	began := time.Now()
	built = map[catalog.Dataset]*builtFile{}
	for _, d := range catalog.Datasets {
		f, err2 := createBuilt(filepath.Join(dir, string(d)+".bulk"))
		if err2 != nil {
			return nil, err2
		}
		defer func() { err = errors.Join(err, f.close()) }()
		built[d] = f
	}
	_, err = indexer.Documents(ctx, indexer.DocumentOptions{
		Dir: records, TempDir: dir, LoadedAt: began, BatchBytes: batch,
	}, func(d catalog.Dataset, batch []indexer.Document) error {
		return built[d].add(batch)
	})
	if err != nil {
		return nil, err
	}
	say("built the documents in %.1f s", time.Since(began).Seconds())
	return built, nil
}

func createBuilt(path string) (*builtFile, error) {
	file, err := os.Create(path) // #nosec G304 -- a file of the benchmark
	return &builtFile{path: path, file: file, buf: bufio.NewWriterSize(file, 1<<20)}, err
}

func (f *builtFile) close() error { return errors.Join(f.buf.Flush(), f.file.Close()) }

func (f *builtFile) add(batch []indexer.Document) error {
	f.body = f.body[:0]
	for _, doc := range batch {
		f.body = append(append(append(f.body, `{"index":{"_id":"`...), doc.ID...), "\"}}\n"...)
		f.body = append(append(f.body, doc.JSON...), '\n')
	}
	f.documents += int64(len(batch))
	f.bytes += int64(len(f.body))
	var head [frameHead]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(f.body))) // #nosec G115 -- a request of a few MB
	binary.BigEndian.PutUint32(head[4:], uint32(len(batch))) // #nosec G115 -- counts documents of a request
	if _, err := f.buf.Write(head[:]); err != nil {
		return err
	}
	_, err := f.buf.Write(f.body)
	return err
}

// readFrame reads the next body into buf, which grows as needed; io.EOF is the
// end.
func readFrame(from io.Reader, buf []byte) (body []byte, documents int, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, 0, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := io.ReadFull(from, buf); err != nil {
		return nil, 0, errors.Join(errors.New("the file of documents is cut short"), err)
	}
	return buf, int(binary.BigEndian.Uint32(head[4:])), nil
}
