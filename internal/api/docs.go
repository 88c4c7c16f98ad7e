package api

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5/static"
	"github.com/swaggest/swgui/v5emb"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/workspace"
)

// DocsPath is the page that shows the OpenAPI document and can send requests.
const DocsPath = "/docs"

// docsPolicy lets the page load files of this server only, so that it works without
// the internet and sends tokens to no other server.
const docsPolicy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// mountDocument adds the routes of the OpenAPI document and its page, which need no
// token.
func (s *Server) mountDocument(g *gin.Engine, methods map[string][]string) {
	document := encoded(s.Document())
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
	page := v5emb.NewHandlerWithConfig(swgui.Config{
		Title: "Atlas", SwaggerJSON: Version + documentPath, BasePath: DocsPath,
		SettingsUI: map[string]string{"docExpansion": `"none"`, "defaultModelsExpandDepth": "0"},
	})
	errors := errorsPage()
	show := func(ctx *gin.Context) {
		if DocsPath+ctx.Param("file") == errorsPath {
			showPage(ctx, errors)
			return
		}
		if file := strings.TrimPrefix(ctx.Param("file"), "/"); file != "" && !isAsset(file) {
			callOf(ctx).fail(fault.New(fault.NotFound, "the documentation has no file %.100q%s", file, input.DidYouMean("; ", file, []string{"errors"}, "")))
			return
		}
		ctx.Header("Content-Security-Policy", docsPolicy)
		page.ServeHTTP(ctx.Writer, ctx.Request)
	}
	g.GET(DocsPath, show)
	g.GET(DocsPath+"/*file", show)
	for _, path := range []string{Version + documentPath, DocsPath, DocsPath + "/*file"} {
		methods[path] = []string{http.MethodGet}
	}
}

// isAsset reports whether the page has a file of that name. Files are stored
// compressed.
func isAsset(name string) bool {
	for _, stored := range []string{name, name + ".gz"} {
		if f, err := static.FS.Open(stored); err == nil {
			info, err := f.Stat()
			_ = f.Close()
			return err == nil && !info.IsDir()
		}
	}
	return false
}
