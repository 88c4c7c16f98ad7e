package rule

import (
	"slices"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/schema"
)

// Field is a member of an object that is read into a T.
type Field[T any] struct {
	// properties are none for a step without a member, two for alternatives.
	properties []schema.Property
	read       func(s *input.Issues, r *input.Reader, into *T)
}

// FieldFunc is a member that the function read takes and reads, for reading that
// depends on other members.
func FieldFunc[T any](p schema.Property, read func(s *input.Issues, r *input.Reader, into *T)) Field[T] {
	return Field[T]{[]schema.Property{p}, read}
}

// Step is not a member: it checks or changes what the preceding fields have read.
func Step[T any](do func(s *input.Issues, r *input.Reader, into *T)) Field[T] {
	return Field[T]{read: do}
}

// Within is the field of a part of the target.
func Within[T, U any](f Field[T], part func(*U) *T) Field[U] {
	return Field[U]{f.properties, func(s *input.Issues, r *input.Reader, into *U) { f.read(s, r, part(into)) }}
}

// NoOthers is the check for unknown members, which otherwise comes after all
// fields.
func NoOthers[T any]() Field[T] {
	return Step(func(_ *input.Issues, r *input.Reader, _ *T) { r.Done() })
}

// Elsewhere is the step that says where unknown members belong; "" if it does not know.
func Elsewhere[T any](says func(m input.Member) string) Field[T] {
	return Step(func(_ *input.Issues, r *input.Reader, _ *T) { r.Elsewhere(says) })
}

// Required is a member that must be present. Its value is stored in the target.
func Required[T, V any](name string, rule Rule[V], target func(*T) *V) Field[T] {
	return field(schema.Required(name, rule.Schema), rule, func(into *T, value V) { *target(into) = value })
}

// RequiredFunc is Required with a function that stores the value.
func RequiredFunc[T, V any](name string, rule Rule[V], store func(into *T, value V)) Field[T] {
	return field(schema.Required(name, rule.Schema), rule, store)
}

// Fixed is a member that must be present and whose value is not used, such as a
// version.
func Fixed[T, V any](name string, rule Rule[V]) Field[T] {
	return field(schema.Required(name, rule.Schema), rule, func(*T, V) {})
}

// Optional is a member that may be left out: its target then has the rule's
// default.
func Optional[T, V any](name string, rule Rule[V], target func(*T) *V) Field[T] {
	return OptionalFunc(name, rule, func(into *T, value V) { *target(into) = value })
}

// OptionalFunc is Optional with a function that stores the value.
func OptionalFunc[T, V any](name string, rule Rule[V], store func(into *T, value V)) Field[T] {
	return field(schema.Optional(name, rule.Schema), rule, store)
}

func field[T, V any](p schema.Property, rule Rule[V], store func(*T, V)) Field[T] {
	return FieldFunc(p, func(s *input.Issues, r *input.Reader, into *T) {
		if value, ok := rule.member(s, r, p.Name, p.Required); ok {
			store(into, value)
		}
	})
}

// Either is two optional members of which exactly one must be present.
func Either[T any](a, b Field[T]) Field[T] {
	p := slices.Concat(a.properties, b.properties)
	return Field[T]{p, func(s *input.Issues, r *input.Reader, into *T) {
		if (r.Take(p[0].Name).Kind == input.Absent) == (r.Take(p[1].Name).Kind == input.Absent) {
			s.Add(fault.InvalidUnion, r.Path(), "give exactly one of %s and %s", p[0].Name, p[1].Name)
			return
		}
		a.read(s, r, into)
		b.read(s, r, into)
	}}
}

func (r Rule[T]) member(s *input.Issues, from *input.Reader, name string, required bool) (value T, ok bool) {
	switch v := from.Take(name); {
	case v.Kind == input.Null && !required:
		return r.readNull(s, v, from.Path(name))
	case v.Kind != input.Absent:
		return r.read(s, v, from.Path(name))
	case required:
		s.WrongTypeInstead(from.Path(name), r.want, v, r.Suggestion(v))
	case r.absent != nil:
		return *r.absent, true
	}
	return value, false
}

// Member reads a member of an object that Object cannot describe, because the
// required members depend on others.
func (r Rule[T]) Member(s *input.Issues, from *input.Reader, name string, required bool) T {
	value, _ := r.member(s, from, name, required)
	return value
}

// Group is a member that may be left out, an object whose members are read into the same T.
// instead shows what would be right in place of a value of another type; nil: nothing.
func Group[T any](name, description string, instead func(v input.Value) string, fields ...Field[T]) Field[T] {
	described, read := object(fields)
	return FieldFunc(schema.Optional(name, described.Described(description)), func(s *input.Issues, r *input.Reader, into *T) {
		switch v := r.Take(name); v.Kind {
		case input.Absent:
		case input.Object:
			read(s, s.Object(v, r.Path(name)...), into)
		default:
			before := len(*s)
			s.WrongTypeInstead(r.Path(name), "an object", v, form{instead: instead}.Suggestion(v))
			adviseNull(s, before, v, r.Path(name))
		}
	})
}

// Object takes an object of these members and no others, and reads them in this
// order. It returns the readable part together with the issues.
func Object[T any](fields ...Field[T]) Rule[T] {
	described, read := object(fields)
	return New(described, input.Object, "an object", func(s *input.Issues, v input.Value, path []string) (into T, ok bool) {
		read(s, s.Object(v, path...), &into)
		return into, true
	})
}

// Only takes an object of exactly one member, and reads that.
func Only[T any](name string, rule Rule[T]) Rule[T] {
	return Object(Required(name, rule, func(value *T) *T { return value })).Instead(func(v input.Value) string {
		if v.Kind != rule.kind {
			return ""
		}
		return input.Wrapped("{"+input.Quoted(name)+":", v, "}")
	})
}

// object is the schema and the reader of an object of these fields.
func object[T any](fields []Field[T]) (described *schema.Schema, read func(s *input.Issues, r *input.Reader, into *T)) {
	var properties []schema.Property
	var names []string
	var either []string
	for _, f := range fields {
		properties = append(properties, f.properties...)
		for _, p := range f.properties {
			names = append(names, p.Name)
			if len(f.properties) > 1 {
				either = append(either, p.Name)
			}
		}
	}
	described = schema.Object(properties...)
	if either != nil {
		described = described.Either(either...)
	}
	return described, func(s *input.Issues, r *input.Reader, into *T) {
		if !r.Ok() {
			return
		}
		r.Expect(names)
		for _, f := range fields {
			f.read(s, r, into)
		}
		r.Done()
	}
}
