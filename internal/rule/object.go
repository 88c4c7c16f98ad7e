package rule

import (
	"atlas/internal/input"
	"atlas/internal/schema"
)

// Field is a member of an object that is read into a T.
type Field[T any] struct {
	property schema.Property
	// read reads the member, which may be absent.
	read func(s *input.Issues, v input.Value, path []string, into *T)
	// last: the issue of unknown members precedes those of this one.
	last bool
}

// Last returns the member as one that is read after the check for unknown members.
func (f Field[T]) Last() Field[T] {
	f.last = true
	return f
}

// Required is a member that must be there. Its value goes to the target.
func Required[T, V any](name string, rule Rule[V], target func(*T) *V) Field[T] {
	return Field[T]{property: schema.Required(name, rule.Schema), read: func(s *input.Issues, v input.Value, path []string, into *T) {
		if got, ok := rule.readRequired(s, v, path); ok {
			*target(into) = got
		}
	}}
}

// Fixed is a member that must be there and says nothing, such as a version.
func Fixed[T, V any](name string, rule Rule[V]) Field[T] {
	return Field[T]{property: schema.Required(name, rule.Schema), read: func(s *input.Issues, v input.Value, path []string, _ *T) {
		rule.readRequired(s, v, path)
	}}
}

// Optional is a member that may be left out: its target then has the rule's
// default.
func Optional[T, V any](name string, rule Rule[V], target func(*T) *V) Field[T] {
	return Field[T]{property: schema.Optional(name, rule.Schema), read: func(s *input.Issues, v input.Value, path []string, into *T) {
		if got, ok := rule.readOptional(s, v, path); ok {
			*target(into) = got
		}
	}}
}

func (r Rule[T]) readRequired(s *input.Issues, v input.Value, path []string) (value T, ok bool) {
	if v.Kind == input.Absent {
		s.WrongType(path, r.want, v)
		return value, false
	}
	return r.read(s, v, path)
}

func (r Rule[T]) readOptional(s *input.Issues, v input.Value, path []string) (value T, ok bool) {
	switch {
	case v.Kind != input.Absent:
		return r.read(s, v, path)
	case r.absent != nil:
		return *r.absent, true
	}
	return value, false
}

// Member reads a member of an object for which no Object fits, because what is
// required depends on its other members.
func (r Rule[T]) Member(s *input.Issues, from *input.Reader, name string, required bool) T {
	read := r.readOptional
	if required {
		read = r.readRequired
	}
	value, _ := read(s, from.Take(name), from.Path(name))
	return value
}

// Group is a member that may be left out, an object whose members are read into
// the same T.
func Group[T any](name, description string, fields ...Field[T]) Field[T] {
	return Field[T]{property: schema.Optional(name, schemaOf(fields).Described(description)), read: func(s *input.Issues, v input.Value, path []string, into *T) {
		if v.Kind != input.Absent {
			readObject(s, v, path, fields, into)
		}
	}}
}

// Object takes an object of these members and no others, and reads them in this
// order, members that are Last after the others. What can be read of it counts
// beside its issues.
func Object[T any](fields ...Field[T]) Rule[T] {
	return Rule[T]{Schema: schemaOf(fields), want: "an object", read: func(s *input.Issues, v input.Value, path []string) (T, bool) {
		var into T
		ok := readObject(s, v, path, fields, &into)
		return into, ok
	}}
}

// Only takes an object of exactly one member, and reads that.
func Only[T any](name string, rule Rule[T]) Rule[T] {
	return Object(Required(name, rule, func(value *T) *T { return value }))
}

func schemaOf[T any](fields []Field[T]) *schema.Schema {
	properties := make([]schema.Property, len(fields))
	for i, f := range fields {
		properties[i] = f.property
	}
	return schema.Object(properties...)
}

func readObject[T any](s *input.Issues, v input.Value, path []string, fields []Field[T], into *T) bool {
	r := s.Object(v, path...)
	if !r.Ok() {
		return false
	}
	read := func(last bool) {
		for _, f := range fields {
			if v := r.Take(f.property.Name); f.last == last {
				f.read(s, v, r.Path(f.property.Name), into)
			}
		}
	}
	read(false)
	r.Done()
	read(true)
	return true
}
