package catalog

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// Whatever stands where in a text, it is quoted as the JSON library does.
func TestAppendStringQuotesAsTheLibrary(t *testing.T) {
	t.Parallel()
	check := func(t interface{ Fatalf(string, ...any) }, text string) {
		want, err := jsontext.AppendQuote([]byte("before"), text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := AppendString([]byte("before"), text); string(got) != string(want) {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	}
	for r := range rune(0x180) {
		for length := range 18 {
			for at := range length {
				check(t, strings.Repeat("n", at)+string(r)+strings.Repeat("~", length-at-1))
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) { check(rt, rapid.String().Draw(rt, "text")) })
}
