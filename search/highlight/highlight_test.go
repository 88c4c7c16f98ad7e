package highlight

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"atlas/search/catalog"
	"atlas/search/words"
)

func marked(q, text string) string {
	var b strings.Builder
	for i, f := range New(words.Published.Read(q, catalog.Fold), false).Fragments(text) {
		if i > 0 {
			b.WriteString(" … ")
		}
		end := 0
		runes := []rune(f.Text)
		for _, m := range f.Marks {
			b.WriteString(string(runes[end:m[0]]) + "[" + string(runes[m[0]:m[1]]) + "]")
			end = m[1]
		}
		b.WriteString(string(runes[end:]))
	}
	return b.String()
}

func TestFragments(t *testing.T) {
	t.Parallel()
	far := strings.Repeat("lorem ipsum ", 20)
	for _, c := range []struct{ query, text, want string }{
		{"garages", "Private Detached Garage", "Private Detached [Garage]"},
		{"row house", "Rhs Rowhouse, 3 unit row house", "[Rhs] [Rowhouse], 3 unit [row] [house]"},
		{"hot tubs", "Hot-Tub and SPA", "[Hot]-[Tub] and [SPA]"},
		{`"hot tub"`, "Hot tub, tub hot", "[Hot tub], tub hot"},
		{"gara*", "GARAGE gar Garagé", "[GARAGE] gar [Garagé]"},
		{"cafe", "L’Été Café", "L’Été [Café]"},
		{"cafe\u0301", "Cafe\u0301s", "[Cafe\u0301s]"},
		{"o'neil", "O’NEIL st", "[O’NEIL] st"},
		{"wades", "WADE'S house", "[WADE'S] house"},
		{"1440", "1,440 units", "[1,440] units"},
		{"deck -garage", "deck, garage", "[deck], garage"},
		{"permit garage", "Garage permit", "[Garage] [permit]"},
		{"office", "Lot 1", ""},
		{"l", "ŀ1", "[ŀ]1"},
		{"garage", "garage\u200b, x", "[garage]\u200b, x"},
		{"strasse", "Große Straße", "Große [Straße]"},
		{"crane", "🏗️ crane 🏗️", "🏗️ [crane] 🏗️"},
		{"deck", far + "deck" + " " + far, "lorem ipsum lorem ipsum lorem ipsum [deck] lorem"},
	} {
		got := marked(c.query, c.text)
		if len(c.text) > 200 {
			if !strings.HasPrefix(got, c.want) || utf8.RuneCountInString(got) > fragmentChars+10 {
				t.Errorf("%q in %q: %q, want it to begin with %q", c.query, c.text, got, c.want)
			}
		} else if got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.query, c.text, got, c.want)
		}
	}
	if got := New(words.Published.Read("hospitl", catalog.Fold), true).Fragments("General Hospital"); len(got) != 1 ||
		got[0].Marks[0] != (Mark{8, 16}) {
		t.Errorf("%+v", got)
	}
}

// FuzzFragments: fragments are parts of the text, in order, and marks are within them.
func FuzzFragments(f *testing.F) {
	f.Add("garage OR deck", "a Garage with 1,000 decks, L’Été \u00ad x\u0301 ﬁre")
	f.Add("a*", strings.Repeat("aa b ", 100))
	f.Fuzz(func(t *testing.T, q, text string) {
		if !utf8.ValidString(q) || !utf8.ValidString(text) || len(q) > 200 || len(text) > 2_000 {
			return
		}
		runes := []rune(text)
		end := 0
		for _, fragment := range New(words.Published.Read(q, catalog.Fold), true).Fragments(text) {
			part := []rune(fragment.Text)
			if fragment.From < end || fragment.From+len(part) > len(runes) || !slices.Equal(runes[fragment.From:fragment.From+len(part)], part) {
				t.Fatalf("%q in %q: %+v is not at its place", q, text, fragment)
			}
			end = fragment.From + len(part)
			last := 0
			if len(fragment.Marks) == 0 {
				t.Fatalf("%+v has no mark", fragment)
			}
			for _, m := range fragment.Marks {
				if m[0] < last || m[1] <= m[0] || m[1] > len(part) {
					t.Fatalf("%q in %q: marks %v of %q", q, text, fragment.Marks, fragment.Text)
				}
				last = m[1]
			}
		}
	})
}
