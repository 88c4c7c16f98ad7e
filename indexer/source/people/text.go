package people

import (
	"regexp"
	"slices"
	"strings"
)

// Removed replaces removed parts of a text.
const Removed = "[…]"

var (
	email = regexp.MustCompile(`[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*\.[A-Za-z]{2,24}`)
	phone = regexp.MustCompile(`(?:\+?\b1[-. ]{1,2})?(?:\(\d{3}\)[-. ]{0,2}|\b\d{3}[-. ]{1,3})\d{3}[-. ]{1,3}\d{4}\b(?:\s*(?i:x|ext\.?)\s*\d{1,6})?`)
	// Numbers that a word before them marks as phone numbers.
	called = regexp.MustCompile(`(?i)\b(?:phone|tel|telephone|cell|mobile|fax|ph)\b\s*(?:no\.?|number|#)?\s*[:.#=-]?\s*\+?[\d(][\d() .-]{5,18}\d`)
	// Names that a label before them marks as names of persons.
	labelled = regexp.MustCompile(`(?i:\b(?:contact|owner|applicant|attn|attention|homeowner|home owner|tenant|resident|agent|caller|requester|submitted by|contact person|contact name|owner name|owners? rep|superintendent|project manager|site super|pm)\b\s*(?:name)?\s*[:=]\s*|\b(?:c/o|attn\.?|sales rep|contact person)\s+)([A-Z](?:\.|[\w'’-]{0,30})(?:[ ,]{1,2}(?:&\s|and\s)?[A-Z](?:\.|[\w'’-]{0,30})){0,3})`)
)

// Scrub removes phone numbers, e-mail addresses and labelled names of persons from a text.
// changed is false for most texts.
func Scrub(text string) (scrubbed string, changed bool) {
	scrubbed = text
	if strings.IndexByte(scrubbed, '@') >= 0 {
		scrubbed = email.ReplaceAllString(scrubbed, Removed)
	}
	if mayHavePhone(scrubbed) {
		scrubbed = withoutPhones(scrubbed)
		if mayHavePhone(scrubbed) {
			scrubbed = called.ReplaceAllString(scrubbed, Removed)
		}
	}
	if mayHaveLabel(scrubbed) {
		scrubbed = withoutNames(scrubbed)
	}
	return scrubbed, scrubbed != text
}

// withoutPhones removes what is written like a phone number, but not parts of longer
// numbers, such as 17-10-318-034-0000.
func withoutPhones(text string) string {
	found := phone.FindAllStringIndex(text, -1)
	const joins = "-./0123456789"
	found = slices.DeleteFunc(found, func(at []int) bool {
		return at[0] > 0 && strings.IndexByte(joins, text[at[0]-1]) >= 0 ||
			at[1]+1 < len(text) && text[at[1]] != '.' && strings.IndexByte(joins, text[at[1]]) >= 0
	})
	return without(text, found)
}

// without is a text with ranges of bytes replaced by Removed.
func without(text string, ranges [][]int) string {
	var b strings.Builder
	last := 0
	for _, at := range ranges {
		b.WriteString(text[last:at[0]])
		b.WriteString(Removed)
		last = at[1]
	}
	b.WriteString(text[last:])
	return b.String()
}

// mayHavePhone avoids the expressions for phones for most texts: they need seven digits
// separated only by marks.
func mayHavePhone(s string) bool {
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			if digits++; digits >= 7 {
				return true
			}
		case c != ' ' && c != '-' && c != '.' && c != '(' && c != ')':
			digits = 0
		}
	}
	return false
}

// Labels that need a colon, and labels that do not.
var (
	labels = []string{
		"contact", "owner", "applicant", "attn", "attention", "tenant", "resident", "agent", "caller", "requester",
		"submitted", "rep", "super", "manager", "pm",
	}
	plainLabel = []string{"c/o", "attn", "sales rep", "contact person"}
)

// mayHaveLabel avoids the expression for names for most texts.
func mayHaveLabel(s string) bool {
	marked := strings.ContainsAny(s, ":=")
	lower := strings.ToLower(s)
	within := func(label string) bool { return strings.Contains(lower, label) }
	return slices.ContainsFunc(plainLabel, within) || marked && slices.ContainsFunc(labels, within)
}

func withoutNames(text string) string {
	var names [][]int
	for _, at := range labelled.FindAllStringSubmatchIndex(text, -1) {
		name := at[2:4]
		if kind := KindOf(text[name[0]:name[1]], false); kind == Person || kind == Doubtful {
			names = append(names, name)
		}
	}
	return without(text, names)
}

// Private reports whether a cell of an ordinary column looks like personal data, so that no
// report shows it.
func Private(cell string) bool {
	_, changed := Scrub(cell)
	return changed
}
