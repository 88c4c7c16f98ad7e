package api_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"atlas/workspace"
	"atlas/workspace/people"
)

// TestAnotherReaderAgrees reads the document with a library that shares no code with
// package conformance, and checks exchanges against it.
func TestAnotherReaderAgrees(t *testing.T) {
	t.Parallel()
	d, err := openapi3.NewLoader().LoadFromData(documentText())
	fatal(t, err)
	fatal(t, d.Validate(t.Context()))
	router, err := gorillamux.NewRouter(d)
	fatal(t, err)
	w := newWorld(t)
	w.holds(t)
	in := w.workspace(t, "A", workspace.Pro, 0)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/data/projects/search", `{"query":"garage","filters":{"cost":{"value":[10000,null]}},"limit":10}`, 200},
		{"POST", "/data/projects/search", `{"filters":{"stage":{"value":"soon"}}}`, 400},
		{"POST", "/data/projects/search", `{"limit":0,"colour":"red"}`, 400},
		{"GET", "/data/accounts/0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10?include=contacts,projects", "", 404},
		{"GET", "/data/accounts/1", "", 400},
		{"POST", "/data/fields/search", `{"dataset":"projects","keys":["stage"]}`, 200},
		{"POST", "/data/fields/search", `{"kind":"none"}`, 400},
		{"GET", "/workspace", "", 200},
		{"GET", "/workspace/members?limit=10", "", 200},
		{"GET", "/workspace/members?limit=0", "", 400},
		{"POST", "/workspace/views/upsert", `{"dataset":"account","view_type":"static","name":"To visit"}`, 200},
		{"POST", "/workspace/views/upsert", `{"dataset":"account","view_type":"static"}`, 400},
		{"POST", "/workspace/signal-subscriptions/upsert", `{"signal_type":"permit_issued","delivery":{"channels":["email"]}}`, 200},
		{"POST", "/workspace/signal-subscriptions/upsert", `{"signal_type":"permit_issued","delivery":{"channels":[]}}`, 400},
		{"POST", "/workspace/skills/create", `{"scope":"workspace","name":"N","description":"D","content":"C"}`, 200},
		{"POST", "/workspace/skills/create", `{"scope":"workspace","name":"N","slug":"A B","description":"D","content":"C"}`, 400},
		{"POST", "/workspace/favorite-views/upsert", `{"view_id":"0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10"}`, 400}, // a key has no Favorites
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, w.base+c.path, strings.NewReader(c.body))
		fatal(t, err)
		r.Header.Set("Authorization", "Bearer "+key)
		if c.body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		status, requestProblem, responseProblem := exchange(t, router, r)
		if status != c.status {
			t.Errorf("%s %s %s → %d, want %d", c.method, c.path, c.body, status, c.status)
		}
		forbidden := c.status == http.StatusBadRequest && !strings.Contains(c.path, "favorite")
		if (requestProblem != nil) != forbidden {
			t.Errorf("%s %s %s is answered %d, and the document says of the request: %v", c.method, c.path, c.body, status, requestProblem)
		}
		if responseProblem != nil {
			t.Errorf("%s %s %s → %d: %v", c.method, c.path, c.body, status, responseProblem)
		}
	}
}

// exchange sends a request and checks it and its answer against the document.
func exchange(t *testing.T, router routers.Router, r *http.Request) (status int, request, response error) {
	t.Helper()
	documented := r.Clone(t.Context())
	documented.URL.Scheme, documented.URL.Host = "", "" // servers are relative
	if body, err := r.GetBody(); err == nil {
		documented.Body = body
	}
	route, params, err := router.FindRoute(documented)
	fatal(t, err)
	in := &openapi3filter.RequestValidationInput{Request: documented, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	request = openapi3filter.ValidateRequest(t.Context(), in)
	res, err := http.DefaultClient.Do(r)
	fatal(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	fatal(t, err)
	response = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: res.StatusCode, Header: res.Header, Body: io.NopCloser(bytes.NewReader(body))})
	return res.StatusCode, request, response
}
