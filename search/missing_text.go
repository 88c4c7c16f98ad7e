package search

import (
	"slices"
	"strings"

	"atlas/search/words"
)

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
			rest := words.Tokens(part)
			if len(rest) == 0 {
				continue
			}
			if other, is := with[words.Tokens(folded)[0].Text]; is && other == "" { // its mark would be one of the next word
				part = part[rest[0].From:]
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// wildcards are what people write for the rest of a word.
const wildcards = "*%"

// asks reports whether a text is read as what was counted: the former text with words replaced.
// An operator can come to stand where it means something else.
func asks(before words.Reading, with map[string]string, now words.Reading) bool {
	list := func(all []words.Clause, with map[string]string) (texts []string) {
		for _, c := range all {
			part := []string{c.String()}
			if other, is := with[part[0]]; is {
				part = strings.Fields(other)
			}
			for _, text := range part {
				if !slices.Contains(texts, text) {
					texts = append(texts, text)
				}
			}
		}
		return texts
	}
	must := list(now.Must, nil)
	return len(must) > 0 && slices.Equal(list(before.Must, with), must) && slices.Equal(list(before.Not, nil), list(now.Not, nil))
}
