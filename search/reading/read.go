package reading

import (
	"slices"
	"strings"
	"time"

	"atlas/search/catalog"
	"atlas/search/words"
)

// Question is the input of Read.
type Question struct {
	Dataset catalog.Dataset
	// Base is Data or Book. A Book also has the overlay fields.
	Base catalog.BaseKind
	Text string
	// Today is the day of the asking person, at 00:00 UTC.
	Today  time.Time
	Lookup Lookup
}

// Span is the position of a condition in the text, in code points; To is exclusive.
type Span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Condition is one condition of a Reading: one of Values, or a range from From to To, both
// inclusive, in the form of JSON numbers or days. One of them may be "".
type Condition struct {
	// Relation is the key of the relation whose record has the field, "" if the dataset
	// itself has it.
	Relation string
	Field    *catalog.Field
	Values   []string
	From, To string
	Spans    []Span
}

// Reading is the result: the conditions of a text, and the words that remain text.
type Reading struct {
	Conditions []Condition
	Query      string
}

// hasProject is the relation of firms and people to their projects.
const hasProject = "has_project"

// reader is the state of Read.
type reader struct {
	Question
	tokens []token
	// relation is where conditions go if both datasets have the field: has_project after
	// "building".
	relation string
	// now is the word that is being read.
	now   int
	found []Condition
	// isPlaceToken has the words of places that were read.
	isPlaceToken map[int]bool
	// capitals means that the whole text is in capitals.
	capitals bool
	failed   bool
}

// Read reads a question. If no condition is certain, the whole text is Query.
func Read(q Question) Reading {
	r := &reader{Question: q, tokens: tokenize(q.Text), isPlaceToken: map[int]bool{}, capitals: strings.ToUpper(q.Text) == q.Text}
	if !r.isName() {
		markAddresses(r.tokens)
		r.all()
	}
	if r.failed || len(r.found) == 0 || r.onlyInName() || r.halfRead() {
		return Reading{Query: q.Text}
	}
	return Reading{Conditions: r.found, Query: r.left()}
}

// all reads the words from left to right.
func (r *reader) all() {
	for i := 0; i < len(r.tokens) && !r.failed; {
		t := &r.tokens[i]
		r.now = i
		if t.state != unread {
			i++
			continue
		}
		if next, ok := r.at(i); ok {
			i = next
			continue
		}
		switch {
		case t.raw == "OR" || denying[t.text]:
			r.failed = true // filters cannot express negation, or one of several
		case r.links(i):
			r.relation, t.state = hasProject, filler
		}
		i++
	}
	if r.failed {
		return
	}
	active, _ := fieldOf(catalog.Projects, catalog.Data, "disposition")
	for _, c := range slices.Clone(r.found) {
		ongoing := c.Field.Key == "stage" && len(c.Values) == 1 && (c.Values[0] == "under_construction" || c.Values[0] == "under_review")
		if ongoing && r.Dataset != catalog.Signals && !r.has(c.Relation, "disposition") {
			r.found = append(r.found, Condition{Relation: c.Relation, Field: active, Values: []string{"active"}, Spans: c.Spans})
		}
	}
}

// at reads the condition that begins at a word.
func (r *reader) at(i int) (next int, ok bool) {
	if next, ok = r.term(i, 2); ok { // "under construction" before a comparison
		return next, true
	}
	for _, try := range []func(int) (int, bool){r.date, r.number, r.located} {
		if next, ok = try(i); ok || r.failed {
			return next, ok
		}
	}
	return r.term(i, 1)
}

func (r *reader) has(relation, key string) bool {
	return slices.ContainsFunc(r.found, func(c Condition) bool { return c.Relation == relation && c.Field.Key == key })
}

// searched is the dataset that conditions apply to at present.
func (r *reader) searched() catalog.Dataset {
	if r.relation != "" {
		return catalog.Projects
	}
	return r.Dataset
}

// place is where a condition on a field goes: the dataset itself, or its projects.
func (r *reader) place(key string) (f *catalog.Field, relation string, ok bool) {
	own, isOwn := fieldOf(r.Dataset, r.Base, key)
	if r.Dataset != catalog.Accounts && r.Dataset != catalog.Contacts {
		return own, "", isOwn
	}
	project, isProject := fieldOf(catalog.Projects, catalog.Data, key)
	if isOwn && (!isProject || r.relation == "") {
		return own, "", true
	}
	return project, hasProject, isProject
}

// term reads a term of at least the given number of words.
func (r *reader) term(i, least int) (next int, ok bool) {
	for n := min(longestTerm, len(r.tokens)-i); n >= least; n-- {
		text := r.run(i, n)
		if text == "" {
			continue
		}
		for _, m := range r.meanings(text) {
			f, relation, there := r.place(m.key)
			if !there || m.narrow && relation == "" || m.weak && (r.inName(i, n) || r.together(i, n)) {
				continue
			}
			if m.key == "disposition" && relation != r.relation {
				continue // active firms
			}
			if r.add(Condition{Relation: relation, Field: f, Values: m.values}, i, i+n) {
				return i + n, true
			}
		}
	}
	return i, false
}

// meanings are those of a term, first those on the dataset's own fields.
func (r *reader) meanings(text string) []meaning {
	all := slices.Clone(terms[text])
	rank := func(m meaning) int {
		f, relation, ok := r.place(m.key)
		switch {
		case !ok:
			return 3
		case f.Key == "stage" && r.Dataset == catalog.Signals:
			return 2
		case relation != "" && r.relation == "" || f.Key == "disposition" && relation != "" && r.Dataset == catalog.Contacts:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b meaning) int { return rank(a) - rank(b) })
	return all
}

// links reports whether a word leads from firms or people to their projects.
func (r *reader) links(i int) bool {
	if r.Dataset != catalog.Accounts && r.Dataset != catalog.Contacts || r.relation != "" {
		return false
	}
	word := r.tokens[i].text
	if nouns[catalog.Projects][word] && word != "building" && word != "buildings" && word != "development" {
		return len(r.found) > 0 || nouns[r.Dataset][r.word(i-2)]
	}
	if !linking[word] || i+1 >= len(r.tokens) || r.counts(i+1) {
		return false
	}
	before := i - 1
	for before >= 0 && (words.Published.Function(r.tokens[before].text) || asking[r.tokens[before].text]) {
		before--
	}
	return before < 0 && i > 0 || before >= 0 && (r.tokens[before].state == read || nouns[r.Dataset][r.tokens[before].text])
}

// counts reports whether a comparison or a number begins at a word: with more than 5
// projects.
func (r *reader) counts(i int) bool {
	_, n := r.comparisonAt(i)
	_, size := r.amountAt(i + n)
	return size > 0
}

// add adds the condition that some words express, or its values to the condition on the
// same field.
func (r *reader) add(c Condition, from, to int) bool {
	c.Spans = []Span{{r.tokens[from].from, r.tokens[to-1].to}}
	for i := range r.found {
		other := &r.found[i]
		if other.Relation != c.Relation || other.Field.Key != c.Field.Key {
			continue
		}
		switch {
		case c.Values != nil:
			for _, v := range c.Values {
				if !slices.Contains(other.Values, v) {
					other.Values = append(slices.Clone(other.Values), v)
				}
			}
		case other.From == "" && c.To == "":
			other.From = c.From
		case other.To == "" && c.From == "":
			other.To = c.To
		default:
			r.failed = true // two ranges of a field
			return false
		}
		other.Spans = append(other.Spans, c.Spans...)
		r.mark(from, to, c.Field.Key)
		return true
	}
	r.found = append(r.found, c)
	r.mark(from, to, c.Field.Key)
	return true
}

func (r *reader) mark(from, to int, key string) {
	for i := from; i < to; i++ {
		r.tokens[i].state = read
		if key == "city" || key == "state" || key == "country" {
			r.isPlaceToken[i] = true
		}
	}
}

// instead removes the value of a word if a date expresses it more precisely.
func (r *reader) instead(verb string, before int) {
	end := r.tokens[before].from
	for i := len(r.found) - 1; i >= 0; i-- {
		c := r.found[i]
		last := c.Spans[len(c.Spans)-1]
		isStage := c.Field.Key == "stage" || c.Field.Key == "disposition" && verb == "active"
		if isStage && last.To <= end && len(c.Values) == 1 && c.Relation == r.relation {
			r.found = slices.Delete(r.found, i, i+1)
			return
		}
	}
}

// left are the words that remain text, as typed.
func (r *reader) left() string {
	keep := make([]bool, len(r.tokens))
	for i := 0; i < len(r.tokens); {
		if r.tokens[i].state == read || r.tokens[i].state == filler {
			i++
			continue
		}
		end := i
		for end < len(r.tokens) && r.tokens[end].state != read && r.tokens[end].state != filler {
			end++
		}
		from, to := i, end
		for from < to && r.swallowed(from) {
			from++
		}
		for to > from && r.swallowed(to-1) {
			to--
		}
		for at := from; at < to; at++ {
			keep[at] = true
		}
		i = end
	}
	runes := []rune(r.Text)
	var b strings.Builder
	for i := 0; i < len(keep); i++ {
		if !keep[i] {
			continue
		}
		from := i
		for i+1 < len(keep) && keep[i+1] {
			i++
		}
		begin, end := r.tokens[from].from, r.tokens[i].to
		for begin > 0 && strings.ContainsRune(quotes+"-", runes[begin-1]) {
			begin--
		}
		for end < len(runes) && strings.ContainsRune(quotes+"*", runes[end]) {
			end++
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(runes[begin:end]))
	}
	return b.String()
}

// word is the text of a word, "" if there is none or if it must stay text.
func (r *reader) word(i int) string {
	if i < 0 || i >= len(r.tokens) || r.tokens[i].state == literal {
		return ""
	}
	return r.tokens[i].text
}

// run are the texts of n words joined by spaces, "" if they are not adjacent.
func (r *reader) run(i, n int) string {
	if i < 0 || n < 1 || i+n > len(r.tokens) {
		return ""
	}
	texts := make([]string, n)
	for k := range n {
		if texts[k] = r.word(i + k); texts[k] == "" || k > 0 && r.tokens[i+k].state == read && r.tokens[i].state != read {
			return ""
		}
		if gap := r.gap(i + k); k > 0 && strings.ContainsAny(gap, ",;:/|&+()") {
			return ""
		}
	}
	return strings.Join(texts, " ")
}

func (r *reader) gap(i int) string {
	if i < 0 || i >= len(r.tokens) {
		return ""
	}
	return r.tokens[i].gap
}
