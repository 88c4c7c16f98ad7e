package mcp

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// fillable are the arguments in whose items null means absent, as in the rows of a list. In a
// filter, a View or the values of a book null is a mistake, or has a meaning.
var fillable = map[string]bool{"facets": true, "inputs": true, "rows": true, "columns": true}

// meant converts arguments to the form of the schema where their meaning is certain: models
// send objects and arrays as JSON strings, numbers as "10" or 10.0, and null for absent
// members of an item. Everything else stays as it is, and is refused.
func (t tool) meant(given map[string]json.RawMessage) map[string]json.RawMessage {
	known := t.input["properties"].(object)
	all := make(map[string]json.RawMessage, len(given))
	for name, value := range given {
		schema, _ := known[name].(object)
		all[name] = json.RawMessage(meant(schema, jsontext.Value(value), fillable[name]))
	}
	return all
}

// isAbsent reports whether a value is null where the schema has a single type other than
// null.
func isAbsent(schema object, value jsontext.Value) bool {
	_, one := schema["type"].(string)
	return one && value.Kind() == 'n'
}

// meant converts a value to the form of its schema. fill drops members that are null.
func meant(schema object, value jsontext.Value, fill bool) jsontext.Value {
	switch value.Kind() {
	case '"':
		if inner := within(schema, value); inner != nil {
			return meant(schema, inner, fill)
		}
	case '0':
		return whole(value)
	case '[':
		items, _ := schema["items"].(object)
		return rewritten(value, func(_ string, item jsontext.Value) jsontext.Value { return meant(items, item, fill) })
	case '{':
		properties, _ := schema["properties"].(object)
		others, _ := schema["additionalProperties"].(object)
		return rewritten(value, func(name string, member jsontext.Value) jsontext.Value {
			of, is := properties[name].(object)
			if !is {
				of = others
			}
			if fill && isAbsent(of, member) {
				return nil
			}
			return meant(of, member, fill)
		})
	}
	return value
}

// within is the JSON in a string, if it has the only type of the schema, which is not string;
// else nil.
func within(schema object, value jsontext.Value) jsontext.Value {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return nil
	}
	inner := jsontext.Value(strings.TrimSpace(text))
	kinds := map[any]string{"object": "{", "array": "[", "integer": "0", "number": "0", "boolean": "tf"}[schema["type"]]
	if kind := inner.Kind(); kind == 0 || !strings.ContainsRune(kinds, rune(kind)) || !inner.IsValid() {
		return nil
	}
	return inner
}

// wholeNumber matches an integer with a fraction of zeros, as languages without integers
// write it.
var wholeNumber = regexp.MustCompile(`^(-?[0-9]{1,15})\.0+$`)

// whole drops a fraction of zeros: JSON does not distinguish 2.0 and 2.
func whole(value jsontext.Value) jsontext.Value {
	if m := wholeNumber.FindSubmatch(value); m != nil {
		return m[1]
	}
	return value
}

// rewritten is an object or an array with f applied to each value, without those for which it
// returns nil. A value that f does not change, or that is not valid, is returned itself.
func rewritten(value jsontext.Value, f func(name string, value jsontext.Value) jsontext.Value) jsontext.Value {
	in := jsontext.NewDecoder(strings.NewReader(string(value)), jsontext.AllowDuplicateNames(true)) // the API refuses those
	if _, err := in.ReadToken(); err != nil {
		return value
	}
	out := jsontext.Value{value[0]}
	changed := false
	for in.PeekKind() != '}' && in.PeekKind() != ']' {
		var key jsontext.Value
		var name string
		if value[0] == '{' {
			read, err := in.ReadValue()
			if err != nil || json.Unmarshal(read, &name) != nil {
				return value
			}
			key = append(read.Clone(), ':')
		}
		read, err := in.ReadValue()
		if err != nil {
			return value
		}
		item := read.Clone()
		made := f(name, item)
		if changed = changed || string(made) != string(item); made == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, key...), made...)
	}
	if !changed {
		return value
	}
	return append(out, map[byte]byte{'{': '}', '[': ']'}[value[0]])
}
