// Package explorer has the Explorer, the web page of Atlas, as files in the binary.
// README.md in this folder describes its sources; scripts/build builds them.
package explorer

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed all:dist
var dist embed.FS

// missing is the page of a binary that was built without the Explorer.
//
//go:embed missing.html
var missing []byte

// building is shown until a folder has the page, and loads itself again.
//
//go:embed building.html
var building []byte

// policy lets the page load files of this server only, and run no inline script or
// style. The hash is that of the style in each chart; a unit test of the Explorer
// compares them.
const policy = "default-src 'none'; script-src 'self'; " +
	"style-src 'self' 'sha256-+TfQir1nvDucAdvE6XUQBt4ayUjpAWkbw2kCdSfekHM='; font-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// index is the page that every address of the Explorer shows.
const index = "index.html"

// immutable is the Cache-Control of files with a hash in their name.
const immutable = "public, max-age=31536000, immutable"

// contentTypes are those that package mime does not know by itself.
var contentTypes = map[string]string{".woff2": "font/woff2"}

// Site serves the built files. It is safe for concurrent use.
type Site struct {
	files map[string]file
}

// file is a file in all encodings that it has.
type file struct {
	plain, gzip, brotli []byte
	contentType         string
	etag                string // of the plain file
}

// New returns the files that were built into the binary, or without them a page that
// says so.
func New() (*Site, error) {
	app, err := fs.Sub(dist, "dist/app")
	if err != nil {
		return nil, err
	}
	return read(app, missing)
}

// read loads all files of a folder, or without a page in it takes another.
func read(folder fs.FS, otherwise []byte) (*Site, error) {
	s := &Site{files: map[string]file{}}
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		base, isGzip := strings.CutSuffix(name, ".gz")
		base, isBrotli := strings.CutSuffix(base, ".br")
		f := s.files[base]
		switch {
		case isGzip:
			f.gzip = body
		case isBrotli:
			f.brotli = body
		default:
			f.plain = body
			f.contentType = cmp.Or(mime.TypeByExtension(path.Ext(name)), contentTypes[path.Ext(name)], "application/octet-stream")
			sum := sha256.Sum256(body)
			f.etag = base64.RawURLEncoding.EncodeToString(sum[:12])
		}
		s.files[base] = f
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if _, built := s.files[index]; !built {
		s.files = map[string]file{index: {plain: otherwise, contentType: "text/html; charset=utf-8", etag: "otherwise"}}
	}
	return s, nil
}

// Serve answers a GET or HEAD of a file, and of any other path when a browser opens
// it as a page. It returns false, without an answer, for anything else.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	f, found := s.files[name]
	if !found {
		if r.URL.Path != "/" && !navigates(r) {
			return false
		}
		name, f = index, s.files[index]
	}
	h := w.Header()
	if name == index {
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Referrer-Policy", "same-origin")
	}
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") {
		h.Set("Cache-Control", immutable)
	}
	h.Set("Content-Type", f.contentType)
	body, encoding := f.plain, ""
	if f.brotli != nil || f.gzip != nil {
		h.Set("Vary", "Accept-Encoding")
	}
	switch accepted := r.Header.Values("Accept-Encoding"); {
	case f.brotli != nil && accepts(accepted, "br"):
		body, encoding = f.brotli, "br"
	case f.gzip != nil && accepts(accepted, "gzip"):
		body, encoding = f.gzip, "gzip"
	}
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	h.Set("ETag", `"`+f.etag+encoding+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
	return true
}

// navigates reports whether a browser opens the address as a page, and not a script
// or an image of a page.
func navigates(r *http.Request) bool {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// accepts reports whether the header Accept-Encoding names an encoding, other than to
// refuse it.
func accepts(header []string, encoding string) bool {
	for part := range strings.SplitSeq(strings.Join(header, ","), ",") {
		name, parameters, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			quality, weighted := strings.CutPrefix(strings.TrimSpace(parameters), "q=")
			return !weighted || strings.Trim(quality, "0.") != ""
		}
	}
	return false
}
