package query

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxWordLetters is how many letters of a word suggestions compare. A letter is a
// code point. More would make the index larger and find hardly anything else.
const MaxWordLetters = 20

// words calls yield for each word of a folded text: its runs of letters, marks and
// digits, cut to MaxWordLetters.
func words(folded string, yield func(word string)) {
	start, end, letters := 0, 0, 0
	for i, r := range folded {
		switch {
		case !separates(r):
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
	words(folded, func(word string) { all = append(all, word) })
	return all
}

// AppendBeginnings appends each beginning of each word of a folded text with a space
// after it. JSON needs no escapes for them.
func AppendBeginnings(b []byte, folded string) []byte {
	words(folded, func(word string) {
		for i := range word {
			if i > 0 {
				b = append(append(b, word[:i]...), ' ')
			}
		}
		b = append(append(b, word...), ' ')
	})
	return b
}

// TypedWord is a word that a user types, perhaps not to its end.
type TypedWord struct {
	Text string // folded
	// Typos is how many typos it may have: 1 from four letters, 2 from eight.
	Typos   int
	letters []rune
}

// TypedWords lists the distinct words of a text.
func TypedWords(text string) []TypedWord {
	words := Words(Fold(text))
	slices.Sort(words)
	words = slices.Compact(words)
	typed := make([]TypedWord, len(words))
	for i, word := range words {
		typed[i] = TypedWord{Text: word, letters: []rune(word)}
		switch n := len(typed[i].letters); {
		case n >= 8:
			typed[i].Typos = 2
		case n >= 4:
			typed[i].Typos = 1
		}
	}
	return typed
}

// Begins reports whether a beginning of the word equals the typed one but for its
// typos. A typo is a letter that is inserted, left out or replaced, or two neighbours
// that are exchanged; no letter takes part in two of them. So Elasticsearch counts too.
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
	// Row i has the distances of the first i typed letters and each beginning.
	var rows [3][MaxWordLetters + 1]int
	for j := range columns + 1 {
		rows[0][j] = j
	}
	before := 0 // the lowest distance of the row before
	for i := 1; i <= len(t.letters); i++ {
		row, above := &rows[i%3], &rows[(i+2)%3]
		row[0] = i
		lowest := i
		for j := 1; j <= columns; j++ {
			replaced := above[j-1]
			if t.letters[i-1] != letters[j-1] {
				replaced++
			}
			row[j] = min(replaced, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && t.letters[i-1] == letters[j-2] && t.letters[i-2] == letters[j-1] {
				row[j] = min(row[j], rows[(i+1)%3][j-2]+1)
			}
			lowest = min(lowest, row[j])
		}
		if lowest > t.Typos && before > t.Typos {
			return false
		}
		before = lowest
	}
	return before <= t.Typos
}
