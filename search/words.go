package search

import (
	"strings"

	"atlas/search/query"
	"atlas/search/words"
)

// The parts of the score of a search by words (docs/relevance.md). Every match has all
// words, so what counts is how: as typed, as a form or as a synonym, in the name or
// elsewhere, together or apart.
var (
	kindScores     = map[words.Kind]string{words.Typed: "4", words.Form: "3.6", words.Synonym: "2"}
	headlineScores = map[words.Kind]string{words.Typed: "1.5", words.Form: "1.3", words.Synonym: "0.6"}
)

const (
	phraseScore   = "1"   // all words together and in their order
	wholeScore    = "4"   // the text is the name
	needlessScore = "0.5" // a word that need not be found
	rareScore     = "0.1" // times the weight by how rare a word is in names
)

// wordSearch is a text read in all forms, and where it is searched.
type wordSearch struct {
	words.Reading
	paths []string
	// address is the field of e-mail addresses, nil where none is searched.
	address *query.Field
	typos   bool
	// alone means that the paths have no places of words, so that there are no phrases.
	alone bool
}

// wordsOf is a reading for the record of the search. free means that nothing is charged.
func wordsOf(r words.Reading, free bool, q query.Query) wordSearch {
	w := wordSearch{Reading: r, paths: []string{WordsPath}, typos: q.Typos}
	if q.Base.Kind == query.Book && q.Text != "" {
		w.paths = append(w.paths, heldWordsPath)
	}
	if !free {
		w.address = query.AddressField(q.Dataset)
	}
	return w
}

// filterWords appends the conditions of the text, each with a comma. Those that are scored
// follow by scoreWords.
func (c *compiler) filterWords(w wordSearch, scored bool) {
	if len(w.Must) == 0 {
		c.raw(`{"match_none":{}},`)
		return
	}
	if !scored {
		for _, one := range w.Must {
			c.oneOf(w.clause(one)).raw(`,`)
		}
	}
	for _, one := range w.exclusions() {
		c.b = append(append(c.b, one...), ',')
	}
}

// exclusions are the conditions that nothing of Not is met.
func (w wordSearch) exclusions() []clause {
	w.address = nil // they would tell whether somebody has it
	w.typos = false
	var all []clause
	for _, one := range w.Not {
		all = append(all, newCompiler(256).raw(`{"bool":{"must_not":[`).oneOf(w.clause(one)).raw(`]}}`).b)
	}
	return all
}

// VisitMatchWords implements query.Visitor.
func (c *compiler) VisitMatchWords(n query.MatchWords) {
	w := wordsOf(words.Published.ReadPlain(n.Text, c.folding.Fold), c.public != nil, query.Query{Dataset: c.dataset})
	c.raw(`{"bool":{"filter":[`).filterWords(w, false)
	c.closeList().raw(`]}}`)
}

// oneOf appends a condition that one of the others is met.
func (c *compiler) oneOf(all []clause) *compiler {
	if len(all) == 1 {
		c.b = append(c.b, all[0]...)
		return c
	}
	c.raw(`{"bool":{"should":[`)
	for _, one := range all {
		c.b = append(append(c.b, one...), ',')
	}
	if len(all) == 0 {
		return c.raw(`{"match_none":{}}]}}`)
	}
	return c.closeList().raw(`]}}`)
}

// clause are the conditions of which one is to be met.
func (w wordSearch) clause(one words.Clause) []clause {
	w.typos = w.typos && len(one) == 1 // alternatives are operators
	return w.choices(one)
}

func (w wordSearch) choices(one []words.Choice) []clause {
	var all []clause
	for _, choice := range one {
		if len(choice) == 1 {
			all = append(all, w.term(choice[0])...)
			continue
		}
		c := newCompiler(256)
		c.raw(`{"bool":{"filter":[`)
		for _, term := range choice {
			c.oneOf(w.term(term)).raw(`,`)
		}
		c.closeList().raw(`]}}`)
		all = append(all, c.b)
	}
	return all
}

// term are the conditions of which one is to be met.
func (w wordSearch) term(t words.Term) []clause {
	var all []clause
	add := func(c *compiler) { all = append(all, c.b) }
	switch {
	case t.Address:
		if w.address != nil {
			add(newCompiler(128).term(Root.ExactPath(w.address), query.ExactValue(*w.address, t.Text)))
		}
		return append(all, w.phrase(words.Texts(t.Text))...)
	case t.Beginning:
		for _, path := range w.paths {
			add(newCompiler(64).raw(`{"prefix":{`).text(path).raw(`:`).text(t.Text).raw(`}}`))
		}
		return all
	}
	all = w.options(t, func(words.Kind) bool { return true })
	if w.typos && !t.Quoted && len(t.Options[0].Words) == 1 {
		for _, path := range w.paths {
			add(newCompiler(128).raw(`{"fuzzy":{`).text(path).raw(`:{` + nearTerms + `"rewrite":"constant_score","value":`).text(t.Text).raw(`}}}`))
		}
	}
	return all
}

// options are the conditions of those of some kinds.
func (w wordSearch) options(t words.Term, of func(words.Kind) bool) []clause {
	var all []clause
	var single []string
	for _, o := range t.Options {
		switch {
		case !of(o.Kind) || w.alone && len(o.Words) > 1:
		case len(o.Words) == 1:
			single = append(single, o.Words[0])
		default:
			all = append(all, w.phrase(o.Words)...)
		}
	}
	if single != nil {
		for _, path := range w.paths {
			c := newCompiler(128)
			c.terms(path, single)
			all = append(all, c.b)
		}
	}
	return all
}

// phrase are the conditions that words stand together.
func (w wordSearch) phrase(together []string) []clause {
	var all []clause
	if len(together) == 0 {
		return nil
	}
	for _, path := range w.paths {
		c := newCompiler(128)
		if len(together) == 1 {
			c.term(path, together[0])
		} else {
			c.raw(`{"match_phrase":{`).text(path).raw(`:`).text(strings.Join(together, " ")).raw(`}}`)
		}
		all = append(all, c.b)
	}
	return all
}

// scoreWords appends the members `must` and `should` of a bool. folded is the text.
func (c *compiler) scoreWords(w wordSearch, d query.Dataset, folded string) *compiler {
	c.raw(`"must":[`)
	for _, one := range w.Must {
		c.scoreClause(w, one).raw(`,`)
	}
	c.closeList().raw(`],"should":[`)
	f := query.Headline(d)
	name := wordSearch{paths: []string{Root.TextPath(&f)}, alone: true}
	var typed []string
	for _, one := range w.Must {
		for _, choice := range one {
			for _, t := range choice {
				c.scoreName(name, t)
				if len(one) == 1 && !t.Quoted && !t.Beginning && !t.Address {
					typed = append(typed, t.Text)
				}
			}
		}
	}
	for _, one := range w.Rank {
		c.constant(needlessScore, w.clause(one)).raw(`,`)
	}
	if len(typed) > 1 && len(w.Must)+len(w.Rank) < maxInOrder {
		c.constant(phraseScore, w.phrase(words.Texts(folded))).raw(`,`)
	}
	if len(typed) > 0 {
		c.raw(`{"match":{`).text(name.paths[0]).raw(`:{"boost":` + rareScore + `,"query":`).text(strings.Join(typed, " ")).raw(`}}},`)
	}
	c.raw(`{"term":{`).text(Root.ExactPath(&f)).raw(`:{"boost":` + wholeScore + `,"value":`).text(query.ExactValue(f, folded))
	return c.raw(`}}}]`)
}

// maxInOrder is how many words are compared in their order.
const maxInOrder = 16

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
		for kind := words.Typed; kind <= words.Synonym; kind++ {
			if all := w.options(t, func(k words.Kind) bool { return k == kind }); all != nil {
				scored = append(scored, newCompiler(256).constant(kindScores[kind], all).b)
			}
		}
		if w.typos {
			scored = append(scored, newCompiler(256).constant("1", w.term(t)).b)
		}
	}
	return c.best(scored)
}

// scoreName scores a term in the name, with a comma.
func (c *compiler) scoreName(name wordSearch, t words.Term) {
	var scored []clause
	for kind := words.Typed; kind <= words.Synonym; kind++ {
		if all := name.options(t, func(k words.Kind) bool { return k == kind }); all != nil {
			scored = append(scored, newCompiler(256).constant(headlineScores[kind], all).b)
		}
	}
	if scored != nil {
		c.best(scored).raw(`,`)
	}
}

// constant scores one of the conditions with a number.
func (c *compiler) constant(score string, of []clause) *compiler {
	return c.raw(`{"constant_score":{"boost":` + score + `,"filter":`).oneOf(of).raw(`}}`)
}

// best has the highest score of the conditions.
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
