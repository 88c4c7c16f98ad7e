package search

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"atlas/internal/edits"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/words"
)

// missingWords finds the words of a text that no record has, and a text that finds records.
// In that text, words that no record has, or that no record has together with the others,
// are replaced or left out. On an error it returns the words found so far. Errors:
// Unavailable.
func (e *Engine) missingWords(ctx context.Context, sets []query.Query) (answer query.NotFound, err error) {
	q := sets[0]
	if query.HasAddress(q.Text) && catalog.HasPrivate(q.Dataset) {
		return answer, nil // addresses are never reported
	}
	s := substitution{engine: e, sets: sets, reading: tablesOf(q).Read(q.Text, q.Folding.Fold), with: map[string]string{}}
	if len(s.reading.Must) == 0 {
		return answer, nil
	}
	counts, err := s.each(ctx)
	if err != nil {
		return answer, err
	}
	var found, missing []words.Clause
	for i, one := range s.reading.Must {
		if counts[i] == 0 {
			answer.Missing = append(answer.Missing, one.String()) // each clause occurs once
			missing = append(missing, one)
		} else {
			found = append(found, one)
		}
	}
	if len(missing) > replacedTerms || len(found) > remainingTerms ||
		slices.ContainsFunc(missing, func(c words.Clause) bool { _, plain := c.Word(); return !plain }) {
		return answer, nil
	}
	for _, one := range missing {
		s.with[one.String()] = ""
	}
	if err := s.together(ctx, rarestFirst(s.reading.Must, found, counts)); err != nil || len(s.with) > replacedTerms {
		return answer, err
	}
	for _, one := range missing {
		if err := s.replace(ctx, one, catalog.MaxEdits(one.String()), true); err != nil {
			return answer, err
		}
	}
	if err := s.restore(ctx, &answer.Missing); err != nil {
		return answer, err
	}
	if _, asks := s.condition(s.with); asks && len(s.with) > 0 {
		answer.DidYouMean = s.text(s.with)
	}
	return answer, nil
}

// remainingTerms is the maximum number of existing words of a text when others are replaced.
const remainingTerms = 16

// rarestFirst orders clauses: first those that are not plain words, which are never left
// out, then by the number of records, ascending.
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

// substitution searches for replacements of words. It counts what whole texts find, because
// a word can mean something else beside others.
type substitution struct {
	engine  *Engine
	sets    []query.Query
	reading words.Reading
	// with has the replacements of words, "" for a word that is left out.
	with map[string]string
}

// each counts the records that meet each clause; exclusions are ignored.
func (s *substitution) each(ctx context.Context) ([]int, error) {
	w := wordsOf(s.reading, true, s.sets[0])
	conditions := make([]clause, len(s.reading.Must))
	for i, one := range s.reading.Must {
		conditions[i] = newCompiler(256).oneOf(w.clause(one)).b
	}
	return s.matching(ctx, w.exclusions(), conditions)
}

func (s *substitution) matching(ctx context.Context, met, conditions []clause) ([]int, error) {
	_, counts, err := s.engine.ask(ctx, termsRequest{met: met, words: conditions}, s.sets...)
	if err != nil {
		return nil, err
	}
	n := make([]int, len(conditions))
	for i := range n {
		n[i] = counts[i].matching
	}
	return n, nil
}

// text is the text with words replaced.
func (s *substitution) text(with map[string]string) string {
	return replaced(s.sets[0].Text, s.sets[0].Folding.Fold, with)
}

// condition requires that the text with words replaced finds a record. It is false if the
// text then means something else than the former text with these words.
func (s *substitution) condition(with map[string]string) (clause, bool) {
	r := tablesOf(s.sets[0]).Read(s.text(with), s.sets[0].Folding.Fold)
	if !asks(s.reading, with, r) {
		return nil, false
	}
	w := wordsOf(r, true, s.sets[0])
	c := newCompiler(1024).raw(`{"bool":{"filter":[`)
	c.filterWords(w, false)
	return c.closeList().raw(`]}}`).b, true
}

// count counts the records that texts find, zero for a text that means something else.
func (s *substitution) count(ctx context.Context, texts []map[string]string) ([]int, error) {
	counts := make([]int, len(texts))
	var conditions []clause
	var of []int
	for i, with := range texts {
		if c, asks := s.condition(with); asks {
			conditions, of = append(conditions, c), append(of, i)
		}
	}
	if conditions == nil {
		return counts, nil
	}
	found, err := s.matching(ctx, nil, conditions)
	for i, n := range found {
		counts[of[i]] = n
	}
	return counts, err
}

// without is the present replacements, and leaves out some clauses.
func (s *substitution) without(some ...words.Clause) map[string]string {
	with := maps.Clone(s.with)
	for _, one := range some {
		with[one.String()] = ""
	}
	return with
}

// restore restores words that records have together with the replacements of others: an
// abbreviation may be found only beside the right word. They are not missing.
func (s *substitution) restore(ctx context.Context, missing *[]string) error {
	if len(*missing) < 2 {
		return nil
	}
	for _, word := range slices.Clone(*missing) {
		if s.with[word] != "" {
			continue
		}
		back := maps.Clone(s.with)
		delete(back, word)
		counts, err := s.count(ctx, []map[string]string{back})
		if err != nil {
			return err
		}
		if counts[0] > 0 {
			s.with = back
			*missing = slices.DeleteFunc(*missing, func(m string) bool { return m == word })
		}
	}
	return nil
}

// tried is how many existing words are searched for similar ones.
const tried = 2

// together reduces the rest of a text until it finds records. If leaving out one word
// suffices, one word is replaced: by the rarest word within one edit that finds records, or
// else the most frequent word is left out. Otherwise the rarest words stay that records
// have together. The clauses are ordered, the rarest first.
func (s *substitution) together(ctx context.Context, all []words.Clause) error {
	if len(all) < 2 {
		return nil
	}
	texts := []map[string]string{s.with}
	for _, one := range all {
		texts = append(texts, s.without(one))
	}
	for i := 1; i < len(all); i++ {
		texts = append(texts, s.without(all[i:]...))
	}
	counts, err := s.count(ctx, texts)
	if err != nil || counts[0] > 0 {
		return err
	}
	var one []words.Clause // words without which the others find records
	for i, c := range all {
		if _, plain := c.Word(); plain && counts[1+i] > 0 {
			one = append(one, c)
		}
	}
	for _, c := range one[:min(tried, len(one))] {
		if err := s.replace(ctx, c, min(1, catalog.MaxEdits(c.String())), false); err != nil {
			return err
		}
		if s.with[c.String()] != "" {
			return nil
		}
		delete(s.with, c.String())
	}
	if one != nil {
		s.with = s.without(one[len(one)-1])
		return nil
	}
	stay := len(all) - 1
	for stay > 1 && counts[len(all)+stay] == 0 {
		stay--
	}
	s.with = s.without(all[stay:]...)
	return nil
}

// minBegun is the minimum length of a word that is replaced by its prefix, minSplit the
// minimum length of each half of a word that is split in two, in letters.
const (
	minBegun = 3
	minSplit = 3
)

// splits are the ways to read a word as two.
func splits(word string) (all []string) {
	for i := range word {
		if utf8.RuneCountInString(word[:i]) >= minSplit && utf8.RuneCountInString(word[i:]) >= minSplit {
			all = append(all, word[:i]+" "+word[i:])
		}
	}
	return all
}

// mostOptions is the maximum number of similar words that are counted.
const mostOptions = 60

// replace replaces a word so that the text finds records: by its prefix or by two words if
// it is missing, or by a similar word of the index or of the tables. Otherwise it leaves
// the word out. Numbers and codes have no similar words: another number means another
// thing.
func (s *substitution) replace(ctx context.Context, one words.Clause, most int, missing bool) error {
	t, _ := one.Word()
	s.with[t.Text] = ""
	if strings.ContainsAny(t.Text, "0123456789") {
		return nil
	}
	var options []string
	if missing && utf8.RuneCountInString(t.Text) >= minBegun {
		options = append(options, t.Text+"*")
		options = append(options, splits(t.Text)...)
	}
	indexed := len(options) // options before this index are words of the index
	if most > 0 {
		terms, _, err := s.engine.ask(ctx, termsRequest{text: t.Text, similar: "always", edits: most, words: []clause{}}, s.sets...)
		if err != nil {
			return err
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
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(far[a], far[b]) })
	near = near[:min(len(near), mostOptions)]
	texts := make([]map[string]string, len(near))
	for i, o := range near {
		texts[i] = s.without()
		texts[i][t.Text] = o
	}
	counts, err := s.count(ctx, texts)
	if err != nil {
		return err
	}
	best := -1
	for i, o := range near {
		if counts[i] > 0 && (best < 0 || cmp.Or(
			cmp.Compare(far[o], far[near[best]]), cmp.Compare(counts[best], counts[i]),
			cmp.Compare(ofTables[o], ofTables[near[best]]), cmp.Compare(o, near[best]),
		) < 0) {
			best = i
		}
	}
	if best >= 0 {
		s.with[t.Text] = near[best]
	}
	return nil
}
