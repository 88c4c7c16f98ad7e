package search

import (
	"cmp"
	"strings"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/words"
)

// wordSearch is a text read in all forms, with the paths in which it is searched.
type wordSearch struct {
	words.Reading
	paths []string
	// address is the field of e-mail addresses, nil if none is searched.
	address *catalog.Field
	typos   bool
	// alone means that the paths have no positions of words, so that there are no phrases.
	alone bool
	// code is the condition that the whole text is the record's code, nil if it cannot be
	// one.
	code clause
}

// wordsOf is a reading for the records of the search. free means that the route is free.
func wordsOf(r words.Reading, free bool, q query.Query) wordSearch {
	w := wordSearch{Reading: r, paths: []string{WordsPath}, typos: q.Typos}
	if q.Base.Kind == catalog.Book && q.Text != "" {
		w.paths = append(w.paths, heldWordsPath)
	}
	if !free {
		w.address = catalog.AddressField(q.Dataset)
	}
	return w
}

// filterWords appends the conditions of the text, each followed by a comma. scoreWords
// appends the scored ones.
func (c *compiler) filterWords(w wordSearch, scored bool) {
	if len(w.Must) == 0 {
		c.raw(`{"match_none":{}},`)
		return
	}
	if !scored && w.code != nil {
		all := newCompiler(256).raw(`{"bool":{"filter":[`)
		for _, one := range w.Must {
			all.oneOf(w.clause(one)).raw(`,`)
		}
		c.oneOf([]clause{all.closeList().raw(`]}}`).b, w.code}).raw(`,`)
	} else if !scored {
		for _, one := range w.Must {
			c.oneOf(w.clause(one)).raw(`,`)
		}
	}
	for _, one := range w.exclusions() {
		c.b = append(append(c.b, one...), ',')
	}
}

// exclusions are the conditions that no clause of Not is met.
func (w wordSearch) exclusions() []clause {
	w.address = nil // an excluded address would reveal whether a record has it
	w.typos = false
	var all []clause
	for _, one := range w.Not {
		all = append(all, newCompiler(256).raw(`{"bool":{"must_not":[`).oneOf(w.clause(one)).raw(`]}}`).b)
	}
	return all
}

// tablesOf are the tables for reading the text of a search.
func tablesOf(q query.Query) *words.Tables { return cmp.Or(q.Words, words.Published) }

// VisitMatchWords implements query.Visitor.
func (c *compiler) VisitMatchWords(n query.MatchWords) {
	w := wordsOf(c.words.ReadPlain(n.Text, c.folding.Fold), c.public != nil, query.Query{Dataset: c.dataset})
	w.code = codeOf(query.Query{Dataset: c.dataset, Text: n.Text, Folding: c.folding}, w)
	c.raw(`{"bool":{"filter":[`).filterWords(w, false)
	c.closeList().raw(`]}}`)
}

// codeOf is the condition that the text is the record's code, such as a permit number with
// blanks for hyphens; nil if it cannot be one.
func codeOf(q query.Query, w wordSearch) clause {
	f, has := catalog.CodeField(q.Dataset)
	if !has || len(w.Not) > 0 || !catalog.MayBeCode(q.Text) {
		return nil
	}
	return newCompiler(128).term(Root.ExactPath(&f), catalog.ExactValue(f, q.Folding.Fold(q.Text))).b
}

// oneOf appends a condition that at least one of the given ones is met.
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

// clause are the conditions of which one must be met.
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

// term are the conditions of which one must be met.
func (w wordSearch) term(t words.Term) []clause {
	var all []clause
	add := func(c *compiler) { all = append(all, c.b) }
	switch {
	case t.Address:
		if w.address != nil {
			add(newCompiler(128).term(Root.ExactPath(w.address), catalog.ExactValue(*w.address, t.Text)))
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

// options are the conditions of the options of some kinds.
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

// phrase are the conditions that words are adjacent.
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
