package catalog_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"atlas/search/catalog"
)

func TestDomain(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"acme.com": "acme.com", " ACME.com ": "acme.com", "https://www.acme.com/about?x=1#y": "acme.com", "www.acme.com.": "acme.com",
		"http://acme.com:8080": "acme.com", "//acme.com/": "acme.com", "Bücher.example": "xn--bcher-kva.example",
		"xn--bcher-kva.example": "xn--bcher-kva.example", "WWW.Bücher.example.": "xn--bcher-kva.example", "https://": "",
		"/": "", "www.com": "com",
		"user@acme.com": "acme.com", "not a domain": "not a domain",
		"%ff.example": "", "a%00b": "", "a%2Fb.example": "", "b%C3%BCcher.example": "xn--bcher-kva.example",
	} {
		if got := catalog.Domain(given); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}

// FuzzDomain checks that a domain is one line of valid text, without the other parts
// of a URL.
func FuzzDomain(f *testing.F) {
	for _, s := range []string{
		"a.example", "HTTPS://user:pw@www.Bücher.example.:80/p?q#f", "//x", "%ff", "%00", "a%2Fb",
		"xn--bcher-kva.example", "[::1]:80", "www.", "@", "ß.example",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			return // no client's text, see internal/input
		}
		domain := catalog.Domain(s)
		if !utf8.ValidString(domain) || strings.ContainsFunc(domain, unicode.IsControl) || strings.ContainsAny(domain, "/?#") {
			t.Errorf("%q is compared as %q", s, domain)
		}
	})
}
