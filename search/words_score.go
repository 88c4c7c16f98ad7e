package search

import (
	"slices"
	"strings"

	"atlas/search/catalog"
	"atlas/search/words"
)

// The parts of the score of a search by words (docs/relevance.md). Every match has all
// words, so the score depends on how they match: exactly, as a form or as a synonym; in the
// name, in another text of the record, or in names and labels from elsewhere; adjacent or
// apart.
var (
	kindScores = map[words.Kind]string{words.Typed: "4", words.Form: "3.6", words.Synonym: "2"}
	nameScores = map[words.Kind]string{words.Typed: "1.5", words.Form: "1.3", words.Synonym: "0.6"}
	textScores = map[words.Kind]string{words.Typed: "1", words.Form: "0.9", words.Synonym: "0.4"}
)

const (
	besideScore   = "1"   // two words that are adjacent in the text
	phraseScore   = "0.5" // all words exactly, adjacent and in their order
	wholeScore    = "4"   // the text is the name
	labelScore    = "1.5" // a label of the record, such as its stage, whole
	needlessScore = "0.5" // an optional word
	codeScore     = "30"  // the text is the record's code, such as a permit number
	rareScore     = "0.1" // factor for the rarity of a word in names
)

// maxInOrder is how many words are compared in their order.
const maxInOrder = 16

// scoreWords appends the members `must` and `should` of a bool. folded is the text.
func (c *compiler) scoreWords(w wordSearch, d catalog.Dataset, folded string) *compiler {
	if w.code != nil {
		code := newCompiler(128).constant(codeScore, []clause{w.code}).b
		w.code = nil
		c.raw(`"must":[{"bool":{"should":[{"bool":{`).scoreWords(w, d, folded).raw(`}},`)
		c.b = append(c.b, code...)
		return c.raw(`]}}]`)
	}
	c.raw(`"must":[`)
	for _, one := range w.Must {
		c.scoreClause(w, one).raw(`,`)
	}
	c.closeList().raw(`],"should":[`)
	f := catalog.Headline(d)
	in := scoredIn[d]
	var typed []string
	for _, one := range w.Must {
		for _, choice := range one {
			for _, t := range choice {
				c.scorePlace(in.texts, t)
				if len(one) == 1 && !t.Quoted && !t.Beginning && !t.Address {
					typed = append(typed, t.Text)
				}
			}
		}
	}
	for _, one := range w.Rank {
		c.constant(needlessScore, w.clause(one)).raw(`,`)
	}
	if len(w.Order) <= maxInOrder {
		c.scoreOrder(w)
		if len(typed) > 1 {
			c.constant(phraseScore, w.phrase(words.Texts(folded))).raw(`,`)
		}
	}
	if len(typed) > 0 {
		c.raw(`{"match":{`).text(in.texts[0].path).raw(`:{"boost":` + rareScore + `,"query":`).text(strings.Join(typed, " ")).raw(`}}},`)
	}
	c.scoreLabels(w, in.labels)
	c.raw(`{"term":{`).text(Root.ExactPath(&f)).raw(`:{"boost":` + wholeScore + `,"value":`).text(catalog.ExactValue(f, folded))
	return c.raw(`}}}]`)
}

// scoreClause scores how a clause is met.
func (c *compiler) scoreClause(w wordSearch, one words.Clause) *compiler {
	w.typos = w.typos && len(one) == 1
	var scored []clause
	for _, choice := range one {
		if len(choice) != 1 || len(choice[0].Options) == 0 {
			scored = append(scored, newCompiler(256).constant(kindScores[words.Typed], w.choices([]words.Choice{choice})).b)
			continue
		}
		t := choice[0]
		scored = append(scored, w.byKind(t, kindScores)...)
		if w.typos {
			scored = append(scored, newCompiler(256).constant("1", w.term(t)).b)
		}
	}
	return c.best(scored)
}

// byKind scores a term by the kind of the matching option.
func (w wordSearch) byKind(t words.Term, scores map[words.Kind]string) []clause {
	var scored []clause
	for kind := words.Typed; kind <= words.Synonym; kind++ {
		if all := w.options(t, func(k words.Kind) bool { return k == kind }); all != nil {
			scored = append(scored, newCompiler(256).constant(scores[kind], all).b)
		}
	}
	return scored
}

// textPath is a text of the record itself, and the score of a word in it.
type textPath struct {
	path   string
	scores map[words.Kind]string
}

// labelled is a value of an enumeration: the words of its label, and the condition that a
// record has it.
type labelled struct {
	words []string
	met   clause
}

// scoredFields are the scored parts of records of a dataset: their texts, the name first,
// and the labels of their values.
type scoredFields struct {
	texts  []textPath
	labels []labelled
}

var scoredIn = func() map[catalog.Dataset]scoredFields {
	all := map[catalog.Dataset]scoredFields{}
	for _, d := range catalog.Datasets {
		name := catalog.Headline(d)
		in := scoredFields{texts: []textPath{{Root.TextPath(&name), nameScores}}}
		for _, f := range catalog.Fields(d) {
			if f.Kind == catalog.FullText && f.Query && !f.Private && !f.Domains && !f.Code && !f.Headline {
				in.texts = append(in.texts, textPath{Root.TextPath(&f), textScores})
			}
			if !f.Words {
				continue
			}
			for _, value := range f.Vocabulary.Values() {
				in.labels = append(in.labels, labelled{
					words.Texts(catalog.Fold(f.Vocabulary.Label(value))),
					newCompiler(64).term(Root.ExactPath(&f), value).b,
				})
			}
		}
		all[d] = in
	}
	return all
}()

// scorePlace scores the text of the record in which a term occurs, followed by a comma.
func (c *compiler) scorePlace(texts []textPath, t words.Term) {
	var scored []clause
	for _, text := range texts {
		scored = append(scored, wordSearch{paths: []string{text.path}, alone: true}.byKind(t, text.scores)...)
	}
	if scored != nil {
		c.best(scored).raw(`,`)
	}
}

// scoreOrder scores words that are adjacent as in the text, in any form, each followed by a
// comma.
func (c *compiler) scoreOrder(w wordSearch) {
	for i := range max(0, len(w.Order)-1) {
		first, second := singles(w.Order[i]), singles(w.Order[i+1])
		if len(first) == 0 || len(second) == 0 {
			continue
		}
		var beside []clause
		for _, path := range w.paths {
			both := newCompiler(256).raw(`{"intervals":{`).text(path).raw(`:{"all_of":{"ordered":true,"max_gaps":0,"intervals":[`)
			both.anyWord(first).raw(`,`).anyWord(second).raw(`]}}}}`)
			beside = append(beside, both.b)
		}
		// Options that match both terms are their compound, or a synonym of the two.
		var shared words.Term
		for _, o := range w.Order[i].Options {
			if slices.ContainsFunc(w.Order[i+1].Options, func(other words.Option) bool { return slices.Equal(o.Words, other.Words) }) {
				shared.Options = append(shared.Options, o)
			}
		}
		beside = append(beside, w.options(shared, func(words.Kind) bool { return true })...)
		c.constant(besideScore, beside).raw(`,`)
	}
}

// singles are the single words that match a term.
func singles(t words.Term) (all []string) {
	for _, o := range t.Options {
		if len(o.Words) == 1 {
			all = append(all, o.Words[0])
		}
	}
	return all
}

// anyWord appends the intervals of any of some words.
func (c *compiler) anyWord(all []string) *compiler {
	c.raw(`{"any_of":{"intervals":[`)
	for _, word := range all {
		c.raw(`{"match":{"query":`).text(word).raw(`}},`)
	}
	return c.closeList().raw(`]}}`)
}

// scoreLabels scores labels of the record that occur whole in the query, each followed by a
// comma.
func (c *compiler) scoreLabels(w wordSearch, all []labelled) {
	met := map[string]bool{}
	for _, t := range w.Order {
		for _, word := range singles(t) {
			met[word] = true
		}
	}
	for _, label := range all {
		if !slices.ContainsFunc(label.words, func(word string) bool { return !met[word] }) {
			c.constant(labelScore, []clause{label.met}).raw(`,`)
		}
	}
}

// constant scores any of the conditions with a fixed number.
func (c *compiler) constant(score string, of []clause) *compiler {
	return c.raw(`{"constant_score":{"boost":` + score + `,"filter":`).oneOf(of).raw(`}}`)
}

// best takes the highest score of the conditions.
func (c *compiler) best(scored []clause) *compiler {
	if len(scored) == 1 {
		c.b = append(c.b, scored[0]...)
		return c
	}
	c.raw(`{"dis_max":{"queries":[`)
	for _, one := range scored {
		c.b = append(append(c.b, one...), ',')
	}
	return c.closeList().raw(`]}}`)
}
