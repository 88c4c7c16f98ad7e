package input

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"atlas/internal/fault"
)

// Issues collects the problems of one request, at most fault.MaxIssues of them.
type Issues []fault.Issue

// Add records a problem with the value at path.
func (s *Issues) Add(code fault.IssueCode, path []string, format string, args ...any) {
	s.add(fault.Issue{Code: code, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (s *Issues) add(issue fault.Issue) {
	if len(*s) >= fault.MaxIssues {
		return
	}
	// Never nil, and a copy: the caller may append to its path.
	path := make([]string, len(issue.Path))
	for i, name := range issue.Path {
		path[i] = clip(name)
	}
	issue.Path = path
	*s = append(*s, issue)
}

// maxPathElement limits a name in a path, in bytes. A client's key can be nearly as
// long as the body, and the path of every issue below it has the key.
const maxPathElement = 256

func clip(name string) string { return clipTo(name, maxPathElement) }

func clipTo(name string, end int) string {
	if len(name) <= end {
		return name
	}
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}

// Unrecognized records unknown names at path. The message lists the known names, and beside
// each unknown one the advice of elsewhere, or the nearest name if that is nil or has no
// advice.
func (s *Issues) Unrecognized(path, names, known []string, elsewhere func(name string) string) {
	s.unrecognized("key", path, names, known, nil, elsewhere)
}

// UnrecognizedParams is Unrecognized for parameters of a query string. elsewhere says where
// one belongs, "" if it does not know.
func (s *Issues) UnrecognizedParams(names, known []string, elsewhere func(name string) string) {
	s.unrecognized("query parameter", nil, names, known, nil, elsewhere)
}

// unrecognized does not suggest names that are already given.
func (s *Issues) unrecognized(what string, path, names, known []string, given func(name string) bool, elsewhere func(name string) string) {
	if len(*s) >= fault.MaxIssues {
		return // before it compares names
	}
	missing := known
	if given != nil {
		missing = slices.DeleteFunc(slices.Clone(known), given)
	}
	message := "unrecognized " + plural(what, len(names)) + ": " + quoteAll(names, missing, elsewhere)
	if len(known) > 0 {
		message += "; known here: " + strings.Join(known, ", ")
	}
	s.add(fault.Issue{Code: fault.UnrecognizedKeys, Path: path, Message: message, Keys: names})
}

// OutsideVocabulary records a value that is not one of the allowed values. The message
// lists these, and names the nearest to a text.
func (s *Issues) OutsideVocabulary(path []string, v Value, allowed []string) {
	if len(*s) >= fault.MaxIssues {
		return
	}
	message := "must be one of: " + strings.Join(allowed, ", ")
	if several := listOf(v, allowed); several != "" {
		message += "; several are an array: " + several
	} else if v.Kind == String {
		message += DidYouMean("; ", v.Text, allowed, "")
	}
	s.Add(fault.InvalidUnion, path, "%s", message)
}

// listOf is the array of values in a text with commas, "" if it has others.
func listOf(v Value, allowed []string) string {
	parts := strings.Split(v.Text, ",")
	if v.Kind != String || len(parts) < 2 {
		return ""
	}
	list := Value{Kind: Array}
	for _, part := range parts {
		if part = strings.TrimSpace(part); !slices.Contains(allowed, part) {
			return ""
		}
		list.Items = append(list.Items, Value{Kind: String, Text: part})
	}
	return list.JSON()
}

// WrongType records a value of the wrong JSON type.
func (s *Issues) WrongType(path []string, want string, got Value) {
	s.WrongTypeInstead(path, want, got, "")
}

// WrongTypeInstead is WrongType with a value that would be right, "" for none.
func (s *Issues) WrongTypeInstead(path []string, want string, got Value, instead string) {
	if instead != "" {
		want += ", such as " + instead
	}
	if got.Kind == Absent {
		s.Add(fault.InvalidType, path, "required: %s", want)
		return
	}
	have := article(got.Kind)
	if got.Kind == String && len(got.Text) > 1 &&
		(got.Text[0] == '{' && strings.HasPrefix(want, "an object") || got.Text[0] == '[' && strings.HasPrefix(want, "an array")) {
		have = "a string that has it: send it without the quotes"
	}
	s.Add(fault.InvalidType, path, "must be %s, not %s", want, have)
}

// Err returns the issues as a validation error, or nil if there are none.
func (s Issues) Err() error {
	if len(s) == 0 {
		return nil
	}
	return fault.Validation(s...)
}

// Reader reads the known members of one object. Done reports unknown members.
type Reader struct {
	issues *Issues
	path   []string
	value  Value
	known  []string
	done   bool
	// elsewhere says where an unknown member belongs, "" if it does not know.
	elsewhere func(Member) string
}

// Object returns a reader of v. If v is not an object, Object records an issue and the
// reader is empty.
func (s *Issues) Object(v Value, path ...string) *Reader {
	if v.Kind != Object {
		s.WrongType(path, "an object", v)
		v = Value{}
	}
	return &Reader{issues: s, path: path, value: v}
}

// Ok reports whether the value is an object.
func (r *Reader) Ok() bool { return r.value.Kind == Object }

// Path is the path of a member.
func (r *Reader) Path(more ...string) []string {
	return slices.Concat(r.path, more)
}

// Expect marks names as known, in this order. It retains the list.
func (r *Reader) Expect(names []string) { r.known = slices.Clip(names) }

// Take returns a member and marks its name as known. A missing member is Absent.
func (r *Reader) Take(name string) Value {
	if !slices.Contains(r.known, name) {
		r.known = append(r.known, name)
	}
	return r.value.Get(name)
}

// Done records one issue that lists the members that were not taken, once.
func (r *Reader) Done() {
	if r.done {
		return
	}
	r.done = true
	var unknown []string
	for _, m := range r.value.Members {
		if !slices.Contains(r.known, m.Name) {
			unknown = append(unknown, m.Name)
		}
	}
	if len(unknown) > 0 {
		r.issues.unrecognized("key", r.path, unknown, r.known, func(name string) bool {
			return r.value.Get(name).Kind != Absent
		}, func(name string) string {
			if r.elsewhere == nil {
				return ""
			}
			return r.elsewhere(Member{name, r.value.Get(name)})
		})
	}
}

// Elsewhere sets the function that says where unknown members belong; "" if it does not
// know.
func (r *Reader) Elsewhere(says func(Member) string) { r.elsewhere = says }

// Text limits the length of a string, in characters after trimming.
type Text struct {
	Min, Max int
}

// String checks a string value and returns it trimmed.
func (s *Issues) String(v Value, bounds Text, path ...string) (string, bool) {
	if v.Kind != String {
		s.WrongType(path, "a string", v)
		return "", false
	}
	text := strings.TrimSpace(v.Text)
	switch n := utf8.RuneCountInString(text); {
	case n < bounds.Min:
		s.Add(fault.TooSmall, path, "must have at least %d %s", bounds.Min, plural("character", bounds.Min))
	case n > bounds.Max:
		s.Add(fault.TooBig, path, "must have at most %d characters, has %d", bounds.Max, n)
	default:
		return text, true
	}
	return "", false
}

// Verbatim is String without trimming: surrounding white space is preserved and counts. A
// string with only white space counts as empty.
func (s *Issues) Verbatim(v Value, bounds Text, path ...string) (string, bool) {
	trimmed, ok := s.String(v, Text{bounds.Min, max(bounds.Max, len(v.Text))}, path...)
	if !ok || trimmed == "" {
		return trimmed, ok
	}
	if n := utf8.RuneCountInString(v.Text); n > bounds.Max {
		s.Add(fault.TooBig, path, "must have at most %d characters, has %d", bounds.Max, n)
		return "", false
	}
	return v.Text, true
}

// Integer checks an integer within bounds, both inclusive.
func (s *Issues) Integer(v Value, lowest, highest int, path ...string) (int, bool) {
	if v.Kind != Number {
		s.WrongType(path, "an integer", v)
		return 0, false
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	if err == nil && f != math.Trunc(f) {
		s.Add(fault.InvalidType, path, "must be an integer")
		return 0, false
	}
	switch {
	case f < float64(lowest):
		s.Add(fault.TooSmall, path, "must be at least %d", lowest)
	case f > float64(highest):
		s.Add(fault.TooBig, path, "must be at most %d", highest)
	default:
		return int(f), true
	}
	return 0, false
}

// UUID checks a UUID value and returns it in lower case.
func (s *Issues) UUID(v Value, path ...string) (string, bool) {
	if v.Kind != String {
		s.WrongType(path, "a UUID", v)
		return "", false
	}
	id, ok := ParseUUID(v.Text)
	if !ok {
		s.Add(fault.InvalidFormat, path, "must be "+UUIDText)
	}
	return id, ok
}

// UUIDText describes a UUID in messages.
const UUIDText = "a UUID, such as 0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10"

// ParseUUID is ReadUUID as text in lower case, the form of all responses.
func ParseUUID(s string) (string, bool) {
	id, ok := ReadUUID(s)
	if !ok {
		return "", false
	}
	return id.String(), true
}

// ReadUUID reads a UUID of 36 characters with hyphens, in any case. It rejects the
// other forms that uuid.Parse accepts.
func ReadUUID(s string) (uuid.UUID, bool) {
	if len(s) != 36 {
		return uuid.UUID{}, false
	}
	id, err := uuid.Parse(s)
	return id, err == nil
}

func plural(noun string, n int) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

func quoteAll(names, known []string, elsewhere func(name string) string) string {
	const most = 10 // keeps the message readable; Keys has all names
	var quoted []string
	for i, n := range names {
		if i == most {
			quoted = append(quoted, fmt.Sprintf("and %d more", len(names)-most))
			break
		}
		hint := ""
		if elsewhere != nil {
			hint = elsewhere(n)
		}
		if hint != "" {
			hint = " (" + hint + ")"
		} else if hint = DidYouMean(" (", n, known, ")"); hint == "" && elsewhere != nil {
			for _, other := range synonyms[unmarked(n)] {
				if says := elsewhere(other); says != "" {
					hint = fmt.Sprintf(" (perhaps %q: %s)", other, says)
					break
				}
			}
		}
		quoted = append(quoted, strconv.Quote(clipTo(n, maxShown))+hint)
	}
	return strings.Join(quoted, ", ")
}

// Length checks the number of elements of an array.
func (s *Issues) Length(n, lowest, highest int, path ...string) bool {
	switch {
	case n < lowest:
		s.Add(fault.TooSmall, path, "must have at least %d %s", lowest, plural("element", lowest))
	case n > highest:
		s.Add(fault.TooBig, path, "must have at most %d elements, has %d", highest, n)
	default:
		return true
	}
	return false
}
