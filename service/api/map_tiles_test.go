package api

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"atlas/internal/tiles"
)

// withArchive has an archive of 2 MB.
func withArchive(t *testing.T) *Server {
	t.Helper()
	body := append([]byte("PMTiles\x03"), make([]byte, 2_000_000)...)
	body[98], body[99] = 2, 1
	path := filepath.Join(t.TempDir(), "city.pmtiles")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := tiles.Open(path, "© Somebody")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Archive.Close() })
	s := openServer(t)
	s.MapTiles = source
	return s
}

// rangeOf asks for a part of the archive.
func rangeOf(t *testing.T, h http.Handler, from, bytes string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, archivePath, nil)
	r.RemoteAddr = from + ":5000"
	r.Header.Set("Range", "bytes="+bytes)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestMapTiles(t *testing.T) {
	t.Parallel()
	const template = "https://tiles.example/{z}/{x}/{y}.pbf"
	outside, none := openServer(t), openServer(t)
	outside.MapTiles = tiles.Source{Template: template, Attribution: "© Somebody"}
	for want, s := range map[string]*Server{
		`{"url":"` + archivePath + `","archive":true,"attribution":"© Somebody"}`: withArchive(t),
		`{"url":"` + template + `","archive":false,"attribution":"© Somebody"}`:   outside,
		`{"archive":false}`: none,
	} {
		h := s.Handler()
		if w := ask(t, h, http.MethodGet, tilesPath, "203.0.113.1"); w.Code != 200 || w.Body.String() != want {
			t.Errorf("%d %s, want %s", w.Code, w.Body, want)
		}
		status := http.StatusNotFound
		if s.MapTiles.Archive != nil {
			status = http.StatusPartialContent
		}
		if w := rangeOf(t, h, "203.0.113.1", "0-99"); w.Code != status {
			t.Errorf("%s: the archive: %d", want, w.Code)
		}
	}
	if w := ask(t, withArchive(t).Handler(), http.MethodHead, archivePath, "203.0.113.1"); w.Code != 200 || w.Body.Len() > 0 {
		t.Errorf("HEAD: %d with %d bytes", w.Code, w.Body.Len())
	}
}

// A range counts by its length: a client of long ones is refused sooner, and others are not.
func TestRangesCountByLength(t *testing.T) {
	t.Parallel()
	s := withArchive(t)
	const wholeTokens = 1 + tiles.MaxRange/tileToken
	const most = 1_000 // tokens at once, as docs/operators.md says
	synctest.Test(t, func(t *testing.T) {
		h := s.Handler()
		begun := time.Now()
		for i := range most / wholeTokens {
			if w := rangeOf(t, h, "203.0.113.1", "0-999999"); w.Code != http.StatusPartialContent {
				t.Fatalf("range %d: %d", i, w.Code)
			}
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("the burst took %s", took)
		}
		// The rest suffices for short ranges. The next long one waits for its tokens.
		if w := rangeOf(t, h, "203.0.113.1", "0-999999"); w.Code != http.StatusPartialContent || time.Since(begun) == 0 {
			t.Errorf("%d after %s", w.Code, time.Since(begun))
		}
		before := time.Now()
		if w := rangeOf(t, h, "203.0.113.2", "0-999"); w.Code != http.StatusPartialContent || time.Since(before) > 0 {
			t.Errorf("another client: %d after %s", w.Code, time.Since(before))
		}
		if w := ask(t, h, http.MethodGet, "/health/live", "203.0.113.1"); w.Code != 200 {
			t.Errorf("another class: %d", w.Code)
		}
	})
}
