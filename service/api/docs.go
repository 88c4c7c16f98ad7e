package api

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"

	"atlas"
	"atlas/internal/fault"
	"atlas/internal/release"
	"atlas/service/endpoint"
	"atlas/service/manual"
	"atlas/service/openapi"
)

// Costs of requests in tokens of ClassDocuments, by bytes or work. A search reads the whole
// documentation.
const (
	costOpenAPI = 10
	costSearch  = 20
)

// documentRows are the OpenAPI document and the documentation. Static content is made and
// compressed once.
func documentRows(core *endpoint.Core, document func() openapi.Document, text func() []byte) []endpoint.Stranger {
	pages := sync.OnceValue(func() *manual.Manual { return manualOf(document()) }) // made by the first request
	var rows []endpoint.Stranger
	whole := core.Unchanging(text)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		rows = append(rows, endpoint.Stranger{
			Method: method, Path: endpoint.Version + endpoint.DocumentPath, Operation: "get_openapi", Class: endpoint.ClassDocuments,
			Cost: costOpenAPI, Handle: whole,
		})
		show := func(ctx *gin.Context) { showPage(ctx, pages()) }
		rows = append(
			rows,
			endpoint.Stranger{Method: method, Path: endpoint.DocsPath, Operation: "docs", Class: endpoint.ClassDocuments, Handle: show},
			endpoint.Stranger{
				Method:    method,
				Path:      endpoint.DocsPath + "/*file",
				Operation: "docs",
				Class:     endpoint.ClassDocuments,
				Handle:    show,
			},
			endpoint.Stranger{
				Method: method, Path: endpoint.DocsPath + manual.SearchPath, Below: true, Operation: "docs",
				Class: endpoint.ClassDocuments, Cost: costSearch, Handle: searchPages(pages),
			},
		)
	}
	return rows
}

// maxSearches limits the concurrent searches of the documentation: they are CPU-bound.
const maxSearches = 2

// searchPages answers a search of the documentation.
func searchPages(pages func() *manual.Manual) gin.HandlerFunc {
	turns := make(chan struct{}, maxSearches)
	return func(ctx *gin.Context) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
			showPage(ctx, pages())
		case <-ctx.Request.Context().Done():
			endpoint.CallOf(ctx).Fail(fault.BackendUnavailable(ctx.Request.Context().Err(), "the request"))
		}
	}
}

// showPage answers a page of the documentation.
func showPage(ctx *gin.Context, m *manual.Manual) {
	if m.Serve(ctx.Writer, ctx.Request) {
		return
	}
	text := fmt.Sprintf("the documentation has no page %.100s", ctx.Request.URL.Path)
	if near := m.Nearest(ctx.Param("file")); near != "" {
		text += fmt.Sprintf("; did you mean %s?", near)
	} else {
		text += "; " + endpoint.DocsPath + " lists all, and the OpenAPI document is " + endpoint.Version + endpoint.DocumentPath
	}
	endpoint.CallOf(ctx).Fail(fault.New(fault.NotFound, "%s", text))
}

// manualOf makes the documentation.
func manualOf(document openapi.Document) *manual.Manual {
	m, err := manual.New(manual.Options{
		Root: endpoint.DocsPath, Files: atlas.Documents, Folder: "docs", Index: "docs/README.md",
		Addresses: map[string]string{
			"README.md": "start", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md",
			"SECURITY.md": "reporting.md",
		},
		Made:     map[string][]byte{endpoint.ErrorsPage: endpoint.ErrorsText()},
		Document: document, DocumentAddress: endpoint.Version + endpoint.DocumentPath, Errors: endpoint.ErrorsPage,
		Version: release.Version(),
		After:   "Use", Beside: "- [Reference](" + endpoint.ReferencePath + "): all operations, with forms that send their requests\n" +
			"- [Errors](" + endpoint.ErrorsPath + "): each code, what it means and what to do",
	})
	if err != nil {
		panic(err) // the files are embedded: a test makes all pages
	}
	return m
}
