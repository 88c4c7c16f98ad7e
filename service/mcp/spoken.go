package mcp

import (
	"regexp"
	"strings"
)

// spoken are the tools for the addresses in messages of the API.
var spoken = []struct {
	address *regexp.Regexp
	tool    string
}{
	{regexp.MustCompile(`GET /api/v1/data/[a-z]+/\{id\} and POST /api/v1/data/[a-z]+/get/batch`), "get_records"},
	{regexp.MustCompile(`POST /api/v1/data/[a-z]+/match\b`), "match_records"},
	{regexp.MustCompile(`POST /api/v1/data/[a-z]+/search\b`), "search_records"},
	{regexp.MustCompile(`POST /api/v1/(?:data|workspace)/[a-z]+/facets\b`), "count_and_facets"},
	{regexp.MustCompile(`POST /api/v1/(?:data|workspace)/[a-z]+/pivot\b`), "pivot"},
	{regexp.MustCompile(`POST /api/v1/workspace/[a-z]+/search\b`), "search_book"},
	{regexp.MustCompile(`POST /api/v1/workspace/views/\{id\}/records/add/batch`), "manage_view"},
}

// toolsIn is a message of the API on one line, with the names of tools in place of their
// addresses.
func toolsIn(message string) string {
	message = oneLine(message)
	if !strings.Contains(message, " /api/v1/") {
		return message
	}
	for _, s := range spoken {
		message = s.address.ReplaceAllLiteralString(message, s.tool)
	}
	return message
}
