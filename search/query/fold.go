package query

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// FoldVersion changes whenever Fold gives another result for some text. Folded
// text is in the index and in cursors: a new version needs a new load, and
// cursors of the old one are refused.
const FoldVersion = 1

// plainLetters replaces letters with a stroke and ligatures, which Unicode does not
// decompose although people type the plain letters. Case is folded before.
var plainLetters = strings.NewReplacer(
	"ø", "o", "đ", "d", "ð", "d", "ħ", "h", "ł", "l", "ŧ", "t",
	"æ", "ae", "œ", "oe", "þ", "th", "ı", "i", "ß", "ss",
)

var foldCase = cases.Fold()

// Fold makes texts equal that differ in case and accents only. Indexing and queries
// both use it, so it is here and not an analyzer of the index.
func Fold(s string) string {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' && plainASCII(s[i:]) {
			return strings.ToLower(s)
		}
		if 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf {
			return foldBeyondASCII(s)
		}
	}
	return s
}

func foldBeyondASCII(s string) string {
	if folded, ok := foldWestern(s); ok {
		return folded
	}
	return foldAny(s)
}

// western are the runes before the first combining mark, and dashes and quotation
// marks: most texts that are not ASCII have no others, and folding them rune by
// rune takes a tenth of the time. None of them changes how its neighbours fold.
const (
	westernEnd              = 0x0300
	dashesStart, dashesStop = 0x2010, 0x2028
)

var westernFolded = sync.OnceValue(func() *[westernEnd]string {
	var table [westernEnd]string
	for r := range rune(westernEnd) {
		table[r] = foldAny(string(r))
	}
	return &table
})

// foldWestern folds a text of such runes; false means that it has others.
func foldWestern(s string) (string, bool) {
	table := westernFolded()
	b := make([]byte, 0, len(s)+8)
	for _, r := range s {
		switch {
		case r < westernEnd:
			b = append(b, table[r]...)
		case dashesStart <= r && r < dashesStop:
			b = utf8.AppendRune(b, r)
		default:
			return "", false
		}
	}
	return string(b), true
}

// foldAny is Fold without the fast paths.
func foldAny(s string) string {
	s = strings.Map(dropAccent, norm.NFD.String(s))
	s = foldCase.String(s)
	// Folding case can bring accents back (ΐ) and letters of the table.
	s = strings.Map(settle, norm.NFD.String(s))
	return norm.NFC.String(plainLetters.Replace(s))
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// settle is dropAccent for text after case folding, which swaps the two cases of
// Cherokee instead of choosing one.
func settle(r rune) rune {
	switch {
	case 0xAB70 <= r && r <= 0xABBF:
		return r - 0xAB70 + 0x13A0
	case 0x13F8 <= r && r <= 0x13FD:
		return r - 8
	}
	return dropAccent(r)
}

// dropAccent drops the combining marks of Latin, Greek and Cyrillic letters.
// The marks of other scripts are letters of their own (vowel signs) and stay.
func dropAccent(r rune) rune {
	switch {
	case r < 0x0300:
		return r
	case r <= 0x036F, 0x1AB0 <= r && r <= 0x1AFF, 0x1DC0 <= r && r <= 0x1DFF, 0x20D0 <= r && r <= 0x20FF, 0xFE20 <= r && r <= 0xFE2F:
		if unicode.Is(unicode.M, r) {
			return -1
		}
	}
	return r
}
