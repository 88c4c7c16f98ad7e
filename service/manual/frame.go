package manual

import (
	"bytes"
	"io"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// Pages are made by functions, not by html/template: the linker cannot drop unused methods
// from a program that executes templates (docs/deploy.md, The binary).

// markup is escaped HTML.
type markup string

// Render implements gomponents.Node.
func (m markup) Render(w io.Writer) error {
	_, err := io.WriteString(w, string(m))
	return err
}

// htmlOf renders nodes.
func htmlOf(nodes ...g.Node) markup {
	var b strings.Builder
	if err := g.Group(nodes).Render(&b); err != nil {
		panic(err) // writes to a builder do not fail
	}
	return markup(b.String())
}

// newline keeps the source of a page readable.
const newline = markup("\n")

// each renders all elements, each with a newline after it.
func each[T any](all []T, node func(T) g.Node) g.Node {
	return g.Map(all, func(element T) g.Node { return g.Group{node(element), newline} })
}

// render is a page as HTML.
func (m *Manual) render(p page) []byte {
	headings := contents(p.Headings)
	pages := func(attributes ...g.Node) g.Node {
		return h.Nav(h.Aria("label", "Pages"), g.Group(attributes), newline, m.links(p))
	}
	var b bytes.Buffer
	_ = h.Doctype(h.HTML(h.Lang("en"), newline,
		m.head(p), newline,
		h.Body(newline,
			h.A(h.Class("skip"), h.Href("#main"), g.Text("Skip to the text")), newline,
			m.top(p), newline,
			h.Details(h.Class("menu"), h.Summary(g.Text("Pages")), pages()), newline,
			h.Div(h.Class("frame"), newline,
				pages(h.Class("side")), newline,
				h.Main(h.ID("main"), newline,
					g.If(len(headings) > 0, g.Group{
						h.Details(h.Class("menu contents"), h.Summary(g.Text("On this page")),
							h.Nav(h.Aria("label", "On this page"), tableOf(headings))), newline,
					}),
					p.Body, newline,
				), newline,
				g.If(len(headings) > 0, h.Nav(h.Class("beside"), h.Aria("label", "On this page"),
					h.H2(g.Text("On this page")), newline, tableOf(headings))), newline,
			), newline,
			h.Footer(h.P(g.Text("Atlas "+m.version), g.If(p.Source != "", g.Group{
				g.Text(" · "), h.A(h.Href(p.Source), g.Text("This page as Markdown")),
			}))), newline,
		), newline,
	)).Render(&b) // writes to a buffer do not fail
	return b.Bytes()
}

func (m *Manual) head(p page) g.Node {
	return h.Head(newline,
		h.Meta(h.Charset("utf-8")), newline,
		h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")), newline,
		h.Meta(h.Name("color-scheme"), h.Content("light dark")), newline,
		g.If(p.Plain, g.Group{h.Meta(h.Name("robots"), h.Content("noindex")), newline}),
		h.TitleEl(g.Text(p.Title+" · Atlas")), newline,
		h.Link(h.Rel("icon"), h.Href(m.root+"/"+m.icon)), newline,
		h.Link(h.Rel("stylesheet"), h.Href(m.root+"/"+m.styles)), newline,
		g.If(p.Source != "", g.Group{h.Link(h.Rel("alternate"), h.Type("text/markdown"), h.Href(p.Source)), newline}),
		g.If(p.Live, g.Group{h.Script(h.Type("module"), h.Src(m.root+"/"+m.script)), newline}),
	)
}

// top is the visible head of the page: the name, and the search.
func (m *Manual) top(p page) g.Node {
	return h.Header(h.Class("top"), newline,
		h.A(h.Class("brand"), h.Href(m.root),
			h.Img(h.Src(m.root+"/"+m.icon), h.Width("24"), h.Height("24"), h.Alt("")),
			g.Text("Atlas "), h.Span(g.Text("documentation"))), newline,
		h.Form(h.Role("search"), h.Action(m.root+SearchPath), newline,
			h.Label(h.Class("unseen"), h.For("q"), g.Text("Search the documentation")), newline,
			h.Input(h.ID("q"), h.Name("q"), h.Type("search"), h.Placeholder("Search"),
				h.MaxLength("200"), h.AutoComplete("off"), h.Value(p.Query)), newline,
		), newline,
		h.A(h.Class("away"), h.Href("/"), g.Text("Explorer")), newline,
	)
}

// links is the navigation, with the current page marked.
func (m *Manual) links(p page) g.Node {
	here := m.root + "/" + p.address
	return each(m.navigation, func(part group) g.Node {
		return g.Group{h.H2(g.Text(part.Title)), newline, h.Ul(each(part.Links, func(l entry) g.Node {
			current := here == l.Address || strings.HasPrefix(here, l.Address+"/")
			return h.Li(h.A(h.Href(l.Address), g.If(current, h.Aria("current", "page")), g.Text(l.Title)))
		}))}
	})
}

// tableOf is the table of contents.
func tableOf(headings []heading) g.Node {
	return h.Ul(each(headings, func(at heading) g.Node {
		return h.Li(h.Class(at.class()), h.A(h.Href("#"+at.ID), g.Text(at.Title)))
	}))
}
