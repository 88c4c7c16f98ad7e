package api_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"atlas/service/api"
	"atlas/service/endpoint"
)

// anyPage serves every request that reaches it.
type anyPage struct{}

func (anyPage) Serve(w http.ResponseWriter, _ *http.Request) bool {
	_, _ = io.WriteString(w, "page")
	return true
}

// Pages never hide an address of the service, also one that does not exist.
func TestPagesBesideTheAPI(t *testing.T) {
	t.Parallel()
	h := (&api.Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler), Pages: anyPage{}}}).Handler()
	for path, want := range map[string]int{
		"/": 200, "/projects": 200, "/apis": 200, "/documents": 200,
		"/api": 404, "/api/": 404, "/api/v1": 404, "/api/v2/data": 404, "/api/v1/none": 404, "/api/v1/workspace": 401,
		"/api/v1/workspace/none/x": 404,
		"/docs":                    200, "/docs/none": 404, "/health": 404, "/health/none": 404, "/health/live": 200, "/metrics": 404,
		"/session": 404, "/session/x": 404,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Sec-Fetch-Mode", "navigate")
		h.ServeHTTP(w, r)
		isPage := w.Body.String() == "page"
		if w.Code != want && !(path == "/api/v1/workspace" && w.Code >= 400) ||
			isPage != (want == 200 && path != "/docs" && path != "/health/live") {
			t.Errorf("%s: %d, the page: %v", path, w.Code, isPage)
		}
	}
}

// A browser gets a page for an address that does not exist; programs, and browsers at
// addresses of the API, get the API's answer.
func TestAddressesOfNoPage(t *testing.T) {
	t.Parallel()
	h := (&api.Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler)}}).Handler()
	for _, c := range []struct{ path, accept, kind, text string }{
		{"/healthz", "text/html", "text/html", "GET /health/ready says"},
		{"/<b>", "text/html", "text/html", "/&lt;b&gt;"},
		{"/healthz", "*/*", "application/json", "GET /health/ready says"},
		{"/api/v1/none", "text/html", "application/json", "no route is called"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil)
		r.Header.Set("Accept", c.accept)
		h.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound || !strings.HasPrefix(w.Header().Get("Content-Type"), c.kind) ||
			!strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s for %s: %d %v %s", c.path, c.accept, w.Code, w.Header(), w.Body)
		}
	}
}
