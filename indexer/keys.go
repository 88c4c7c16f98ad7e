package indexer

import (
	"bytes"
	"encoding/binary"

	"atlas/search/document"
)

// Keys are compared as bytes. Descending parts are inverted.

const (
	idSize = 16
	// A record's key: id, updated_at descending, line descending. So the first record of an
	// id is the effective one.
	recordKeySize = idSize + 8 + 8
	// A link's key: parent's id, the child's time descending, child's id. So the newest
	// children of a parent come first, ties by id.
	linkKeySize = idSize + 8 + idSize
)

// appendDescending appends a signed number so that higher ones sort first.
func appendDescending(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(b, ^(uint64(n) ^ 1<<63)) // #nosec G115 -- the same 64 bits, read back as written
}

func recordKey(b []byte, id [idSize]byte, updated, line int64) []byte {
	b = append(b[:0], id[:]...)
	b = appendDescending(b, updated)
	return appendDescending(b, line)
}

// lineOf is the line number in a record's key.
func lineOf(key []byte) int64 {
	return int64(^binary.BigEndian.Uint64(key[idSize+8:]) ^ 1<<63) // #nosec G115 -- the same 64 bits, read back as written
}

func linkKey(b []byte, parent [idSize]byte, newest int64, child [idSize]byte) []byte {
	b = append(b[:0], parent[:]...)
	b = appendDescending(b, newest)
	return append(b, child[:]...)
}

func sameID(a, b []byte) bool { return bytes.Equal(a[:idSize], b[:idSize]) }

// A link's payload: the child's detected_at and its nested object.

func linkPayload(b []byte, detected int64, fragment []byte) []byte {
	b = binary.BigEndian.AppendUint64(b[:0], uint64(detected)) // #nosec G115 -- the same 64 bits, read back as written
	return append(b, fragment...)
}

func decodeChild(payload []byte) document.Child {
	return document.Child{DetectedAt: int64(binary.BigEndian.Uint64(payload)), Fragment: payload[8:]} // #nosec G115 -- the same 64 bits, read back as written
}
