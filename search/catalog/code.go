package catalog

import (
	"strings"
	"unicode"
)

// Code returns the form in which codes such as permit numbers are compared: the folded text
// without blanks and hyphens, because people type or omit them.
func Code(folded string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '-' {
			return -1
		}
		return r
	}, folded)
}

// Bounds of texts that may be a code.
const (
	minCodeDigits = 4
	maxCode       = 64
)

// MayBeCode reports whether a whole text may be a code: a few letters, digits and
// punctuation of codes, with enough digits.
func MayBeCode(text string) bool {
	if len(text) > maxCode {
		return false
	}
	digits := 0
	for _, r := range text {
		switch {
		case unicode.IsDigit(r):
			digits++
		case !unicode.IsLetter(r) && !unicode.IsSpace(r) && !strings.ContainsRune("-–./#_", r):
			return false
		}
	}
	return digits >= minCodeDigits
}
