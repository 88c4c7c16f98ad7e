package source

import (
	"reflect"
	"strings"

	"atlas/internal/schema"
)

// Schema is the JSON Schema of descriptions, for editors.
func Schema() *schema.Schema {
	s := structSchema(reflect.TypeFor[Description]())
	s.Title = "Source of building permits"
	s.Description = "What a file of building permits means (docs/sources.md)."
	return s
}

// valueRef is the reference to the schema of a Value, which is recursive.
const valueRef = "#/$defs/value"

// Document is the schema with its definitions, as one JSON document.
func Document() any {
	type document struct {
		Dialect string `json:"$schema"`
		*schema.Schema
		Defs map[string]*schema.Schema `json:"$defs"`
	}
	value := structSchema(reflect.TypeFor[Value]())
	many := &schema.Schema{Type: "array", MinItems: 1, Items: &schema.Schema{Ref: valueRef}}
	return document{"https://json-schema.org/draft/2020-12/schema", Schema(), map[string]*schema.Schema{
		"value": {AnyOf: []*schema.Schema{scalar(), value, many}},
	}}
}

// scalar is a text; YAML also has numbers, booleans and NULL without quotes.
func scalar() *schema.Schema {
	return &schema.Schema{Type: []string{"string", "number", "boolean", "null"}}
}

func structSchema(t reflect.Type) *schema.Schema {
	s := &schema.Schema{Type: "object", AdditionalProperties: false}
	for i := range t.NumField() {
		f := t.Field(i)
		key := f.Tag.Get("key")
		if key == "" {
			continue
		}
		member := typeSchema(f.Type, f.Tag.Get("enum"))
		member.Description = f.Tag.Get("doc")
		s.Properties = append(s.Properties, schema.Member[*schema.Schema]{Name: key, Value: member})
		if f.Tag.Get("required") != "" {
			s.Required = append(s.Required, key)
		}
	}
	return s
}

func typeSchema(t reflect.Type, enum string) *schema.Schema {
	switch t {
	case reflect.TypeFor[string]():
		if enum == "" {
			return scalar()
		}
		return enumerated(enum)
	case reflect.TypeFor[[]string]():
		one := scalar()
		if enum != "" {
			one = enumerated(enum)
		}
		return &schema.Schema{AnyOf: []*schema.Schema{one, {Type: "array", Items: one}}}
	case reflect.TypeFor[int]():
		return &schema.Schema{Type: "integer", Minimum: 0}
	case reflect.TypeFor[bool]():
		return &schema.Schema{Type: "boolean"}
	case reflect.TypeFor[Value]():
		return &schema.Schema{Ref: valueRef}
	case reflect.TypeFor[[]Column]():
		return &schema.Schema{Type: "object", AdditionalProperties: &schema.Schema{Ref: valueRef}}
	case reflect.TypeFor[[]Entry]():
		return &schema.Schema{Type: "object", AdditionalProperties: scalar()}
	}
	if t.Kind() == reflect.Slice {
		one := structSchema(t.Elem())
		return &schema.Schema{AnyOf: []*schema.Schema{one, {Type: "array", Items: one}}}
	}
	return structSchema(t)
}

func enumerated(values string) *schema.Schema {
	s := &schema.Schema{}
	for v := range strings.SplitSeq(values, ",") {
		s.Enum = append(s.Enum, v)
	}
	return s
}
