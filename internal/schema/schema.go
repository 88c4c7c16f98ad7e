package schema

import (
	"fmt"
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

	Items       *Schema `json:"items,omitzero"`
	MinItems    int     `json:"minItems,omitzero"`
	MaxItems    int     `json:"maxItems,omitzero"`
	UniqueItems bool    `json:"uniqueItems,omitzero"`

	Properties Map[*Schema] `json:"properties,omitempty"`
	Required   []string     `json:"required,omitempty"`
	// AdditionalProperties is a *Schema or a boolean.
	AdditionalProperties any     `json:"additionalProperties,omitzero"`
	PropertyNames        *Schema `json:"propertyNames,omitzero"`
	MinProperties        int     `json:"minProperties,omitzero"`
	MaxProperties        int     `json:"maxProperties,omitzero"`

	OneOf []*Schema `json:"oneOf,omitzero"`
	AnyOf []*Schema `json:"anyOf,omitzero"`
	// Discriminator distinguishes the alternatives of OneOf.
	Discriminator *Discriminator `json:"discriminator,omitzero"`

	// If, Then, Else and Not are for rules between members. Validators apply them
	// and code generators ignore them, so the type comes from the other members.
	If   *Schema `json:"if,omitzero"`
	Then *Schema `json:"then,omitzero"`
	Else *Schema `json:"else,omitzero"`
	Not  *Schema `json:"not,omitzero"`

	Default  any   `json:"default,omitzero"`
	Examples []any `json:"examples,omitzero"`

	// target is what Ref refers to.
	target *Schema
	// only is the member that none of the other alternatives has (Either).
	only string
}

// Discriminator is the member whose value identifies the alternative of an object.
type Discriminator struct {
	PropertyName string `json:"propertyName"`
	// Mapping has the reference to the alternative of each value.
	Mapping Map[string] `json:"mapping"`
}

const refs = "#/components/schemas/"

// Named returns a reference to the schema as a component of that name. The
// document that uses it collects the component (Schema.Collect). Objects within the
// schema become components too, named after where they are: code generators would
// invent names for them.
func Named(name string, s *Schema) *Schema {
	if s.target != nil {
		return s
	}
	return &Schema{Ref: refs + name, target: s.nameParts(name)}
}

// nameParts is the schema with a component for each object in its members and
// elements.
func (s *Schema) nameParts(name string) *Schema {
	c := *s
	c.Properties = slices.Clone(s.Properties)
	for i, p := range c.Properties {
		c.Properties[i].Value = p.Value.Part(name + Identifier(p.Name))
	}
	if s.Items != nil {
		c.Items = s.Items.Part(strings.TrimSuffix(name, "s"))
	}
	c.OneOf, c.AnyOf = alternatives(name, s.OneOf), alternatives(name, s.AnyOf)
	return &c
}

// alternatives have a component each, unless one is null.
func alternatives(name string, of []*Schema) []*Schema {
	if slices.ContainsFunc(of, func(s *Schema) bool { return s.Type == "null" }) {
		return of
	}
	named := slices.Clone(of)
	for i, s := range of {
		switch {
		case s.only != "":
			named[i] = Named(name+"By"+Identifier(s.only), s)
		case s.Type == "array":
			named[i] = Named(name+"Many", s)
		default:
			named[i] = Named(name+"One", s)
		}
	}
	return named
}

// Part is the schema as a part of another one: an object with members is a component
// of that name.
func (s *Schema) Part(name string) *Schema {
	switch {
	case s.target != nil:
		return s
	case len(s.Properties) > 0:
		return Named(name, s)
	}
	return s.nameParts(name)
}

// Identifier is a name of words joined by underscores in the form of the names of
// components: search_accounts is SearchAccounts.
func Identifier(name string) string {
	text := ""
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			text += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return text
}

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

// Const is exactly one text.
func Const[T ~string](value T) *Schema { return &Schema{Type: "string", Const: value} }

// Only is a boolean that is always the same. It is not a Const, for which openapi-generator
// writes Java that does not compile.
func Only(value bool) *Schema {
	return Boolean().Described(fmt.Sprintf("Always `%t`.", value)).Example(value)
}

// Never is the schema that no value meets.
func Never() *Schema { return &Schema{Not: &Schema{}} }

// OneOfObjects is one of the components, whose member of that name is a constant
// that differs.
func OneOfObjects(member string, alternatives ...*Schema) *Schema {
	d := &Discriminator{PropertyName: member}
	for _, a := range alternatives {
		value, _ := a.target.Properties.Get(member).Const.(string)
		d.Mapping = append(d.Mapping, Member[string]{value, a.Ref})
	}
	return &Schema{OneOf: alternatives, Discriminator: d}
}

// With is an object with one more member, the first. It has no name.
func (s *Schema) With(p Property) *Schema {
	c := *s.resolved()
	c.Properties = append(Map[*Schema]{{p.Name, p.Schema}}, c.Properties...)
	if p.Required {
		c.Required = append([]string{p.Name}, c.Required...)
	}
	return &c
}

// At is an object whose member of that name meets the schema, for If, Then and Else.
// An object without the member meets it too.
func (s *Schema) At(member string) *Schema {
	return &Schema{Properties: Map[*Schema]{{member, s}}, AdditionalProperties: true}
}

// Requires is an object with these members and any others, for If, Then and Else.
func Requires(members ...string) *Schema {
	s := &Schema{Required: members, AdditionalProperties: true}
	for _, member := range members {
		s.Properties = append(s.Properties, Member[*Schema]{member, &Schema{}})
	}
	return s
}

// And is the object that also meets the rules of another one, both for If, Then and Else.
func (s *Schema) And(o *Schema) *Schema {
	c := *s
	c.Properties, c.Required = slices.Concat(s.Properties, o.Properties), slices.Concat(s.Required, o.Required)
	return &c
}

// Narrowed is the reference with further rules for the object. Validators apply both; code
// generators use the component.
func (s *Schema) Narrowed(rules *Schema) *Schema {
	c := rules.Described(s.Description)
	c.Ref, c.target = s.Ref, s.target
	return c
}

// Is is an object that has the member with exactly that value, for If.
func Is(member string, value any) *Schema {
	s := (&Schema{Const: value}).At(member)
	s.Required = []string{member}
	return s
}

// When adds a rule to the schema of an object: if it meets one schema, it must meet
// another, otherwise a third. nil is no further rule.
func (s *Schema) When(condition, then, otherwise *Schema) *Schema {
	c := *s
	c.If, c.Then, c.Else = condition, then, otherwise
	return &c
}

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

// Either is the object with exactly one of these members, as one alternative for each.
func (s *Schema) Either(members ...string) *Schema {
	either := &Schema{}
	for _, only := range members {
		a := *s
		a.only, a.Required = only, append(slices.Clip(s.Required), only)
		a.Properties = slices.DeleteFunc(slices.Clone(s.Properties), func(p Member[*Schema]) bool {
			return p.Name != only && slices.Contains(members, p.Name)
		})
		either.OneOf = append(either.OneOf, &a)
	}
	return either
}

// ByKey is an object of values of one kind under any key.
func ByKey(values *Schema) *Schema { return &Schema{Type: "object", AdditionalProperties: values} }

// Described is the schema with a description; a reference has it in addition to its own.
func (s *Schema) Described(text string) *Schema {
	c := *s
	c.Description = text
	return &c
}

// Titled is the schema with a title, which some code generators use as the name.
func (s *Schema) Titled(text string) *Schema {
	c := *s
	c.Title = text
	return &c
}

// Example is the schema with an example.
func (s *Schema) Example(value any) *Schema {
	c := *s
	c.Examples = []any{value}
	return &c
}

// Formatted is the schema with another format; with "" it has none, and keeps its pattern.
func (s *Schema) Formatted(format string) *Schema {
	c := *s
	c.Format = format
	return &c
}

// Defaulting is the schema with the default of an omitted value.
func (s *Schema) Defaulting(value any) *Schema {
	c := *s
	c.Default = value
	return &c
}

// Sample makes an example of a schema from the examples of its parts: every member of an
// object that Then does not exclude, the first of alternatives, one element of an array.
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
		return s.sampleObject()
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
		if s.Then == nil || s.Then.Properties.Get(p.Name).allows() {
			object = append(object, Member[any]{p.Name, p.Value.Sample()})
		}
	}
	return object
}

// allows reports whether the schema is not Never; nil allows everything.
func (s *Schema) allows() bool { return s == nil || s.Not == nil }

func (s *Schema) sampleArray() any { return []any{s.Items.Sample()} }

// TakesEmpty reports whether an object without members is valid.
func (s *Schema) TakesEmpty() bool {
	if s.target != nil {
		return s.target.TakesEmpty()
	}
	return s.Type == "object" && len(s.Required) == 0
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
	for _, group := range [][]*Schema{s.OneOf, s.AnyOf, {s.Items, s.PropertyNames, s.If, s.Then, s.Else, s.Not}} {
		for _, each := range group {
			each.Collect(components)
		}
	}
	if each, ok := s.AdditionalProperties.(*Schema); ok {
		each.Collect(components)
	}
}
