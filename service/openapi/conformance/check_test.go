package conformance_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"atlas/service/openapi/conformance"
)

const small = `{
  "openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "servers": [{"url": "/v1"}],
  "paths": {
    "/things/{id}": {"post": {
      "operationId": "change",
      "parameters": [
        {"name": "id", "in": "path", "required": true, "schema": {"type": "string", "pattern": "^[a-z]+$"}},
        {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 10}},
        {"name": "with", "in": "query", "schema": {"type": "array", "items": {"enum": ["a", "b"]}}}
      ],
      "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
      "responses": {
        "200": {"description": "", "headers": {"X-Id": {"required": true, "schema": {"type": "integer"}}},
          "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
        "400": {"description": "", "content": {"application/json": {"schema": {}}}}
      }
    }},
    "/things/all": {"post": {
      "operationId": "all",
      "requestBody": {"content": {"application/json": {"schema": {"type": "object", "required": ["ids"], "properties": {"ids": {"type": "array", "items": {"type": "string"}}}}}}},
      "x-batch": {"member": "ids", "item": {"type": "string"}},
      "responses": {"200": {"description": "", "content": {"application/json": {"schema": {"type": "object"}}}}}
    }}
  },
  "components": {"schemas": {"Thing": {"type": "object", "required": ["a"], "additionalProperties": false,
    "properties": {"a": {"type": "integer", "examples": [1]}}}}}
}`

// TestCheck violates each rule once.
func TestCheck(t *testing.T) {
	t.Parallel()
	d, err := conformance.Read([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	const refused = `{"error":{"name":"ValidationError","issues":[{"code":"too_big"}]}}`
	const crossed = `{"error":{"name":"ValidationError","issues":[{"code":"custom"}]}}`
	for name, c := range map[string]struct {
		target, sent string
		status       int
		header       string // X-Id
		got          string
		want         string // part of the problem, "" for none
	}{
		"good":                     {"/v1/things/x", `{"a":1}`, 200, "7", `{"a":1}`, ""},
		"good parameters":          {"/v1/things/x?limit=10&with=a,b", `{"a":1}`, 200, "7", `{"a":1}`, ""},
		"field too many":           {"/v1/things/x", `{"a":1}`, 200, "7", `{"a":1,"b":2}`, "the answer"},
		"field missing":            {"/v1/things/x", `{"a":1}`, 200, "7", `{}`, "the answer"},
		"no JSON":                  {"/v1/things/x", `{"a":1}`, 200, "7", `{"a":1`, "the answer"},
		"unknown status":           {"/v1/things/x", `{"a":1}`, 409, "", `{}`, "not documented"},
		"header missing":           {"/v1/things/x", `{"a":1}`, 200, "", `{"a":1}`, "X-Id is missing"},
		"header wrong":             {"/v1/things/x", `{"a":1}`, 200, "x", `{"a":1}`, "X-Id"},
		"header unknown":           {"/v1/things/x", `{"a":1}`, 400, "7", crossed, "X-Id is not documented"},
		"accepted body":            {"/v1/things/x", `{"a":1,"b":2}`, 200, "7", `{"a":1}`, "does not allow"},
		"accepted without body":    {"/v1/things/x", ``, 200, "7", `{"a":1}`, "does not allow"},
		"accepted path":            {"/v1/things/X", `{"a":1}`, 200, "7", `{"a":1}`, "does not allow"},
		"accepted parameter":       {"/v1/things/x?limit=11", `{"a":1}`, 200, "7", `{"a":1}`, "does not allow"},
		"accepted text":            {"/v1/things/x?limit=x", `{"a":1}`, 200, "7", `{"a":1}`, "does not allow"},
		"accepted element":         {"/v1/things/x?with=a,c", `{"a":1}`, 200, "7", `{"a":1}`, "does not allow"},
		"accepted twice":           {"/v1/things/x?limit=1&limit=2", `{"a":1}`, 200, "7", `{"a":1}`, "does not allow"},
		"accepted unknown":         {"/v1/things/x?limt=1", `{"a":1}`, 200, "7", `{"a":1}`, "limt is no parameter"},
		"refused though allowed":   {"/v1/things/x", `{"a":1}`, 400, "", refused, "that the document allows"},
		"refused for other causes": {"/v1/things/x", `{"a":1}`, 400, "", crossed, ""},
		"refused with reason":      {"/v1/things/x", `{"a":"x"}`, 400, "", refused, ""},
		"unknown path":             {"/v1/others", ``, 200, "", `{}`, "no such operation"},
		"unknown path, not found":  {"/v1/others", ``, 404, "", `{}`, ""},
		"batch":                    {"/v1/things/all", `{"ids":["a",7]}`, 200, "", `{"data":{"results":[{"status":"ok"},{"status":"invalid_input"}]}}`, ""},
		"batch, bad envelope":      {"/v1/things/all", `{"ids":7}`, 200, "", `{"data":{"results":[]}}`, "does not allow"},
		"batch, bad item is ok":    {"/v1/things/all", `{"ids":[7]}`, 200, "", `{"data":{"results":[{"status":"ok"}]}}`, "item 0"},
		"batch, good item is not":  {"/v1/things/all", `{"ids":["a"]}`, 200, "", `{"data":{"results":[{"status":"invalid_input"}]}}`, "item 0"},
		"batch, result missing":    {"/v1/things/all", `{"ids":["a","b"]}`, 200, "", `{"data":{"results":[{"status":"ok"}]}}`, "2 items"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.target, nil)
			r.Header.Set("Content-Type", "application/json")
			header := http.Header{"Content-Type": {"application/json"}}
			if c.header != "" {
				header.Set("X-Id", c.header)
			}
			problems := d.Check(
				r, []byte(c.sent),
				&http.Response{StatusCode: c.status, Header: header, Body: io.NopCloser(strings.NewReader(""))},
				[]byte(c.got),
			)
			switch {
			case c.want == "" && len(problems) > 0:
				t.Error(problems)
			case c.want != "" && (len(problems) != 1 || !strings.Contains(problems[0], c.want)):
				t.Errorf("%d problems: %v", len(problems), problems)
			}
		})
	}
}

// TestRead checks that dangling references and invalid examples are found.
func TestRead(t *testing.T) {
	t.Parallel()
	if _, err := conformance.Read([]byte(strings.Replace(small, "schemas/Thing", "schemas/None", 1))); err == nil {
		t.Error("a reference to nothing was read")
	}
	for document, want := range map[string]int{small: 0, strings.Replace(small, `"examples": [1]`, `"examples": ["x"]`, 1): 1} {
		d, err := conformance.Read([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Examples(); len(got) != want {
			t.Errorf("%d wrong examples, want %d: %v", len(got), want, got)
		}
	}
}
