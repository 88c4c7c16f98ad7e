package search

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"atlas/internal/edits"
	"atlas/search/query"
	"atlas/search/words"
)

// missingWords finds the words of a text that no record has, and a text that finds records:
// words that no record has, or not together with the others, are replaced or left out.
// Errors: Unavailable.
func (e *Engine) missingWords(ctx context.Context, sets []query.Query) (query.NotFound, error) {
	var answer query.NotFound
	q := sets[0]
	if query.HasAddress(q.Text) && query.HasPrivate(q.Dataset) {
		return answer, nil // nothing is said of addresses
	}
	s := substitution{engine: e, sets: sets, search: wordsOf(tablesOf(q).Read(q.Text, q.Folding.Fold), true, q), with: map[string]string{}}
	if len(s.search.Must) == 0 {
		return answer, nil
	}
	s.met = s.search.exclusions()
	counts, err := s.count(ctx, s.search.Must)
	if err != nil {
		return answer, err
	}
	var found, missing []words.Clause
	for i, one := range s.search.Must {
		if counts[i] == 0 {
			answer.Missing = append(answer.Missing, one.String()) // no clause is there twice
			missing = append(missing, one)
		} else {
			found = append(found, one)
		}
	}
	if !replaceable(missing) {
		return answer, nil
	}
	if ok, err := s.together(ctx, rarestFirst(s.search.Must, found, counts)); err != nil || !ok {
		return answer, err
	}
	for _, one := range missing {
		if err := s.replace(ctx, one, true); err != nil {
			return answer, err
		}
	}
	if text := replaced(q.Text, q.Folding.Fold, s.with); asks(s.search.Reading, s.with, tablesOf(q).Read(text, q.Folding.Fold)) {
		answer.DidYouMean = text
	}
	return answer, nil
}

// replaceable reports whether clauses are a few plain words.
func replaceable(all []words.Clause) bool {
	return len(all) <= replacedTerms && !slices.ContainsFunc(all, func(c words.Clause) bool {
		_, plain := c.Word()
		return !plain
	})
}

// rarestFirst orders clauses: what is no plain word first, which is never left out, then
// those that the fewest records have.
func rarestFirst(all, some []words.Clause, counts []int) []words.Clause {
	rank := map[string]int{}
	for i, one := range all {
		if _, plain := one.Word(); plain {
			rank[one.String()] = counts[i]
		}
	}
	some = slices.Clone(some)
	slices.SortStableFunc(some, func(a, b words.Clause) int { return cmp.Compare(rank[a.String()], rank[b.String()]) })
	return some
}

// substitution looks for what to put in place of words.
type substitution struct {
	engine *Engine
	sets   []query.Query
	search wordSearch
	// met are conditions that records meet together: exclusions, and the words that stay.
	met []clause
	// with is what words are replaced by, "" if they are left out.
	with map[string]string
}

// count counts the records that meet clauses, each by itself, and all of met.
func (s *substitution) count(ctx context.Context, of []words.Clause) ([]int, error) {
	conditions := make([]clause, len(of))
	for i, one := range of {
		conditions[i] = s.condition(one)
	}
	return s.matching(ctx, conditions)
}

func (s *substitution) condition(one words.Clause) clause {
	return newCompiler(256).oneOf(s.search.clause(one)).b
}

func (s *substitution) matching(ctx context.Context, conditions []clause) ([]int, error) {
	_, counts, err := s.engine.ask(ctx, termsRequest{met: s.met, words: conditions}, s.sets...)
	if err != nil {
		return nil, err
	}
	n := make([]int, len(conditions))
	for i := range n {
		n[i] = counts[i].matching
	}
	return n, nil
}

// keptTerms is how many words of a text records have when others are replaced, at most.
const keptTerms = 16

// together keeps the words that records have together. If they have no such records without
// one of them, it is replaced or left out: of several the one that most records have. If
// that is not enough, the rarest words stay. It reports whether something stays.
func (s *substitution) together(ctx context.Context, all []words.Clause) (bool, error) {
	if len(all) > keptTerms {
		return false, nil
	}
	without := []clause{s.all(all)}
	for i := range all {
		without = append(without, s.all(slices.Delete(slices.Clone(all), i, i+1)))
	}
	counts, err := s.matching(ctx, without)
	if err != nil {
		return false, err
	}
	if counts[0] > 0 || len(all) == 0 {
		s.keep(all...)
		return true, nil
	}
	var one []int // of words each of which the others can do without
	for i := range all {
		if _, plain := all[i].Word(); plain && len(all) > 1 && counts[i+1] > 0 {
			one = append(one, i)
		}
	}
	if len(one) > 0 {
		return true, s.replaceOne(ctx, all, one[max(0, len(one)-replacedTerms):])
	}
	for len(all) > 0 {
		begins := make([]clause, len(all))
		for i := range all {
			begins[i] = s.all(all[:i+1])
		}
		if counts, err = s.matching(ctx, begins); err != nil {
			return false, err
		}
		apart := slices.Index(counts, 0)
		if apart < 0 {
			s.keep(all...)
			return true, nil
		}
		s.keep(all[:apart]...)
		if _, plain := all[apart].Word(); !plain || len(s.with) == replacedTerms {
			return false, nil
		}
		if err := s.replace(ctx, all[apart], false); err != nil {
			return false, err
		}
		all = all[apart+1:]
	}
	return true, nil
}

// replaceOne replaces one of some words, the rarest that something is similar to, or leaves
// out the most frequent.
func (s *substitution) replaceOne(ctx context.Context, all []words.Clause, some []int) error {
	met := s.met
	for _, i := range some {
		s.met = met
		s.keep(slices.Delete(slices.Clone(all), i, i+1)...)
		if err := s.replace(ctx, all[i], false); err != nil {
			return err
		}
		t, _ := all[i].Word()
		if s.with[t.Text] != "" {
			return nil
		}
		if i != some[len(some)-1] {
			delete(s.with, t.Text)
		}
	}
	return nil
}

// all is the condition that all clauses are met.
func (s *substitution) all(of []words.Clause) clause {
	c := newCompiler(1024).raw(`{"bool":{"filter":[`)
	for _, one := range of {
		c.b = append(append(c.b, s.condition(one)...), ',')
	}
	return c.closeList().raw(`]}}`).b
}

// keep lets clauses stay.
func (s *substitution) keep(all ...words.Clause) {
	for _, one := range all {
		s.met = append(s.met, s.condition(one))
	}
}

// replace replaces a word by what is similar, or leaves it out. A word that records have is
// replaced by what is one edit away alone.
func (s *substitution) replace(ctx context.Context, one words.Clause, missing bool) error {
	t, _ := one.Word()
	similar, err := s.similarWord(ctx, t, missing)
	if err != nil {
		return err
	}
	if s.with[t.Text] = similar; similar != "" {
		s.met = append(s.met, newCompiler(64).oneOf(s.search.term(s.replacement(similar))).b)
	}
	return nil
}

// minBegun is how many letters a word has that is replaced by its beginning.
const minBegun = 3

// minSplit is how many letters each of the two words has at least that a word is split into.
const minSplit = 3

// replacement is a word that is similar, two that stand together, or what begins with what
// is before "*".
func (s *substitution) replacement(text string) words.Term {
	if begin, is := strings.CutSuffix(text, "*"); is {
		return words.Term{Text: begin, Beginning: true}
	}
	if together := strings.Fields(text); len(together) > 1 {
		return words.Term{Text: text, Options: []words.Option{{Words: together}}}
	}
	return tablesOf(s.sets[0]).Word(text)
}

// splits are the ways to read a word as two.
func splits(word string) (all []string) {
	for i := range word {
		if utf8.RuneCountInString(word[:i]) >= minSplit && utf8.RuneCountInString(word[i:]) >= minSplit {
			all = append(all, word[:i]+" "+word[i:])
		}
	}
	return all
}

// similarWord is what replaces a word so that records have it which meet conditions, "" if
// nothing does: its beginning or what is similar among the words of the index and of the
// tables.
func (s *substitution) similarWord(ctx context.Context, t words.Term, missing bool) (string, error) {
	options := []string{}
	if missing && utf8.RuneCountInString(t.Text) >= minBegun {
		options = append(options, t.Text+"*")
		options = append(options, splits(t.Text)...)
	}
	indexed := len(options) // options before it are words of the index
	most := query.MaxEdits(t.Text)
	if !missing {
		most = min(most, 1)
	}
	if most > 0 {
		terms, _, err := s.engine.ask(ctx, termsRequest{text: t.Text, similar: "always", words: []clause{}}, s.sets...)
		if err != nil {
			return "", err
		}
		for _, found := range terms {
			options = append(options, found.options()...)
		}
		indexed = len(options)
		options = append(options, tablesOf(s.sets[0]).Words()...)
	}
	// The nearest first, however many there are.
	far, ofTables := map[string]int{}, map[string]int{}
	near := options[:0]
	for i, o := range options {
		if _, twice := far[o]; twice {
			continue
		}
		if i >= indexed {
			ofTables[o] = 1
		}
		if far[o] = edits.Distance(t.Text, o, most); strings.ContainsAny(o, "* ") {
			far[o] = 0
		}
		if far[o] <= most && o != t.Text {
			near = append(near, o)
		}
	}
	if len(near) == 0 {
		return "", nil
	}
	conditions := make([]clause, len(near))
	for i, o := range near {
		conditions[i] = newCompiler(64).oneOf(s.search.term(s.replacement(o))).b
	}
	counts, err := s.matching(ctx, conditions)
	if err != nil {
		return "", err
	}
	best := -1
	for i, o := range near {
		if counts[i] > 0 && (best < 0 || cmp.Or(cmp.Compare(far[o], far[near[best]]), cmp.Compare(counts[best], counts[i]), cmp.Compare(ofTables[o], ofTables[near[best]]), cmp.Compare(o, near[best])) < 0) {
			best = i
		}
	}
	if best < 0 {
		return "", nil
	}
	return near[best], nil
}
