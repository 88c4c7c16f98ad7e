package workspace

import (
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"

	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/internal/schema"
)

// MaxName is the longest name of a workspace, a key or a person, in
// characters.
const MaxName = 120

// MaxEmail is the longest e-mail address, in bytes (64 for the local part, 255
// for the domain, and the @).
const MaxEmail = 320

// checkText judges a text that is stored and shown in one line: valid UTF-8,
// trimmed, without control characters (NUL cannot be stored at all, and an
// escape sequence must not reach a terminal), minimum..maximum characters.
func checkText(field, s string, minimum, maximum int) []fault.Issue {
	switch {
	case !utf8.ValidString(s):
		return []fault.Issue{issue(fault.InvalidFormat, field, "must be valid UTF-8")}
	case strings.ContainsFunc(s, unicode.IsControl):
		return []fault.Issue{issue(fault.InvalidFormat, field, "must not contain control characters")}
	case s != strings.TrimSpace(s):
		return []fault.Issue{issue(fault.InvalidFormat, field, "must not begin or end with white space")}
	case utf8.RuneCountInString(s) < minimum:
		return []fault.Issue{issue(fault.TooSmall, field, fmt.Sprintf("must have at least %d character(s)", minimum))}
	case utf8.RuneCountInString(s) > maximum:
		return []fault.Issue{issue(fault.TooBig, field, fmt.Sprintf("must have at most %d characters", maximum))}
	}
	return nil
}

// checkEmail judges a bare address, without a display name.
func checkEmail(s string) []fault.Issue {
	if len(s) > MaxEmail {
		return []fault.Issue{issue(fault.TooBig, "email", fmt.Sprintf("must have at most %d bytes", MaxEmail))}
	}
	address, err := mail.ParseAddress(s)
	if err != nil || address.Address != s || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return []fault.Issue{issue(fault.InvalidFormat, "email", "must be an e-mail address")}
	}
	return nil
}

// ValidEmail reports whether s is a bare e-mail address within the limits.
func ValidEmail(s string) bool { return len(checkEmail(s)) == 0 }

// ValidName reports whether s can be the name of a person, a key or a
// workspace.
func ValidName(s string) bool { return len(checkText("name", s, 1, MaxName)) == 0 }

// NameRule reads a name of 1 to most characters without control characters.
func NameRule(most int) rule.Rule[string] {
	return rule.Text(1, most).As(schema.Line(most)).Check(ValidName, fault.InvalidFormat, "must not contain control characters")
}

// FoldEmail is the form in which addresses are compared: trimmed and
// case-folded. Stores keep it beside the address as written.
func FoldEmail(s string) string { return cases.Fold().String(strings.TrimSpace(s)) }

// TimeFormat is how every timestamp of a workspace is answered: RFC 3339, UTC,
// milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// stamp is t as stored: UTC and whole milliseconds, so that what was written
// equals what is read and what is answered.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func issue(code fault.IssueCode, field, message string) fault.Issue {
	return fault.Issue{Code: code, Path: []string{field}, Message: message}
}
