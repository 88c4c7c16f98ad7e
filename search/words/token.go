package words

import (
	"unicode"
	"unicode/utf8"
)

// maxLetters is the maximum length of a word, in letters. Elasticsearch splits words of
// 255.
const maxLetters = 100

// Token is a word of a folded text.
type Token struct {
	Text     string
	From, To int // bytes in the folded text
}

// Tokens lists the words of a folded text: runs of letters, marks and digits. An apostrophe
// within letters is left out (wade's is wades). A point between digits stays (2.5); a comma
// before three digits is left out (1,000 is 1000). Points between single letters are left
// out (l.l.c. is llc). Everything else separates words. In scripts without spaces between
// words, each letter is a word, as are pictures. Words are cut to maxLetters.
func Tokens(folded string) []Token {
	var all []Token
	for at := 0; at < len(folded); {
		r, size := utf8.DecodeRuneInString(folded[at:])
		if !inWord(r) {
			at += size
			continue
		}
		text, end := word(folded, at)
		if len(text) > maxLetters {
			text = cut(text)
		}
		all = append(all, Token{Text: text, From: at, To: end})
		at = end
	}
	return all
}

// Texts are the texts of Tokens.
func Texts(folded string) []string {
	var all []string
	for _, t := range Tokens(folded) {
		all = append(all, t.Text)
	}
	return all
}

// word reads the word that begins at a byte, and returns its end.
func word(s string, from int) (text string, end int) {
	var b []byte
	at := from
	for at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		if inWord(r) {
			if at > from && (alone(r) || !unicode.Is(unicode.M, r) && aloneBefore(s[from:at])) {
				break
			}
			b = append(b, s[at:at+size]...)
			at += size
			continue
		}
		next, nextSize := utf8.DecodeRuneInString(s[at+size:])
		if !inWord(next) {
			break
		}
		last, _ := utf8.DecodeLastRuneInString(s[:at])
		switch {
		case r == '\'' && unicode.IsLetter(last) && unicode.IsLetter(next):
		case r == ',' && thousands(s[at+size:], last):
		case r == '.' && unicode.IsDigit(last) && unicode.IsDigit(next):
			b = append(b, '.')
		case r == '.' && single(s, at, from) && initial(s[at+size+nextSize:]):
		default:
			return string(b), at
		}
		at += size
	}
	return string(b), at
}

// alone reports whether a letter is a word by itself: its script has no spaces between
// words.
func alone(r rune) bool {
	return isPicture(r) || r >= 0x0E00 && unicode.In(
		r, unicode.Han, unicode.Hiragana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	) && !unicode.Is(unicode.M, r)
}

// isPicture reports whether a character is an emoji or its like.
func isPicture(r rune) bool { return r >= 0x2300 && unicode.Is(unicode.So, r) }

// aloneBefore reports whether the word so far is such a letter.
func aloneBefore(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return alone(r)
}

func cut(word string) string {
	letters := 0
	for i := range word {
		if letters++; letters > maxLetters {
			return word[:i]
		}
	}
	return word
}

func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return r != utf8.RuneError && (unicode.In(r, unicode.L, unicode.M, unicode.N) || isPicture(r))
}

// thousands reports whether exactly three digits follow a comma that follows a digit.
func thousands(after string, before rune) bool {
	if !unicode.IsDigit(before) || len(after) < 3 {
		return false
	}
	for i := range 3 {
		if after[i] < '0' || after[i] > '9' {
			return false
		}
	}
	return len(after) == 3 || !inWord(rune(after[3]))
}

// single reports whether the letter before a point is alone: at the start of the word, or
// after another point.
func single(s string, point, from int) bool {
	last, size := utf8.DecodeLastRuneInString(s[:point])
	return unicode.IsLetter(last) && (point-size == from || s[point-size-1] == '.')
}

// initial reports whether a letter ends a word or precedes a point.
func initial(after string) bool {
	r, _ := utf8.DecodeRuneInString(after)
	return after == "" || r == '.' || !inWord(r)
}
