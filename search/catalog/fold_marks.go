package catalog

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// foldMarks is the step that MarkFolding adds to FoldCase. It takes the result of FoldCase.
// Copied texts often come from programs that replaced the typed marks.
func foldMarks(s string) string {
	for i, r := range s {
		if r == '`' || r >= firstMark && markOf(r) != unchanged {
			return foldMarksFrom(s, i)
		}
	}
	return s
}

// foldMarksFrom is foldMarks of a text that does not change before start.
func foldMarksFrom(s string, start int) string {
	b := append(make([]byte, 0, len(s)+8), s[:start]...)
	for _, r := range s[start:] {
		if to := markOf(r); to != unchanged {
			b = append(b, to...)
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	// Dropping an invisible rune may leave a combining mark next to its letter.
	return norm.NFC.String(string(b))
}

const (
	// firstMark is the first rune beyond ASCII that foldMarks changes.
	firstMark = 0x00A0
	// unchanged stands for a rune itself. No text has it: it is not UTF-8.
	unchanged = "\xff"
)

// markOf is what foldMarks makes of a rune.
func markOf(r rune) string {
	if r < marksEnd {
		return marks()[r]
	}
	return mark(r)
}

// marksEnd is beyond the alphabets and the general punctuation. Nearly all texts have only
// runes below it, so their results are in a table.
const marksEnd = 0x2070

var marks = sync.OnceValue(func() *[marksEnd]string {
	var table [marksEnd]string
	for r := range rune(marksEnd) {
		table[r] = mark(r)
	}
	return &table
})

func mark(r rune) string {
	if to := typed(r); to != unchanged || !isCompatible(r) {
		return to
	}
	var to []byte
	for _, r := range FoldCase(norm.NFKC.String(width.Fold.String(string(r)))) {
		if t := typed(r); t != unchanged { // a full-width apostrophe
			to = append(to, t...)
		} else {
			to = utf8.AppendRune(to, r)
		}
	}
	if string(to) == string(r) {
		return unchanged
	}
	return string(to)
}

// typed is what people type for a mark that programs substitute.
func typed(r rune) string {
	switch {
	case isInvisible(r):
		return ""
	case unicode.Is(unicode.Zs, r) && r != ' ':
		return " "
	}
	switch r {
	case '`', '´', 'ʹ', 'ʻ', 'ʼ', 'ʽ', '‘', '’', '‚', '‛', '′', '‵', '‹', '›', '❛', '❜':
		return "'"
	case '“', '”', '„', '‟', '«', '»', '″', '‶', 'ʺ', '〝', '〞', '〟', '❝', '❞':
		return `"`
	case '‐', '‑', '‒', '–', '—', '―', '⁃', '−', '⸺', '⸻':
		return "-"
	case '…':
		return "..."
	}
	return unchanged
}

// isInvisible reports whether a rune is invisible: soft hyphens, zero-width spaces,
// joiners, marks of direction and of variants.
func isInvisible(r rune) bool {
	switch {
	case r == 0x00AD, r == 0x061C, r == 0x180E, r == 0xFEFF,
		0x200B <= r && r <= 0x200F, 0x202A <= r && r <= 0x202E, 0x2060 <= r && r <= 0x206F,
		0xFE00 <= r && r <= 0xFE0F, 0xE0000 <= r && r <= 0xE0FFF:
		return true
	}
	return false
}

// isCompatible reports whether a rune is another form of letters, digits or marks with the
// same meaning. Superscript and subscript digits, fractions, numerals, circled numbers and
// unit signs have a meaning of their own: m² is not m2, 1½ is not 11/2.
func isCompatible(r rune) bool {
	switch {
	case 0x0132 <= r && r <= 0x0133, 0x013F <= r && r <= 0x0140, // ij, l·
		0x01C4 <= r && r <= 0x01CC, 0x01F1 <= r && r <= 0x01F3, // dž, lj, nj, dz
		0xFB00 <= r && r <= 0xFDEF, 0xFE70 <= r && r <= 0xFEFC, // ligatures, Hebrew and Arabic forms
		0x1D400 <= r && r <= 0x1D7CB: // letters of formulas
		return unicode.IsLetter(r)
	case 0xFE10 <= r && r <= 0xFE19, 0xFE30 <= r && r <= 0xFE6B, // vertical and small marks
		0xFF01 <= r && r <= 0xFFEE: // full and half width
		return true
	}
	return false
}
