package api

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"atlas/internal/asset"
	"atlas/internal/fault"
)

// Pages serves the files of the Explorer. *explorer.Site implements it.
type Pages interface {
	// Serve answers a GET or HEAD of a file or of an address of the page. It returns
	// false, without an answer, for anything else.
	Serve(w http.ResponseWriter, r *http.Request) bool
}

// notPages are the beginnings of paths that never lead to a page: an address of the
// API that does not exist answers as the API does.
var notPages = []string{"/api", DocsPath, "/health", "/metrics", sessionPath, mcpPath, "/.well-known"}

// opExplorer is the operation of files of the Explorer in metrics and logs.
const opExplorer = "explorer"

// servePage answers a request that no route takes, if the Explorer has the page.
func (s *Server) servePage(ctx *gin.Context) bool {
	ctx.Status(http.StatusOK) // gin sets 404 before
	return s.Pages.Serve(ctx.Writer, ctx.Request)
}

// plainStyle is the look of a page that stands alone, as Content-Security-Policy allows it.
const (
	plainStyle  = `<style>body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1.25rem;color-scheme:light dark}button{font:inherit;padding:.4rem .9rem}</style>`
	plainPolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

var nowhere = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Atlas: no such page</title>
` + plainStyle + `
<main><h1>There is no such page</h1><p>{{.}}.</p><p>Go on in <a href="/">the Explorer</a> or in <a href="` + DocsPath + `">the documentation</a>.</p></main></html>
`))

// notFound answers a request that leads nowhere: as the API does, or a page for who opens an
// address outside of it in a browser.
func (c *call) notFound(text string) {
	if path := c.gin.Request.URL.Path; !asset.Navigates(c.gin.Request) || path == "/api" || strings.HasPrefix(path, "/api/") {
		c.fail(fault.New(fault.NotFound, "%s", text))
		return
	}
	var page bytes.Buffer
	if err := nowhere.Execute(&page, text); err != nil {
		panic(err) // the template fits
	}
	c.code = fault.NotFound
	c.gin.Header("Content-Security-Policy", plainPolicy)
	c.gin.Data(http.StatusNotFound, "text/html; charset=utf-8", page.Bytes())
}
