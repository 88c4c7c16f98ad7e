package api

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"atlas/internal/fault"
)

// errorsPath is the page that explains each code of errorTable, at the anchor of its
// name.
const errorsPath = DocsPath + "/errors"

// staticPolicy is for pages without scripts.
const staticPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed errors_page.html
var errorsPageText string

var errorsPageTemplate = template.Must(template.New("errors").Funcs(template.FuncMap{"inline": inlineCode}).Parse(errorsPageText))

// explainedError is a code on the page.
type explainedError struct {
	Code, Status, Meaning, Item, Advice, Example string
	Retry                                        bool
}

// errorsPage is the page of all codes, by status.
func errorsPage() []byte {
	var all []explainedError
	for code, row := range errorTable {
		e := explainedError{Code: string(code), Status: "item of a batch", Meaning: row.meaning, Item: row.item, Advice: row.advice, Retry: row.retry}
		if row.status != itemOnly {
			e.Status = strconv.Itoa(row.status) + " " + http.StatusText(row.status)
		}
		e.Example = indented(failureExample(code))
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b explainedError) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
	var page bytes.Buffer
	if err := errorsPageTemplate.Execute(&page, all); err != nil {
		panic(err) // a defect of the template: the server does not start
	}
	return page.Bytes()
}

// inlineCode is Markdown of one paragraph as HTML; only code is marked up in it.
func inlineCode(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String()) // #nosec G203 -- each part is escaped, and the texts are the program's
}

// indented is a value as JSON for people.
func indented(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		panic(fault.Wrap(err, fault.Internal, "an example cannot be shown"))
	}
	return strings.TrimSpace(b.String())
}

// showPage answers a page without scripts.
func showPage(ctx *gin.Context, page []byte) {
	ctx.Header("Content-Security-Policy", staticPolicy)
	ctx.Data(http.StatusOK, "text/html; charset=utf-8", page)
}
