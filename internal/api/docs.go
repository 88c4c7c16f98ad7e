package api

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"

	"atlas"
	"atlas/internal/fault"
	"atlas/internal/manual"
	"atlas/internal/release"
	"atlas/workspace"
)

// DocsPath is the first page of the documentation. Below it are the guides, the reference,
// and the page of errors.
const DocsPath = "/docs"

// Pages of the documentation that no file has.
const (
	errorsPage    = "errors"
	errorsPath    = DocsPath + "/" + errorsPage
	referencePath = DocsPath + "/reference"
)

// mountDocument adds the routes of the OpenAPI document and of the documentation, which
// need no token.
func (s *Server) mountDocument(g *gin.Engine, methods map[string][]string, document []byte) {
	tag := s.tagger.tag(workspace.ID{}, document)
	g.GET(Version+documentPath, func(ctx *gin.Context) {
		c := callOf(ctx)
		if c.etag = tag; c.holds(tag) {
			c.writeNotModified()
			return
		}
		c.showTag()
		c.write(http.StatusOK, document)
	})
	methods[Version+documentPath] = []string{http.MethodGet}
	pages := sync.OnceValue(s.manual) // with the first request for one
	for _, path := range []string{DocsPath, DocsPath + "/*file"} {
		methods[path] = []string{http.MethodGet, http.MethodHead}
		g.Match(methods[path], path, func(ctx *gin.Context) {
			m := pages()
			if m.Serve(ctx.Writer, ctx.Request) {
				return
			}
			text := fmt.Sprintf("the documentation has no page %.100s", ctx.Request.URL.Path)
			if near := m.Nearest(ctx.Param("file")); near != "" {
				text += fmt.Sprintf("; did you mean %s?", near)
			} else {
				text += "; " + DocsPath + " lists all, and the OpenAPI document is " + Version + documentPath
			}
			callOf(ctx).fail(fault.New(fault.NotFound, "%s", text))
		})
	}
}

// manual makes the documentation.
func (s *Server) manual() *manual.Manual {
	m, err := manual.New(manual.Options{
		Root: DocsPath, Files: atlas.Documents, Folder: "docs", Index: "docs/README.md",
		Addresses: map[string]string{"README.md": "start", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "reporting.md"},
		Made:      map[string][]byte{errorsPage: errorsText()},
		Document:  s.Document(), DocumentAddress: Version + documentPath, Errors: errorsPage, Version: release.Version(),
		After: "Use", Beside: "- [Reference](" + referencePath + "): all operations, with forms that send their requests\n" +
			"- [Errors](" + errorsPath + "): each code, what it means and what to do",
	})
	if err != nil {
		panic(err) // the files are in the program: a test makes all pages
	}
	return m
}
