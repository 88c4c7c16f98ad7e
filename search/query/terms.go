package query

import (
	"unicode"

	"atlas/search/catalog"
)

// countTerms returns an upper bound of the number of terms of a text, by any Folding: a
// term is a run of letters and digits, and each character beyond the alphabets (Han, kana,
// emoji) is a term of its own.
func countTerms(s string) int { return max(countTermsOf(s), countTermsOf(catalog.Fold(s))) }

func countTermsOf(s string) int {
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
