package manual

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown parses and renders as GitHub does. HTML in the files is passed through: they are
// part of the program.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithRendererOptions(html.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(nodes{}, 1))),
)

// markdownSource is a Markdown file while pages are made from it.
type markdownSource struct {
	file, address string // in the repository, below the root
	text          []byte
	doc           ast.Node
	title         string
	headings      []heading
	anchors       map[string]bool
	sections      []section
}

// link is a reference from a page to an address of the manual.
type link struct{ from, address, anchor string }

// writer makes pages of Markdown.
type writer struct {
	Options
	manual  *Manual
	pages   map[string]*markdownSource // by file
	order   []*markdownSource
	links   []link
	outside []string
	dead    []string
}

// read parses all files and collects their headings, before links to them are resolved.
func (w *writer) read() error {
	err := fs.WalkDir(w.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(w.Files, name)
		if err != nil {
			return err
		}
		address, inFolder := strings.CutPrefix(name, w.Folder+"/")
		if !inFolder {
			if address = w.Addresses[name]; address == "" {
				return nil // a page for the repository only
			}
		}
		if path.Ext(name) != ".md" {
			w.manual.add(address, body)
			return nil
		}
		if name == w.Index {
			body = w.completed(body)
		}
		address = strings.TrimSuffix(address, ".md")
		if path.Base(address) == "README" {
			address = strings.TrimSuffix(strings.TrimSuffix(address, "README"), "/")
		}
		w.parse(name, address, body)
		return nil
	})
	for address, body := range w.Made {
		w.parse(w.Folder+"/"+address+".md", address, body)
	}
	if err == nil && w.pages[w.Index] == nil {
		err = errors.New("the manual has no file " + w.Index)
	}
	return err
}

// completed is the first page with the lines of Beside.
func (w *writer) completed(body []byte) []byte {
	before, list, _ := strings.Cut(string(body), "\n## "+w.After+"\n")
	list, after, _ := strings.Cut(list, "\n\n## ")
	return []byte(before + "\n## " + w.After + "\n" + list + "\n" + w.Beside + "\n\n## " + after)
}

var anchorTag = regexp.MustCompile(`<a id="([^"]+)"`)

func (w *writer) parse(file, address string, body []byte) {
	s := &markdownSource{file: file, address: address, text: body, anchors: map[string]bool{}}
	s.doc = markdown.Parser().Parse(text.NewReader(body))
	for _, m := range anchorTag.FindAllSubmatch(body, -1) {
		s.anchors[string(m[1])] = true
	}
	part := section{}
	for n := s.doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, isHeading := n.(*ast.Heading)
		if !isHeading || h.Level > 3 {
			part.text += " " + s.plain(n)
			continue
		}
		title := s.plain(n)
		id := slug(title)
		for i := 1; s.anchors[id]; i++ {
			id = fmt.Sprintf("%s-%d", slug(title), i)
		}
		s.anchors[id] = true
		n.SetAttributeString("id", []byte(id))
		if s.title == "" {
			s.title = title
		}
		s.headings = append(s.headings, heading{h.Level, id, title})
		s.sections = append(s.sections, part)
		part = section{title: title, id: id}
		if h.Level == 1 {
			part.id = ""
		}
	}
	s.sections = append(s.sections, part)
	w.pages[file] = s
	w.order = append(w.order, s)
}

// slug is the anchor that GitHub gives a heading.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsNumber(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// plain is the text of a node, without marks.
func (s *markdownSource) plain(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch t := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(t.Segment.Value(s.text))
				if t.SoftLineBreak() || t.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(t.Value)
			}
		case *ast.AutoLink:
			if entering {
				b.Write(t.Label(s.text))
			}
		default:
			if n.Type() == ast.TypeBlock && entering {
				if isCode(n) {
					b.WriteString(lines(n, s.text))
				}
			}
			if n.Type() == ast.TypeBlock && !entering && n.Kind() != ast.KindHeading {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func isCode(n ast.Node) bool {
	return n.Kind() == ast.KindFencedCodeBlock || n.Kind() == ast.KindCodeBlock
}

// lines are the lines of a block of code.
func lines(n ast.Node, source []byte) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(source))
	}
	return b.String()
}

// write renders the parsed pages.
func (w *writer) write() []page {
	var all []page
	for _, s := range w.order {
		w.manual.add(s.address+".md", s.text)
		for _, part := range s.sections {
			if part.title != "" {
				part.page, part.address = s.title, strings.TrimSuffix(w.Root+"/"+s.address, "/")
				if part.id != "" {
					part.address += "#" + part.id
				}
				w.manual.addSection(part)
			}
		}
		p := page{address: s.address, Title: s.title, Headings: s.headings, Source: w.Root + "/" + s.address + ".md"}
		if s.address == "" {
			delete(w.manual.files, ".md")
			w.manual.add("README.md", s.text)
			p.Source = w.Root + "/README.md"
		}
		p.Body = w.body(s)
		all = append(all, p)
	}
	return all
}

// body is a page's HTML.
func (w *writer) body(s *markdownSource) markup {
	var tables, pictures []ast.Node // pictures for the light and dark theme, which are not embedded
	_ = ast.Walk(s.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch t := n.(type) {
		case *ast.Link:
			name, _, _ := strings.Cut(string(t.Destination), "#")
			if to := w.page(s, name); to != nil && strings.HasSuffix(s.plain(t), ".md") {
				// The name of a file means nothing on a page.
				t.RemoveChildren(t)
				t.AppendChild(t, ast.NewString([]byte(to.title)))
			}
			if address, file := w.resolve(s, string(t.Destination)); file != "" {
				t.SetAttributeString(repositoryFile, []byte(file))
			} else {
				t.Destination = []byte(address)
			}
		case *ast.Image:
			address, file := w.resolve(s, string(t.Destination))
			if file != "" {
				w.dead = append(w.dead, s.file+": no picture "+file)
			}
			t.Destination = []byte(address)
		case *ast.HTMLBlock:
			if bytes.HasPrefix(t.Lines().Value(s.text), []byte("<picture>")) {
				pictures = append(pictures, n)
			}
		case *east.Table:
			tables = append(tables, n)
		}
		return ast.WalkContinue, nil
	})
	for _, t := range tables {
		around := &wide{}
		t.Parent().ReplaceChild(t.Parent(), t, around)
		around.AppendChild(around, t)
	}
	for _, p := range pictures {
		p.Parent().RemoveChild(p.Parent(), p)
	}
	dropContents(s.doc)
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, s.text, s.doc); err != nil {
		panic(err) // writes to a buffer do not fail
	}
	return markup(b.String())
}

// inline renders a text of several paragraphs as HTML, for parts of a page.
func inline(text string) markup {
	var b bytes.Buffer
	if err := markdown.Convert([]byte(text), &b); err != nil {
		panic(err)
	}
	return markup(b.String())
}

// dropContents removes a line of links to the headings below it, which the page shows beside
// its text.
func dropContents(doc ast.Node) {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, is := n.(*ast.Heading); is && h.Level > 1 {
			return
		}
		links, others := 0, 0
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if l, is := c.(*ast.Link); is && bytes.HasPrefix(l.Destination, []byte("#")) {
				links++
			} else if c.Kind() != ast.KindText {
				others++
			}
		}
		if n.Kind() == ast.KindParagraph && links > 3 && others == 0 {
			doc.RemoveChild(doc, n)
			return
		}
	}
}

// page is the page that a path in a file leads to, nil if the manual does not have it.
func (w *writer) page(from *markdownSource, name string) *markdownSource {
	name = path.Join(path.Dir(from.file), name)
	return cmp.Or(w.pages[name], w.pages[path.Join(name, "README.md")])
}

// resolve is the address that a link of a file leads to, or the file of the repository if the
// manual does not have it.
func (w *writer) resolve(from *markdownSource, destination string) (address, file string) {
	u, err := url.Parse(destination)
	if err != nil {
		w.dead = append(w.dead, from.file+": "+destination)
		return destination, ""
	}
	switch {
	case u.Scheme != "" || u.Host != "":
		return destination, ""
	case u.Path == "":
		w.links = append(w.links, link{from.file, from.address, u.Fragment})
		return destination, ""
	case strings.HasPrefix(u.Path, w.Root+"/"):
		w.links = append(w.links, link{from.file, strings.TrimPrefix(u.Path, w.Root+"/"), u.Fragment})
		return destination, ""
	case strings.HasPrefix(u.Path, "/"):
		return destination, "" // another page of the server
	}
	name, to := path.Join(path.Dir(from.file), u.Path), w.page(from, u.Path)
	below, inFolder := strings.CutPrefix(name, w.Folder+"/")
	switch {
	case to != nil:
		w.links = append(w.links, link{from.file, to.address, u.Fragment})
		address = strings.TrimSuffix(w.Root+"/"+to.address, "/")
	case inFolder && w.manual.has(below):
		return w.Root + "/" + below, ""
	default:
		w.outside = append(w.outside, name)
		return "", name
	}
	if u.Fragment != "" {
		address += "#" + u.Fragment
	}
	return address, ""
}

// problems are the broken links.
func (w *writer) problems(pages []page) []string {
	anchors := map[string]map[string]bool{}
	for _, p := range pages {
		anchors[p.address] = map[string]bool{"": true}
		for _, h := range p.Headings {
			anchors[p.address][h.ID] = true
		}
	}
	for _, s := range w.order {
		for id := range s.anchors {
			anchors[s.address][id] = true
		}
	}
	all := slices.Clone(w.dead)
	for _, l := range w.links {
		if !anchors[l.address][l.anchor] && !(l.anchor == "" && w.manual.has(l.address)) {
			all = append(all, fmt.Sprintf("%s: nothing is at %s/%s#%s", l.from, w.Root, l.address, l.anchor))
		}
	}
	for _, s := range w.order {
		listed := slices.ContainsFunc(w.manual.navigation, func(g group) bool {
			return slices.ContainsFunc(g.Links, func(l entry) bool {
				return l.Address == w.Root+"/"+s.address || strings.HasPrefix(w.Root+"/"+s.address, l.Address+"/")
			})
		})
		if !listed && s.file != w.Index {
			all = append(all, w.Index+" does not list "+s.file)
		}
	}
	return all
}

// navigation is the list of the first page, grouped by its headings.
func (w *writer) navigation() []group {
	s := w.pages[w.Index]
	var all []group
	for n := s.doc.FirstChild(); n != nil; n = n.NextSibling() {
		switch t := n.(type) {
		case *ast.Heading:
			if t.Level == 2 {
				all = append(all, group{Title: s.plain(t)})
			}
		case *ast.List:
			if len(all) == 0 {
				continue
			}
			last := &all[len(all)-1]
			for item := t.FirstChild(); item != nil; item = item.NextSibling() {
				if l, is := item.FirstChild().FirstChild().(*ast.Link); is {
					last.Links = append(last.Links, entry{Title: s.plain(l), Address: string(l.Destination)})
				}
			}
		}
	}
	return all
}
