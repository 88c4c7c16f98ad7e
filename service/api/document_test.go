package api_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"atlas/service/api"
	"atlas/service/endpoint"
)

// read decodes the document and validates it against the OpenAPI Initiative's schema of
// version 3.1.
func read(t *testing.T) map[string]any {
	t.Helper()
	f, err := os.Open("testdata/openapi-3.1.schema.json")
	fatal(t, err)
	defer f.Close()
	meta, err := jsonschema.UnmarshalJSON(f)
	fatal(t, err)
	c := jsonschema.NewCompiler()
	fatal(t, c.AddResource("openapi-3.1.schema.json", meta))
	schema, err := c.Compile("openapi-3.1.schema.json")
	fatal(t, err)
	d, err := jsonschema.UnmarshalJSON(bytes.NewReader(documentText()))
	fatal(t, err)
	if err := schema.Validate(d); err != nil {
		t.Fatal(err)
	}
	return d.(map[string]any)
}

// at follows names into nested objects.
func at(v any, names ...string) any {
	for _, name := range names {
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return v
}

func keys(v any) []string {
	o, _ := v.(map[string]any)
	return slices.Sorted(maps.Keys(o))
}

func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	d := read(t)
	text := documentText()
	if !bytes.Equal(text, documentText()) {
		t.Error("two servers of one version have different documents")
	}
	if bytes.Contains(text, []byte("://127.")) || bytes.Contains(text, []byte("localhost")) {
		t.Error("the document names a server")
	}
	// Every declared component is used, and every used component is declared.
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`"\$ref":"#/components/([^"]*)"`).FindAllSubmatch(text, -1) {
		used[string(m[1])] = true
	}
	declared := map[string]bool{}
	for _, kind := range []string{"schemas", "responses", "parameters", "headers"} {
		for _, name := range keys(at(d, "components", kind)) {
			declared[kind+"/"+name] = true
		}
	}
	if diff := cmp.Diff(declared, used); diff != "" {
		t.Errorf("components (-declared +used):\n%s", diff)
	}
	for name, response := range at(d, "components", "responses").(map[string]any) {
		body := at(response, "content", "application/json") // a 304 has none
		if body != nil && at(body, "example") == nil && at(body, "examples") == nil {
			t.Errorf("the response %s has no example", name)
		}
	}
	for _, problem := range document().Examples() {
		t.Error(problem)
	}
}

// TestSchemasHaveNames: every object is a component, and no two components or members
// with a type of their own, which generators name after component and member, become
// the same identifier.
func TestSchemasHaveNames(t *testing.T) {
	t.Parallel()
	d := read(t)
	taken := map[string]string{}
	take := func(name string) {
		identifier := strings.ToLower(strings.ReplaceAll(name, "_", ""))
		if other, ok := taken[identifier]; ok {
			t.Errorf("%s and %s become the same identifier", other, name)
		}
		taken[identifier] = name
	}
	for name, s := range at(d, "components", "schemas").(map[string]any) {
		take(name)
		properties, _ := at(s, "properties").(map[string]any)
		if at(s, "anyOf") != nil && properties != nil || at(s, "oneOf") != nil && properties != nil {
			t.Errorf("%s has members and alternatives", name)
		}
		for member, p := range properties {
			if at(p, "$ref") != nil {
				continue
			}
			if at(p, "properties") != nil || at(p, "items", "properties") != nil {
				t.Errorf("%s.%s is an object without a name", name, member)
			}
			if at(p, "enum") != nil || at(p, "const") != nil || at(p, "oneOf") != nil {
				take(name + "_" + member)
			}
		}
	}
	for path, item := range at(d, "paths").(map[string]any) {
		for method, o := range item.(map[string]any) {
			for _, s := range []any{
				at(o, "requestBody", "content", "application/json", "schema"),
				at(o, "responses", "200", "content", "application/json", "schema"),
			} {
				if s != nil && at(s, "$ref") == nil {
					t.Errorf("%s %s has a body without a name", method, path)
				}
			}
		}
	}
}

// TestFiltersRequireAMember: every form of a filter requires a member. If all may be left
// out, TypeScript takes {"stage": "permitted"} for a filter.
func TestFiltersRequireAMember(t *testing.T) {
	t.Parallel()
	schemas := at(read(t), "components", "schemas")
	filters := map[string]bool{}
	for name := range schemas.(map[string]any) {
		if !strings.HasSuffix(name, "Filters") {
			continue
		}
		for member, p := range at(schemas, name, "properties").(map[string]any) {
			ref, ok := at(p, "$ref").(string)
			if !ok {
				t.Errorf("%s.%s is no component", name, member)
			}
			filters[strings.TrimPrefix(ref, "#/components/schemas/")] = true
		}
	}
	for name := range filters {
		forms, _ := at(schemas, name, "oneOf").([]any)
		if len(forms) != 2 {
			t.Errorf("%s has %d forms, not 2", name, len(forms))
		}
		for _, form := range forms {
			component := strings.TrimPrefix(at(form, "$ref").(string), "#/components/schemas/")
			if required, _ := at(schemas, component, "required").([]any); len(required) == 0 {
				t.Errorf("%s, a form of %s, requires no member", component, name)
			}
		}
	}
	if len(filters) < 10 {
		t.Errorf("there are %d filters", len(filters))
	}
}

// TestDocumentHasEveryRoute compares the document with the routes of the router.
func TestDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	d := read(t)
	documented := map[string]bool{}
	for _, path := range keys(at(d, "paths")) {
		for _, method := range keys(at(d, "paths", path)) {
			if method == "servers" {
				continue
			}
			where := endpoint.Version + path
			if strings.HasPrefix(path, "/health") {
				where = path
			}
			documented[strings.ToUpper(method)+" "+where] = true
		}
	}
	s := &api.Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler)}}
	router := api.Router(s)
	served := map[string]bool{}
	param := regexp.MustCompile(`:(\w+)`)
	for _, r := range router.Routes() {
		path := param.ReplaceAllString(r.Path, "{$1}")
		// A documented path with a wrong method answers 405.
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), r.Method, param.ReplaceAllString(r.Path, "x"), nil))
		if w.Code != http.StatusMethodNotAllowed && r.Method != http.MethodHead && !strings.HasPrefix(path, "/docs") &&
			path != "/llms.txt" && path != "/.well-known/security.txt" && path != "/map/tiles.json" {
			served[r.Method+" "+path] = true
		}
	}
	if diff := cmp.Diff(served, documented); diff != "" {
		t.Errorf("routes (-served +documented):\n%s", diff)
	}
	var want []string
	for _, r := range s.Routes() {
		want = append(want, r.Operation)
	}
	want = append(want, "get_openapi", "get_liveness", "get_readiness")
	slices.Sort(want)
	if diff := cmp.Diff(want, document().Operations()); diff != "" {
		t.Errorf("operation ids (-want +got):\n%s", diff)
	}
	if len(slices.Compact(slices.Clone(want))) != len(want) {
		t.Error("an operation id is there twice")
	}
}

// TestDocumentSaysWhatTheTableSays compares scopes, costs and throttling.
func TestDocumentSaysWhatTheTableSays(t *testing.T) {
	t.Parallel()
	d := read(t)
	param := regexp.MustCompile(`:(\w+)`)
	for _, r := range (&api.Server{}).Routes() {
		o := at(d, "paths", param.ReplaceAllString(r.Path, "{$1}"), strings.ToLower(r.Method))
		var scope any = string(r.Scope)
		if r.Caller == endpoint.Newcomers {
			scope = nil // a user without membership has no scopes
		}
		if got := at(o, "x-scope"); got != scope {
			t.Errorf("%s has the scope %v", r.Operation, got)
		}
		if got := at(o, "x-throttled"); got != (r.Throttling != endpoint.Never) {
			t.Errorf("%s: throttled %v", r.Operation, got)
		}
		want := "0"
		if r.Throttling == endpoint.Metered {
			want = "1"
		}
		if got, _ := at(o, "x-credits", "amount").(json.Number); got.String() != want {
			t.Errorf("%s costs %v", r.Operation, got)
		}
		var principals []string
		for _, scheme := range at(o, "security").([]any) {
			principals = append(principals, keys(scheme)...)
		}
		both := []string{"apiKey", "accessToken"}
		if r.Caller == endpoint.Users || r.Caller == endpoint.AdminUsers || r.Caller == endpoint.Newcomers {
			both = both[1:]
		}
		if !slices.Equal(principals, both) {
			t.Errorf("%s takes %v", r.Operation, principals)
		}
		if at(o, "summary") == nil || at(o, "tags") == nil {
			t.Errorf("%s has no summary or tag", r.Operation)
		}
	}
}
