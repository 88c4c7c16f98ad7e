package match

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"atlas/search/catalog"
)

// Bounds of the compared part of a name. The rest is ignored.
const (
	maxWords   = 12
	maxLetters = 24
	maxForms   = 4
	maxTokens  = 200
)

// word is a word of a name.
type word struct {
	text    string // stemmed, and in its canonical spelling
	as      string // as written, folded
	class   class
	bracket bool
}

// form is one name: a firm may give several, as in "1824457 Alberta Ltd. o/a Trico Homes".
type form struct {
	words []word // without legal forms
	legal string // the last legal form, "" if none
	// whole are the letters of the words that are not fillers, in their canonical
	// spellings; spelled are those of all words, as written.
	whole, spelled string
}

// name is a parsed name. Its first form is the whole.
type name []form

// firm parses the name of a firm. Words of cities, which are folded texts, are places.
func firm(text string, cities ...string) name { return firmOf(catalog.Fold(text), cities...) }

// firmOf is firm of a folded name.
func firmOf(folded string, cities ...string) name {
	tokens := tokensOf(folded)
	var n name
	add := func(tokens []string) {
		if f := firmForm(tokens, cities); len(f.words) > 0 && len(n) < maxForms {
			n = append(n, f)
		}
	}
	parts := split(tokens)
	for i := range parts {
		add(parts[i])
	}
	// "Avalon Master Builder / Avalon Industries": each part that is a name of its own.
	if len(parts) == 1 {
		if sides := cut(tokens, "/"); len(sides) > 1 && !slices.ContainsFunc(sides, func(side []string) bool { return len(side) < 2 }) {
			for _, side := range sides {
				add(side)
			}
		}
	}
	return n
}

// person parses the name of a person.
func person(text string) name { return personOf(catalog.Fold(text)) }

// personOf is person of a folded name.
func personOf(folded string) name {
	var f form
	if family, given, found := strings.Cut(folded, ","); found {
		folded = given + " " + family // "Doe, Jane"
	}
	for _, token := range tokensOf(folded) {
		if isMark(token) || token == "mr" || token == "mrs" || token == "ms" || token == "dr" {
			continue
		}
		f.words = append(f.words, word{text: token, as: token})
		f.whole += token
		if len(f.words) == maxWords {
			break
		}
	}
	if len(f.words) == 0 {
		return nil
	}
	return name{f}
}

// The tokens that are not words.
const marks = "/()"

func isMark(token string) bool { return len(token) == 1 && strings.Contains(marks, token) }

// tokensOf lists the words of a folded text, at most maxTokens, and its marks. Apostrophes
// are dropped; & and + are words.
func tokensOf(folded string) []string {
	var tokens []string
	var b strings.Builder
	letters := 0
	flush := func() {
		if b.Len() > 0 {
			tokens = append(tokens, b.String())
			b.Reset()
		}
		letters = 0
	}
	for _, r := range folded {
		switch {
		case unicode.In(r, unicode.L, unicode.N, unicode.M):
			if letters++; letters <= maxLetters {
				b.WriteRune(r)
			}
		case strings.ContainsRune("'’`´", r):
		case r == '&' || r == '+':
			flush()
			tokens = append(tokens, "and")
		default:
			flush()
			if r < utf8.RuneSelf && strings.ContainsRune(marks, r) {
				tokens = append(tokens, string(r))
			}
		}
		if len(tokens) >= maxTokens {
			return tokens
		}
	}
	flush()
	return tokens
}

// split cuts tokens at the words that connect several names of one firm.
func split(tokens []string) [][]string {
	var parts [][]string
	start := 0
	for i := 0; i < len(tokens); i++ {
		for _, alias := range aliases {
			if i > start && i+len(alias) < len(tokens) && slices.Equal(tokens[i:i+len(alias)], alias) {
				parts = append(parts, tokens[start:i])
				start = i + len(alias)
				i = start
				break
			}
		}
	}
	return append(parts, tokens[start:])
}

func cut(tokens []string, at string) [][]string {
	var parts [][]string
	start := 0
	for i, token := range tokens {
		if token == at {
			parts = append(parts, tokens[start:i])
			start = i + 1
		}
	}
	return append(parts, tokens[start:])
}

// firmForm classifies the words of one name.
func firmForm(tokens, cities []string) form {
	var f form
	var words []word
	inside := false
	for _, token := range joinInitials(tokens) {
		switch token {
		case "(":
			inside = true
		case ")":
			inside = false
		default:
			if !isMark(token) {
				words = append(words, classify(token, inside, cities))
			}
		}
	}
	words, f.legal = withoutLegal(words)
	for _, w := range words {
		f.spelled += w.as
	}
	rest := slices.DeleteFunc(slices.Clone(words), func(w word) bool { return dropped[w.text] })
	if len(rest) > 0 {
		words = rest
	}
	if len(words) > maxWords {
		words = words[:maxWords]
	}
	// If a name has only common words, they are its core.
	if !slices.ContainsFunc(words, func(w word) bool { return w.class == core || w.class == number }) {
		for i := range words {
			if words[i].class == trade || words[i].class == filler {
				words[i].class = core
			}
		}
		if !slices.ContainsFunc(words, func(w word) bool { return w.class == core }) {
			for i := range words {
				words[i].class = core
			}
		}
	}
	f.words = words
	for _, w := range words {
		if w.class != filler {
			f.whole += w.text
		}
	}
	return f
}

// joinInitials joins single letters into one word: "a. b. c." and "a & b".
func joinInitials(tokens []string) []string {
	single := func(token string) bool {
		r, n := utf8.DecodeRuneInString(token)
		return n == len(token) && unicode.IsLetter(r)
	}
	var joined []string
	for i := 0; i < len(tokens); i++ {
		if !single(tokens[i]) {
			joined = append(joined, tokens[i])
			continue
		}
		initials, end := tokens[i], i+1
		for end < len(tokens) {
			next := end
			if tokens[next] == "and" && next+1 < len(tokens) && single(tokens[next+1]) {
				next++
			}
			if !single(tokens[next]) {
				break
			}
			if len(initials) < maxLetters {
				initials += tokens[next]
			}
			end = next + 1
		}
		joined = append(joined, initials)
		i = end - 1
	}
	return joined
}

func classify(token string, bracket bool, cities []string) word {
	w := word{text: stem(token), as: token, bracket: bracket}
	if same, known := canonical[w.text]; known {
		w.text = same
	} else if same, known := canonical[token]; known {
		w.text = same
	}
	switch {
	case dropped[token]:
		w.text, w.class = token, filler
	case isDigits(token):
		if w.text, w.class = token, number; bracket && len(token) == 4 {
			w.class = place // "Otis Excavating (2020)": no more than a place
		}
	case places[token] ||
		slices.ContainsFunc(cities, func(city string) bool { return city == token || strings.Contains(" "+city+" ", " "+token+" ") }):
		w.text, w.class = token, place
	case trades[w.text] || trades[stem(w.text)]:
		w.class = trade
	case fillers[token]:
		w.class = filler
	}
	return w
}

func isDigits(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

func hasDigit(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= '0' && r <= '9' })
}

// withoutLegal removes legal forms at the end of a name, and those before brackets.
func withoutLegal(words []word) ([]word, string) {
	last := ""
	end := func(words []word) []word {
	again:
		for len(words) > 1 {
			for _, p := range phrases {
				if at := len(words) - len(p.words); at > 0 &&
					slices.EqualFunc(words[at:], p.words, func(w word, text string) bool { return w.as == text }) {
					words = words[:at]
					if last == "" {
						last = p.form
					}
					continue again
				}
			}
			form, known := forms[words[len(words)-1].as]
			if !known {
				return words
			}
			if words = words[:len(words)-1]; last == "" || last == "co" {
				last = form
			}
		}
		return words
	}
	first := slices.IndexFunc(words, func(w word) bool { return w.bracket })
	if first > 0 {
		return append(end(slices.Clip(words[:first])), end(slices.Clone(words[first:]))...), last
	}
	return end(slices.Clip(words)), last
}
