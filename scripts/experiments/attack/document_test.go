//go:build attack

package attack

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// spec is the OpenAPI document of a server, from which the attacks are derived. New
// routes are included automatically.
type spec struct {
	root       object
	operations []operation
}

type object = map[string]any

// operation is one method of one path.
type operation struct {
	id, method string
	// path is the template, without the version: /workspace/views/{id}.
	path   string
	params []param
	// schema is the schema of the body, nil without one; item that of a batch's items.
	schema, item object
	batch        string // the member that has the items of a batch
	// examples are the example bodies of the document.
	examples []any
	free     bool // costs no credits
}

type param struct {
	name, in string
	schema   object
}

// readSpec reads a document. It fails the test if the document is empty, because an
// attack on no route always passes.
func readSpec(t testing.TB, text []byte) *spec {
	t.Helper()
	s := &spec{}
	if err := json.Unmarshal(text, &s.root); err != nil {
		t.Fatal("the OpenAPI document:", err)
	}
	for _, path := range slices.Sorted(maps.Keys(asObject(s.root["paths"]))) {
		item := asObject(asObject(s.root["paths"])[path])
		for _, method := range slices.Sorted(maps.Keys(item)) {
			if described := asObject(item[method]); described["operationId"] != nil && item["servers"] == nil {
				s.operations = append(s.operations, s.operation(method, path, described))
			}
		}
	}
	if len(s.operations) < 40 {
		t.Fatalf("the OpenAPI document has %d operations", len(s.operations))
	}
	return s
}

func (s *spec) operation(method, path string, described object) operation {
	o := operation{method: strings.ToUpper(method), path: path}
	o.id, _ = described["operationId"].(string)
	amount, _ := asObject(described["x-credits"])["amount"].(float64)
	o.free = amount == 0
	for _, v := range asList(described["parameters"]) {
		p := s.resolve(asObject(v))
		name, _ := p["name"].(string)
		in, _ := p["in"].(string)
		o.params = append(o.params, param{name, in, s.resolve(asObject(p["schema"]))})
	}
	content := asObject(asObject(asObject(described["requestBody"])["content"])["application/json"])
	o.schema = asObject(content["schema"])
	if batch := asObject(described["x-batch"]); batch != nil {
		o.batch, _ = batch["member"].(string)
		o.item = asObject(batch["item"])
	}
	if example, ok := content["example"]; ok {
		o.examples = append(o.examples, example)
	}
	named := asObject(content["examples"])
	for _, name := range slices.Sorted(maps.Keys(named)) {
		o.examples = append(o.examples, asObject(named[name])["value"])
	}
	return o
}

// resolve follows a reference within the document.
func (s *spec) resolve(o object) object {
	for {
		ref, ok := o["$ref"].(string)
		if !ok {
			return o
		}
		var found any = s.root
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			found = asObject(found)[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		}
		o = asObject(found)
	}
}

// leaf is a place in a body for a text. Path elements are names; "0" is the first
// element of an array.
type leaf struct {
	path []string
	// uuid means that the place takes an id, free that it takes any text.
	uuid, free bool
}

func (l leaf) String() string { return strings.Join(l.path, ".") }

// leaves lists the places for texts in the bodies of an operation.
func (s *spec) leaves(o operation) []leaf {
	var all []leaf
	seen := map[string]bool{}
	add := func(l leaf) {
		if key := fmt.Sprint(l, l.uuid, l.free); !seen[key] {
			seen[key] = true
			all = append(all, l)
		}
	}
	s.walk(o.schema, nil, 0, add)
	if o.item != nil {
		s.walk(o.item, []string{o.batch, "0"}, 0, add)
	}
	return all
}

// deepest limits the depth of the walk through recursive schemas.
const deepest = 12

func (s *spec) walk(schema object, at []string, depth int, add func(leaf)) {
	schema = s.resolve(schema)
	if schema == nil || depth > deepest {
		return
	}
	for _, kind := range []string{"anyOf", "oneOf", "allOf"} {
		for _, option := range asList(schema[kind]) {
			s.walk(asObject(option), at, depth+1, add)
		}
	}
	properties := asObject(schema["properties"])
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		s.walk(asObject(properties[name]), append(slices.Clone(at), name), depth+1, add)
	}
	for _, items := range append(asList(schema["prefixItems"]), schema["items"]) {
		s.walk(asObject(items), append(slices.Clone(at), "0"), depth+1, add)
	}
	if len(at) > 0 && isText(schema) && schema["enum"] == nil && schema["const"] == nil {
		add(leaf{path: at, uuid: schema["format"] == "uuid", free: schema["format"] == nil})
	}
}

func isText(schema object) bool {
	if kinds, ok := schema["type"].([]any); ok {
		return slices.Contains(kinds, any("string"))
	}
	return schema["type"] == "string"
}

// put returns a copy of a body with a value at a leaf. It replaces values in its way.
func put(body any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == "0" {
		list := slices.Clone(asList(body))
		if len(list) == 0 {
			list = []any{nil}
		}
		list[0] = put(list[0], path[1:], value)
		return list
	}
	o := maps.Clone(asObject(body))
	if o == nil {
		o = object{}
	}
	o[path[0]] = put(o[path[0]], path[1:], value)
	return o
}

func asObject(v any) object { o, _ := v.(object); return o }

func asList(v any) []any { l, _ := v.([]any); return l }
