package catalog

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"atlas/internal/edits"
)

// MaxWordLetters is how many letters of a word suggestions compare. A letter is a
// code point. More would make the index larger and find hardly anything else.
const MaxWordLetters = 20

// eachWord calls yield for each word of a folded text: its runs of letters, marks and
// digits, cut to MaxWordLetters.
func eachWord(folded string, yield func(word string)) {
	start, end, letters := 0, 0, 0
	for i, r := range folded {
		switch {
		case !Separates(r):
			if letters == 0 {
				start = i
			}
			if letters++; letters <= MaxWordLetters {
				end = i + utf8.RuneLen(r)
			}
		case letters > 0:
			yield(folded[start:end])
			letters = 0
		}
	}
	if letters > 0 {
		yield(folded[start:end])
	}
}

// Words lists the words of a folded text.
func Words(folded string) []string {
	var all []string
	eachWord(folded, func(word string) { all = append(all, word) })
	return all
}

// AppendBeginnings appends each beginning of each word of a folded text with a space
// after it. JSON needs no escapes for them.
func AppendBeginnings(b []byte, folded string) []byte {
	eachWord(folded, func(word string) {
		for i := range word {
			if i > 0 {
				b = append(append(b, word[:i]...), ' ')
			}
		}
		b = append(append(b, word...), ' ')
	})
	return b
}

// TypedWord is a word that a user types, perhaps incomplete.
type TypedWord struct {
	Text string // folded
	// Typos is the maximum number of typos: MaxEdits.
	Typos   int
	letters []rune
}

// TypedWords lists the distinct words of a text.
func TypedWords(text string, by Folding) []TypedWord {
	words := Words(by.Fold(text))
	slices.Sort(words)
	words = slices.Compact(words)
	typed := make([]TypedWord, len(words))
	for i, word := range words {
		typed[i] = TypedWord{Text: word, Typos: MaxEdits(word), letters: []rune(word)}
	}
	return typed
}

// Begins reports whether a prefix of the word equals the typed one, with at most Typos
// edits (edits.Distance).
func (t TypedWord) Begins(word string) bool {
	if strings.HasPrefix(word, t.Text) {
		return true
	}
	if t.Typos == 0 {
		return false
	}
	var letters [MaxWordLetters]rune
	columns := 0
	for _, r := range word {
		letters[columns] = r
		if columns++; columns == MaxWordLetters {
			break
		}
	}
	return edits.Beginning(t.letters, letters[:columns], t.Typos) <= t.Typos
}

// Separates reports whether a character is between words.
func Separates(r rune) bool {
	if r < utf8.RuneSelf {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	return !unicode.In(r, unicode.L, unicode.M, unicode.N)
}
