package workspace

import (
	"fmt"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"

	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/internal/schema"
)

// MaxName is the maximum length of the name of a workspace, key or person, in
// characters.
const MaxName = 120

// MaxEmail is the maximum length of an e-mail address in bytes: 64 for the local
// part, the @, 255 for the domain.
const MaxEmail = 320

// CheckText checks a text that is stored and shown in one line: valid UTF-8,
// trimmed, minimum..maximum characters, without control characters. NUL cannot be
// stored, and an escape sequence must not reach a terminal.
func CheckText(field, s string, minimum, maximum int) []fault.Issue {
	switch {
	case !utf8.ValidString(s):
		return []fault.Issue{NewIssue(fault.InvalidFormat, field, "must be valid UTF-8")}
	case strings.ContainsFunc(s, unicode.IsControl):
		return []fault.Issue{NewIssue(fault.InvalidFormat, field, "must not contain control characters")}
	case s != strings.TrimSpace(s):
		return []fault.Issue{NewIssue(fault.InvalidFormat, field, "must not begin or end with white space")}
	case utf8.RuneCountInString(s) < minimum:
		return []fault.Issue{NewIssue(fault.TooSmall, field, fmt.Sprintf("must have at least %d character(s)", minimum))}
	case utf8.RuneCountInString(s) > maximum:
		return []fault.Issue{NewIssue(fault.TooBig, field, fmt.Sprintf("must have at most %d characters", maximum))}
	}
	return nil
}

// CheckEmail checks an e-mail address without a display name.
func CheckEmail(s string) []fault.Issue {
	if len(s) > MaxEmail {
		return []fault.Issue{NewIssue(fault.TooBig, "email", fmt.Sprintf("must have at most %d bytes", MaxEmail))}
	}
	address, err := mail.ParseAddress(s)
	if err != nil || address.Address != s || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return []fault.Issue{NewIssue(fault.InvalidFormat, "email", "must be an e-mail address, such as ada@example.com")}
	}
	return nil
}

// ValidEmail reports whether s passes CheckEmail.
func ValidEmail(s string) bool { return len(CheckEmail(s)) == 0 }

// ValidName reports whether s can be the name of a person, key or workspace.
func ValidName(s string) bool { return len(CheckText("name", s, 1, MaxName)) == 0 }

// NameRule reads a name of 1 to most characters without control characters.
func NameRule(most int) rule.Rule[string] {
	return rule.Text(1, most).As(schema.Line(most)).Check(ValidName, fault.InvalidFormat, "must not contain control characters")
}

// FoldEmail returns the form in which addresses are compared: trimmed and case-folded.
// Stores have it besides the original address.
func FoldEmail(s string) string { return cases.Fold().String(strings.TrimSpace(s)) }

// NewIssue returns an issue of a top-level field.
func NewIssue(code fault.IssueCode, field, message string) fault.Issue {
	return fault.Issue{Code: code, Path: []string{field}, Message: message}
}

// ValidationError returns fault.InvalidInput with the issues, nil without any.
func ValidationError(issues []fault.Issue) error {
	if len(issues) == 0 {
		return nil
	}
	return fault.Validation(issues...)
}
