package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"atlas/internal/edits"
	"atlas/search/catalog"
)

// wanted describes the words that may replace a term: similar words or, with wildcards
// around the term, words that begin or end with it.
type wanted struct {
	term         string
	begins, ends bool // a wildcard follows the term, or precedes it
}

// isWildcard reports whether people write the character for any characters. It is not part
// of a term.
func isWildcard(unit uint16) bool { return unit == '*' || unit == '%' }

// wantedOf describes the words that may replace a term of a text in UTF-16.
func wantedOf(t term, text []uint16) wanted {
	from, to := t.withWildcards(text)
	return wanted{t.Text, to > t.Offset+t.Length, from < t.Offset}
}

// withWildcards are the position of the first unit of a term with its wildcards in a text,
// and the one after the last.
func (t term) withWildcards(text []uint16) (from, to int) {
	from, to = t.Offset, t.Offset+t.Length
	for from > 0 && isWildcard(text[from-1]) {
		from--
	}
	for to < len(text) && isWildcard(text[to]) {
		to++
	}
	return from, to
}

// far is the distance of a word, and whether it is near enough. Another spelling of the
// same name has distance 0: it is the name, however similar other words are.
func (w wanted) far(word string) (n int, near bool) {
	if w.begins || w.ends {
		switch {
		case w.begins && w.ends:
			return 0, strings.Contains(word, w.term)
		case w.begins:
			return 0, strings.HasPrefix(word, w.term)
		}
		return 0, strings.HasSuffix(word, w.term)
	}
	if slices.Contains(spellings(w.term), word) || slices.Contains(spellings(word), w.term) {
		return 0, true
	}
	most := catalog.MaxEdits(w.term)
	n = edits.Distance(w.term, word, most)
	return n, n <= most
}

const (
	possessive = "'s"
	// maxInitials is the maximum number of letters that count as initials.
	maxInitials = 5
)

// spellings are the other spellings of a folded term as a name: with and without its
// possessive, its apostrophes and the dots between initials. Dots between digits stay,
// because they distinguish numbers.
func spellings(term string) []string {
	var all []string
	add := func(spelling string) {
		if spelling != "" && spelling != term && !slices.Contains(all, spelling) {
			all = append(all, spelling)
		}
	}
	without, is := strings.CutSuffix(term, possessive)
	if is {
		add(without)
	}
	if strings.ContainsFunc(term, unicode.IsDigit) {
		return all
	}
	add(strings.NewReplacer("'", "", ".", "").Replace(term))
	if strings.ContainsAny(term, "'.") || !utf8.ValidString(term) {
		return all
	}
	add(term + possessive)
	if stem, plural := strings.CutSuffix(term, "s"); plural && stem != "" {
		add(stem + possessive)
	}
	if n := utf8.RuneCountInString(term); n > 1 && n <= maxInitials {
		add(strings.Join(strings.Split(term, ""), "."))
	}
	return all
}

// withSpellings are the terms and, if they are few, their other spellings.
func withSpellings(terms []string) []string {
	if len(terms) > replacedTerms {
		return terms
	}
	all := slices.Clone(terms)
	for _, t := range terms {
		all = append(all, spellings(t)...)
	}
	return distinct(all)
}
