package catalog

import (
	"crypto/sha256"
	"encoding/hex"
)

// maxExactBytes is the maximum length of a folded value that is indexed unchanged in a
// field that searches compare but do not sort by. Lucene accepts terms of at most 32,766
// bytes, and long terms cost memory.
const maxExactBytes = 512

// ExactValue is the form in which a whole folded value is indexed and compared: the text,
// the Code of a code, or a digest of a long text. Sortable fields always use the text.
func ExactValue(f Field, folded string) string {
	if f.Code {
		folded = Code(folded)
	}
	if f.Sort || len(folded) <= maxExactBytes {
		return folded
	}
	return exactDigest(folded)
}

func exactDigest(folded string) string {
	sum := sha256.Sum256([]byte(folded))
	return "sha256:" + hex.EncodeToString(sum[:])
}
