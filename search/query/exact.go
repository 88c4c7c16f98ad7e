package query

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode"
)

// maxExactBytes is how long a folded value may be to be kept as it is where it
// is only compared. Lucene takes no term of over 32,766 bytes, and a long term
// costs memory without being read by anyone.
const maxExactBytes = 512

// ExactValue is what is compared when a whole value is asked for: the folded
// text, or a digest where that is long. Fields that sort keep the text.
func ExactValue(f Field, folded string) string {
	if f.Sort || len(folded) <= maxExactBytes {
		return folded
	}
	return exactDigest(folded)
}

func exactDigest(folded string) string {
	sum := sha256.Sum256([]byte(folded))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// countTerms is an upper bound of the terms that a tokenizer finds in a text:
// characters past the alphabets (Han, kana, emoji) are a term each, others a
// run of letters and digits.
func countTerms(s string) int {
	n := 0
	inside := false
	for _, r := range s {
		switch {
		case r >= 0x0E00 && !unicode.Is(unicode.Latin, r):
			n++
			inside = false
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			inside = false
		case !inside:
			n++
			inside = true
		}
	}
	return n
}
