package input

import (
	"slices"
	"strings"
	"unicode/utf8"

	"atlas/internal/fault"
)

// RequiredOneOf is OneOf for a member that must be there.
func (r *Reader) RequiredOneOf(name string, allowed ...string) string {
	v := r.Take(name)
	switch {
	case v.Kind == Absent:
		r.issues.WrongType(r.Path(name), "one of "+strings.Join(allowed, ", "), v)
		return ""
	case v.Kind != String || !slices.Contains(allowed, v.Text):
		r.issues.OutsideVocabulary(r.Path(name), allowed)
		return ""
	}
	return v.Text
}

// RequiredVerbatim takes a string member as it was sent, white space around it
// included; one of nothing but white space counts as empty.
func (r *Reader) RequiredVerbatim(name string, bounds Text) string {
	v := r.Take(name)
	trimmed, ok := r.issues.String(v, Text{bounds.Min, max(bounds.Max, len(v.Text))}, r.Path(name)...)
	if !ok || trimmed == "" {
		return trimmed
	}
	if n := utf8.RuneCountInString(v.Text); n > bounds.Max {
		r.issues.Add(fault.TooBig, r.Path(name), "must have at most %d characters, has %d", bounds.Max, n)
	}
	return v.Text
}
