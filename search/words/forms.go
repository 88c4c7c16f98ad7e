package words

import (
	"slices"
	"strings"
)

// Forms lists a word and its other forms: singular and plural, the possessive, those in the
// tables of forms, numbers, spellings and trades, and the ordinal of a number. The word
// itself is the first.
func (t *Tables) Forms(word string) []string {
	all := []string{word}
	add := func(forms ...string) {
		for _, f := range forms {
			if !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	if number, ok := strings.CutSuffix(word, suffix(word)); ok && isNumber(number) {
		add(number, number+ordinal(number))
		add(t.forms[word]...)
		return all
	}
	t.addForms(word, add)
	for _, form := range slices.Clone(all) { // first, 1st, 1
		if number, ok := strings.CutSuffix(form, suffix(form)); ok && isNumber(number) {
			add(number)
		}
	}
	for _, form := range slices.Clone(all) {
		for _, other := range t.families[form] {
			t.addForms(other, add)
		}
	}
	return all
}

// addForms adds the forms of a word itself.
func (t *Tables) addForms(word string, add func(...string)) {
	bases := t.bases(word)
	for i, base := range bases {
		add(base)
		if i > 0 || len(bases) == 1 { // a plural has none
			for _, p := range plurals(base) {
				if !t.whole[p] {
					add(p)
				}
			}
		}
		add(t.forms[base]...)
		add(t.spelled[base]...)
	}
}

// bases are the words that a word may be a form of: itself, and its possible singulars. The
// rules cannot know which of them exist; others match nothing.
func (t *Tables) bases(word string) []string {
	bases := []string{word}
	if len(word) < 4 || !isPlain(word) || t.whole[word] || !strings.HasSuffix(word, "s") || strings.HasSuffix(word, "ss") {
		return bases
	}
	bases = append(bases, word[:len(word)-1])
	if stem, ok := strings.CutSuffix(word, "ies"); ok && len(stem) > 1 {
		bases = append(bases, stem+"y")
	}
	if stem, ok := strings.CutSuffix(word, "es"); ok && sibilant(stem) {
		bases = append(bases, stem)
	}
	return bases
}

// plurals are the regular plural of a word, and the possessive, which people write for it.
func plurals(base string) []string {
	switch {
	case len(base) < 3 || !isPlain(base):
		return nil
	case strings.HasSuffix(base, "y") && !strings.ContainsRune("aeiou", rune(base[len(base)-2])):
		return []string{base[:len(base)-1] + "ies", base + "s"}
	case strings.HasSuffix(base, "s"):
		return []string{base + "es"}
	case sibilant(base):
		return []string{base + "es", base + "s"}
	default:
		return []string{base + "s"}
	}
}

func sibilant(s string) bool {
	for _, end := range []string{"s", "x", "z", "ch", "sh", "o"} {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	return false
}

// isPlain reports whether a word has only the letters a to z.
func isPlain(word string) bool {
	return strings.TrimLeft(word, "abcdefghijklmnopqrstuvwxyz") == ""
}

func isNumber(s string) bool {
	return s != "" && len(s) <= 6 && strings.TrimLeft(s, "0123456789") == ""
}

func suffix(word string) string {
	for _, s := range []string{"st", "nd", "rd", "th"} {
		if strings.HasSuffix(word, s) {
			return s
		}
	}
	return ""
}

// ordinal is the suffix of a number.
func ordinal(number string) string {
	last, tens := number[len(number)-1], len(number) > 1 && number[len(number)-2] == '1'
	switch {
	case tens:
		return "th"
	case last == '1':
		return "st"
	case last == '2':
		return "nd"
	case last == '3':
		return "rd"
	default:
		return "th"
	}
}
