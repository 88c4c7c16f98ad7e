package delta

import (
	"encoding/binary"
	"errors"
	"time"

	"atlas/search/document"
	"atlas/search/query"
)

const idSize = 16

// recordID is a record's id, as its bytes sort.
type recordID [idSize]byte

// never stands for a time that a line does not give. No line can hold it.
var noTime = time.UnixMilli(-1 << 60)

// entry is what a delta says of one record.
type entry struct {
	id recordID
	// file and line are where it was read: file counts Files and then
	// Mended.
	file int
	line int64
	// deleted: the record is to go, and there is no record.
	deleted bool
	// updated is the updated_at of the deletion, in milliseconds; never when it
	// has none.
	updated int64
	record  document.Record
}

// given is the entry's updated_at: one that is not given is the time at which
// the delta was begun.
func (e entry) updatedAt(started int64) int64 {
	updated := e.updated
	if !e.deleted {
		updated = e.record.Millis("updated_at")
	}
	if updated == noTime.UnixMilli() {
		return started
	}
	return updated
}

// append writes the entry without its id.
func (e entry) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(e.file)) // #nosec G115 -- counts files
	b = binary.AppendVarint(b, e.line)
	if e.deleted {
		b = append(b, 1)
		return binary.AppendVarint(b, e.updated)
	}
	return e.record.AppendBinary(append(b, 0))
}

var errEntry = errors.New("not an entry of a delta")

// decodeEntry reads what append wrote.
func decodeEntry(d query.Dataset, id recordID, b []byte) (entry, error) {
	e := entry{id: id}
	file, n := binary.Uvarint(b)
	if n <= 0 {
		return e, errEntry
	}
	e.file, b = int(file), b[n:] // #nosec G115 -- counts files
	if e.line, n = binary.Varint(b); n <= 0 || len(b) <= n {
		return e, errEntry
	}
	e.deleted, b = b[n] == 1, b[n+1:]
	if e.deleted {
		if e.updated, n = binary.Varint(b); n != len(b) {
			return e, errEntry
		}
		return e, nil
	}
	var err error
	e.record, err = document.DecodeBinary(d, b)
	return e, err
}

// sortKey orders the entries of a dataset by id, and those of one id so that the
// one that counts comes first: the latest updated_at, of those the last file,
// and in it the last line.
func (e entry) sortKey(b []byte, started int64) []byte {
	b = append(b[:0], e.id[:]...)
	for _, n := range []int64{e.updatedAt(started), int64(e.file), e.line} {
		b = binary.BigEndian.AppendUint64(b, ^(uint64(n) ^ 1<<63)) // #nosec G115 -- the same 64 bits, ordered as signed
	}
	return b
}

const sortKeySize = idSize + 3*8
