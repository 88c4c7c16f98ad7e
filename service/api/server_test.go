package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"atlas/service/endpoint"
)

// TestEveryPathIsAnswered sends paths that are similar to routes. This package answers each,
// and answers 405 for paths of the table.
func TestEveryPathIsAnswered(t *testing.T) {
	t.Parallel()
	s := &Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler)}}
	h := s.Handler()
	segments := []string{"", "api", "v1", "data", "workspace", "accounts", "search", "fields", "usage", "x", "%2F", "%20", "é", "credits"}
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "TRACE"}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(segments), 0, 6).Draw(t, "segments")
		path := rapid.SampledFrom([]string{"/", endpoint.Version + "/", endpoint.Version + "/data/", endpoint.Version + "/data/accounts/search"}).
			Draw(t, "start") +
			strings.Join(
				parts,
				"/",
			)
		method := rapid.SampledFrom(methods).Draw(t, "method")
		w := httptest.NewRecorder()
		defer func() {
			if p := recover(); p != nil {
				t.Fatalf("%s %s: panic %v", method, path, p)
			}
		}()
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		// There is no gate, so a request that passes the router panics and is answered
		// with an internal error.
		h.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed && w.Code != http.StatusOK && w.Code < 500 {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
	})
	for _, path := range []string{"/health/live", "/health/ready"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "HEAD", path, nil))
		if w.Code != http.StatusOK {
			t.Errorf("HEAD %s: %d", path, w.Code)
		}
	}
	for _, method := range []string{"PUT", "POST", "PROPFIND"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/health/live", nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s /health/live: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
	for _, route := range s.Routes() {
		path := strings.NewReplacer(":id", "x", ":dataset", "x", ":key", "x").Replace(endpoint.Version + route.Path)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "PROPFIND", path, nil))
		if w.Code != http.StatusMethodNotAllowed || !strings.Contains(w.Header().Get("Allow"), route.Method) {
			t.Errorf("PROPFIND %s: %d, Allow %q", path, w.Code, w.Header().Get("Allow"))
		}
	}
}

// An unescaped path can contain any bytes, and messages quote it.
func TestAnyBytesInAPath(t *testing.T) {
	t.Parallel()
	h := (&Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler)}}).Handler()
	for _, path := range []string{
		"/%ff", endpoint.Version + "/data/%ff/search", endpoint.Version + "/data/%c0%80", endpoint.Version + "/%ed%a0%80/x",
		endpoint.Version + "/%00",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, nil))
		if w.Code != http.StatusNotFound || !jsontext.Value(w.Body.Bytes()).IsValid() || !strings.Contains(w.Body.String(), `"not_found"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
