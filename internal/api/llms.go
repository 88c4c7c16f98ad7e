package api

import (
	_ "embed"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// llmsPath is an index of the documents for language models (llmstxt.org).
const llmsPath = "/llms.txt"

//go:embed llms.txt
var llmsText string

// mountLLMs adds the index. It needs no token.
func (s *Server) mountLLMs(g *gin.Engine, methods map[string][]string) {
	text := llmsText
	if s.MCP == nil {
		before, rest, _ := strings.Cut(text, "## Agents\n")
		_, after, _ := strings.Cut(rest, "\n## ")
		text = before + "## " + after
	}
	methods[llmsPath] = []string{http.MethodGet, http.MethodHead}
	for _, method := range methods[llmsPath] {
		g.Handle(method, llmsPath, func(ctx *gin.Context) {
			ctx.Header("Cache-Control", "public, max-age=3600")
			ctx.Data(http.StatusOK, "text/plain; charset=utf-8", []byte(text))
		})
	}
}
