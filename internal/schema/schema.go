package schema

import (
	"reflect"
	"slices"
	"strings"
)

// Schema is a JSON Schema. Zero members are left out.
type Schema struct {
	Ref         string `json:"$ref,omitzero"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	// Type is a string, or a []string of several.
	Type  any   `json:"type,omitzero"`
	Const any   `json:"const,omitzero"`
	Enum  []any `json:"enum,omitzero"`

	Format    string `json:"format,omitzero"`
	Pattern   string `json:"pattern,omitzero"`
	MinLength int    `json:"minLength,omitzero"`
	MaxLength int    `json:"maxLength,omitzero"`

	// Minimum and Maximum are numbers of any Go type; nil is none.
	Minimum any `json:"minimum,omitzero"`
	Maximum any `json:"maximum,omitzero"`

	PrefixItems []*Schema `json:"prefixItems,omitzero"`
	// Items is a *Schema or false.
	Items       any  `json:"items,omitzero"`
	MinItems    int  `json:"minItems,omitzero"`
	MaxItems    int  `json:"maxItems,omitzero"`
	UniqueItems bool `json:"uniqueItems,omitzero"`

	Properties Map[*Schema] `json:"properties,omitempty"`
	Required   []string     `json:"required,omitempty"`
	// AdditionalProperties is a *Schema or false.
	AdditionalProperties any     `json:"additionalProperties,omitzero"`
	PropertyNames        *Schema `json:"propertyNames,omitzero"`
	MinProperties        int     `json:"minProperties,omitzero"`
	MaxProperties        int     `json:"maxProperties,omitzero"`

	OneOf []*Schema `json:"oneOf,omitzero"`
	AnyOf []*Schema `json:"anyOf,omitzero"`

	Default  any   `json:"default,omitzero"`
	Examples []any `json:"examples,omitzero"`

	// target is what Ref refers to.
	target *Schema
}

const refs = "#/components/schemas/"

// Named returns a reference to the schema as a component of that name. The
// document that uses it collects the component (Components.Collect).
func Named(name string, s *Schema) *Schema { return &Schema{Ref: refs + name, target: s} }

// Name is the name of the component that a reference refers to.
func (s *Schema) Name() string { return strings.TrimPrefix(s.Ref, refs) }

// Null is the schema of null.
func Null() *Schema { return &Schema{Type: "null"} }

// Nullable is the schema, or null.
func Nullable(s *Schema) *Schema {
	if t, plain := s.Type.(string); plain && s.Enum == nil && s.Const == nil {
		n := *s
		n.Type = []string{t, "null"}
		return &n
	}
	return &Schema{AnyOf: []*Schema{s, Null()}}
}

// Integer is an integer within bounds, both inclusive.
func Integer(lowest, highest int64) *Schema {
	return &Schema{Type: "integer", Minimum: lowest, Maximum: highest}
}

// Count is an integer that is not negative.
func Count() *Schema { return &Schema{Type: "integer", Minimum: int64(0)} }

// Boolean is true or false.
func Boolean() *Schema { return &Schema{Type: "boolean"} }

// OneOf is one of the texts.
func OneOf[S ~string](texts ...S) *Schema {
	s := &Schema{Type: "string"}
	for _, text := range texts {
		s.Enum = append(s.Enum, string(text))
	}
	return s
}

// Const is exactly one value.
func Const(value any) *Schema { return &Schema{Const: value} }

// Array is a list with a number of elements within bounds; most 0 means any number.
func Array(items *Schema, fewest, most int) *Schema {
	return &Schema{Type: "array", Items: items, MinItems: fewest, MaxItems: most}
}

// Property is a member of an object.
type Property struct {
	Name     string
	Schema   *Schema
	Required bool
}

// Required is a member that must be present.
func Required(name string, s *Schema) Property { return Property{name, s, true} }

// Optional is a member that may be left out.
func Optional(name string, s *Schema) Property { return Property{name, s, false} }

// Object has these members and no others.
func Object(properties ...Property) *Schema {
	s := &Schema{Type: "object", AdditionalProperties: false}
	for _, p := range properties {
		s.Properties = append(s.Properties, Member[*Schema]{p.Name, p.Schema})
		if p.Required {
			s.Required = append(s.Required, p.Name)
		}
	}
	return s
}

// ByKey is an object of values of one kind under any key.
func ByKey(values *Schema) *Schema { return &Schema{Type: "object", AdditionalProperties: values} }

// Described is the schema with a description; a reference has it in addition to its
// own.
func (s *Schema) Described(text string) *Schema {
	c := *s
	c.Description = text
	return &c
}

// Example is the schema with an example.
func (s *Schema) Example(value any) *Schema {
	c := *s
	c.Examples = []any{value}
	return &c
}

// Defaulting is the schema with the default of an omitted value.
func (s *Schema) Defaulting(value any) *Schema {
	c := *s
	c.Default = value
	return &c
}

// Sample makes an example of a schema from the examples of its parts: every member
// of an object that its first alternative has, the first of alternatives, one
// element of an array.
func (s *Schema) Sample() any {
	switch {
	case s.target != nil:
		return s.target.Sample()
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.Properties) > 0:
		return s.sampleObject() // its alternatives only say which members it has
	case len(s.OneOf) > 0:
		return s.OneOf[0].Sample()
	case len(s.AnyOf) > 0:
		return s.AnyOf[0].Sample()
	}
	kind, _ := s.Type.(string)
	if several, ok := s.Type.([]string); ok {
		kind = several[0]
	}
	switch kind {
	case "object":
		return Map[any]{}
	case "array":
		return s.sampleArray()
	case "string":
		return "text"
	case "integer", "number":
		if s.Minimum != nil {
			return s.Minimum
		}
		return 0
	case "boolean":
		return true
	}
	return nil
}

func (s *Schema) sampleObject() any {
	object := Map[any]{}
	for _, p := range s.Properties {
		first := len(s.OneOf) > 0 && slices.Contains(s.OneOf[0].Required, p.Name)
		other := slices.ContainsFunc(s.OneOf, func(o *Schema) bool { return slices.Contains(o.Required, p.Name) })
		if first || !other {
			object = append(object, Member[any]{p.Name, p.Value.Sample()})
		}
	}
	return object
}

func (s *Schema) sampleArray() any {
	if items, ok := s.Items.(*Schema); ok {
		return []any{items.Sample()}
	}
	var elements []any
	for _, item := range s.PrefixItems {
		elements = append(elements, item.Sample())
	}
	return slices.Clip(elements)
}

// TakesEmpty reports whether an object without members is valid.
func (s *Schema) TakesEmpty() bool {
	if s.target != nil {
		return s.target.TakesEmpty()
	}
	free := func(s *Schema) bool { return len(s.Required) == 0 }
	return s.Type == "object" && free(s) && s.OneOf == nil && (s.AnyOf == nil || slices.ContainsFunc(s.AnyOf, free))
}

// Collect adds to the components those that the schema refers to, directly or
// through others. Two schemas of one name panic.
func (s *Schema) Collect(components *Map[*Schema]) {
	if s == nil {
		return
	}
	if s.target != nil {
		switch known := components.Get(s.Name()); {
		case known == nil:
			*components = append(*components, Member[*Schema]{s.Name(), s.target})
			s.target.Collect(components)
		case known != s.target && !reflect.DeepEqual(known, s.target):
			panic("schema: two schemas are named " + s.Name())
		}
	}
	for _, p := range s.Properties {
		p.Value.Collect(components)
	}
	for _, group := range [][]*Schema{s.PrefixItems, s.OneOf, s.AnyOf, {s.PropertyNames}} {
		for _, each := range group {
			each.Collect(components)
		}
	}
	for _, value := range []any{s.Items, s.AdditionalProperties} { // a *Schema or false
		if each, ok := value.(*Schema); ok {
			each.Collect(components)
		}
	}
}
