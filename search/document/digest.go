package document

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// digestMark precedes the digest at the end of a document.
const digestMark = `,"` + DigestName + `":`

// withDigest appends the digest of the document that begins at start. 64 bits detect
// accidental differences. They do not protect against deliberate collisions.
func withDigest(doc []byte, start int) []byte {
	digest := int64(xxhash.Sum64(doc[start:])) // #nosec G115 -- the same 64 bits: a long in Elasticsearch has a sign
	doc = append(doc[:len(doc)-2], digestMark...)
	return append(strconv.AppendInt(doc, digest, 10), "}}"...)
}

// WithArrival adds to a document that Build made when Atlas first had the record, in
// milliseconds since 1970. 0 adds nothing. It may use the memory of doc.
func WithArrival(doc []byte, at int64) []byte {
	end := bytes.LastIndex(doc, []byte(digestMark))
	if at == 0 || end < 0 {
		return doc
	}
	return slices.Insert(doc, end, strconv.AppendInt([]byte(`,"`+Arrived+`":`), at, 10)...)
}

// Digest returns the digest of a document that Build made.
func Digest(doc []byte) (digest int64, ok bool) {
	at := bytes.LastIndex(doc, []byte(digestMark))
	if at < 0 || !bytes.HasSuffix(doc, []byte("}}")) {
		return 0, false
	}
	digest, err := strconv.ParseInt(string(doc[at+len(digestMark):len(doc)-2]), 10, 64)
	return digest, err == nil
}
