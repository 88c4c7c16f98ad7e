package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

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
	s := substitution{engine: e, sets: sets, search: wordsOf(words.Published.Read(q.Text, q.Folding.Fold), true, q), with: map[string]string{}}
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
	if text := replaced(q.Text, q.Folding.Fold, s.with); asks(s.search.Reading, s.with, words.Published.Read(text, q.Folding.Fold)) {
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

// together keeps the words that records have together, in their order, and replaces the
// others or leaves them out. It reports whether that is possible.
func (s *substitution) together(ctx context.Context, all []words.Clause) (bool, error) {
	if len(all) > keptTerms {
		return false, nil
	}
	for len(all) > 0 {
		conditions, before := make([]clause, len(all)), newCompiler(1024)
		for i, one := range all {
			before.b = append(append(before.b, s.condition(one)...), ',')
			conditions[i] = []byte(`{"bool":{"filter":[` + strings.TrimSuffix(string(before.b), ",") + `]}}`)
		}
		counts, err := s.matching(ctx, conditions)
		if err != nil {
			return false, err
		}
		apart := slices.Index(counts, 0)
		if apart < 0 {
			apart = len(all)
		}
		for _, one := range all[:apart] {
			s.met = append(s.met, s.condition(one))
		}
		if apart == len(all) {
			return true, nil
		}
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

// replace replaces a word by what is similar, or leaves it out. A word that records have is
// replaced by what is one edit away alone.
func (s *substitution) replace(ctx context.Context, one words.Clause, missing bool) error {
	t, _ := one.Word()
	similar, err := s.similarWord(ctx, t, missing)
	if err != nil {
		return err
	}
	if s.with[t.Text] = similar; similar != "" {
		s.met = append(s.met, newCompiler(64).oneOf(s.search.term(replacement(similar))).b)
	}
	return nil
}

// asks reports whether a text is read as what was counted: the former text with words replaced.
// An operator can come to stand where it means something else.
func asks(before words.Reading, with map[string]string, now words.Reading) bool {
	list := func(all []words.Clause, with map[string]string) (texts []string) {
		for _, c := range all {
			text := c.String()
			if other, is := with[text]; is {
				text = other
			}
			if text != "" && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		return texts
	}
	must := list(now.Must, nil)
	return len(must) > 0 && slices.Equal(list(before.Must, with), must) && slices.Equal(list(before.Not, nil), list(now.Not, nil))
}

// minBegun is how many letters a word has that is replaced by its beginning.
const minBegun = 3

// replacement is a word that is similar, or begins with what is before "*".
func replacement(text string) words.Term {
	if begin, is := strings.CutSuffix(text, "*"); is {
		return words.Term{Text: begin, Beginning: true}
	}
	return words.Published.Word(text)
}

// similarWord is what replaces a word so that records have it which meet conditions, "" if
// nothing does: its beginning or what is similar among the words of the index and of the
// tables.
func (s *substitution) similarWord(ctx context.Context, t words.Term, missing bool) (string, error) {
	options := []string{}
	if missing && len([]rune(t.Text)) >= minBegun {
		options = append(options, t.Text+"*")
	}
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
		options = append(options, words.Published.Words()...)
	}
	// The nearest first, however many there are.
	far := map[string]int{}
	near := options[:0]
	for _, o := range options {
		if _, twice := far[o]; twice {
			continue
		}
		if far[o] = edits.Distance(t.Text, o, most); strings.HasSuffix(o, "*") {
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
		conditions[i] = newCompiler(64).oneOf(s.search.term(replacement(o))).b
	}
	counts, err := s.matching(ctx, conditions)
	if err != nil {
		return "", err
	}
	best := -1
	for i, o := range near {
		if counts[i] > 0 && (best < 0 || cmp.Or(cmp.Compare(far[o], far[near[best]]), cmp.Compare(counts[best], counts[i]), cmp.Compare(o, near[best])) < 0) {
			best = i
		}
	}
	if best < 0 {
		return "", nil
	}
	return near[best], nil
}

// replaced is the text with words replaced, each where it stands, or left out. Its case is
// that of the text elsewhere.
func replaced(text string, fold func(string) string, with map[string]string) string {
	var parts []string
	for _, part := range strings.Fields(text) {
		folded := fold(part)
		var b strings.Builder
		end, changed := 0, false
		for _, t := range words.Tokens(folded) {
			other, is := with[t.Text]
			if !is {
				continue
			}
			b.WriteString(strings.TrimRight(folded[end:t.From], wildcards))
			b.WriteString(other)
			changed = true
			end = t.To + len(folded[t.To:]) - len(strings.TrimLeft(folded[t.To:], wildcards))
			if rest := words.Tokens(folded[end:]); strings.HasSuffix(other, "*") && rest != nil {
				b.WriteString(" ") // the end of a word
				end += rest[0].From
			} else if strings.HasSuffix(other, "*") {
				end = len(folded)
			}
		}
		if changed {
			b.WriteString(folded[end:])
			part = b.String()
			if len(words.Tokens(part)) == 0 {
				continue
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// wildcards are what people write for the rest of a word.
const wildcards = "*%"
