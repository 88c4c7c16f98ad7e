package api_test

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"atlas/service/api"
	"atlas/service/endpoint"
)

// documentation is a server without backends; its pages are made once for all tests.
var documentation = sync.OnceValue(func() http.Handler {
	return (&api.Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler)}}).Handler()
})

// docsPage asks for a page, with headers in pairs.
func docsPage(t *testing.T, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	documentation().ServeHTTP(w, r)
	return w
}

var (
	reference  = regexp.MustCompile(`(?:src|href|action)="([^"]*)"`)
	identifier = regexp.MustCompile(` id="([^"]*)"`)
)

// TestDocumentation visits all pages as a browser without internet access: each link and each
// anchor exists, and the policy allows only this server.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{}
	var follow func(path, from string)
	follow = func(path, from string) {
		if _, seen := bodies[path]; seen {
			return
		}
		w := docsPage(t, http.MethodGet, path)
		bodies[path] = w.Body.String()
		if w.Code != http.StatusOK {
			t.Errorf("%s leads to %s: %d", from, path, w.Code)
			return
		}
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			return
		}
		for directive := range strings.SplitSeq(w.Header().Get("Content-Security-Policy"), ";") {
			name, sources, _ := strings.Cut(strings.TrimSpace(directive), " ")
			if live := strings.HasPrefix(path, "/docs/reference"); sources != "'none'" &&
				(sources != "'self'" || !live && (name == "script-src" || name == "connect-src")) {
				t.Errorf("%s: %s", path, directive)
			}
		}
		if text := w.Body.String(); strings.Contains(text, "<style") ||
			regexp.MustCompile(`<[^>]* style=|<script>|<[^>]* on[a-z]+=`).MatchString(text) {
			t.Errorf("%s has a style or a script in its text", path)
		} else if named := regexp.MustCompile(`<a href="/docs/[^"]*">[\w./-]*\.md</a>`).FindString(text); named != "" {
			t.Errorf("%s calls a page by its file: %s", path, named)
		}
		for _, m := range reference.FindAllStringSubmatch(w.Body.String(), -1) {
			to, _, _ := strings.Cut(m[1], "#")
			switch {
			case strings.HasPrefix(to, "/docs"):
				follow(to, path)
			case to != "" && to != "/" && to != "data:," && to != endpoint.Version+"/openapi.json" && !strings.HasPrefix(to, "https://"):
				t.Errorf("%s leads to %s", path, m[1])
			}
		}
	}
	follow("/docs", "")
	if len(bodies) < 50 {
		t.Errorf("%d pages", len(bodies))
	}
	anchors := map[string]map[string]bool{}
	for path, body := range bodies {
		anchors[path] = map[string]bool{}
		for _, m := range identifier.FindAllStringSubmatch(body, -1) {
			if anchors[path][m[1]] {
				t.Errorf("%s has the anchor %s twice", path, m[1])
			}
			anchors[path][m[1]] = true
		}
	}
	for path, body := range bodies {
		if strings.HasSuffix(path, ".md") {
			continue
		}
		for _, m := range reference.FindAllStringSubmatch(body, -1) {
			to, anchor, has := strings.Cut(m[1], "#")
			if to == "" {
				to = path
			}
			if has && strings.HasPrefix(to, "/docs") && !anchors[to][anchor] {
				t.Errorf("%s leads to %s, which is not there", path, m[1])
			}
		}
	}
	for _, r := range (&api.Server{}).Routes() {
		found := false
		for path := range anchors {
			found = found || strings.HasPrefix(path, "/docs/reference/") && anchors[path][r.Operation]
		}
		if !found {
			t.Errorf("the reference does not have %s", r.Operation)
		}
	}
}

// The pages match the repository: no file of docs is left out, and each mentioned file
// exists.
func TestDocumentationIsComplete(t *testing.T) {
	t.Parallel()
	problems, outside := api.Documentation(&api.Server{})
	for _, p := range problems {
		t.Error(p)
	}
	for _, name := range outside {
		if _, err := os.Stat(filepath.Join("../..", name)); err != nil {
			t.Error(err)
		}
	}
}

func TestDocumentationServed(t *testing.T) {
	t.Parallel()
	plain := docsPage(t, http.MethodGet, "/docs/clients")
	tag := plain.Header().Get("ETag")
	if tag == "" || plain.Header().Get("Cache-Control") != "no-cache" || plain.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("%v", plain.Header())
	}
	if w := docsPage(t, http.MethodGet, "/docs/clients", "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("an unchanged page: %d, %d bytes", w.Code, w.Body.Len())
	}
	w := docsPage(t, http.MethodGet, "/docs/clients", "Accept-Encoding", "gzip")
	unpacked, err := gzip.NewReader(w.Body)
	fatal(t, err)
	if text, err := io.ReadAll(unpacked); err != nil || string(text) != plain.Body.String() ||
		w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("ETag") == tag {
		t.Errorf("%v %v", err, w.Header())
	}
	if w := docsPage(t, http.MethodHead, "/docs/clients"); w.Code != http.StatusOK || w.Body.Len() > 0 ||
		w.Header().Get("Content-Length") == "" {
		t.Errorf("HEAD: %d, %v", w.Code, w.Header())
	}
	if w := docsPage(t, http.MethodPost, "/docs"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
	if w := docsPage(t, http.MethodGet, "/docs/clients.md"); !strings.HasPrefix(w.Body.String(), "# ") ||
		!strings.HasPrefix(w.Header().Get("Content-Type"), "text/markdown") {
		t.Errorf("Markdown: %v %.20s", w.Header(), w.Body)
	}
	styles := regexp.MustCompile(`/docs/assets/[^"]*\.css`).FindString(plain.Body.String())
	if w := docsPage(t, http.MethodGet, styles); !strings.Contains(w.Header().Get("Cache-Control"), "immutable") ||
		!strings.HasPrefix(w.Header().Get("Content-Type"), "text/css") {
		t.Errorf("%s: %v", styles, w.Header())
	}
	if w := docsPage(t, http.MethodGet, "/docs/"); w.Code != http.StatusOK {
		t.Errorf("/docs/: %d", w.Code)
	}
	for path, to := range map[string]string{"/docs/clients/": "/docs/clients", "/docs/clients///": "/docs/clients"} {
		if w := docsPage(t, http.MethodGet, path); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != to {
			t.Errorf("%s: %d to %s", path, w.Code, w.Header().Get("Location"))
		}
	}
}

func TestMissingPages(t *testing.T) {
	t.Parallel()
	for path, near := range map[string]string{
		"/docs/operator": "/docs/operators", "/docs/clinets": "/docs/clients", "/docs/clients.html": "/docs/clients",
		"/docs/guides/security":              "/docs/security",
		"/docs/decisions/9-read-your-writes": "/docs/decisions/009-read-your-writes",
		"/docs/search_accounts":              "/docs/reference/data#search_accounts",
		"/docs/none-such-thing-here":         "", "/docs/%2e%2e/x": "", "/docs//evil.example": "",
		"/docs/%3Cscript%3Ealert(1)%3C/script%3E": "", "/docs/" + strings.Repeat("a", 1000): "",
	} {
		shown := docsPage(t, http.MethodGet, path, "Accept", "text/html")
		if shown.Code != http.StatusNotFound || !strings.HasPrefix(shown.Header().Get("Content-Type"), "text/html") ||
			strings.Contains(shown.Body.String(), "<script>") || shown.Body.Len() > 20_000 {
			t.Errorf("%s: %d %v, %d bytes", path, shown.Code, shown.Header(), shown.Body.Len())
		}
		if asks := strings.Contains(shown.Body.String(), "Did you mean"); asks != (near != "") ||
			!strings.Contains(shown.Body.String(), `<a href="`+near) {
			t.Errorf("%s does not name %q: %s", path, near, shown.Body)
		}
		program := docsPage(t, http.MethodGet, path)
		if program.Code != http.StatusNotFound || !strings.Contains(program.Body.String(), `"code":"not_found"`) ||
			near != "" && !strings.Contains(program.Body.String(), "did you mean "+near+"?") {
			t.Errorf("%s: %d %s", path, program.Code, program.Body)
		}
	}
}

// A term is the beginning of a word: "rate" is not in "generate".
func TestDocumentationSearchesWords(t *testing.T) {
	t.Parallel()
	text := docsPage(t, http.MethodGet, "/docs/search?q=rate").Body.String()
	if !strings.Contains(text, "<mark>rate</mark>") && !strings.Contains(text, "<mark>Rate</mark>") {
		t.Error("no word is found")
	}
	if inside := regexp.MustCompile(`(?i)[a-z]<mark>rate</mark>\w*`).FindString(text); inside != "" {
		t.Errorf("%s is found", inside)
	}
}

func TestDocumentationSearch(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"restore":              `<a href="/docs/operators#backup-and-restore">`,
		"idempotency_conflict": `<a href="/docs/errors#idempotency_conflict">`,
		"search_contacts":      `<a href="/docs/reference/data#search_contacts">`,
		"":                     "Type words", "getting+started": `<a href="/docs/start`, "zzzqqq": "No section has",
		"%3Cscript%3E": "&lt;script&gt;", strings.Repeat("%C3%A9", 300): "No section has",
	} {
		w := docsPage(t, http.MethodGet, "/docs/search?q="+query)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) || strings.Contains(w.Body.String(), "<script>") {
			t.Errorf("%s: %d, no %s in %s", query, w.Code, want, w.Body)
		}
	}
}
