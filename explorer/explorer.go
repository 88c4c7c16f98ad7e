// Package explorer has the Explorer, the web page of Atlas, as files in the binary.
// README.md in this folder describes its sources; scripts/build builds them.
package explorer

import (
	"cmp"
	"embed"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"atlas/internal/asset"
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
	connect + "; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const connect = "connect-src 'self'"

// policyWith is the policy of a page that asks one more origin for map tiles; "" for none.
func policyWith(tiles string) string {
	if tiles == "" {
		return policy
	}
	return strings.Replace(policy, connect, connect+" "+tiles, 1)
}

// isWorker reports whether a file runs in a worker. A worker has a policy of its own.
func isWorker(name string) bool {
	return strings.HasPrefix(name, "assets/") && strings.Contains(name, "worker")
}

// index is the page that every address of the Explorer shows.
const index = "index.html"

// screens are the first parts of the addresses of the page (src/shell/screens.ts).
var screens = []string{
	"projects", "accounts", "contacts", "signals", "book", "views", "boards", "export", "queue", "settings", "invitations",
}

// guessed are addresses by the words that the page has for its screens.
var guessed = map[string]url.URL{
	"firms": {Path: "/accounts"}, "people": {Path: "/contacts"}, "map": {Path: "/projects", RawQuery: "look=map"},
}

// contentTypes are those that package mime does not know by itself.
var contentTypes = map[string]string{".woff2": "font/woff2"}

// Site serves the built files. It is safe for concurrent use.
type Site struct {
	files  map[string]asset.File
	policy string
}

// New returns the files that were built into the binary, or without them a page that
// says so. tiles is the origin of map tiles that the page may ask, "" for none.
func New(tiles string) (*Site, error) {
	app, err := fs.Sub(dist, "dist/app")
	if err != nil {
		return nil, err
	}
	return read(app, missing, tiles)
}

// read loads all files of a folder, or without a page in it takes another.
func read(folder fs.FS, otherwise []byte, tiles string) (*Site, error) {
	s := &Site{files: map[string]asset.File{}, policy: policyWith(tiles)}
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
			f.Gzip = body
		case isBrotli:
			f.Brotli = body
		default:
			f.Plain = body
			f.Tag = asset.Tag(body)
		}
		s.files[base] = f
		return nil
	})
	for name, f := range s.files {
		f.ContentType = cmp.Or(mime.TypeByExtension(path.Ext(name)), contentTypes[path.Ext(name)], "application/octet-stream")
		if f.Plain == nil && f.Gzip != nil {
			f.Unpacked, f.Tag = asset.Unpack(f.Gzip), asset.Tag(f.Gzip)
		}
		if isWorker(name) { // a browser keeps the policy of the file that it has
			f.Tag += asset.Tag([]byte(s.policy))
		}
		s.files[name] = f
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if _, built := s.files[index]; !built {
		s.files = map[string]asset.File{index: {Plain: otherwise, ContentType: "text/html; charset=utf-8", Tag: "otherwise"}}
	}
	return s, nil
}

// Serve answers a GET or HEAD of a file, and of an address of the page when a browser
// opens it. It returns false, without an answer, for anything else.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	f, found := s.files[name]
	if !found {
		screen, rest, _ := strings.Cut(name, "/")
		if to, is := guessed[screen]; is && asset.Navigates(r) {
			to.Path, to.RawQuery = path.Join(to.Path, rest), strings.Trim(to.RawQuery+"&"+r.URL.RawQuery, "&")
			http.Redirect(w, r, to.String(), http.StatusFound) // #nosec G710 -- to begins with a screen
			return true
		}
		if r.URL.Path != "/" && !(asset.Navigates(r) && slices.Contains(screens, screen)) {
			return false
		}
		name, f = index, s.files[index]
	}
	h := w.Header()
	if name == index || isWorker(name) {
		h.Set("Content-Security-Policy", s.policy)
	}
	if name == index {
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Referrer-Policy", "same-origin")
	}
	cache := asset.Asked
	// A worker carries the policy, which a setting changes: a browser asks whether it still has it.
	if strings.HasPrefix(name, "assets/") && !isWorker(name) {
		cache = asset.Immutable
	}
	f.Serve(w, r, cache)
	return true
}
