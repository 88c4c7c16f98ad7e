package reading

import (
	"slices"
	"strings"

	"atlas/search/catalog"
	"atlas/search/words"
)

// halfRead reports whether an amount, a comparison or a date remains that should not be
// searched as text.
func (r *reader) halfRead() bool {
	for i, t := range r.tokens {
		if t.state != unread {
			continue
		}
		a, n := r.amountAt(i)
		if _, compared := r.comparisonAt(i); compared > 0 && r.counts(i) || n > 0 && (a.scaled || a.money) || timed[t.text] {
			return true
		}
	}
	return false
}

// timed are words that only occur with dates.
var timed = wordSet("since before after until till last past previous ytd yesterday today recently recent ago")

// onlyInName reports whether the only condition is a place followed by text: Calgary Tower.
func (r *reader) onlyInName() bool {
	last := 0
	for i, t := range r.tokens {
		switch {
		case t.state == read && !r.isPlaceToken[i]:
			return false
		case t.state == read:
			last = i
		}
	}
	first := slices.IndexFunc(r.tokens, func(t token) bool { return t.state == read })
	return first == 0 && last+1 < len(r.tokens) && r.plain(last+1) && !r.separated(last+1)
}

// isName reports whether the text has the legal form of a firm.
func (r *reader) isName() bool {
	return slices.ContainsFunc(r.tokens, func(t token) bool { return legalForms[t.text] })
}

// inName reports whether a term that occurs in names stands beside unknown words.
func (r *reader) inName(i, n int) bool {
	if noun := r.word(i + n); noun != "building" && nouns[catalog.Projects][noun] {
		return false // large office projects
	}
	for at := i - 1; at >= 0 && r.plain(at) && !r.separated(at+1); at-- {
		if r.unknown(at) {
			return true
		}
	}
	return r.unknown(i+n) && !r.separated(i+n)
}

// together reports whether words mean something else together with a neighbour: mobile
// homes, dental office.
func (r *reader) together(i, n int) bool {
	for _, text := range []string{r.run(i-1, n+1), r.run(i, n+1)} {
		if text != "" && terms[text] == nil && words.Published.Means(text) {
			return true
		}
	}
	return false
}

// plain reports whether a word is still text.
func (r *reader) plain(i int) bool {
	return i >= 0 && i < len(r.tokens) && (r.tokens[i].state == unread || r.tokens[i].state == literal) && !r.swallowed(i)
}

func (r *reader) separated(i int) bool { return strings.ContainsAny(r.gap(i), ",;:/|") }

// unknown reports whether a word is probably part of a name: it is text, and has no known
// meaning.
func (r *reader) unknown(i int) bool {
	if !r.plain(i) {
		return false
	}
	word := r.tokens[i].text
	if terms[word] != nil || months[word] != 0 || comparing(word) || linking[word] || numberWord(word) || denying[word] ||
		isQuarter(word) || unitOf(word) != "" {
		return false
	}
	for n := 2; n <= longestTerm; n++ { // "under review"
		if terms[r.run(i, n)] != nil || terms[r.run(i-n+1, n)] != nil {
			return false
		}
	}
	if timed[word] || attribute[word] || dateVerbs[word] || word == "this" || word == "during" {
		return false
	}
	if _, is := numberOf(word); is {
		return false
	}
	if _, n := r.comparisonAt(i); n > 0 {
		return false
	}
	if _, _, is := r.placeOf(r.searched(), word, i, 1); is {
		return i < r.now && r.Dataset == catalog.Contacts // words before the present one were not read as places
	}
	for n := 2; n <= min(maxPlace, len(r.tokens)-i); n++ {
		if _, _, is := r.placeOf(r.searched(), r.run(i, n), i, n); is {
			return false
		}
	}
	return !words.Published.Trade(word)
}

// dateVerbs only say what happened at the date beside them.
var dateVerbs = wordSet("started active activity added updated changed created detected found")

// swallowed reports whether a word adds nothing beside a condition.
func (r *reader) swallowed(i int) bool {
	if i < 0 || i >= len(r.tokens) || r.tokens[i].state == literal {
		return false
	}
	word := r.tokens[i].text
	if r.tokens[i].state == filler || words.Published.Function(word) || asking[word] {
		return true
	}
	return nouns[catalog.Projects][word] || nouns[r.Dataset][word] || r.relation != "" && linking[word] ||
		dateVerbs[word] && i+1 < len(r.tokens) && r.tokens[i+1].state == read
}
