package delta

import (
	"encoding/binary"
	"errors"
	"time"

	"atlas/search/document"
	"atlas/search/query"
)

const idSize = 16

// recordID is a record's id as bytes, which sort as ids do.
type recordID [idSize]byte

// noTime stands for a time that a line leaves out. No line can hold it.
var noTime = time.UnixMilli(-1 << 60)

// entry is a change of one record.
type entry struct {
	id recordID
	// file and line say where it was read. file counts Options.Files and then
	// Options.Corrected.
	file int
	line int64
	// deleted means that the record is deleted; then record is empty.
	deleted bool
	// updated is the updated_at of a deletion, in milliseconds; noTime without one.
	updated int64
	record  document.Record
}

// updatedAt is the entry's updated_at, by default the time at which the delta was
// begun, both in milliseconds.
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

// decodeEntry decodes what append wrote.
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

// sortKey orders entries by id. Entries of one id are in descending order of
// updated_at, file and line, so that the first one counts.
func (e entry) sortKey(b []byte, started int64) []byte {
	b = append(b[:0], e.id[:]...)
	for _, n := range []int64{e.updatedAt(started), int64(e.file), e.line} {
		b = binary.BigEndian.AppendUint64(b, ^(uint64(n) ^ 1<<63)) // #nosec G115 -- the same 64 bits, ordered as signed
	}
	return b
}

const sortKeySize = idSize + 3*8
