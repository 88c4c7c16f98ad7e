package endpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"atlas/internal/fault"
)

// ErrorsText is the page of all codes of errorTable, by status, as Markdown.
func ErrorsText() []byte {
	type explained struct {
		status string
		code   fault.Code
	}
	var all []explained
	for code, row := range errorTable {
		e := explained{"item of a batch", code}
		if row.status != itemOnly {
			e.status = strconv.Itoa(row.status) + " " + http.StatusText(row.status)
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b explained) int {
		return cmp.Or(cmp.Compare(a.status, b.status), cmp.Compare(a.code, b.code))
	})
	var b bytes.Buffer
	b.WriteString("# Errors\n\nEach error of the API has a `code` for programs, a `message` for people, and a `doc_url` that leads here. " +
		"Check the status first, then the code. With `invalid_input`, `issues` lists all problems of the request.\n\n")
	for _, e := range all {
		row := errorTable[e.code]
		fmt.Fprintf(&b, "## %s\n\n%s", e.code, e.status)
		if row.retry {
			b.WriteString(", with `Retry-After`")
		}
		fmt.Fprintf(&b, "\n\n**When:** %s.", row.meaning)
		if row.item != "" {
			fmt.Fprintf(&b, " In an item of a batch: %s.", row.item)
		}
		fmt.Fprintf(&b, "\n\n**What to do:** %s\n\n```json\n%s\n```\n\n", row.advice, indented(failureExample(e.code)))
	}
	return b.Bytes()
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
