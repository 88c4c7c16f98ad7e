package explorer

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"atlas/internal/asset"
)

// site has the files that a build makes.
func site(t *testing.T) *Site {
	t.Helper()
	s, err := read(fstest.MapFS{
		"index.html":            {Data: []byte("<title>page</title>")},
		"assets/app-1a2b.js":    {Data: []byte("plain")},
		"assets/app-1a2b.js.gz": {Data: []byte("gzip")},
		"assets/app-1a2b.js.br": {Data: []byte("brotli")},
		"assets/i-1.woff2":      {Data: []byte("font")},
	}, missing, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// get returns nil when the site does not answer.
func get(t *testing.T, s *Site, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	if !s.Serve(w, r) {
		return nil
	}
	return w
}

func TestFiles(t *testing.T) {
	t.Parallel()
	s := site(t)
	for accepted, want := range map[string]string{
		"": "plain", "gzip": "gzip", "gzip, deflate, br, zstd": "brotli", "br;q=0, gzip;q=0.5": "gzip", "BR": "brotli",
		"identity, gzip;q=0.0": "plain",
	} {
		w := get(t, s, http.MethodGet, "/assets/app-1a2b.js", "Accept-Encoding", accepted)
		encoding := map[string]string{"plain": "", "gzip": "gzip", "brotli": "br"}[want]
		if w.Body.String() != want || w.Header().Get("Content-Encoding") != encoding || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %q, %v", accepted, w.Body, w.Header())
		}
		if w.Header().Get("Cache-Control") != asset.Immutable || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/javascript") {
			t.Errorf("%q: %v", accepted, w.Header())
		}
		again := get(t, s, http.MethodGet, "/assets/app-1a2b.js", "Accept-Encoding", accepted, "If-None-Match", w.Header().Get("ETag"))
		if again.Code != http.StatusNotModified {
			t.Errorf("%q: %d for an unchanged file", accepted, again.Code)
		}
	}
	if w := get(t, s, http.MethodGet, "/assets/i-1.woff2"); w.Header().Get("Content-Type") != "font/woff2" {
		t.Errorf("a font is %s", w.Header().Get("Content-Type"))
	}
}

// Of a file of assets the binary has the copies alone. Who takes neither gets it unpacked.
func TestPackedFiles(t *testing.T) {
	t.Parallel()
	packed := asset.Compressed([]byte(strings.Repeat("plain ", 100)))
	s, err := read(fstest.MapFS{
		"index.html":            {Data: []byte("<title>page</title>")},
		"assets/app-1a2b.js.gz": {Data: packed.Gzip},
		"assets/app-1a2b.js.br": {Data: []byte("brotli")},
	}, missing, "")
	if err != nil {
		t.Fatal(err)
	}
	for accepted, want := range map[string]string{"": string(packed.Plain), "gzip": string(packed.Gzip), "br": "brotli"} {
		w := get(t, s, http.MethodGet, "/assets/app-1a2b.js", "Accept-Encoding", accepted)
		if w == nil || w.Body.String() != want || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/javascript") ||
			w.Header().Get("ETag") == `""` {
			t.Errorf("%q: %+v", accepted, w)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := site(t)
	for name, c := range map[string]struct {
		method, path string
		header       []string
		page         bool
	}{
		"the root":                     {"GET", "/", nil, true},
		"a head":                       {"HEAD", "/", nil, true},
		"opened":                       {"GET", "/projects/1?stage=filed", []string{"Sec-Fetch-Mode", "navigate"}, true},
		"opened by an old browser":     {"GET", "/projects", []string{"Accept", "text/html,*/*"}, true},
		"a probe in a browser":         {"GET", "/healthz", []string{"Sec-Fetch-Mode", "navigate"}, false},
		"fetched":                      {"GET", "/projects", []string{"Sec-Fetch-Mode", "cors", "Accept", "text/html"}, false},
		"a client of the API":          {"GET", "/projects", []string{"Accept", "*/*"}, false},
		"a post":                       {"POST", "/", []string{"Accept", "text/html"}, false},
		"a file that is not":           {"GET", "/assets/gone.js", []string{"Sec-Fetch-Mode", "no-cors"}, false},
		"above the folder":             {"GET", "/../explorer.go", []string{"Accept", "*/*"}, false},
		"a compressed file by itself":  {"GET", "/assets/app-1a2b.js.gz", nil, false},
		"the page under its file name": {"GET", "/index.html", nil, true},
	} {
		w := get(t, s, c.method, c.path, c.header...)
		if (w != nil) != c.page {
			t.Errorf("%s: served %v, want %v", name, w != nil, c.page)
			continue
		}
		if !c.page {
			continue
		}
		h := w.Header()
		if w.Code != http.StatusOK || h.Get("Cache-Control") != "no-cache" || !strings.HasPrefix(h.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %v", name, w.Code, h)
		}
		p := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(p, "default-src 'none'") || strings.Contains(p, "unsafe") || strings.Contains(p, "http") {
			t.Errorf("%s: policy %q", name, p)
		}
	}
}

// The origin of map tiles is in the policy of the page and of its workers, in connect-src alone.
func TestPolicyWithTiles(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"index.html":                      {Data: []byte("<title>page</title>")},
		"assets/maplibre-gl-worker-1a.js": {Data: []byte("worker")},
		"assets/app-1a2b.js":              {Data: []byte("app")},
	}
	s, err := read(files, missing, "https://tiles.example:8443")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(policy, "connect-src 'self';", "connect-src 'self' https://tiles.example:8443;", 1)
	for path, want := range map[string]string{"/": want, "/assets/maplibre-gl-worker-1a.js": want, "/assets/app-1a2b.js": ""} {
		if got := get(t, s, http.MethodGet, path).Header().Get("Content-Security-Policy"); got != want {
			t.Errorf("%s: policy %q, want %q", path, got, want)
		}
	}
	if want == policy {
		t.Error("the policy has no connect-src")
	}
	// A browser that has the worker with another policy gets it anew.
	const worker = "/assets/maplibre-gl-worker-1a.js"
	has := get(t, s, http.MethodGet, worker).Header()
	if has.Get("Cache-Control") != asset.Asked {
		t.Errorf("a worker is kept: %q", has.Get("Cache-Control"))
	}
	if got := get(t, s, http.MethodGet, "/assets/app-1a2b.js").Header().Get("Cache-Control"); got != asset.Immutable {
		t.Errorf("a script is asked for again: %q", got)
	}
	other, err := read(files, missing, "")
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[*Site]int{s: http.StatusNotModified, other: http.StatusOK} {
		if got := get(t, s, http.MethodGet, worker, "If-None-Match", has.Get("ETag")); got.Code != want {
			t.Errorf("got %d, want %d", got.Code, want)
		}
	}
}

// The words of the page lead to its addresses, for who opens them in a browser.
func TestGuessedAddresses(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/firms": "/accounts", "/people/1": "/contacts/1", "/map?cost=1": "/projects?look=map&cost=1",
		"/firms?q=x": "/accounts?q=x", "/firms//evil.example": "/accounts/evil.example",
	} {
		w := get(t, site(t), http.MethodGet, path, "Accept", "text/html")
		if w == nil || w.Code != http.StatusFound || w.Header().Get("Location") != want {
			t.Errorf("%s: %v", path, w)
		}
		if get(t, site(t), http.MethodGet, path) != nil {
			t.Errorf("%s: a client of the API is led to a page", path)
		}
	}
}

func TestWithoutABuild(t *testing.T) {
	t.Parallel()
	s, err := read(fstest.MapFS{}, missing, "")
	if err != nil {
		t.Fatal(err)
	}
	w := get(t, s, http.MethodGet, "/")
	if w == nil || w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "scripts/build") {
		t.Errorf("without a build: %v", w)
	}
}

// A folder is served as the last build has left it.
func TestLive(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "app")
	live := NewLive(folder, "")
	page := func() string {
		w := httptest.NewRecorder()
		if !live.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)) {
			t.Fatal("no page")
		}
		return w.Body.String()
	}
	if got := page(); got != string(building) {
		t.Errorf("before the build: %s", got)
	}
	for i, want := range []string{"first", "second"} {
		if err := os.MkdirAll(folder, 0o750); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, "index.html")
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		written := time.Unix(int64(i+1), 0) // apart, whatever the clock of the files
		if err := os.Chtimes(file, written, written); err != nil {
			t.Fatal(err)
		}
		if got := page(); got != want {
			t.Errorf("after the build: %s, want %s", got, want)
		}
	}
}

// The page has no screen that its addresses do not lead to.
func TestScreens(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("src/shell/screens.ts")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`path: '([a-z]+)'`).FindAllStringSubmatch(string(source), -1)
	for _, name := range found {
		if !slices.Contains(screens, name[1]) {
			t.Errorf("%s is not served", name[1])
		}
	}
	if len(found) < 4 {
		t.Errorf("the screens are not found: %v", found)
	}
}
