package schema

import (
	"reflect"
	"slices"
)

// AnyOfObjects is one of several objects that have members in common, which code
// generators cannot tell apart. Its type has the members of all of them; that a value
// is one of them is a rule for validators.
func AnyOfObjects(alternatives ...*Schema) *Schema {
	all := alternatives[0]
	for _, s := range alternatives[1:] {
		all = merged(all, s)
	}
	return all.When(&Schema{Type: "object"}, &Schema{AnyOf: alternatives}, nil)
}

// merged is a schema that allows what either schema does.
func merged(a, b *Schema) *Schema {
	if a.Ref != "" && a.Ref == b.Ref || reflect.DeepEqual(a, b) {
		return a
	}
	x, y := a.resolved(), b.resolved()
	switch {
	case x.Type == "object" && y.Type == "object" && x.AdditionalProperties == false && y.AdditionalProperties == false:
		s := &Schema{Type: "object", Description: x.Description, MinProperties: min(x.MinProperties, y.MinProperties), AdditionalProperties: false, Properties: slices.Clone(x.Properties)}
		for _, p := range y.Properties {
			i := slices.IndexFunc(s.Properties, func(m Member[*Schema]) bool { return m.Name == p.Name })
			if i < 0 {
				s.Properties = append(s.Properties, p)
			} else {
				s.Properties[i].Value = merged(s.Properties[i].Value, p.Value)
			}
		}
		for _, name := range x.Required {
			if slices.Contains(y.Required, name) {
				s.Required = append(s.Required, name)
			}
		}
		return s
	case x.Enum != nil && y.Enum != nil:
		s := *x
		s.Enum = slices.Clone(x.Enum)
		for _, value := range y.Enum {
			if !slices.Contains(s.Enum, value) {
				s.Enum = append(s.Enum, value)
			}
		}
		return &s
	case x.Type == "string" && y.Type == "string" && x.Const == nil && y.Const == nil && x.Format == y.Format && x.Pattern == y.Pattern:
		s := *x
		s.MinLength, s.MaxLength = min(x.MinLength, y.MinLength), max(x.MaxLength, y.MaxLength)
		return &s
	case x.Type == "array" && y.Type == "array":
		s := *x
		s.Items = merged(x.Items, y.Items)
		s.MinItems, s.MaxItems = min(x.MinItems, y.MinItems), max(x.MaxItems, y.MaxItems)
		s.UniqueItems = x.UniqueItems && y.UniqueItems
		return &s
	}
	return &Schema{Description: a.Description, AnyOf: []*Schema{a, b}}
}

// resolved is the component of a reference, with the description of the reference.
func (s *Schema) resolved() *Schema {
	switch {
	case s.target == nil:
		return s
	case s.Description == "":
		return s.target
	}
	return s.target.Described(s.Description)
}
