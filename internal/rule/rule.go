package rule

import (
	"maps"
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
	form
	// absent is the value of a member that is left out, nil for the zero value.
	absent *T
	// value reads a value of the form. It returns false when there is no T to use.
	value func(s *input.Issues, v input.Value, path []string) (T, bool)
}

// form says what a value must be before it is read, and how issues name it.
type form struct {
	// kind is the JSON type, Absent for any.
	kind     input.Kind
	nullable bool
	// want names the value in the issue of a missing one, or of one of another type.
	want string
	// listed are the values of an enumeration, which the issue of another value
	// lists; nil for other rules.
	listed []string
	// instead shows what would be right in place of a value of another type; nil or "":
	// nothing.
	instead func(v input.Value) string
	// advice ends the issues of a code that the rule adds at the value.
	advice map[fault.IssueCode]string
}

// New is a rule for which package rule has no constructor. want names the value in issues.
// read gets only values of that kind, Absent for any kind; it returns false when there is
// no T to use.
func New[T any](
	s *schema.Schema, kind input.Kind, want string, read func(s *input.Issues, v input.Value, path []string) (T, bool),
) Rule[T] {
	return Rule[T]{Schema: s, form: form{kind: kind, want: want}, value: read}
}

func (r Rule[T]) read(s *input.Issues, v input.Value, path []string) (got T, ok bool) {
	if r.kind != input.Absent && v.Kind != r.kind && !(r.nullable && v.Kind == input.Null) {
		s.WrongTypeInstead(path, r.want, v, r.Suggestion(v))
		return got, false
	}
	before := len(*s)
	if got, ok = r.value(s, v, path); !ok && r.listed != nil {
		s.OutsideVocabulary(path, v, r.listed)
	}
	for i := before; i < len(*s); i++ {
		if text := r.advice[(*s)[i].Code]; text != "" && len((*s)[i].Path) == len(path) {
			(*s)[i].Message += "; " + text
		}
	}
	return got, ok
}

// readNull reads null for an optional value.
func (r Rule[T]) readNull(s *input.Issues, v input.Value, path []string) (T, bool) {
	before := len(*s)
	got, ok := r.read(s, v, path)
	adviseNull(s, before, v, path)
	return got, ok
}

// adviseNull adds advice to the issues since before, if they are about a null.
func adviseNull(s *input.Issues, before int, v input.Value, path []string) {
	if v.Kind != input.Null {
		return
	}
	for i := before; i < len(*s); i++ {
		if len((*s)[i].Path) == len(path) {
			(*s)[i].Message += "; leave it out instead"
		}
	}
}

// Suggestion shows what would be right in place of a value of another type; "" for
// nothing.
func (f form) Suggestion(v input.Value) string {
	if f.instead == nil {
		return ""
	}
	return f.instead(v)
}

// Instead is the rule whose issue of a value of another type shows what would be right.
// The function gets that value, Absent if there is none, and returns JSON, or "".
func (r Rule[T]) Instead(show func(v input.Value) string) Rule[T] {
	r.instead = show
	return r
}

// Advise is the rule with an advice at the end of its issues of a code at the value.
func (r Rule[T]) Advise(code fault.IssueCode, text string) Rule[T] {
	r.advice = maps.Clone(r.advice)
	if r.advice == nil {
		r.advice = map[fault.IssueCode]string{}
	}
	r.advice[code] = text
	return r
}

// Read reads a value. If it adds issues, it returns the part that could be read.
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

// Check is the rule with one more condition on values that it reads. The issue is at
// the value, or at the member of it that below names.
func (r Rule[T]) Check(ok func(T) bool, code fault.IssueCode, message string, below ...string) Rule[T] {
	value := r.value
	r.value = func(s *input.Issues, v input.Value, path []string) (T, bool) {
		got, valid := value(s, v, path)
		if valid && !ok(got) {
			s.Add(code, slices.Concat(path, below), "%s", message)
			return got, false
		}
		return got, valid
	}
	return r
}

// Pointer is the rule of a member whose target is nil when it is left out.
func Pointer[T any](r Rule[T]) Rule[*T] { return Map(r, func(value T) *T { return &value }) }

// Nullable is the rule that takes null too, as nil.
func Nullable[T any](r Rule[T]) Rule[*T] {
	p := Pointer(r).As(schema.Nullable(r.Schema))
	p.nullable, p.want = true, r.want+" or null"
	if r.listed != nil {
		p.listed = append(slices.Clip(r.listed), "null")
	}
	value := p.value
	p.value = func(s *input.Issues, v input.Value, path []string) (*T, bool) {
		if v.Kind == input.Null {
			return nil, true
		}
		return value(s, v, path)
	}
	return p
}

// Text takes fewest to most characters, trimmed before they are counted.
func Text(fewest, most int) Rule[string] {
	described := schema.Text(most)
	if fewest == 0 {
		described = schema.Free(most)
	}
	return New(described, input.String, "a string", func(s *input.Issues, v input.Value, path []string) (string, bool) {
		return s.String(v, input.Text{Min: fewest, Max: most}, path...)
	}).Instead(onlyText)
}

// onlyText shows the only text in a list or an object, in place of that.
func onlyText(v input.Value) string {
	for range 4 { // query, match, name, garage
		switch {
		case v.Kind == input.String:
			return v.JSON()
		case len(v.Items) == 1:
			v = v.Items[0]
		case len(v.Members) == 1:
			v = v.Members[0].Value
		}
	}
	return ""
}

// Verbatim takes 1 to most characters as sent, including surrounding white space; white
// space alone counts as empty.
func Verbatim(most int) Rule[string] {
	return New(schema.Text(most), input.String, "a string", func(s *input.Issues, v input.Value, path []string) (string, bool) {
		return s.Verbatim(v, input.Text{Min: 1, Max: most}, path...)
	})
}

// Exact takes any text as sent.
func Exact() Rule[string] {
	return New(schema.Free(0), input.String, "a string", func(_ *input.Issues, v input.Value, _ []string) (string, bool) {
		return v.Text, true
	})
}

// Enum takes one of the texts.
func Enum[T ~string](allowed ...T) Rule[T] {
	texts := make([]string, len(allowed))
	for i, text := range allowed {
		texts[i] = string(text)
	}
	return Rule[T]{
		Schema: schema.OneOf(texts...), form: form{want: "one of " + strings.Join(texts, ", "), listed: texts},
		value: func(_ *input.Issues, v input.Value, _ []string) (T, bool) {
			return T(v.Text), v.Kind == input.String && slices.Contains(texts, v.Text)
		},
	}
}

// UUID takes a UUID of 36 characters, in either case.
func UUID[T ~[16]byte]() Rule[T] {
	return New(schema.AnyUUID(), input.String, "a UUID", func(s *input.Issues, v input.Value, path []string) (T, bool) {
		text, ok := s.UUID(v, path...)
		if !ok {
			return T{}, false
		}
		return T(uuid.MustParse(text)), true // the result of ParseUUID is valid
	}).Instead(onlyText)
}

// Integer takes an integer of the bounds, both inclusive.
func Integer(lowest, highest int) Rule[int] {
	return New(schema.Integer(
		int64(lowest), int64(highest),
	), input.Number, "an integer", func(s *input.Issues, v input.Value, path []string) (int, bool) {
		return s.Integer(v, lowest, highest, path...)
	}).Instead(Unquoted)
}

// Boolean takes true or false.
func Boolean() Rule[bool] {
	return New(schema.Boolean(), input.Bool, "true or false", func(_ *input.Issues, v input.Value, _ []string) (bool, bool) {
		return v.Bool, true
	}).Instead(func(v input.Value) string {
		if v.Text == "true" || v.Text == "false" {
			return v.Text
		}
		return ""
	})
}

// decoration are characters that people write around and within numbers.
var decoration = strings.NewReplacer("$", "", "€", "", "£", "", ",", "", "_", "", " ", "")

// Unquoted shows the number in a text, for Instead: 1000 for "1000" and "$1,000".
func Unquoted(v input.Value) string {
	text := decoration.Replace(v.Text)
	if _, err := strconv.ParseFloat(text, 64); v.Kind != input.String || err != nil || strings.Trim(text, "0123456789.-") != "" {
		return ""
	}
	return input.Value{Kind: input.Number, Text: text}.JSON()
}

// Number takes exactly one integer, such as the version of a format.
func Number(n int) Rule[int] {
	text := strconv.Itoa(n)
	return New(schema.Always(n), input.Number, "the number "+text, func(s *input.Issues, v input.Value, path []string) (int, bool) {
		f, err := strconv.ParseFloat(v.Text, 64)
		if err != nil || f != float64(n) {
			s.OutsideVocabulary(path, v, []string{text})
			return 0, false
		}
		return n, true
	})
}

// Array takes fewest to most elements, which want names in issues.
func Array[T any](want string, each Rule[T], fewest, most int) Rule[[]T] {
	return New(schema.Array(
		each.Schema, fewest, most,
	), input.Array, "an array of "+want, func(s *input.Issues, v input.Value, path []string) ([]T, bool) {
		if !s.Length(len(v.Items), fewest, most, path...) {
			return nil, false
		}
		elements := make([]T, 0, len(v.Items))
		for i, item := range v.Items {
			if got, ok := each.readNull(s, item, append(slices.Clip(path), strconv.Itoa(i))); ok {
				elements = append(elements, got)
			}
		}
		return elements, true
	}).Instead(func(v input.Value) string {
		scalar := each.kind
		if each.listed != nil {
			scalar = input.String
		}
		switch {
		case v.Kind != scalar, v.Kind == input.Absent, v.Kind == input.Array, v.Kind == input.Object && each.Suggestion(v) != "":
			return each.asElement(v)
		case v.Kind == input.String && strings.Contains(v.Text, ","):
			list := input.Value{Kind: input.Array}
			for text := range strings.SplitSeq(v.Text, ",") {
				list.Items = append(list.Items, input.Value{Kind: input.String, Text: strings.TrimSpace(text)})
			}
			return list.JSON()
		}
		return input.Wrapped("[", v, "]")
	})
}

// asElement is the suggestion for a value as an array.
func (f form) asElement(v input.Value) string {
	if text := f.Suggestion(v); text != "" {
		return "[" + text + "]"
	}
	return ""
}

// OneOrMore takes a value, or an array of 1 to most values.
func OneOrMore[T any](each Rule[T], most int) Rule[[]T] {
	several := Array("values", each, 1, most)
	s := &schema.Schema{AnyOf: []*schema.Schema{each.Schema, several.Schema}}
	return New(s, input.Absent, "a value", func(s *input.Issues, v input.Value, path []string) ([]T, bool) {
		if v.Kind == input.Array {
			return several.read(s, v, path)
		}
		got, ok := each.read(s, v, path)
		return []T{got}, ok
	})
}

// ByKey takes an object of at most most members under keys that the client chooses, which
// want names in issues.
func ByKey[T any](want string, key Rule[string], each Rule[T], most int) Rule[map[string]T] {
	described := schema.ByKey(each.Schema)
	described.PropertyNames, described.MaxProperties = key.Schema, most
	return New(described, input.Object, "an object of "+want, func(s *input.Issues, v input.Value, path []string) (map[string]T, bool) {
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
	})
}

// Map is the rule with the value converted.
func Map[T, V any](r Rule[T], convert func(T) V) Rule[V] {
	return Rule[V]{Schema: r.Schema, form: r.form, value: func(s *input.Issues, v input.Value, path []string) (V, bool) {
		got, ok := r.value(s, v, path)
		return convert(got), ok
	}}
}
