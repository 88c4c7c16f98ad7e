package api_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"atlas/internal/api"
)

// TestDocsPage loads the page like a browser without internet access: the server has
// all files that the page refers to, and the content security policy forbids others.
func TestDocsPage(t *testing.T) {
	t.Parallel()
	h := (&api.Server{Log: slog.New(slog.DiscardHandler)}).Handler()
	get := func(path string) *httptest.ResponseRecorder {
		t.Helper()
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		h.ServeHTTP(w, r)
		return w
	}
	for _, path := range []string{"/docs", "/docs/"} {
		page := get(path)
		if page.Code != http.StatusOK || !strings.HasPrefix(page.Header().Get("Content-Type"), "text/html") {
			t.Fatalf("%s: %d %s", path, page.Code, page.Header())
		}
		policy := page.Header().Get("Content-Security-Policy")
		for directive := range strings.SplitSeq(policy, ";") {
			name, sources, _ := strings.Cut(strings.TrimSpace(directive), " ")
			for source := range strings.FieldsSeq(sources) {
				if source != "'self'" && source != "'none'" && source != "'unsafe-inline'" && source != "data:" {
					t.Errorf("%s may be loaded from %s", name, source)
				}
			}
		}
		if !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("what the policy does not name is allowed: %q", policy)
		}
		files := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page.Body.String(), -1)
		if len(files) < 4 {
			t.Errorf("the page refers to %d files", len(files))
		}
		for _, m := range files {
			if !strings.HasPrefix(m[1], "/docs/") {
				t.Errorf("the page loads %s", m[1])
			}
			if file := get(m[1]); file.Code != http.StatusOK || file.Body.Len() == 0 {
				t.Errorf("%s: %d", m[1], file.Code)
			}
		}
		if !strings.Contains(page.Body.String(), api.Version+"/openapi.json") {
			t.Error("the page does not show the document")
		}
	}
	for _, path := range []string{"/docs/none.js", "/docs/../secret", "/docs/%2e%2e/x", "/docs//"} {
		if w := get(path); w.Code == http.StatusOK && path != "/docs//" || w.Code >= 500 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/docs", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodGet {
		t.Errorf("POST /docs: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}
