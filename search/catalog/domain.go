package catalog

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Domain returns the form in which domains are compared: ASCII and lower case, without
// scheme, `www.`, path, port and final dot. It is "" for a text that is not a domain.
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
		return "" // ToASCII would make a domain of invalid UTF-8
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

// noDomain reports whether a character ends a domain in a URL or is a control
// character.
func noDomain(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune("/?#", r) }
