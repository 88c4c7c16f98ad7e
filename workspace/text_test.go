package workspace_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"atlas/workspace"
)

func TestFoldEmail(t *testing.T) {
	t.Parallel()
	for a, b := range map[string]string{
		" A@B.Example ": "a@b.example", "STRASSE@x.example": "straße@x.example", "Σ@x.example": "ς@x.example",
	} {
		if workspace.FoldEmail(a) != workspace.FoldEmail(b) {
			t.Errorf("%q and %q differ", a, b)
		}
	}
}

// FuzzEmail: a valid address fits into one line of an e-mail header, and so does its
// folded form.
func FuzzEmail(f *testing.F) {
	for _, s := range []string{
		"a@b.example", "A.B+c@EXAMPLE.com", `"a b"@c.example`, "a@b.example\r\nBcc: x@y.example", "Ann <a@b.example>",
		"a@[127.0.0.1]", "ß@straße.example", "\u0130@x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !workspace.ValidEmail(s) {
			return
		}
		if len(s) > workspace.MaxEmail || strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s) || !strings.Contains(s, "@") {
			t.Errorf("%q is taken for an address", s)
		}
		if once := workspace.FoldEmail(s); !utf8.ValidString(once) || strings.ContainsFunc(once, unicode.IsControl) {
			t.Errorf("%q is compared as %q", s, once)
		}
	})
}
