package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// object is a JSON object, such as a JSON Schema.
type object = map[string]any

// document is the OpenAPI document of the API. It reads what the API writes, so a wrong shape
// is a mistake in the program, and it panics.
type document struct {
	schemas    object
	responses  object
	operations map[string]operation
}

// operation is an operation of the API.
type operation struct {
	method, path string
	object
}

const (
	componentSchemas   = "#/components/schemas/"
	componentResponses = "#/components/responses/"
)

func readDocument(text []byte) (d document, err error) {
	var all struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas, Responses object }
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return document{}, fmt.Errorf("the OpenAPI document: %w", err)
	}
	d = document{all.Components.Schemas, all.Components.Responses, map[string]operation{}}
	for path, item := range all.Paths {
		for method, raw := range item {
			var o object
			if json.Unmarshal(raw, &o) != nil || o["operationId"] == nil {
				continue // such as the servers of a path
			}
			d.operations[o["operationId"].(string)] = operation{strings.ToUpper(method), path, o}
		}
	}
	return d, nil
}

// schema follows the reference of a schema, if it is one.
func (d document) schema(s any) object {
	o := s.(object)
	if ref, is := o["$ref"].(string); is {
		return d.schema(d.schemas[strings.TrimPrefix(ref, componentSchemas)])
	}
	return o
}

// answer is the schema of the successful answer of an operation: { data, metadata }. If the
// operation may also answer a dry run, it is the other schema.
func (d document) answer(id string) object {
	o, known := d.operations[id]
	if !known {
		panic("the API has no operation " + id)
	}
	response := o.object["responses"].(object)["200"].(object)
	if ref, is := response["$ref"].(string); is {
		response = d.responses[strings.TrimPrefix(ref, componentResponses)].(object)
	}
	s := d.schema(response["content"].(object)["application/json"].(object)["schema"])
	if either, is := s["oneOf"].([]any); is {
		return d.schema(either[0])
	}
	return s
}

// body is the schema of the body of an operation.
func (d document) body(id string) object {
	return d.schema(d.operations[id].object["requestBody"].(object)["content"].(object)["application/json"].(object)["schema"])
}

// member is the schema of a member of an object.
func (d document) member(s object, names ...string) object {
	for _, name := range names {
		s = d.schema(s["properties"].(object)[name])
	}
	return s
}

// keys are the members that an object may have, in order.
func (d document) keys(s object) []string {
	s = d.schema(s)
	properties, _ := s["properties"].(object)
	keys := slices.Collect(maps.Keys(properties))
	for _, of := range []string{"anyOf", "oneOf", "allOf"} {
		alternatives, _ := s[of].([]any)
		for _, alternative := range alternatives {
			keys = append(keys, d.keys(d.schema(alternative))...)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// output is the schema of the answers of the operations: an object, as the protocol requires,
// with its referenced schemas.
func (d document) output(ids ...string) object {
	var data, metadata []any
	for _, id := range ids {
		answer := d.answer(id)["properties"].(object)
		data, metadata = withSchema(data, answer["data"]), withSchema(metadata, answer["metadata"])
	}
	return d.envelope(anyOf(data), anyOf(metadata))
}

// envelope is the schema of { data, metadata }, with the schemas that it refers to.
func (d document) envelope(data, metadata any) object {
	defs := object{}
	s := object{"type": "object", "required": []any{"notice", "data", "metadata"}, "properties": object{
		"notice": object{"type": "string"}, "data": d.local(data, defs, true), "metadata": d.local(metadata, defs, true)}}
	if len(defs) > 0 {
		s["$defs"] = defs
	}
	return s
}

func withSchema(all []any, s any) []any {
	for _, other := range all {
		if fmt.Sprint(other) == fmt.Sprint(s) {
			return all
		}
	}
	return append(all, s)
}

func anyOf(all []any) any {
	if len(all) == 1 {
		return all[0]
	}
	return object{"anyOf": all}
}

// local is a copy of a schema whose references lead to defs. Descriptions, examples and
// patterns are left out: describe_fields has the descriptions. Of an answer only names and
// types remain: every tool repeats its schemas, and an agent needs only the structure.
func (d document) local(s any, defs object, answer bool) any {
	switch s := s.(type) {
	case object:
		c := object{}
		for name, value := range s {
			_, nested := value.(object) // a property of this name
			_, isList := value.([]any)
			switch {
			case answer && nested && slices.Contains(notOffered, name):
				continue
			case nested && !(answer && slices.Contains(conditional, name)):
			case isList && name == "examples", answer && isList && (name == "required" || name == "enum"):
				continue
			case !isList && slices.Contains(silent, name), answer && !isList && slices.Contains(bounds, name):
				continue
			}
			if ref, is := value.(string); is && name == "$ref" {
				to := strings.TrimPrefix(ref, componentSchemas)
				if answer && len(s) == 1 && d.schemas[to].(object)["enum"] != nil {
					return d.local(d.schemas[to], defs, answer) // a type alone
				}
				if _, there := defs[to]; !there {
					defs[to] = true // ends cycles
					defs[to] = d.local(d.schemas[to], defs, answer)
				}
				c[name] = "#/$defs/" + to
				continue
			}
			if answer && name == "oneOf" {
				name = "anyOf" // the discriminator may be left out
			}
			c[name] = d.local(value, defs, answer)
		}
		return c
	case []any:
		c := make([]any, len(s))
		for i := range s {
			c[i] = d.local(s[i], defs, answer)
		}
		return c
	}
	return s
}

// Members that local leaves out by name: texts, and from answers conditions, bounds, required
// members and lists of values.
var (
	silent      = []string{"pattern", "description", "title"}
	conditional = []string{"if", "then", "else"}
	notOffered  = []string{"highlights", "explanation", "current"} // of answers: no tool requests them
	bounds      = append(
		slices.Clone(conditional), "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength",
		"maxLength", "minItems", "maxItems", "uniqueItems", "format", "default", "additionalProperties",
	)
)
