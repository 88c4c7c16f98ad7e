package api

import (
	_ "embed"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"atlas/service/endpoint"
)

// llmsPath is an index of the documents for language models (llmstxt.org).
const llmsPath = "/llms.txt"

//go:embed llms.txt
var llmsText string

// llmsRows are the index, which names the address for agents only if they are served.
func llmsRows(agents bool) (rows []endpoint.Stranger) {
	text := llmsText
	if !agents {
		before, rest, _ := strings.Cut(text, "## Agents\n")
		_, after, _ := strings.Cut(rest, "\n## ")
		text = before + "## " + after
	}
	body := []byte(text)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		rows = append(
			rows,
			endpoint.Stranger{
				Method:    method,
				Path:      llmsPath,
				Operation: "llms",
				Class:     endpoint.ClassDocuments,
				Handle: func(ctx *gin.Context) {
					ctx.Header("Cache-Control", "public, max-age=3600")
					ctx.Data(http.StatusOK, "text/plain; charset=utf-8", body)
				},
			},
		)
	}
	return rows
}
