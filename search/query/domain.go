package query

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// DomainsPath is where the document of a global record has its domains as Domain
// makes them. Documents of held records have none: nothing looks there for them.
const DomainsPath = "ix.domains"

// Domain is a domain as domains are compared: without scheme, `www.`,
// path, port, the dot at the end and case, in ASCII. What has none is "".
func Domain(s string) string {
	s = strings.TrimSpace(s)
	if _, rest, found := strings.Cut(s, "://"); found {
		s = rest
	}
	s = strings.TrimPrefix(s, "//")
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		s = s[:i]
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		s = s[:i]
	}
	s = strings.ToLower(strings.TrimSpace(s))
	if plain, err := url.PathUnescape(s); err == nil {
		s = plain
	}
	if !utf8.ValidString(s) {
		return "" // what was percent-encoded is no text, and would be a domain in ASCII
	}
	s = strings.TrimRight(s, ".")
	if ascii, err := idna.Lookup.ToASCII(s); err == nil {
		s = ascii
	}
	if strings.ContainsFunc(s, noDomain) {
		return ""
	}
	return strings.TrimPrefix(s, "www.")
}

// noDomain are characters that end a domain in a URL, or stand in no text.
func noDomain(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune("/?#", r) }
