package journal

import (
	"strings"
	"testing"
	"unicode/utf8"

	"atlas/search/catalog"
	"atlas/search/document"
)

// An unknown key can be anything; a report shows it shortened and printable.
func TestFieldsInAReportAreShort(t *testing.T) {
	t.Parallel()
	var got []Problem
	for i, key := range []string{"nmae", "größe", "a\x1b[2Jb", strings.Repeat("é", 100_000)} {
		got = NewDeadLetter(
			catalog.Accounts, "accounts.ndjson", int64(i+1), []document.Problem{{Field: key, Reason: "unknown key"}},
			[]byte("{}"),
		).AddProblems(got)
	}
	if len(got) != 4 {
		t.Fatal(got)
	}
	for i, want := range []string{"nmae", "größe", `"a\x1b[2Jb"`} {
		if got[i].Field != want {
			t.Errorf("%q, want %q", got[i].Field, want)
		}
	}
	if long := got[3].Field; len(long) > 210 || !strings.HasPrefix(long, "éé") || !utf8.ValidString(long) {
		t.Errorf("%d bytes are shown: %.50q", len(long), long)
	}
}
