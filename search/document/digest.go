package document

import (
	"bytes"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// DigestField is where a global document keeps its digest: a doc value, which
// is read without the document. What is under `ix` is not in `_source`, so that
// the digest alone tells whether the nested children of a document in an index
// are those it should have.
const DigestField = "ix.digest"

// digestMark begins the end of a document that has a digest.
const digestMark = `,"digest":`

// withDigest puts the digest of all that the document holds into it, which
// begins at start. 64 bits tell documents apart that differ by mistake, which is
// what it is for; it is no protection against whoever makes two alike.
func withDigest(doc []byte, start int) []byte {
	digest := int64(xxhash.Sum64(doc[start:])) // #nosec G115 -- the same 64 bits: a long in Elasticsearch has a sign
	doc = append(doc[:len(doc)-2], digestMark...)
	return append(strconv.AppendInt(doc, digest, 10), "}}"...)
}

// Digest returns the digest in a document that Build made.
func Digest(doc []byte) (digest int64, ok bool) {
	at := bytes.LastIndex(doc, []byte(digestMark))
	if at < 0 || !bytes.HasSuffix(doc, []byte("}}")) {
		return 0, false
	}
	digest, err := strconv.ParseInt(string(doc[at+len(digestMark):len(doc)-2]), 10, 64)
	return digest, err == nil
}
