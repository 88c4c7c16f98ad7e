package api

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
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

// servePage answers a request that no route takes, if it is for the Explorer.
func (s *Server) servePage(ctx *gin.Context) bool {
	if s.Pages == nil {
		return false
	}
	for _, path := range notPages {
		if rest, is := strings.CutPrefix(ctx.Request.URL.Path, path); is && (rest == "" || rest[0] == '/') {
			return false
		}
	}
	ctx.Status(http.StatusOK) // gin sets 404 before
	if !s.Pages.Serve(ctx.Writer, ctx.Request) {
		return false
	}
	callOf(ctx).route.Operation = opExplorer
	return true
}
