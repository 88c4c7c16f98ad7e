package api_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"atlas/service/api"
	"atlas/service/endpoint"
)

// HEAD is for documents and health only. Other routes refuse it with an error.
func TestHead(t *testing.T) {
	t.Parallel()
	s := &api.Server{
		Core: endpoint.Core{
			Log:       slog.New(slog.DiscardHandler),
			PublicURL: "https://atlas.example",
		},
		MCP:          &api.MCP{},
		TokenIssuer:  issuer,
		PlainCookies: true,
		Sessions:     struct{ api.Sessions }{},
		SignIn:       struct{ api.SignIn }{},
		Unsubscribe:  struct{ api.Unsubscriber }{},
		Erasures:     struct{ api.ErasureLinks }{},
		ErasureForm:  struct{ api.ErasureForm }{},
	}
	documents := []string{
		"/health/live", "/health/ready", "/docs", "/docs/*file", "/llms.txt", endpoint.Version + "/openapi.json",
		"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/.well-known/security.txt", "/map/tiles.json",
	}
	router := api.Router(s)
	seen := map[string]bool{}
	for _, r := range router.Routes() {
		if seen[r.Path] {
			continue
		}
		seen[r.Path] = true
		ask := func(method string) *httptest.ResponseRecorder {
			path := r.Path
			if path == "/docs/*file" {
				path = "/docs/api"
			}
			w := httptest.NewRecorder()
			router.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
			return w
		}
		head := ask(http.MethodHead)
		if !slices.Contains(documents, r.Path) {
			if head.Code != http.StatusMethodNotAllowed || head.Header().Get("Allow") == "" {
				t.Errorf("HEAD %s: %d, Allow %q", r.Path, head.Code, head.Header().Get("Allow"))
			}
			continue
		}
		get := ask(http.MethodGet)
		for _, name := range []string{"Content-Type", "ETag", "Cache-Control"} {
			if head.Code != http.StatusOK || head.Header().Get(name) != get.Header().Get(name) {
				t.Errorf("HEAD %s: %d, %s %q; GET has %q", r.Path, head.Code, name, head.Header().Get(name), get.Header().Get(name))
			}
		}
	}
	for _, path := range documents {
		if !seen[path] {
			t.Errorf("%s is no route", path)
		}
	}
}
