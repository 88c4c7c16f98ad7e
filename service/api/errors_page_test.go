package api_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"atlas/service/api"
	"atlas/service/endpoint"
)

// TestErrorsPage: each error leads to the anchor of its code on a page without scripts.
func TestErrorsPage(t *testing.T) {
	t.Parallel()
	for public, want := range map[string]string{
		"": "/docs/errors#not_found", "https://atlas.example": "https://atlas.example/docs/errors#not_found",
	} {
		h := (&api.Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler), PublicURL: public}}).Handler()
		get := func(path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			return w
		}
		failed := regexp.MustCompile(`"doc_url":"([^"]*)"`).FindStringSubmatch(get("/api/v1/nothing").Body.String())
		if failed == nil || failed[1] != want {
			t.Fatalf("doc_url %v, want %s", failed, want)
		}
		path, anchor, _ := strings.Cut(strings.TrimPrefix(want, public), "#")
		page := get(path)
		text := page.Body.String()
		if page.Code != http.StatusOK || !strings.HasPrefix(page.Header().Get("Content-Type"), "text/html") ||
			!strings.Contains(text, `<h2 id="`+anchor+`"`) {
			t.Fatalf("%s: %d %.300s", path, page.Code, text)
		}
		if policy := page.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
			strings.Contains(policy, "script-src") || strings.Contains(text, "<script") {
			t.Errorf("the page can run scripts: %s", policy)
		}
		for _, gap := range []string{"<p><strong>When:</strong> .", "What to do:</strong> </p>", "``"} {
			if strings.Contains(text, gap) {
				t.Errorf("the page has %q", gap)
			}
		}
	}
}
