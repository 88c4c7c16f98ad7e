package rule

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/schema"
)

// Rule says what a value of a request must be.
type Rule[T any] struct {
	// Schema is the rule as a JSON Schema.
	Schema *schema.Schema
	// want names the value in the issue of a missing one.
	want string
	// absent is the value of a member that is left out, nil for the zero value.
	absent *T
	// read returns false when there is no T to use.
	read func(s *input.Issues, v input.Value, path []string) (T, bool)
}

// Read reads a value. Where it adds issues, it returns what could be read.
func (r Rule[T]) Read(s *input.Issues, v input.Value, path ...string) T {
	got, _ := r.read(s, v, path)
	return got
}

// Parse reads a whole body: fault.InvalidInput with every problem.
func (r Rule[T]) Parse(v input.Value) (T, error) {
	var issues input.Issues
	got := r.Read(&issues, v)
	return got, issues.Err()
}

// As is the rule with another schema, which must allow what the rule accepts.
func (r Rule[T]) As(s *schema.Schema) Rule[T] {
	r.Schema = s
	return r
}

// Named is the rule with its schema as a component of that name.
func (r Rule[T]) Named(name string) Rule[T] { return r.As(schema.Named(name, r.Schema)) }

// Described is the rule with a description in its schema.
func (r Rule[T]) Described(text string) Rule[T] { return r.As(r.Schema.Described(text)) }

// Example is the rule with an example in its schema.
func (r Rule[T]) Example(value any) Rule[T] { return r.As(r.Schema.Example(value)) }

// Default is the rule of a member that has this value when it is left out.
func (r Rule[T]) Default(value T) Rule[T] {
	r.absent = &value
	return r.As(r.Schema.Defaulting(value))
}

// Check is the rule with one more condition on values that it reads.
func (r Rule[T]) Check(ok func(T) bool, code fault.IssueCode, message string) Rule[T] {
	read := r.read
	r.read = func(s *input.Issues, v input.Value, path []string) (T, bool) {
		got, valid := read(s, v, path)
		if valid && !ok(got) {
			s.Add(code, path, "%s", message)
			return got, false
		}
		return got, valid
	}
	return r
}

// Pointer is the rule of a member whose target is nil when it is left out.
func Pointer[T any](r Rule[T]) Rule[*T] {
	return Rule[*T]{Schema: r.Schema, want: r.want, read: func(s *input.Issues, v input.Value, path []string) (*T, bool) {
		got, ok := r.read(s, v, path)
		return &got, ok
	}}
}

// Text takes fewest to most characters, trimmed before they are counted.
func Text(fewest, most int) Rule[string] {
	described := schema.Text(most)
	if fewest == 0 {
		described = schema.Free(most)
	}
	return Rule[string]{Schema: described, want: "a string", read: func(s *input.Issues, v input.Value, path []string) (string, bool) {
		return s.String(v, input.Text{Min: fewest, Max: most}, path...)
	}}
}

// Verbatim takes 1 to most characters as they were sent, white space around them
// included; nothing but white space counts as empty.
func Verbatim(most int) Rule[string] {
	return Rule[string]{Schema: schema.Text(most), want: "a string", read: func(s *input.Issues, v input.Value, path []string) (string, bool) {
		return s.Verbatim(v, input.Text{Min: 1, Max: most}, path...)
	}}
}

// Enum takes one of the texts.
func Enum[T ~string](allowed ...T) Rule[T] {
	texts := make([]string, len(allowed))
	for i, text := range allowed {
		texts[i] = string(text)
	}
	return Rule[T]{Schema: schema.OneOf(texts...), want: "one of " + strings.Join(texts, ", "), read: func(s *input.Issues, v input.Value, path []string) (T, bool) {
		if v.Kind != input.String || !slices.Contains(texts, v.Text) {
			s.OutsideVocabulary(path, texts)
			return "", false
		}
		return T(v.Text), true
	}}
}

// UUID takes a UUID of 36 characters, in either case.
func UUID[T ~[16]byte]() Rule[T] {
	return Rule[T]{Schema: schema.AnyUUID(), want: "a UUID", read: func(s *input.Issues, v input.Value, path []string) (T, bool) {
		text, ok := s.UUID(v, path...)
		if !ok {
			return T{}, false
		}
		return T(uuid.MustParse(text)), true // it is what ParseUUID returns
	}}
}

// Integer takes an integer of the bounds, both inclusive.
func Integer(lowest, highest int) Rule[int] {
	return Rule[int]{Schema: schema.Integer(int64(lowest), int64(highest)), want: "an integer", read: func(s *input.Issues, v input.Value, path []string) (int, bool) {
		return s.Integer(v, lowest, highest, path...)
	}}
}

// Boolean takes true or false.
func Boolean() Rule[bool] {
	const want = "true or false"
	return Rule[bool]{Schema: schema.Boolean(), want: want, read: func(s *input.Issues, v input.Value, path []string) (bool, bool) {
		if v.Kind != input.Bool {
			s.WrongType(path, want, v)
		}
		return v.Bool, v.Kind == input.Bool
	}}
}

// Number takes exactly one integer, such as the version of a format.
func Number(n int) Rule[int] {
	want := "the number " + strconv.Itoa(n)
	return Rule[int]{Schema: schema.Always(n), want: want, read: func(s *input.Issues, v input.Value, path []string) (int, bool) {
		if v.Kind != input.Number {
			s.WrongType(path, want, v)
			return 0, false
		}
		if f, err := strconv.ParseFloat(v.Text, 64); err != nil || f != float64(n) {
			s.OutsideVocabulary(path, []string{strconv.Itoa(n)})
			return 0, false
		}
		return n, true
	}}
}

// Array takes fewest to most elements, which want names in issues.
func Array[T any](want string, each Rule[T], fewest, most int) Rule[[]T] {
	want = "an array of " + want
	return Rule[[]T]{Schema: schema.Array(each.Schema, fewest, most), want: want, read: func(s *input.Issues, v input.Value, path []string) ([]T, bool) {
		if v.Kind != input.Array {
			s.WrongType(path, want, v)
			return nil, false
		}
		if !s.Length(len(v.Items), fewest, most, path...) {
			return nil, false
		}
		elements := make([]T, 0, len(v.Items))
		for i, item := range v.Items {
			if got, ok := each.read(s, item, append(slices.Clip(path), strconv.Itoa(i))); ok {
				elements = append(elements, got)
			}
		}
		return elements, true
	}}
}

// ByKey takes an object of at most most members under keys of the client's own,
// which want names in issues.
func ByKey[T any](want string, key Rule[string], each Rule[T], most int) Rule[map[string]T] {
	want = "an object of " + want
	described := schema.ByKey(each.Schema)
	described.PropertyNames, described.MaxProperties = key.Schema, most
	return Rule[map[string]T]{Schema: described, want: want, read: func(s *input.Issues, v input.Value, path []string) (map[string]T, bool) {
		if v.Kind != input.Object {
			s.WrongType(path, want, v)
			return nil, false
		}
		if n := len(v.Members); n > most {
			s.Add(fault.TooBig, path, "must have at most %d entries, has %d", most, n)
			return nil, false
		}
		values := make(map[string]T, len(v.Members))
		for _, m := range v.Members {
			at := append(slices.Clip(path), m.Name)
			key.read(s, input.Value{Kind: input.String, Text: m.Name}, at)
			values[m.Name], _ = each.read(s, m.Value, at)
		}
		return values, true
	}}
}

// Map is the rule with the value converted.
func Map[T, V any](r Rule[T], convert func(T) V) Rule[V] {
	return Rule[V]{Schema: r.Schema, want: r.want, read: func(s *input.Issues, v input.Value, path []string) (V, bool) {
		got, ok := r.read(s, v, path)
		return convert(got), ok
	}}
}

// Exact takes any text as it was sent.
func Exact() Rule[string] {
	return Rule[string]{Schema: schema.Free(0), want: "a string", read: func(s *input.Issues, v input.Value, path []string) (string, bool) {
		if v.Kind != input.String {
			s.WrongType(path, "a string", v)
		}
		return v.Text, v.Kind == input.String
	}}
}
