package api

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5/static"
	"github.com/swaggest/swgui/v5emb"

	"atlas/internal/fault"
	"atlas/workspace"
)

// docsPath is the page that shows the OpenAPI document and can send requests.
const docsPath = "/docs"

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
		Title: "Atlas", SwaggerJSON: Version + documentPath, BasePath: docsPath,
		SettingsUI: map[string]string{"docExpansion": `"none"`, "defaultModelsExpandDepth": "0"},
	})
	show := func(ctx *gin.Context) {
		if file := strings.TrimPrefix(ctx.Param("file"), "/"); file != "" && !isAsset(file) {
			callOf(ctx).fail(fault.New(fault.NotFound, "the documentation has no file %.100q", file))
			return
		}
		ctx.Header("Content-Security-Policy", docsPolicy)
		page.ServeHTTP(ctx.Writer, ctx.Request)
	}
	g.GET(docsPath, show)
	g.GET(docsPath+"/*file", show)
	for _, path := range []string{Version + documentPath, docsPath, docsPath + "/*file"} {
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
