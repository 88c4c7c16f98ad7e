package schema

import (
	"reflect"
	"slices"
)

// AnyOfObjects is one of several objects with common members, which code generators cannot
// distinguish. Its type has the members of all of them; validators check that a value is
// one of them.
func AnyOfObjects(alternatives ...*Schema) *Schema {
	all := alternatives[0]
	for _, s := range alternatives[1:] {
		all = merged(all, s)
	}
	return all.When(&Schema{Type: "object"}, &Schema{AnyOf: alternatives}, nil)
}

// merged is a schema that allows what either schema does. It has a description only if
// both have the same.
func merged(a, b *Schema) *Schema {
	if a.Description != b.Description {
		return merged(a.Described(""), b.Described(""))
	}
	if a.Ref != "" && a.Ref == b.Ref || reflect.DeepEqual(a, b) {
		return a
	}
	x, y := a.resolved(), b.resolved()
	s := *x
	switch {
	case x.Type == "object" && y.Type == "object" && x.AdditionalProperties == false && y.AdditionalProperties == false:
		return mergedObject(x, y)
	case x.Enum != nil && y.Enum != nil:
		s.Enum = slices.Clone(x.Enum)
		for _, value := range y.Enum {
			if !slices.Contains(s.Enum, value) {
				s.Enum = append(s.Enum, value)
			}
		}
	case x.Type == "string" && y.Type == "string" && x.Const == nil && y.Const == nil && x.Format == y.Format && x.Pattern == y.Pattern:
		s.MinLength, s.MaxLength = min(x.MinLength, y.MinLength), laxer(x.MaxLength, y.MaxLength)
	case x.Type == "array" && y.Type == "array":
		s.Items, s.UniqueItems = merged(x.Items, y.Items), x.UniqueItems && y.UniqueItems
		s.MinItems, s.MaxItems = min(x.MinItems, y.MinItems), laxer(x.MaxItems, y.MaxItems)
	default:
		return &Schema{AnyOf: []*Schema{a, b}}
	}
	return &s
}

func mergedObject(x, y *Schema) *Schema {
	s := &Schema{
		Type: "object", Description: x.Description, AdditionalProperties: false,
		MinProperties: min(x.MinProperties, y.MinProperties), Properties: slices.Clone(x.Properties),
	}
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
}

// laxer is the higher of two upper limits, of which 0 is none.
func laxer(a, b int) int {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// resolved is the component of a reference, with the description of the reference.
func (s *Schema) resolved() *Schema {
	if s.target == nil {
		return s
	}
	return s.target.Described(s.Description)
}
