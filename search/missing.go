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

// missingWords finds the words of a text that no record has, and a text without them: each
// replaced by its beginning, if words begin with it, or by a similar word. Errors:
// Unavailable.
func (e *Engine) missingWords(ctx context.Context, sets []query.Query) (query.NotFound, error) {
	var none query.NotFound
	q := sets[0]
	if query.HasAddress(q.Text) && query.HasPrivate(q.Dataset) {
		return none, nil // nothing is said of addresses
	}
	w := wordsOf(words.Published.Read(q.Text, q.Folding.Fold), true, q)
	if len(w.Must) == 0 {
		return none, nil
	}
	count := termsRequest{met: w.exclusions()}
	for _, one := range w.Must {
		count.words = append(count.words, newCompiler(256).oneOf(w.clause(one)).b)
	}
	_, counts, err := e.ask(ctx, count, sets...)
	if err != nil {
		return none, err
	}
	var answer query.NotFound
	var open []words.Term
	met, replaceable := count.met, true
	for i, one := range w.Must {
		if counts[i].matching > 0 {
			met = append(met, count.words[i])
			continue
		}
		answer.Missing = append(answer.Missing, one.String()) // no clause is there twice
		t, plain := one.Word()
		if open = append(open, t); !plain || len(open) > replacedTerms {
			replaceable = false
		}
	}
	if len(open) == 0 || !replaceable {
		return answer, nil
	}
	with := map[string]string{}
	for _, t := range open {
		similar, err := e.similarWord(ctx, w, t, met, sets)
		if err != nil || similar == "" {
			return answer, err
		}
		with[t.Text] = similar
		met = append(met, newCompiler(64).oneOf(w.term(replacement(similar))).b)
	}
	if text := replaced(q.Text, q.Folding.Fold, with); asks(w.Reading, with, words.Published.Read(text, q.Folding.Fold)) {
		answer.DidYouMean = text
	}
	return answer, nil
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
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		return texts
	}
	return slices.Equal(list(before.Must, with), list(now.Must, nil)) && slices.Equal(list(before.Not, nil), list(now.Not, nil))
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
// nothing does.
func (e *Engine) similarWord(ctx context.Context, w wordSearch, t words.Term, met []clause, sets []query.Query) (string, error) {
	options := []string{}
	if len([]rune(t.Text)) >= minBegun {
		options = append(options, t.Text+"*")
	}
	most := query.MaxEdits(t.Text)
	if most > 0 {
		terms, _, err := e.ask(ctx, termsRequest{text: t.Text, similar: "always", words: []clause{}}, sets...)
		if err != nil {
			return "", err
		}
		for _, found := range terms {
			options = append(options, found.options()...)
		}
	}
	// The nearest first, however many there are.
	far := map[string]int{}
	near := options[:0]
	for _, o := range options {
		if far[o] = edits.Distance(t.Text, o, most); strings.HasSuffix(o, "*") {
			far[o] = 0
		}
		if far[o] <= most {
			near = append(near, o)
		}
	}
	if len(near) == 0 {
		return "", nil
	}
	count := termsRequest{met: met}
	for _, o := range near {
		count.words = append(count.words, newCompiler(64).oneOf(w.term(replacement(o))).b)
	}
	_, counts, err := e.ask(ctx, count, sets...)
	if err != nil {
		return "", err
	}
	best := -1
	for i, o := range near {
		if counts[i].matching > 0 && (best < 0 || cmp.Or(cmp.Compare(far[o], far[near[best]]), cmp.Compare(counts[best].matching, counts[i].matching), cmp.Compare(o, near[best])) < 0) {
			best = i
		}
	}
	if best < 0 {
		return "", nil
	}
	return near[best], nil
}

// replaced is the text with words replaced, each where it stands. Its case is that of the
// text elsewhere.
func replaced(text string, fold func(string) string, with map[string]string) string {
	parts := strings.Fields(text)
	for i, part := range parts {
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
			parts[i] = b.String()
		}
	}
	return strings.Join(parts, " ")
}

// wildcards are what people write for the rest of a word.
const wildcards = "*%"
