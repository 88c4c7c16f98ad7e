package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Patterns use only syntax that has the same meaning in ECMA-262, Python, Rust and
// Go: no look-ahead, no \s (whose characters differ), no Unicode classes.
const (
	// spaces are the characters that are trimmed.
	spaces = "\\x09-\\x0d \\x85\\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
	// controls cannot be in a name.
	controls = `\x00-\x1f\x7f-\x9f`

	anyText  = `^[^\x00]*$`
	nonBlank = `^[^\x00]*[^\x00` + spaces + `][^\x00]*$`
	oneLine  = `^[` + spaces + `]*[^` + controls + spaces + `]([^` + controls + `]*[^` + controls + spaces + `])?[` + spaces + `]*$`

	anyUUID   = `^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$`
	lowerUUID = `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`

	// year is 0001 to 9999.
	year    = `([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)`
	day     = year + `-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])`
	clock   = `T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]`
	offset  = `(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`
	aDay    = `^` + day + `$`
	instant = `^` + day + clock + `(\.[0-9]+)?` + offset + `$`
	// stamp is the pattern of every time in a response.
	stamp = `^` + day + clock + `\.[0-9]{3}Z$`

	aCursor = `^[A-Za-z0-9_-]+$`
	slug    = `^[a-z0-9]+(-[a-z0-9]+)*$`
	// aDomain is a domain, or a web address that contains one.
	aDomain = `^[` + spaces + `]*([A-Za-z][A-Za-z0-9+.-]*://)?[A-Za-z0-9` + "\u00c0-\ud7ff" + `][^/?#@:%\x00]*(:[0-9]*)?([/?#][^:@\x00]*)?$`
)

// Values that examples are made of.
const (
	// SampleID is a UUID.
	SampleID   = "0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10"
	sampleTime = "2026-02-14T09:30:00.000Z"
	sampleDay  = "2026-01-31"
)

// AnyUUID is a UUID as a client may write it, in either case.
func AnyUUID() *Schema {
	return &Schema{Type: "string", Format: "uuid", Pattern: anyUUID, MinLength: 36, MaxLength: 36, Examples: []any{SampleID}}
}

// UUID is a UUID in a response, in lower case.
func UUID() *Schema {
	return &Schema{Type: "string", Format: "uuid", Pattern: lowerUUID, Examples: []any{SampleID}}
}

// Time is a time in a response.
func Time() *Schema {
	return &Schema{Type: "string", Format: "date-time", Pattern: stamp, Examples: []any{sampleTime}}
}

// Text is a text that the service trims before it counts the characters. The
// schema counts untrimmed ones, so it may reject a padded text that the service
// accepts.
func Text(most int) *Schema {
	return &Schema{Type: "string", Pattern: nonBlank, MinLength: 1, MaxLength: most}
}

// Line is a Text without control characters.
func Line(most int) *Schema {
	return &Schema{Type: "string", Pattern: oneLine, MinLength: 1, MaxLength: most}
}

// Free is a text of up to most characters, which may be empty.
func Free(most int) *Schema {
	return &Schema{Type: "string", Pattern: anyText, MaxLength: most}
}

// String is a text in a response.
func String(example string) *Schema {
	return &Schema{Type: "string", Examples: []any{example}}
}

// Always is a constant integer.
func Always(n int) *Schema { return &Schema{Type: "integer", Const: n} }

// Paragraph is a Line that may contain line breaks and tabs.
func Paragraph(most int) *Schema {
	const inner = `\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f`
	return &Schema{Type: "string", MinLength: 1, MaxLength: most,
		Pattern: `^[` + spaces + `]*[^` + controls + spaces + `]([^` + inner + `]*[^` + controls + spaces + `])?[` + spaces + `]*$`}
}

// Slug is lower-case letters and digits, in words joined by single hyphens.
func Slug(most int) *Schema {
	return &Schema{Type: "string", Pattern: slug, MinLength: 1, MaxLength: most}
}

// Cursor is the cursor of a search.
func Cursor() *Schema { return &Schema{Type: "string", Pattern: aCursor} }

// Day is a day of the calendar.
func Day() *Schema {
	return &Schema{Type: "string", Format: "date", Pattern: aDay, Examples: []any{sampleDay}}
}

// Instant is a point in time, RFC 3339.
func Instant() *Schema {
	return &Schema{Type: "string", Format: "date-time", Pattern: instant, Examples: []any{sampleTime}}
}

// Domain is a text from which the service can read a domain. It allows less than the
// service does, but everything that people paste.
func Domain(most int) *Schema {
	return &Schema{Type: "string", Pattern: aDomain, MinLength: 1, MaxLength: most}
}

const dayOrInstant = day + `(` + clock + `(\.[0-9]+)?` + offset + `)?`

// DayOrInstant is a Day or an Instant.
func DayOrInstant() *Schema {
	s := &Schema{Type: "string", Pattern: `^` + dayOrInstant + `$`, Examples: []any{sampleDay}}
	return s.When(&Schema{Pattern: "T"}, &Schema{Format: "date-time"}, &Schema{Format: "date"})
}

// Date is a Day, an Instant or a relative date.
func Date() *Schema {
	const relative = `now|today|now[+-][0-9]{1,4}[hdwMy]|today[+-][0-9]{1,4}[dwMy]|[0-9]{4}-[Qq][1-4]`
	s := &Schema{Type: "string", Pattern: `^(` + dayOrInstant + `|` + relative + `)$`, Examples: []any{sampleDay}}
	absolute := (&Schema{}).When(&Schema{Pattern: "T"}, &Schema{Format: "date-time"}, &Schema{Format: "date"})
	return s.When(&Schema{Pattern: "^(" + relative + ")$"}, nil, absolute)
}

// Email is an e-mail address. It allows less than the standards do, but every
// address in use.
func Email(most int) *Schema {
	const (
		atom  = `[A-Za-z0-9!#$%&'*+/=?^_{|}~-]+`
		label = `[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?`
	)
	return &Schema{
		Type: "string", Pattern: `^[` + spaces + `]*` + atom + `(\.` + atom + `)*@` + label + `(\.` + label + `)*[` + spaces + `]*$`,
		MinLength: 3, MaxLength: most,
	}
}

// Digits is a number written in 1 to most digits.
func Digits(most int) *Schema {
	return &Schema{Type: "string", Pattern: fmt.Sprintf(`^[0-9]{1,%d}$`, most), MinLength: 1, MaxLength: most}
}

// Printable is 1 to most printable ASCII characters.
func Printable(most int) *Schema {
	return &Schema{Type: "string", Pattern: fmt.Sprintf(`^[ -~]{1,%d}$`, most)}
}

// Below is the schema of a text after one of the parents and a slash. It allows a
// text that is too long below a shorter parent.
func (s *Schema) Below(parents ...string) *Schema {
	longest := slices.MaxFunc(parents, func(a, b string) int { return len(a) - len(b) })
	c := *s
	c.Pattern = "^(" + strings.Join(parents, "|") + ")/" + strings.TrimPrefix(s.Pattern, "^")
	c.MinLength, c.MaxLength = 0, len(longest)+len("/")+s.MaxLength
	return &c
}
