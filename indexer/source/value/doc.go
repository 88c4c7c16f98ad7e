// Package value reads the cells of a row: templates over columns, dates, numbers, tables of
// patterns. It knows no source and no file.
package value

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// quoted shows a cell in a reason, shortened.
func quoted(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return strconv.Quote(s)
}

// Equal is a text in the form in which cells are compared: case and spaces are ignored.
func Equal(s string) string {
	if strings.Contains(s, "  ") || strings.ContainsAny(s, "\t\n\r\u00a0") {
		s = strings.Join(strings.Fields(s), " ")
	}
	return strings.ToLower(strings.TrimSpace(s))
}
