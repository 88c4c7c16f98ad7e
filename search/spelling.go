package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"atlas/internal/edits"
	"atlas/search/catalog"
)

// wanted is what a word must be to replace a term: similar, or with wildcards around the
// term one that begins or ends with it.
type wanted struct {
	term         string
	begins, ends bool // a wildcard follows the term, or stands before it
}

// isWildcard tells what people write for any characters. It is no part of a term.
func isWildcard(unit uint16) bool { return unit == '*' || unit == '%' }

// wantedOf is what a word must be to replace a term of a text in UTF-16.
func wantedOf(t term, text []uint16) wanted {
	from, to := t.withWildcards(text)
	return wanted{t.Text, to > t.Offset+t.Length, from < t.Offset}
}

// withWildcards are the first unit of a term and its wildcards in a text, and the one after
// the last.
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

// far is how far a word is from what is wanted, and whether that is near enough. Another
// spelling of the same name is not far at all: it is the name, whatever else is similar.
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
	// maxInitials is how many letters are taken for initials at most.
	maxInitials = 5
)

// spellings are the other spellings of a folded term as a name: with and without its
// possessive, its apostrophes and the dots between initials. Dots between digits tell
// numbers apart.
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

// withSpellings are terms and, of a few, their other spellings.
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
