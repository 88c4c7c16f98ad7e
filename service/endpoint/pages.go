package endpoint

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"atlas/internal/asset"
	"atlas/internal/fault"
)

// opExplorer is the operation of files of the Explorer in metrics and logs.
const opExplorer = "explorer"

// servePage answers a request without a route, if the Explorer has the page.
func (s *Core) servePage(ctx *gin.Context) bool {
	ctx.Status(http.StatusOK) // gin sets 404 before
	return s.Pages.Serve(ctx.Writer, ctx.Request)
}

// plainStyle is the style of a standalone page, as Content-Security-Policy allows it.
const (
	plainStyle  = `<style>body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1.25rem;color-scheme:light dark}button{font:inherit;padding:.4rem .9rem}</style>`
	PlainPolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

// PlainPage is a standalone page, with nodes in its head and its main part.
func PlainPage(title string, head g.Node, main ...g.Node) []byte {
	var page bytes.Buffer
	_ = h.Doctype(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width")),
			head,
			h.TitleEl(g.Text(title)),
			g.Raw(plainStyle),
		),
		h.Body(h.Main(main...)),
	)).Render(&page) // writes to a buffer do not fail
	page.WriteByte('\n')
	return page.Bytes()
}

// notFound answers a request without a route: like the API, or with a page for a browser
// outside of the API.
func (c *Call) notFound(text string) {
	if path := c.Gin.Request.URL.Path; !asset.Navigates(c.Gin.Request) || path == "/api" || strings.HasPrefix(path, "/api/") {
		c.Fail(fault.New(fault.NotFound, "%s", text))
		return
	}
	page := PlainPage("Atlas: no such page", nil,
		h.H1(g.Text("There is no such page")), h.P(g.Text(text+".")),
		h.P(g.Text("Go on in "), h.A(h.Href("/"), g.Text("the Explorer")),
			g.Text(" or in "), h.A(h.Href(DocsPath), g.Text("the documentation")), g.Text(".")))
	c.Code = fault.NotFound
	c.Gin.Header("Content-Security-Policy", PlainPolicy)
	c.Gin.Data(http.StatusNotFound, "text/html; charset=utf-8", page)
}
