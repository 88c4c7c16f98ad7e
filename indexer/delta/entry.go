package delta

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/search/document"
)

const idSize = 16

// recordID is a record's id as bytes, which sort like ids.
type recordID [idSize]byte

// noTime stands for a time that a line omits. No line can hold it.
var noTime = time.UnixMilli(-1 << 60)

// entry is a change of one record.
type entry struct {
	id recordID
	// file and line are the position of the line; file is an index into Options.Files and then
	// Options.Corrected.
	file int
	line int64
	// deleted is for a record that is deleted; record is then empty. into is the record that it
	// was merged into, if any.
	deleted bool
	into    recordID
	// suppressed is for a record that is left out, whatever its line says; deleted is then set.
	// by are the suppressions to which its id is to be added.
	suppressed bool
	by         []uuid.UUID
	// updated is the updated_at of a deletion, in milliseconds; noTime without one.
	updated int64
	record  document.Record
}

// updatedAt is the entry's updated_at, or else the start time of the delta, both in
// milliseconds.
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
	switch {
	case e.suppressed:
		b = binary.AppendVarint(append(b, suppressedEntry), e.updated)
		for _, by := range e.by {
			b = append(b, by[:]...)
		}
		return b
	case e.merged():
		return append(binary.AppendVarint(append(b, mergedEntry), e.updated), e.into[:]...)
	case e.deleted:
		return binary.AppendVarint(append(b, deletedEntry), e.updated)
	}
	return e.record.AppendBinary(append(b, recordEntry))
}

// merged reports whether the record is merged into another.
func (e entry) merged() bool { return e.into != recordID{} }

// The kinds of entries.
const (
	recordEntry     = 0
	deletedEntry    = 1
	mergedEntry     = 2
	suppressedEntry = 3
)

var errEntry = errors.New("not an entry of a delta")

// decodeKind returns the kind of what append wrote.
func decodeKind(b []byte) (byte, error) {
	for range 2 { // file and line
		n := 0
		for n < len(b) && b[n] >= 0x80 {
			n++
		}
		b = b[min(n+1, len(b)):]
	}
	if len(b) == 0 {
		return 0, errEntry
	}
	return b[0], nil
}

// decodeEntry decodes what append wrote.
func decodeEntry(d catalog.Dataset, id recordID, b []byte) (entry, error) {
	e := entry{id: id}
	file, n := binary.Uvarint(b)
	if n <= 0 {
		return e, errEntry
	}
	e.file, b = int(file), b[n:] // #nosec G115 -- counts files
	if e.line, n = binary.Varint(b); n <= 0 || len(b) <= n {
		return e, errEntry
	}
	kind, b := b[n], b[n+1:]
	if kind != recordEntry {
		e.deleted, e.suppressed = true, kind == suppressedEntry
		if e.updated, n = binary.Varint(b); n <= 0 {
			return e, errEntry
		}
		b = b[n:]
		if kind == mergedEntry && len(b) == idSize {
			e.into, b = recordID(b), nil
		}
		for ; kind == suppressedEntry && len(b) >= idSize; b = b[idSize:] {
			e.by = append(e.by, uuid.UUID(b[:idSize]))
		}
		if len(b) > 0 {
			return e, errEntry
		}
		return e, nil
	}
	var err error
	e.record, err = document.DecodeBinary(d, b)
	return e, err
}

// sortKey orders entries by id, and those of one id with the effective one first: the highest
// updated_at, file and line.
func (e entry) sortKey(b []byte, started int64) []byte {
	b = append(b[:0], e.id[:]...)
	for _, n := range []int64{e.updatedAt(started), int64(e.file), e.line} {
		b = binary.BigEndian.AppendUint64(b, ^(uint64(n) ^ 1<<63)) // #nosec G115 -- the same 64 bits, ordered as signed
	}
	return b
}

const sortKeySize = idSize + 3*8
