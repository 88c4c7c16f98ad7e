package rule

import (
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/schema"
)

// Field is a member of an object that is read into a T.
type Field[T any] struct {
	property schema.Property
	// or is the member that can be given instead; nil for other fields.
	or *schema.Property
	// read takes the member, which may be absent, and reads it.
	read func(s *input.Issues, r *input.Reader, into *T)
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
	return member(schema.Required(name, rule.Schema), rule.readRequired, func(into *T, value V) { *target(into) = value })
}

// Fixed is a member that must be there and says nothing, such as a version.
func Fixed[T, V any](name string, rule Rule[V]) Field[T] {
	return member(schema.Required(name, rule.Schema), rule.readRequired, func(*T, V) {})
}

// Optional is a member that may be left out: its target then has the rule's
// default.
func Optional[T, V any](name string, rule Rule[V], target func(*T) *V) Field[T] {
	return OptionalFunc(name, rule, func(into *T, value V) { *target(into) = value })
}

// OptionalFunc is Optional with a function that stores the value.
func OptionalFunc[T, V any](name string, rule Rule[V], store func(into *T, value V)) Field[T] {
	return member(schema.Optional(name, rule.Schema), rule.readOptional, store)
}

func member[T, V any](p schema.Property, read func(s *input.Issues, v input.Value, path []string) (V, bool), store func(*T, V)) Field[T] {
	return Field[T]{property: p, read: func(s *input.Issues, r *input.Reader, into *T) {
		if value, ok := read(s, r.Take(p.Name), r.Path(p.Name)); ok {
			store(into, value)
		}
	}}
}

// Either is two optional members of which exactly one must be there.
func Either[T any](a, b Field[T]) Field[T] {
	return Field[T]{property: a.property, or: &b.property, read: func(s *input.Issues, r *input.Reader, into *T) {
		if (r.Take(a.property.Name).Kind == input.Absent) == (r.Take(b.property.Name).Kind == input.Absent) {
			s.Add(fault.InvalidUnion, r.Path(), "give exactly one of %s and %s", a.property.Name, b.property.Name)
			return
		}
		a.read(s, r, into)
		b.read(s, r, into)
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
	p := schema.Optional(name, schemaOf(fields).Described(description))
	return Field[T]{property: p, read: func(s *input.Issues, r *input.Reader, into *T) {
		if v := r.Take(name); v.Kind != input.Absent {
			readObject(s, v, r.Path(name), fields, into)
		}
	}}
}

// Object takes an object of these members and no others, and reads them in this
// order, members that are Last after the others. What can be read of it counts
// beside its issues.
func Object[T any](fields ...Field[T]) Rule[T] {
	return New(schemaOf(fields), input.Object, "an object", func(s *input.Issues, v input.Value, path []string) (into T, ok bool) {
		readObject(s, v, path, fields, &into)
		return into, true
	})
}

// Only takes an object of exactly one member, and reads that.
func Only[T any](name string, rule Rule[T]) Rule[T] {
	return Object(Required(name, rule, func(value *T) *T { return value }))
}

func schemaOf[T any](fields []Field[T]) *schema.Schema {
	var properties []schema.Property
	var alternatives []*schema.Schema
	for _, f := range fields {
		properties = append(properties, f.property)
		if f.or != nil {
			properties = append(properties, *f.or)
			alternatives = []*schema.Schema{{Required: []string{f.property.Name}}, {Required: []string{f.or.Name}}}
		}
	}
	s := schema.Object(properties...)
	s.OneOf = alternatives
	return s
}

func readObject[T any](s *input.Issues, v input.Value, path []string, fields []Field[T], into *T) {
	r := s.Object(v, path...)
	if !r.Ok() {
		return
	}
	for _, f := range fields {
		if f.last {
			r.Take(f.property.Name)
		} else {
			f.read(s, r, into)
		}
	}
	r.Done()
	for _, f := range fields {
		if f.last {
			f.read(s, r, into)
		}
	}
}
