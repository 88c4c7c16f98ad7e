package schema

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Map is a JSON object that preserves the order of its members.
type Map[T any] []Member[T]

// Member is one name and value of a Map.
type Member[T any] struct {
	Name  string
	Value T
}

// MarshalJSONTo writes the object.
func (m Map[T]) MarshalJSONTo(e *jsontext.Encoder) error {
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, member := range m {
		if err := e.WriteToken(jsontext.String(member.Name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(e, member.Value); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndObject)
}

// Get returns the value of that name, the zero value when there is none.
func (m Map[T]) Get(name string) (value T) {
	for _, member := range m {
		if member.Name == name {
			return member.Value
		}
	}
	return value
}

// Holder returns the member whose object has a member of that name; "" if none has.
func (s *Schema) Holder(member string) string {
	if s.target != nil {
		s = s.target
	}
	for _, m := range s.Properties {
		if m.Value != nil && m.Value.Has(member) {
			return m.Name
		}
	}
	for _, a := range slices.Concat(s.AnyOf, s.OneOf) {
		if holder := a.Holder(member); holder != "" {
			return holder
		}
	}
	return ""
}

// Omits reports whether objects may omit a member that exists in the schema and is never
// null.
func (s *Schema) Omits(member string) bool {
	has, optional := false, false
	for _, form := range s.forms() {
		if m := form.Properties.Get(member); m != nil {
			if has = true; m.takesNull() {
				return false
			}
		}
		optional = optional || !slices.Contains(form.Required, member)
	}
	return has && optional
}

// forms are the alternatives of the schema, or itself.
func (s *Schema) forms() (all []*Schema) {
	if s.target != nil {
		s = s.target
	}
	alternatives := slices.Concat(s.AnyOf, s.OneOf)
	if len(alternatives) == 0 || len(s.Properties) > 0 {
		all = append(all, s)
	}
	for _, a := range alternatives {
		all = append(all, a.forms()...)
	}
	return all
}

func (s *Schema) takesNull() bool {
	if s.target != nil {
		s = s.target
	}
	several, _ := s.Type.([]string)
	return s.Type == "null" || slices.Contains(several, "null") || slices.ContainsFunc(slices.Concat(s.AnyOf, s.OneOf), (*Schema).takesNull)
}

// Has reports whether the schema, or one of its alternatives, has a member.
func (s *Schema) Has(member string) bool {
	if s.target != nil {
		s = s.target
	}
	for _, m := range s.Properties {
		if m.Name == member {
			return true
		}
	}
	for _, alternatives := range [][]*Schema{s.AnyOf, s.OneOf} {
		for _, a := range alternatives {
			if a.Has(member) {
				return true
			}
		}
	}
	return false
}
