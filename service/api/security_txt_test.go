package api_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"atlas/service/api"
	"atlas/service/endpoint"
)

// alone answers a request without backends.
func alone(s *api.Server, method, path string) *httptest.ResponseRecorder {
	return answered(withoutBackends(s), method, path)
}

func withoutBackends(s *api.Server) http.Handler {
	s.Log = slog.New(slog.DiscardHandler)
	return s.Handler()
}

func answered(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestSecurityTxt(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]*api.Server{
		"Contact: mailto:security@example.com\n": {
			Core: endpoint.Core{PublicURL: "https://atlas.example"}, SecurityContact: "mailto:security@example.com",
		},
		"Contact: https://atlas.example/docs/reporting\n":   {Core: endpoint.Core{PublicURL: "https://atlas.example"}},
		"Contact: http://example.com/docs/reporting\n":      {},
		"Canonical: https://atlas.example/.well-known/secu": {Core: endpoint.Core{PublicURL: "https://atlas.example/"}},
	} {
		w := alone(s, "GET", "/.well-known/security.txt")
		text := w.Body.String()
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") || !strings.Contains(text, want) {
			t.Errorf("%d %v\n%s", w.Code, w.Header(), text)
		}
		_, after, _ := strings.Cut(text, "Expires: ")
		line, _, _ := strings.Cut(after, "\n")
		if at, err := time.Parse(time.RFC3339, line); err != nil || time.Until(at) < 30*24*time.Hour || time.Until(at) > 365*24*time.Hour {
			t.Errorf("expires %q: %v", line, err)
		}
	}
	if w := alone(&api.Server{}, "GET", "/docs/reporting"); w.Code != http.StatusOK {
		t.Errorf("the page that it leads to: %d", w.Code)
	}
	for address, good := range map[string]bool{
		"mailto:security@example.com": true, "https://example.com/security": true, "tel:+1-201-555-0123": true,
		"security@example.com": false, "http://example.com": false, "mailto:": false, "https://": false, "mailto:a@b.example\nPolicy: x": false,
	} {
		if err := api.CheckContact(address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// Behind TLS, every page tells browsers to use only TLS; without TLS it does not, because
// they could not return.
func TestTransportAndIsolationOfPages(t *testing.T) {
	t.Parallel()
	secure, others := withoutBackends(&api.Server{Core: endpoint.Core{PublicURL: "https://atlas.example"}}), map[string]http.Handler{}
	for _, public := range []string{"", "http://127.0.0.1:8080"} {
		others[public] = withoutBackends(&api.Server{Core: endpoint.Core{PublicURL: public}})
	}
	for _, path := range []string{
		"/docs", "/docs/security", "/docs/reference", "/docs/nothing", "/docs/search?q=key", "/api/v1/openapi.json",
		"/health/live", "/nothing",
	} {
		if got := answered(secure, "GET", path).Header().Get("Strict-Transport-Security"); got != "max-age=31536000" {
			t.Errorf("%s: %q", path, got)
		}
		for public, other := range others {
			h := answered(other, "GET", path).Header()
			if got := h.Get("Strict-Transport-Security"); got != "" {
				t.Errorf("%s at %q: %q", path, public, got)
			}
			if page := strings.HasPrefix(path, "/docs") && path != "/docs/nothing"; page &&
				(h.Get("Cross-Origin-Opener-Policy") != "same-origin" || h.Get("Referrer-Policy") != "same-origin") {
				t.Errorf("%s: %v", path, h)
			}
		}
	}
}
