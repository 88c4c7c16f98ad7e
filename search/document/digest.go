package document

import (
	"bytes"
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

// Digest returns the digest of a document that Build made.
func Digest(doc []byte) (digest int64, ok bool) {
	at := bytes.LastIndex(doc, []byte(digestMark))
	if at < 0 || !bytes.HasSuffix(doc, []byte("}}")) {
		return 0, false
	}
	digest, err := strconv.ParseInt(string(doc[at+len(digestMark):len(doc)-2]), 10, 64)
	return digest, err == nil
}
