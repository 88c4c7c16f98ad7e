package catalog

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Folding is a version of the folding rules. The indices of a generation name the version
// that built them, and queries on them use it. The zero Folding is the newest.
type Folding uint8

// The versions. Each refines the previous one: equal texts stay equal, and
// v.Fold(FoldCase(s)) is v.Fold(s). So conditions store texts folded by FoldCase, and fold
// them further for the index that is searched. Never change a version: add one.
const (
	// CaseFolding ignores case and accents. Indices that name no version have it. No release
	// builds such ones: it is the first step of each version, and the earlier one of tests.
	CaseFolding Folding = 1
	// MarkFolding also ignores how marks are typed, what is invisible, and width.
	MarkFolding Folding = 3
	// NewestFolding is the version for new generations and for comparisons in memory.
	NewestFolding = MarkFolding
)

// Fold folds a text by the version.
func (v Folding) Fold(s string) string {
	if v == CaseFolding {
		return FoldCase(s)
	}
	return foldMarks(FoldCase(s))
}

// FoldingNamed is the version that an index names, CaseFolding if it names none.
func FoldingNamed(number int) Folding {
	return max(CaseFolding, Folding(number)) // #nosec G115 -- versions are few
}

// Varies reports whether the versions fold a text differently.
func Varies(s string) bool {
	folded := FoldCase(s)
	return foldMarks(folded) != folded
}

// Fold makes texts equal that people consider the same (docs/api.md, "Folding"), by the
// newest version. Indexing and queries both fold, so it is here and not an analyzer of the
// index.
func Fold(s string) string { return NewestFolding.Fold(s) }

// plainLetters replaces letters with a stroke and ligatures, which Unicode does not
// decompose although people type the plain letters. It expects folded case.
var plainLetters = strings.NewReplacer(
	"ø", "o", "đ", "d", "ð", "d", "ħ", "h", "ł", "l", "ŧ", "t",
	"æ", "ae", "œ", "oe", "þ", "th", "ı", "i", "ß", "ss",
)

var foldCase = cases.Fold()

// FoldCase makes texts equal that differ only in case and accents: CaseFolding.
func FoldCase(s string) string {
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

// western are the runes before the first combining mark, and dashes and quotation marks.
// Most non-ASCII texts have no others, and folding them rune by rune takes a tenth of the
// time. None of them changes how its neighbours fold.
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

// foldWestern folds a text of western runes; false means that it has others.
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

// foldAny is FoldCase without the fast paths.
func foldAny(s string) string {
	s = strings.Map(dropAccent, norm.NFD.String(s))
	s = foldCase.String(s)
	// Folding case can produce accents (ΐ) and letters of plainLetters.
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
