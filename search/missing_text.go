package search

import (
	"slices"
	"strings"

	"atlas/search/words"
)

// replaced is the text with words replaced in their places, or left out. Elsewhere the text
// keeps its case.
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
			rest := words.Tokens(part)
			if len(rest) == 0 {
				continue
			}
			// Marks of a word that is left out would attach to its neighbours.
			tokens := words.Tokens(folded)
			if other, is := with[tokens[len(tokens)-1].Text]; is && other == "" {
				part = part[:rest[len(rest)-1].To]
			}
			if other, is := with[tokens[0].Text]; is && other == "" {
				part = part[rest[0].From:]
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// wildcards are what people type for the rest of a word.
const wildcards = "*%"

// asks reports whether a text is read as the former text with words replaced: the same
// clauses, of which at least one required clause remains, and the same exclusions. An
// operator can move to a place where it means something else.
func asks(before words.Reading, with map[string]string, now words.Reading) bool {
	list := func(with map[string]string, all ...words.Clause) (texts []string) {
		for _, c := range all {
			part := []string{c.String()}
			if other, is := with[part[0]]; is {
				part = strings.Fields(other)
			}
			texts = append(texts, part...)
		}
		slices.Sort(texts)
		return slices.Compact(texts)
	}
	must := list(with, before.Must...)
	return slices.Equal(list(with, slices.Concat(before.Must, before.Rank)...), list(nil, slices.Concat(now.Must, now.Rank)...)) &&
		slices.Equal(list(nil, before.Not...), list(nil, now.Not...)) &&
		slices.ContainsFunc(list(nil, now.Must...), func(text string) bool { return slices.Contains(must, text) })
}
