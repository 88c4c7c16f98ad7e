package query

import (
	"fmt"
	"slices"
	"strings"

	"atlas/internal/input"
	"atlas/search/catalog"
)

// Bounds of the words of a search without records that are looked up.
const (
	namedWords = 8 // of the text, the first ones
	namedRun   = 3 // of a value
	namedHints = 4
)

// Named are values of a field that a search without results probably meant.
type Named struct {
	Field *catalog.Field
	// Text is the part of the query's text that is a value of the field; "": the search
	// filters by the field, and Values are its most frequent ones.
	Text   string
	Values []string
}

func (n Named) hint() string {
	if n.Text == "" {
		texts := make([]string, len(n.Values))
		for i, v := range n.Values {
			texts[i] = input.Quoted(v)
		}
		return fmt.Sprintf("the most frequent values of %s are %s", n.Field.Key, strings.Join(texts, ", "))
	}
	return fmt.Sprintf(
		"%s is a value of %s: %s", input.Quoted(n.Text), n.Field.Key,
		asFilter(input.Member{Name: n.Field.Key, Value: input.Value{Kind: input.String, Text: n.Values[0]}}),
	)
}

// Runs are the words of a text and their runs of several words, the longest first.
func Runs(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n,;()\"", r) })
	words = words[:min(len(words), namedWords)]
	var runs []string
	for n := namedRun; n > 0; n-- {
		for i := range len(words) - n + 1 {
			if w := words[i]; n == 1 && len(w) <= 2 && w != strings.ToUpper(w) {
				continue // "on" is a word, ON a province
			}
			runs = append(runs, strings.Join(words[i:i+n], " "))
		}
	}
	return runs
}

// hintsOfNamed are the hints of the first ones. A word that belongs to a value of several
// words gets no hint of its own.
func hintsOfNamed(all []Named) (hints []string) {
	for i, n := range all {
		part := func(of Named) bool { return of.Text != n.Text && strings.Contains(" "+of.Text+" ", " "+n.Text+" ") }
		if len(hints) < namedHints && (n.Text == "" || !slices.ContainsFunc(all[:i], part)) {
			hints = append(hints, n.hint())
		}
	}
	return hints
}

// inVocabularies are the words of a text that are values of closed enums.
func inVocabularies(fields []catalog.Field, text string) (all []Named) {
	for _, run := range Runs(text) {
		for i, f := range fields {
			for _, t := range f.Vocabulary {
				if strings.EqualFold(run, t.Label) || strings.EqualFold(run, t.Value) {
					all = append(all, Named{&fields[i], run, []string{t.Value}})
				}
			}
		}
	}
	return all
}

// DynamicFilters are the dynamic enums by which a search of the global records filters.
func (q Query) DynamicFilters() (fields []*catalog.Field) {
	for _, n := range q.Where {
		if of, is := n.(Terms); is && of.Field.Dynamic() && !slices.Contains(fields, of.Field) {
			fields = append(fields, of.Field)
		}
	}
	return fields
}
