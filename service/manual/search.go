package manual

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// section is a part of a page that can be found: from a heading to the next.
type section struct {
	page, title, id string
	address         string // with the anchor
	text            string
	// In lower case: page and title, and both with the text.
	foldedPage, foldedTitle, folded string
}

func (m *Manual) addSection(s section) {
	s.text = strings.Join(strings.Fields(s.text), " ")
	s.foldedPage, s.foldedTitle = strings.ToLower(s.page), strings.ToLower(s.title)
	s.folded = s.foldedPage + " " + s.foldedTitle + " " + strings.ToLower(s.text)
	m.sections = append(m.sections, s)
}

// Limits of a search, which needs no key.
const (
	longestQuery = 200
	mostTerms    = 8
	mostFound    = 40
	// mostCounted is how many words of a section count for a term. Otherwise a very frequent term
	// would scan all texts to their end.
	mostCounted = 5
)

// found is a matching section and its score.
type found struct {
	section
	score int
}

// termsOf returns the terms of a query that count.
func termsOf(query string) []string {
	terms := strings.Fields(strings.ToLower(query))
	return terms[:min(len(terms), mostTerms)]
}

// find returns the sections with all terms, best first: those with a term in their title,
// then those where it is frequent.
func (m *Manual) find(query string) []found {
	terms := termsOf(query)
	if len(terms) == 0 {
		return nil
	}
	var all []found
	for _, s := range m.sections {
		f := found{section: s, score: 1}
		for _, term := range terms {
			n := count(s.folded, term)
			if n == 0 {
				f.score = 0
				break
			}
			f.score += n
			switch {
			case s.foldedTitle == term || s.id == term:
				f.score += 60
			case next(s.foldedTitle, term, 0) >= 0:
				f.score += 25
			}
			if next(s.foldedPage, term, 0) >= 0 {
				f.score += 5
			}
		}
		if f.score > 0 {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	return all
}

// next is the position of the next word that begins with term, -1 for none.
func next(text, term string, from int) int {
	for {
		i := strings.Index(text[from:], term)
		if i < 0 {
			return -1
		}
		i += from
		if begins(text, term, i) {
			return i
		}
		from = i + len(term)
	}
}

// begins reports whether a term in the text is the beginning of a word. A term that begins
// with a sign is always one.
func begins(text, term string, at int) bool {
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	first, _ := utf8.DecodeRuneInString(term)
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	return !inWord(first) || !inWord(before)
}

// count is the number of words that begin with term, up to mostCounted.
func count(text, term string) (n int) {
	for i := next(text, term, 0); i >= 0 && n < mostCounted; i = next(text, term, i+len(term)) {
		n++
	}
	return n
}

// search is the page of search results.
func (m *Manual) search(query string) page {
	if len(query) > longestQuery {
		query = strings.ToValidUTF8(query[:longestQuery], "")
	}
	all := m.find(query)
	var b strings.Builder
	b.WriteString("<h1>Search</h1>")
	switch {
	case strings.TrimSpace(query) == "":
		b.WriteString("<p>Type words into the field above. Sections that have all of them are found.</p>")
	case len(all) == 0:
		fmt.Fprintf(&b, "<p>No section has <strong>%s</strong>.</p>", escaped(query))
	case len(all) == 1:
		b.WriteString("<p>1 section</p>")
	case len(all) > mostFound:
		fmt.Fprintf(&b, "<p>%d sections, the best %d of them</p>", len(all), mostFound)
	default:
		fmt.Fprintf(&b, "<p>%d sections</p>", len(all))
	}
	if len(all) > 0 {
		b.WriteString(`<ol class="found">`)
		for _, f := range all[:min(len(all), mostFound)] {
			fmt.Fprintf(&b, `<li><a href="%s">%s</a> <span class="quiet">%s</span><p>%s</p></li>`,
				escaped(f.address), escaped(f.title), escaped(f.page), excerpt(f.text, termsOf(query)))
		}
		b.WriteString("</ol>")
	}
	return page{address: "search", Title: "Search", Body: markup(b.String()), Query: query, Plain: true}
}

// excerpt is the text around the first of the terms, which are in lower case. It is escaped,
// with the terms marked.
func excerpt(text string, terms []string) string {
	const before, length = 60, 220
	folded, at := strings.ToLower(text), len(text)
	if len(folded) != len(text) {
		folded = text // a letter whose lower case has another length would shift positions
	}
	for _, term := range terms {
		if n := next(folded, term, 0); n >= 0 {
			at = min(at, n)
		}
	}
	if at == len(text) {
		at = 0
	}
	from, to := max(0, at-before), 0
	to = min(len(text), from+length)
	if word := strings.IndexByte(text[from:], ' '); from > 0 && word >= 0 && from+word < at {
		from += word + 1
	}
	if word := strings.IndexByte(text[to:], ' '); word >= 0 {
		to += word
	} else {
		to = len(text)
	}
	for from > 0 && !utf8.RuneStart(text[from]) { // a word longer than the excerpt
		from--
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString("… ")
	}
	for i := from; i < to; {
		n := 0
		for _, term := range terms {
			if strings.HasPrefix(folded[i:to], term) && begins(folded, term, i) {
				n = max(n, len(term))
			}
		}
		if n > 0 {
			b.WriteString("<mark>" + escaped(text[i:i+n]) + "</mark>")
			i += n
			continue
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		b.WriteString(escaped(text[i : i+size]))
		i += size
	}
	if to < len(text) {
		b.WriteString(" …")
	}
	return b.String()
}
