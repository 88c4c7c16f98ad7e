package manual

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"atlas/internal/asset"
	"atlas/internal/input"
	"atlas/service/openapi"
)

// Options are the sources of the pages.
type Options struct {
	// Root is the address of the first page, such as "/docs".
	Root string
	// Files has the Markdown files in and outside Folder, and the files that they show or link
	// to.
	Files  fs.FS
	Folder string
	// Index is the file of the first page. Its headings of level 2 and the lists below them are
	// the navigation. Beside are lines in Markdown that are added to its list After.
	Index, After string
	Beside       string
	// Addresses are the addresses of files outside of Folder, below Root.
	Addresses map[string]string
	// Made are generated Markdown texts, by their address below Root.
	Made map[string][]byte
	// Document is the API of the reference, and Errors the page that explains its codes.
	Document openapi.Document
	Errors   string
	// DocumentAddress is where the document is served.
	DocumentAddress string
	// Version is shown on every page.
	Version string
}

// entry is a line of the navigation.
type entry struct {
	Title, Address string
}

// group is a part of the navigation.
type group struct {
	Title string
	Links []entry
}

// page is what is shown.
type page struct {
	address  string // below Root; "" is the first page
	Title    string
	Body     markup
	Headings []heading
	// Live means that a script of the page sends requests.
	Live bool
	// Source is the address of its Markdown, "" if it has none.
	Source string
	// Query is the query of a search.
	Query string
	Plain bool // excluded from search engines
}

// heading is an entry of a page's table of contents.
type heading struct {
	Level     int
	ID, Title string
}

func (h heading) class() string { return fmt.Sprintf("level%d", h.Level) }

// Manual serves the pages. It is safe for concurrent use.
type Manual struct {
	root, document, version string
	navigation              []group
	// Addresses of files that all pages load.
	styles, script, icon string
	files                map[string]asset.File // by address below root
	sections             []section
	addresses            []string // of pages
	// ends are the last segments of addresses, which say most, and byEnd the addresses.
	ends  []string
	byEnd map[string]string
	// Problems are broken links.
	Problems []string
	// Outside are the files of the repository that pages mention without a page.
	Outside []string
}

//go:embed assets/*.css assets/*.js assets/*.svg
var assets embed.FS

// Policies of pages: without scripts, and of the reference.
const (
	quietPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	livePolicy  = quietPolicy + "; script-src 'self'; connect-src 'self'"
)

// New makes all pages. A file that cannot be read is an error; broken links are Problems.
func New(o Options) (*Manual, error) {
	m := &Manual{root: o.Root, document: o.DocumentAddress, version: o.Version, files: map[string]asset.File{}}
	for name, address := range map[string]*string{"style.css": &m.styles, "try.js": &m.script, "icon.svg": &m.icon} {
		body, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return nil, err
		}
		*address = "assets/" + asset.Tag(body) + path.Ext(name)
		m.add(*address, body)
	}
	w := &writer{Options: o, manual: m, pages: map[string]*markdownSource{}}
	if err := w.read(); err != nil {
		return nil, err
	}
	pages := append(w.write(), reference(o, m)...)
	m.navigation = w.navigation()
	for _, p := range pages {
		m.add(p.address, m.render(p))
	}
	m.addresses = slices.DeleteFunc(slices.Sorted(maps.Keys(m.files)), func(a string) bool { return a == "" || path.Ext(a) != "" })
	m.byEnd = map[string]string{}
	for _, a := range m.addresses {
		m.byEnd[path.Base(a)] = a
	}
	m.ends = slices.Sorted(maps.Keys(m.byEnd))
	m.Problems, m.Outside = w.problems(pages), slices.Compact(slices.Sorted(slices.Values(w.outside)))
	return m, nil
}

// add adds a file, compressed if that makes it smaller.
func (m *Manual) add(address string, body []byte) {
	f := asset.Compressed(body)
	f.ContentType, f.Tag = contentType(address), asset.Tag(body)
	m.files[address] = f
}

// contentType is the content type of a file by its name. Pages have no extension.
func contentType(address string) string {
	switch ending := path.Ext(address); ending {
	case "":
		return "text/html; charset=utf-8"
	case ".md":
		return "text/markdown; charset=utf-8"
	case ".yml":
		return "text/plain; charset=utf-8"
	default:
		return mime.TypeByExtension(ending)
	}
}

// contents are the headings of a table of contents: those of level 2, and of level 3 if the
// page is short enough.
func contents(all []heading) []heading {
	const most = 40
	upTo := 3
	if len(all) > most {
		upTo = 2
	}
	return slices.DeleteFunc(slices.Clone(all), func(h heading) bool { return h.Level < 2 || h.Level > upTo })
}

// SearchPath is the address of the search, below Root. It costs more than a precomputed page.
const SearchPath = "/search"

// Serve answers a GET or HEAD of a page or file below Root. For a missing one it shows a
// browser an error page, and returns false, without an answer, for other clients.
func (m *Manual) Serve(w http.ResponseWriter, r *http.Request) bool {
	address := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, m.root), "/")
	f, found := m.files[address]
	h := w.Header()
	switch {
	case "/"+address == SearchPath:
		m.show(w, r, http.StatusOK, m.search(r.URL.Query().Get("q")))
		return true
	case found:
		protect(h)
		if address == "reference" || strings.HasPrefix(address, "reference/") {
			h.Set("Content-Security-Policy", livePolicy)
		}
		cache := asset.Asked
		if strings.HasPrefix(address, "assets/") {
			cache = asset.Immutable
		}
		f.Serve(w, r, cache)
		return true
	case strings.HasSuffix(address, "/"):
		if i, known := slices.BinarySearch(m.addresses, strings.TrimRight(address, "/")); known {
			http.Redirect(w, r, m.root+"/"+m.addresses[i], http.StatusMovedPermanently)
			return true
		}
	}
	if asset.Navigates(r) {
		m.show(w, r, http.StatusNotFound, m.missing(address))
		return true
	}
	return false
}

// protect sets the headers of every page: no other window can access it, and other sites do
// not learn its address, which may have a search.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", quietPolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin")
}

func (m *Manual) has(address string) bool {
	_, found := m.files[address]
	return found
}

// show answers with a page made for the request.
func (m *Manual) show(w http.ResponseWriter, r *http.Request, status int, p page) {
	h := w.Header()
	protect(h)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", contentType(""))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(m.render(p))
	}
}

// Nearest is the address of the page that was probably meant by an address below Root, "" if
// none is near.
func (m *Manual) Nearest(address string) string {
	address = strings.Trim(strings.ToLower(address), "/")
	for _, ending := range []string{".html", ".md", "/index", "/readme"} {
		address = strings.TrimSuffix(address, ending)
	}
	if m.has(address) {
		return m.root + "/" + address
	}
	last := path.Base(address)
	if page, known := m.byEnd[last]; known {
		return m.root + "/" + page
	}
	for _, s := range m.sections {
		if s.id == last {
			return s.address
		}
	}
	near := input.Nearest(address, m.addresses)
	if near == "" {
		near = m.byEnd[input.Nearest(last, m.ends)]
	}
	if near == "" {
		return ""
	}
	return m.root + "/" + near
}

// missing is the page for an address that is not there.
func (m *Manual) missing(address string) page {
	const most = 100
	if len(address) > most {
		address = strings.ToValidUTF8(address[:most], "") + "…"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<h1>There is no such page</h1><p>Nothing is at <code>%s</code>.", escaped(m.root+"/"+address))
	if near := m.Nearest(address); near != "" {
		fmt.Fprintf(&b, ` Did you mean <a href="%[1]s">%[1]s</a>?`, escaped(near))
	}
	fmt.Fprintf(&b, `</p><p>Search above, or begin at <a href="%s">the first page</a>.</p>`, escaped(m.root))
	return page{address: "-", Title: "Not found", Body: markup(b.String()), Plain: true}
}
