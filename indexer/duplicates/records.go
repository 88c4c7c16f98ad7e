package duplicates

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"atlas/indexer"
	"atlas/indexer/extsort"
	"atlas/indexer/generation"
	"atlas/internal/fault"
	"atlas/search/match"
)

// records is a file of records, each preceded by its length in 4 bytes. A record is
// identified by its position in the file.
type records struct {
	file *os.File
	to   *bufio.Writer
	next uint64
}

// add appends a record and returns its position.
func (r *records) add(record []byte) (at uint64, err error) {
	at = r.next
	var length [4]byte
	binary.BigEndian.PutUint32(length[:], uint32(len(record))) // #nosec G115 -- an answer of Elasticsearch is smaller
	r.next += uint64(len(length) + len(record))
	if _, err := r.to.Write(length[:]); err != nil {
		return 0, err
	}
	_, err = r.to.Write(record)
	return at, err
}

// at reads a record. It is safe for concurrent use.
func (r *records) at(place uint64) (record match.Record, err error) {
	b := make([]byte, 512)                   // enough for most records in one read
	n, err := r.file.ReadAt(b, int64(place)) // #nosec G115 -- a place in the file
	if err != nil && !errors.Is(err, io.EOF) {
		return record, fileError(err)
	}
	if n < 4 {
		return record, fileError(io.ErrUnexpectedEOF)
	}
	length := int(binary.BigEndian.Uint32(b))
	if n = min(n, 4+length); n < 4+length {
		b = append(b[:n], make([]byte, 4+length-n)...)
		if _, err := r.file.ReadAt(b[n:], int64(place)+int64(n)); err != nil { // #nosec G115 -- as above
			return record, fileError(err)
		}
	}
	return record, json.Unmarshal(b[4:4+length], &record)
}

func fileError(err error) error {
	return fault.Wrap(err, fault.Internal, "a temporary file cannot be used")
}

// blockKeySize is the size of an entry of keys: the hash of a key, whose last bit means
// that it is loose, the hash of the record's name, and the position of the record.
const blockKeySize = 24

// read writes the records of an index to the file, and their keys to keys.
func (s *search) read(ctx context.Context, in generation.DatasetIndex, keys *extsort.Sorter) error {
	if err := s.Retry.Do(ctx, func(ctx context.Context) error { return s.Elastic.Refresh(ctx, in.Index) }); err != nil {
		return err
	}
	var meter indexer.Meter
	meter.Expect(in.Documents)
	defer meter.Start(s.Progress, Reading)()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	to := keys.Writer()
	s.records.to = bufio.NewWriterSize(s.records.file, 1<<20)
	walk := generation.Walk{Elastic: s.Elastic, Retry: s.Retry, Index: in.Index, Members: match.Members}.Start(ctx, uuid.UUID{})
	for {
		found, more := walk.Next()
		if !more {
			break
		}
		var record match.Record
		if err := json.Unmarshal(found.Source, &record); err != nil {
			return fault.Wrap(err, fault.Internal, "the record %s of %s cannot be read", found.ID, in.Index)
		}
		at, err := s.records.add(found.Source)
		if err != nil {
			return fileError(err)
		}
		s.report.Records++
		meter.Add(1)
		known := match.KeysOf(s.Dataset, record)
		for _, key := range known.Keys {
			var entry [blockKeySize]byte
			hashed := hashOf(key.Text) &^ 1
			if key.Loose {
				hashed |= 1
			}
			binary.BigEndian.PutUint64(entry[:], hashed)
			binary.BigEndian.PutUint64(entry[8:], hashOf(known.Name))
			binary.BigEndian.PutUint64(entry[16:], at)
			if err := to.Add(entry[:], nil); err != nil {
				return err
			}
		}
	}
	if err := walk.Err(); err != nil {
		return err
	}
	if err := s.records.to.Flush(); err != nil {
		return fileError(err)
	}
	return to.Close()
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text)
	return h.Sum64()
}
