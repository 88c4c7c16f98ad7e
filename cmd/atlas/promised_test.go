package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"atlas/service/api"
	"atlas/service/endpoint"
)

// promisedFile has the promises of a release about the OpenAPI document and the command line,
// one per line (docs/compatibility.md).
const promisedFile = "promised.txt.gz"

// TestPromisesAreKept: nothing that a release promised is missing.
func TestPromisesAreKept(t *testing.T) {
	t.Parallel()
	now := map[string]bool{}
	for _, line := range promised(t) {
		now[line] = true
	}
	folders := must(os.ReadDir(releases))(t)
	for _, f := range folders {
		lines := strings.Split(strings.TrimSpace(string(unzipped(t, filepath.Join(releases, f.Name(), promisedFile)))), "\n")
		if len(lines) < 1000 {
			t.Errorf("release %s promises %d lines", f.Name(), len(lines))
		}
		for _, line := range lines {
			if !now[line] {
				t.Errorf("release %s has %q, which is gone", f.Name(), line)
			}
		}
	}
	if len(folders) == 0 {
		t.Error("no release has a folder")
	}
}

// promised lists what this program promises.
func promised(t *testing.T) []string {
	t.Helper()
	answered := httptest.NewRecorder()
	s := &api.Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler)}}
	s.Handler().ServeHTTP(answered, httptest.NewRequest(http.MethodGet, endpoint.Version+"/openapi.json", nil))
	var document map[string]any
	if err := json.Unmarshal(answered.Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	p := promises{document: document, sent: map[string]bool{}}
	p.operations()
	p.components()
	parser := must(kong.New(&commands{}, kong.Name("atlas"), program().Vars))(t)
	p.command(parser.Model.Node)
	slices.Sort(p.lines)
	return slices.Compact(p.lines)
}

type promises struct {
	document map[string]any
	sent     map[string]bool // components that requests have
	lines    []string
}

func (p *promises) add(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

func memberOf(value any, name string) any {
	object, _ := value.(map[string]any)
	return object[name]
}

func itemsOf(value any) []any { list, _ := value.([]any); return list }

func membersOf(value any) map[string]any { object, _ := value.(map[string]any); return object }

func (p *promises) operations() {
	for path, item := range membersOf(p.document["paths"]) {
		for method, operation := range membersOf(item) {
			id, ok := memberOf(operation, "operationId").(string)
			if !ok {
				continue
			}
			p.add("operation %s: %s %s", id, method, path)
			for _, scope := range []string{"x-scope", "x-caller"} {
				p.add("operation %s: %s %v", id, scope, memberOf(operation, scope))
			}
			for _, parameter := range itemsOf(memberOf(operation, "parameters")) {
				p.add("operation %s: parameter %v in %v", id, memberOf(parameter, "name"), memberOf(parameter, "in"))
				if required, _ := memberOf(parameter, "required").(bool); !required {
					p.add("operation %s: parameter %v may be left out", id, memberOf(parameter, "name"))
				}
			}
			for status := range membersOf(memberOf(operation, "responses")) {
				p.add("operation %s: answers %s", id, status)
			}
			p.send(memberOf(operation, "requestBody"))
		}
	}
}

// send notes the components that a request can have.
func (p *promises) send(value any) {
	for _, item := range itemsOf(value) {
		p.send(item)
	}
	for name, inner := range membersOf(value) {
		text, _ := inner.(string)
		if component, ok := strings.CutPrefix(text, "#/components/schemas/"); ok && name == "$ref" && !p.sent[component] {
			p.sent[component] = true
			p.send(memberOf(memberOf(memberOf(p.document, "components"), "schemas"), component))
		}
		p.send(inner)
	}
}

func (p *promises) components() {
	for name, schema := range membersOf(memberOf(p.document["components"], "schemas")) {
		p.values("component "+name, schema)
		required := itemsOf(memberOf(schema, "required"))
		for property, of := range membersOf(memberOf(schema, "properties")) {
			at := "component " + name + ": " + property
			p.add("%s", at)
			p.values(at, of)
			if p.sent[name] && !slices.Contains(required, any(property)) {
				p.add("%s may be left out", at)
			}
		}
	}
}

// values are the type and the values of a schema, or of the items of its list.
func (p *promises) values(at string, schema any) {
	for _, kind := range append(itemsOf(memberOf(schema, "type")), memberOf(schema, "type"), memberOf(schema, "$ref")) {
		if text, ok := kind.(string); ok && text != "null" {
			p.add("%s is %s", at, text)
		}
	}
	for _, value := range itemsOf(memberOf(schema, "enum")) {
		p.add("%s may be %v", at, value)
	}
	if inner := memberOf(schema, "items"); inner != nil {
		p.values(at+" has items that", inner)
	}
}

// command lists a command, its options and their variables, and those below it.
func (p *promises) command(node *kong.Node) {
	for _, argument := range node.Positional {
		p.add("command %s: argument %s", node.FullPath(), argument.Name)
	}
	for _, option := range node.Flags {
		if option.Hidden {
			continue
		}
		p.add("command %s: option %s", node.FullPath(), option.Name)
		for _, variable := range option.Envs {
			p.add("command %s: variable %s", node.FullPath(), variable)
		}
		if option.Required {
			continue
		}
		p.add("command %s: option %s may be left out", node.FullPath(), option.Name)
	}
	for _, child := range node.Children {
		p.command(child)
	}
}
