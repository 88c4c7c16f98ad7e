package words

import (
	"slices"
	"strings"
)

// Bounds of a query.
const (
	// MaxExpanded is how many words of a query get forms and synonyms. Later ones match
	// exactly.
	MaxExpanded = 64
	// MaxBeginnings is the maximum number of prefixes in a query. Later ones are plain
	// text.
	MaxBeginnings = 5
	// minBeginning is the minimum length of a prefix, in letters.
	minBeginning = 2
)

// Kind is why an Option matches.
type Kind uint8

// The kinds, best first.
const (
	Typed Kind = iota
	Form
	Synonym
)

// Option is one way to match a Term: a word, or several in their order.
type Option struct {
	Kind  Kind
	Words []string
}

// Term is a word, a phrase or a prefix. A record matches it by any of its options.
type Term struct {
	// Text is the folded word as typed; of a phrase, its words joined by spaces.
	Text    string
	Options []Option
	// Beginning means that words with the prefix Text match, and there are no options.
	Beginning bool
	// Address means that the text is an e-mail address, which matches whole.
	Address bool
	// Quoted means that the text matches exactly.
	Quoted bool
}

// Choice is one operand of OR: all its terms must match.
type Choice []Term

// Clause is met by one of its choices. Without OR it has one.
type Clause []Choice

// Word is the term of a clause that is a single plain word.
func (c Clause) Word() (t Term, ok bool) {
	if len(c) == 1 && len(c[0]) == 1 {
		t = c[0][0]
	}
	return t, len(t.Options) > 0 && !t.Quoted && len(t.Options[0].Words) == 1
}

// String is the folded clause as typed.
func (c Clause) String() string {
	choices := make([]string, len(c))
	for i, choice := range c {
		terms := make([]string, len(choice))
		for j, t := range choice {
			if terms[j] = t.Text; t.Beginning {
				terms[j] += "*"
			} else if t.Quoted {
				terms[j] = `"` + t.Text + `"`
			}
		}
		choices[i] = strings.Join(terms, " ")
	}
	return strings.Join(choices, " OR ")
}

// Reading is a parsed query.
type Reading struct {
	// Must are all required.
	Must []Clause
	// Rank are optional and only score: function and light words.
	Rank []Clause
	// Not are excluded: words without synonyms.
	Not []Clause
	// Order are the plain words in their sequence; a term without options marks the place
	// of anything else.
	Order []Term
}

// Word is a folded word with all its forms.
func (t *Tables) Word(text string) Term {
	term := Term{Text: text, Options: []Option{{Typed, []string{text}}}}
	t.expand(&term, true)
	return term
}

// ReadPlain reads a text without operators.
func (t *Tables) ReadPlain(text string, fold func(string) string) Reading {
	return t.reading(plain(text), nil, fold)
}

// item is a part of a query between spaces, or between quotes.
type item struct {
	text                   string
	quoted, not, beginning bool
}

// Read reads a query. fold folds its texts for the index that is searched. No text is an
// error: whatever does not fit the grammar is plain text.
func (t *Tables) Read(query string, fold func(string) string) Reading {
	items, or := parse(query)
	r := t.reading(items, or, fold)
	if len(r.Must) == 0 { // exclusions only, or an OR without operands
		r = t.reading(plain(query), nil, fold)
	}
	return r
}

const spaces = " \t\r\n"

// typed replaces typographic marks and spaces by those of keyboards: folding makes them
// equal too.
var typed = strings.NewReplacer(
	"“", `"`, "”", `"`, "„", `"`, "‟", `"`, "«", `"`, "»", `"`, "″", `"`,
	"–", "-", "—", "-", "−", "-", "‐", "-", "‑", "-", "‒", "-", "―", "-",
	"\u00a0", " ", "\u2007", " ", "\u2009", " ", "\u202f", " ", "\u3000", " ",
)

// parse splits a query into its items. or has the indices of items that OR joins to the
// next one.
func parse(query string) (items []item, or map[int]bool) {
	or = map[int]bool{}
	beginnings := 0
	for rest := strings.TrimLeft(typed.Replace(query), spaces); rest != ""; rest = strings.TrimLeft(rest, spaces) {
		var it item
		if after, ok := strings.CutPrefix(rest, "-"); ok {
			if _, _, phrase := quoted(after); phrase || begins(after) {
				it.not, rest = true, after
			}
		}
		if text, after, ok := quoted(rest); ok {
			it.text, it.quoted = text, true
			items, rest = append(items, it), after
			continue
		}
		end := strings.IndexAny(rest, spaces)
		if end < 0 {
			end = len(rest)
		}
		it.text, rest = rest[:end], rest[end:]
		if it.text == "OR" && !it.not && len(items) > 0 && !items[len(items)-1].not && strings.TrimSpace(rest) != "" &&
			!strings.HasPrefix(strings.TrimLeft(rest, spaces), "-") {
			or[len(items)-1] = true
			continue
		}
		if word, ok := strings.CutSuffix(it.text, "*"); ok && beginnings < MaxBeginnings {
			if tokens := Tokens(word); len(tokens) > 0 && tokens[len(tokens)-1].To == len(word) &&
				len([]rune(tokens[len(tokens)-1].Text)) >= minBeginning {
				it.text, it.beginning = word, true
				beginnings++
			}
		}
		items = append(items, it)
	}
	return items, or
}

// plain are the items of a query without operators.
func plain(query string) []item {
	var items []item
	for _, text := range strings.Fields(query) {
		items = append(items, item{text: text})
	}
	return items
}

// quoted reads a phrase: a text in quotes that is followed by a space or the end, and has a
// word.
func quoted(s string) (text, after string, ok bool) {
	inner, begun := strings.CutPrefix(s, `"`)
	if !begun {
		return "", "", false
	}
	text, after, ok = strings.Cut(inner, `"`)
	if !ok || after != "" && !strings.ContainsAny(after[:1], spaces) || len(Tokens(text)) == 0 {
		return "", "", false
	}
	return text, after, true
}

func begins(s string) bool {
	tokens := Tokens(s)
	return len(tokens) > 0 && tokens[0].From == 0
}

// reading builds clauses from items.
func (t *Tables) reading(items []item, or map[int]bool, fold func(string) string) Reading {
	var r Reading
	var clauses []Clause
	var not []bool
	var sequence []*Term // the plain words in their order, for synonyms of several words
	joined := false
	for i, it := range items {
		choice := t.choice(it, fold)
		if len(choice) == 0 {
			joined = false
			continue
		}
		if joined && len(clauses) > 0 {
			clauses[len(clauses)-1] = append(clauses[len(clauses)-1], choice)
		} else if it.quoted || it.not || it.beginning || or[i] {
			clauses, not = append(clauses, Clause{choice}), append(not, it.not)
		} else {
			for _, term := range choice { // each word by itself
				clauses, not = append(clauses, Clause{Choice{term}}), append(not, false)
			}
		}
		joined = or[i]
	}
	for i := range clauses {
		for j := range clauses[i] {
			for k := range clauses[i][j] {
				term := &clauses[i][j][k]
				sequence = append(sequence, term)
				if len(clauses[i]) > 1 || not[i] || !isWord(term) {
					sequence = append(sequence[:len(sequence)-1], nil) // ends a run
				}
			}
		}
	}
	expanded := 0
	for i := range clauses {
		for j := range clauses[i] {
			for k := range clauses[i][j] {
				if term := &clauses[i][j][k]; isWord(term) && expanded < MaxExpanded {
					expanded++
					t.expand(term, !not[i])
				}
			}
		}
	}
	sequence = sequence[:min(len(sequence), MaxExpanded)]
	t.together(sequence)
	t.besides(sequence)
	t.withoutAmbiguous(clauses)
	for _, term := range sequence {
		if term == nil {
			term = &Term{}
		}
		r.Order = append(r.Order, *term)
	}
	content := false
	for i, c := range clauses {
		content = content || !not[i] && !t.needless(c)
	}
	for i, c := range clauses {
		switch {
		case not[i]:
			r.Not = add(r.Not, c)
		case content && t.needless(c):
			r.Rank = add(r.Rank, c)
		default:
			r.Must = add(r.Must, c)
		}
	}
	return r
}

// add adds a clause unless it exists.
func add(to []Clause, c Clause) []Clause {
	text := c.String()
	if slices.ContainsFunc(to, func(other Clause) bool { return other.String() == text }) {
		return to
	}
	return append(to, c)
}

// besides adds options in which an ambiguous abbreviation stands beside the query's
// neighbouring word: `mahogany manor` also finds `mahogany mr`, but not any `mr`.
// Directions may stand on either side.
func (t *Tables) besides(sequence []*Term) {
	for i, term := range sequence {
		if term == nil {
			continue
		}
		for _, o := range slices.Clone(term.Options) {
			if !t.isAmbiguous(o) {
				continue
			}
			if i > 0 {
				for _, before := range t.plainly(sequence[i-1]) {
					term.add(Synonym, before, o.Words[0])
				}
			}
			if i+1 < len(sequence) && len(o.Words[0]) == 1 {
				for _, after := range t.plainly(sequence[i+1]) {
					term.add(Synonym, o.Words[0], after)
				}
			}
		}
	}
}

// plainly are the single words that match a term, without ambiguous ones.
func (t *Tables) plainly(term *Term) (all []string) {
	if term == nil {
		return nil
	}
	for _, o := range term.Options {
		if len(o.Words) == 1 && !t.isAmbiguous(o) {
			all = append(all, o.Words[0])
		}
	}
	return all
}

// isAmbiguous reports whether an option is an abbreviation that may mean something else.
func (t *Tables) isAmbiguous(o Option) bool {
	return o.Kind == Synonym && len(o.Words) == 1 && t.ambiguous[o.Words[0]]
}

// withoutAmbiguous leaves out ambiguous abbreviations that stand alone.
func (t *Tables) withoutAmbiguous(clauses []Clause) {
	for _, c := range clauses {
		for _, choice := range c {
			for i := range choice {
				choice[i].Options = slices.DeleteFunc(choice[i].Options, t.isAmbiguous)
			}
		}
	}
}

// choice is the meaning of an item, without forms.
func (t *Tables) choice(it item, fold func(string) string) Choice {
	folded := fold(it.text)
	if address, is := addressIn(folded); is && !it.quoted && !it.not && !it.beginning {
		return Choice{{Text: address, Address: true}}
	}
	texts := Texts(folded)
	if it.quoted && len(texts) > 0 {
		return Choice{{Text: strings.Join(texts, " "), Options: []Option{{Typed, texts}}, Quoted: true}}
	}
	var choice Choice
	for i, text := range texts {
		term := Term{Text: text, Options: []Option{{Typed, []string{text}}}}
		if it.beginning && i == len(texts)-1 {
			term.Beginning, term.Options = true, nil
		}
		choice = append(choice, term)
	}
	if it.not && len(choice) > 1 { // -row-house excludes the adjacent words
		return Choice{{Text: strings.Join(texts, " "), Options: []Option{{Typed, texts}}}}
	}
	return choice
}

// addressIn is the e-mail address in a folded text, without the characters around it.
func addressIn(folded string) (address string, is bool) {
	address = strings.TrimFunc(
		strings.TrimPrefix(strings.TrimLeft(folded, "<("), "mailto:"),
		func(r rune) bool { return !inWord(r) && r != '_' },
	)
	at := strings.IndexByte(address, '@')
	return address, at > 0 && at < len(address)-1
}

// isWord reports whether a term is a word with forms.
func isWord(t *Term) bool {
	return !t.Quoted && len(t.Options) == 1 && len(t.Options[0].Words) == 1
}

// expand adds the forms of a word, and its synonyms.
func (t *Tables) expand(term *Term, synonyms bool) {
	forms := t.Forms(term.Text)
	for _, f := range forms[1:] {
		term.add(Form, f)
	}
	if !synonyms {
		return
	}
	for _, f := range forms {
		for _, s := range t.synonyms[f] {
			t.addSynonym(term, s)
		}
	}
}

// addSynonym adds a synonym in all spellings of its words, with the forms of its last word.
func (t *Tables) addSynonym(term *Term, synonym string) {
	words := strings.Fields(synonym)
	last := len(words) - 1
	spelled := [][]string{nil}
	for i, word := range words {
		written := append([]string{word}, t.spelled[word]...)
		if i == last {
			for _, w := range written {
				written = append(written, t.Forms(w)[1:]...)
			}
		}
		var longer [][]string
		for _, before := range spelled {
			for _, w := range written {
				longer = append(longer, append(slices.Clone(before), w))
			}
		}
		spelled = longer
	}
	for _, words := range spelled {
		term.add(Synonym, words...)
	}
}

func (t *Term) add(kind Kind, words ...string) {
	if !slices.ContainsFunc(t.Options, func(o Option) bool { return slices.Equal(o.Words, words) }) {
		t.Options = append(t.Options, Option{kind, words})
	}
}

// together lets adjacent words also match their common meaning: a synonym, or their
// spelling in one word (row house, rowhouse).
func (t *Tables) together(words []*Term) {
	for i := range words {
		for n := 2; n <= t.longest && i+n <= len(words); n++ {
			run := words[i : i+n]
			if slices.Contains(run, nil) {
				break
			}
			if n == 2 && !strings.ContainsAny(run[0].Text+run[1].Text, "0123456789") {
				for _, form := range t.Forms(run[0].Text + run[1].Text) {
					run[0].add(Form, form)
					run[1].add(Form, form)
				}
			}
			for _, term := range t.terms(run) {
				for _, s := range t.synonyms[term] {
					for _, w := range run {
						t.addSynonym(w, s)
					}
				}
			}
		}
	}
}

// terms are the terms of the tables that match a run of words, each word in any form and
// spelling.
func (t *Tables) terms(run []*Term) []string {
	begun := []string{""}
	for i, w := range run {
		var longer []string
		for _, form := range t.Forms(w.Text) {
			for _, spelled := range append([]string{form}, t.spelled[form]...) {
				for _, begin := range begun {
					next := strings.TrimPrefix(begin+" "+spelled, " ")
					if (i < len(run)-1 && t.begins[next] || i == len(run)-1 && t.synonyms[next] != nil) && !slices.Contains(longer, next) {
						longer = append(longer, next)
					}
				}
			}
		}
		begun = longer
	}
	return begun
}

// needless reports whether a clause is optional beside others.
func (t *Tables) needless(c Clause) bool {
	if len(c) != 1 || len(c[0]) != 1 {
		return false
	}
	term := c[0][0]
	return !term.Quoted && !term.Beginning && (t.function[term.Text] || t.light[term.Text])
}
