package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is a compiled OpenAPI document.
type Document struct {
	operations []operation
	examples   []string
}

// operation is one method of one path, with its compiled schemas.
type operation struct {
	id, method string
	path       []string // segments of the path template, including the server's
	params     []parameter
	body       *jsonschema.Schema
	mustBody   bool
	depends    bool   // the shape of the body depends on stored data
	batch      string // the member that holds the items of a batch
	item       *jsonschema.Schema
	responses  map[string]response
}

type parameter struct {
	name, in string
	required bool
	list     bool // values are joined by commas
	kind     string
	schema   *jsonschema.Schema
}

type response struct {
	body    *jsonschema.Schema
	headers map[string]header // by canonical name
}

type header struct {
	required bool
	numeric  bool
	schema   *jsonschema.Schema
}

// reader compiles the parts of a document.
type reader struct {
	root     map[string]any
	compiler *jsonschema.Compiler
}

const resource = "openapi.json"

// Read compiles a document with all of its schemas. Dangling references are errors.
func Read(document []byte) (*Document, error) {
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(resource, root); err != nil {
		return nil, err
	}
	r := reader{root.(map[string]any), c}
	d := &Document{}
	base := serverOf(r.root, "")
	for path, item := range object(r.root["paths"]) {
		prefix := serverOf(object(item), base)
		for method, o := range object(item) {
			if method == "servers" {
				continue
			}
			read, err := r.operation(object(o), pointer("paths", path, method))
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			read.method, read.path = strings.ToUpper(method), strings.Split(strings.TrimSuffix(prefix, "/")+path, "/")
			d.operations = append(d.operations, read)
		}
	}
	return d, r.examples(d, root, "")
}

// examples checks all examples at or below a value: of schemas, parameters and bodies.
func (r reader) examples(d *Document, v any, at string) error {
	if list, ok := v.([]any); ok {
		for i, element := range list {
			if err := r.examples(d, element, fmt.Sprintf("%s/%d", at, i)); err != nil {
				return err
			}
		}
	}
	o := object(v)
	var shown []any
	var beside []string
	if list, ok := o["examples"].([]any); ok {
		shown = list
	}
	if _, ok := o["schema"]; ok {
		beside = []string{"schema"}
		if example, ok := o["example"]; ok {
			shown = append(shown, example)
		}
		for _, named := range object(o["examples"]) {
			shown = append(shown, object(named)["value"])
		}
	}
	if len(shown) > 0 {
		schema, err := r.compile(map[string]any{"schema": o["schema"]}, at, beside...)
		if err != nil {
			return err
		}
		for _, example := range shown {
			if err := schema.Validate(example); err != nil {
				d.examples = append(d.examples, fmt.Sprintf("the example %v: %v", example, err))
			}
		}
	}
	for name, member := range o {
		// The content of an example and the names of properties are not schemas.
		if name == "example" || name == "value" && at != "" && strings.Contains(at, "/examples/") {
			continue
		}
		if err := r.examples(d, member, at+pointer(name)); err != nil {
			return err
		}
	}
	return nil
}

// serverOf is the path of the first server.
func serverOf(o map[string]any, otherwise string) string {
	if servers, ok := o["servers"].([]any); ok && len(servers) > 0 {
		url, _ := object(servers[0])["url"].(string)
		return url
	}
	return otherwise
}

func object(v any) map[string]any { o, _ := v.(map[string]any); return o }

// pointer is a JSON pointer.
func pointer(parts ...string) string {
	at := ""
	for _, part := range parts {
		at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part)
	}
	return at
}

// resolved follows a reference within the document.
func (r reader) resolved(v any, at string) (map[string]any, string) {
	o := object(v)
	ref, ok := o["$ref"].(string)
	if !ok {
		return o, at
	}
	at = strings.TrimPrefix(ref, "#")
	var found any = r.root
	for part := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
		found = object(found)[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return object(found), at
}

// compile compiles the schema at a pointer. It returns nil if there is none.
func (r reader) compile(parent map[string]any, at string, names ...string) (*jsonschema.Schema, error) {
	var v any = parent
	for _, name := range names {
		v = object(v)[name]
	}
	if v == nil {
		return nil, nil
	}
	return r.compiler.Compile(resource + "#" + strings.ReplaceAll(at+pointer(names...), "%", "%25"))
}

func (r reader) operation(o map[string]any, at string) (read operation, err error) {
	read.id, _ = o["operationId"].(string)
	read.responses = map[string]response{}
	params, _ := o["parameters"].([]any)
	for i, v := range params {
		p, err := r.parameter(v, fmt.Sprintf("%s/parameters/%d", at, i))
		if err != nil {
			return read, err
		}
		read.params = append(read.params, p)
	}
	body := object(o["requestBody"])
	read.mustBody, _ = body["required"].(bool)
	if read.body, err = r.compile(body, at+"/requestBody", "content", "application/json", "schema"); err != nil {
		return read, err
	}
	_, read.depends = o["x-body-depends-on"]
	if batch := object(o["x-batch"]); batch != nil {
		read.batch, _ = batch["member"].(string)
		if read.item, err = r.compile(batch, at+"/x-batch", "item"); err != nil {
			return read, err
		}
	}
	for status, v := range object(o["responses"]) {
		if read.responses[status], err = r.response(v, at+pointer("responses", status)); err != nil {
			return read, err
		}
	}
	return read, nil
}

func (r reader) parameter(v any, at string) (p parameter, err error) {
	o, at := r.resolved(v, at)
	p.name, _ = o["name"].(string)
	p.in, _ = o["in"].(string)
	p.required, _ = o["required"].(bool)
	schema, _ := r.resolved(o["schema"], "")
	p.kind, _ = schema["type"].(string)
	p.list = p.kind == "array"
	p.schema, err = r.compile(o, at, "schema")
	return p, err
}

func (r reader) response(v any, at string) (read response, err error) {
	o, at := r.resolved(v, at)
	if read.body, err = r.compile(o, at, "content", "application/json", "schema"); err != nil {
		return read, err
	}
	read.headers = map[string]header{}
	for name, v := range object(o["headers"]) {
		h, at := r.resolved(v, at+pointer("headers", name))
		required, _ := h["required"].(bool)
		schema, err := r.compile(h, at, "schema")
		if err != nil {
			return read, err
		}
		read.headers[http.CanonicalHeaderKey(name)] = header{required, object(h["schema"])["type"] == "integer", schema}
	}
	return read, nil
}

// find returns the operation of a request and its path parameters. If several templates
// match the path, the one with the fewest parameters is used, even if it lacks the
// method.
func (d *Document) find(method, path string) (best *operation, values map[string]string) {
	parts := strings.Split(path, "/")
	fewest := len(parts)
	for i := range d.operations {
		o := &d.operations[i]
		if len(o.path) != len(parts) {
			continue
		}
		found := map[string]string{}
		same := slices.EqualFunc(o.path, parts, func(want, got string) bool {
			if name, ok := strings.CutPrefix(want, "{"); ok && got != "" {
				found[strings.TrimSuffix(name, "}")] = got
				return true
			}
			return want == got
		})
		switch {
		case !same || len(found) > fewest:
			continue
		case len(found) < fewest:
			best, values, fewest = nil, nil, len(found)
		}
		if o.method == method {
			best, values = o, found
		}
	}
	return best, values
}

// Operations lists the ids of the operations.
func (d *Document) Operations() []string {
	ids := make([]string, len(d.operations))
	for i, o := range d.operations {
		ids[i] = o.id
	}
	slices.Sort(ids)
	return ids
}

// RequestProblem returns what is wrong with a request body of an operation, "" if it is
// valid.
func (d *Document) RequestProblem(id string, body []byte) string {
	i := slices.IndexFunc(d.operations, func(o operation) bool { return o.id == id })
	if i < 0 {
		return "there is no such operation"
	}
	return bodyProblem(d.operations[i].body, body)
}

// bodyProblem returns what is wrong with a JSON text, "" if it is valid.
func bodyProblem(s *jsonschema.Schema, body []byte) string {
	if err := validate(s, body); err != nil {
		return err.Error()
	}
	return ""
}

func validate(s *jsonschema.Schema, body []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil && !json.Valid(body) {
		err = fmt.Errorf("no JSON")
	}
	if err == nil && s != nil {
		err = s.Validate(v)
	}
	return err
}

// bodyProblem is what is wrong with a request body. Invalid items of a batch are not:
// they fail individually.
func (o *operation) bodyProblem(body []byte) string {
	err := validate(o.body, body)
	if v, broken := jsonschema.UnmarshalJSON(bytes.NewReader(body)); err != nil && broken == nil && o.body != nil && json.Valid(body) {
		err = o.body.Validate(withoutNulls(o.body, v))
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	switch {
	case err == nil, ok && o.item != nil && o.inItem(invalid):
		return ""
	}
	return err.Error()
}

// withoutNulls is an object without optional members that are null, which the API treats as
// absent although no schema says so (docs/api.md, "Validation errors").
func withoutNulls(s *jsonschema.Schema, v any) any {
	all, is := v.(map[string]any)
	if !is {
		return v
	}
	kept, known := make(map[string]any, len(all)), map[string]bool{}
	addProperties(known, s)
	for name, value := range all {
		if value != nil || !known[name] ||
			slices.Contains([]string{"dry_run", "max_credits", "revision", "replace", "definition", "tags"}, name) {
			kept[name] = value
		}
	}
	return kept
}

// addProperties adds the names of the members that a schema has.
func addProperties(known map[string]bool, s *jsonschema.Schema) {
	if s == nil {
		return
	}
	for name := range s.Properties {
		known[name] = true
	}
	for _, part := range slices.Concat([]*jsonschema.Schema{s.Ref, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf) {
		addProperties(known, part)
	}
}

// inItem reports whether all causes of an error are within items of a batch.
func (o *operation) inItem(e *jsonschema.ValidationError) bool {
	if len(e.InstanceLocation) > 1 && e.InstanceLocation[0] == o.batch {
		return true
	}
	return len(e.Causes) > 0 && !slices.ContainsFunc(e.Causes, func(cause *jsonschema.ValidationError) bool { return !o.inItem(cause) })
}

// Examples lists the examples of the document that are invalid by their schemas.
func (d *Document) Examples() []string { return d.examples }
