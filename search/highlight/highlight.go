// Package highlight finds what in a text matches a query that is read in words, in any form
// (docs/api.md, "Highlights"). Positions are in code points of the original text, not the
// folded one.
package highlight

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"atlas/internal/edits"
	"atlas/search/catalog"
	"atlas/search/words"
)

// Bounds of fragments.
const (
	fragmentChars = 160 // of a fragment
	before        = 40  // characters before the first match of a fragment, at most
	fragments     = 3   // of a text
	searchedChars = 20_000
)

// Mark is a range of code points that matches, the end excluded.
type Mark [2]int

// Fragment is a part of a text with what matches in it.
type Fragment struct {
	Text string `json:"text"`
	// From is where the fragment begins in the text, in code points.
	From int `json:"from"`
	// Marks are ranges of Text, in order.
	Marks []Mark `json:"marks"`
}

// Row is what matches in a record, by field.
type Row struct {
	ID     string                `json:"id"`
	Fields map[string][]Fragment `json:"fields"`
}

// Marker marks what matches. It is for one goroutine.
type Marker struct {
	single   map[string]bool
	together map[string][][]string // by the first word
	begins   []string
	nearly   []string
	known    map[string]bool // words that were compared
}

// New returns a Marker of a reading. nearly means that similar words match too.
func New(r words.Reading, nearly bool) *Marker {
	m := &Marker{single: map[string]bool{}, together: map[string][][]string{}, known: map[string]bool{}}
	for _, clauses := range [][]words.Clause{r.Must, r.Rank} {
		for _, clause := range clauses {
			for _, choice := range clause {
				for _, t := range choice {
					m.add(t, nearly && len(clause) == 1)
				}
			}
		}
	}
	return m
}

func (m *Marker) add(t words.Term, nearly bool) {
	if t.Beginning {
		m.begins = append(m.begins, t.Text)
	}
	if nearly && !t.Quoted && len(t.Options) > 0 && catalog.MaxEdits(t.Text) > 0 {
		m.nearly = append(m.nearly, t.Text)
	}
	for _, o := range t.Options {
		if len(o.Words) == 1 {
			m.single[o.Words[0]] = true
		} else {
			m.together[o.Words[0]] = append(m.together[o.Words[0]], o.Words)
		}
	}
}

// Fragments are the parts of a text that match, nil if none does.
func (m *Marker) Fragments(text string) []Fragment {
	if utf8.RuneCountInString(text) > searchedChars {
		text = string([]rune(text)[:searchedChars])
	}
	tokens := words.Tokens(catalog.Fold(text))
	found := m.matches(tokens)
	if found == nil {
		return nil
	}
	folded, begins, ends := foldWithPlaces(text)
	placed := words.Tokens(folded)
	if len(placed) != len(tokens) {
		return nil // folding of the whole differs from that of its parts
	}
	var marks []Mark
	for _, run := range found {
		marks = append(marks, Mark{begins[placed[run[0]].From], ends[placed[run[1]-1].To-1]})
	}
	return cut([]rune(text), marks)
}

// matches are the non-overlapping runs of tokens that match, in order.
func (m *Marker) matches(tokens []words.Token) (runs []Mark) {
	for i := 0; i < len(tokens); {
		length := m.longest(tokens[i:])
		if length > 0 {
			runs = append(runs, Mark{i, i + length})
		}
		i += max(1, length)
	}
	return runs
}

// longest is how many of the first tokens match, at most.
func (m *Marker) longest(tokens []words.Token) (length int) {
	if m.one(tokens[0].Text) {
		length = 1
	}
	for _, together := range m.together[tokens[0].Text] {
		if len(together) > length && len(together) <= len(tokens) && begin(tokens, together) {
			length = len(together)
		}
	}
	return length
}

func begin(tokens []words.Token, together []string) bool {
	for i, word := range together {
		if tokens[i].Text != word {
			return false
		}
	}
	return true
}

// one reports whether a word matches.
func (m *Marker) one(word string) bool {
	if m.single[word] {
		return true
	}
	if len(m.begins)+len(m.nearly) == 0 {
		return false
	}
	matches, is := m.known[word]
	if !is {
		matches = m.compare(word)
		m.known[word] = matches
	}
	return matches
}

func (m *Marker) compare(word string) bool {
	for _, begin := range m.begins {
		if strings.HasPrefix(word, begin) {
			return true
		}
	}
	for _, text := range m.nearly {
		if most := catalog.MaxEdits(text); edits.Distance(text, word, most) <= most {
			return true
		}
	}
	return false
}

// foldWithPlaces folds a text character by character. begins and ends have, for each byte
// of the folded text, the begin and end of its original character, in code points.
func foldWithPlaces(text string) (folded string, begins, ends []int) {
	var b strings.Builder
	runes := []rune(text)
	for i := 0; i < len(runes); {
		end := i + 1
		for end < len(runes) && unicode.Is(unicode.M, runes[end]) {
			end++
		}
		part := foldPart(runes[i:end])
		b.WriteString(part)
		for range len(part) {
			begins, ends = append(begins, i), append(ends, end)
		}
		i = end
	}
	return b.String(), begins, ends
}

func foldPart(runes []rune) string {
	if len(runes) == 1 && runes[0] < utf8.RuneSelf {
		return string(unicode.ToLower(runes[0]))
	}
	return catalog.Fold(string(runes))
}

// cut cuts the fragments of marks out of a text.
func cut(text []rune, marks []Mark) (all []Fragment) {
	if len(text) <= fragmentChars {
		return []Fragment{{Text: string(text), Marks: marks}}
	}
	end := 0 // of the fragment before
	for len(marks) > 0 && len(all) < fragments {
		from := max(end, wordAt(text, marks[0][0]-before))
		to := min(len(text), max(from+fragmentChars, marks[0][1]))
		if to-from > 2*fragmentChars { // one long match
			to = from + 2*fragmentChars
		}
		f := Fragment{From: from}
		for len(marks) > 0 && marks[0][0] < to {
			if f.Marks != nil && marks[0][1] > to {
				to = marks[0][0]
				break
			}
			f.Marks = append(f.Marks, Mark{marks[0][0] - from, min(marks[0][1], to) - from})
			marks = marks[1:]
		}
		f.Text = string(text[from:to])
		end = to
		all = append(all, f)
	}
	return all
}

// wordAt is the start of the next word after a position, the position itself if no word
// starts soon.
func wordAt(text []rune, place int) int {
	if place <= 0 {
		return 0
	}
	for i := place; i < min(len(text), place+before/2); i++ {
		if unicode.IsSpace(text[i-1]) {
			return i
		}
	}
	return place
}
