package catalog_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"atlas/search/catalog"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "--- ?": "", "O'Brien's 2nd": "o|brien|s|2nd", "Łódź-Süd": "lodz|sud", "東京都 建設": "東京都|建設",
		"x\u200dy": "xy", "e\u0301a": "ea", "हिन्दी": "हिन्दी",
		"½ Ⅷ ⑳": "½|ⅷ|⑳", strings.Repeat("é", 30): strings.Repeat("e", 20),
		strings.Repeat("東", 30): strings.Repeat("東", 20), "\xff a\xffb": "a|b", "\"a\\b\"": "a|b",
	} {
		if got := strings.Join(catalog.Words(catalog.Fold(text)), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAppendBeginnings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "ab": "xa ab ", " ab-c 東京": "xa ab c 東 東京 ", strings.Repeat("a", 25): "x" + strings.Repeat("a", 20),
	} {
		got := string(catalog.AppendBeginnings([]byte("x"), text))
		if got = strings.TrimSuffix(got, " "); len(text) == 25 {
			got = "x" + got[strings.LastIndex(got, " ")+1:]
		}
		if want = strings.TrimSuffix(want, " "); want == "" {
			want = "x"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTypedWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typed, word string
		want        bool
	}{
		{"gar", "garage", true}, {"gra", "garage", false}, {"arage", "garage", true}, {"garge", "garage", true},
		{"garaeg", "garage", true}, {"gagrae", "garage", false},
		{"xaragexx", "garage", false}, {"xaragex", "garage", false}, {"construtcoin", "construction", true},
		{"cosntrutcoin", "construction", false}, {"constrction", "con", false},
		{"abcd", "cabd", false}, {"abcd", "abdc", true}, {"東京都建", "東亰都建設", true}, {"𐌰𐌱𐌲", "𐌰𐌱𐌲𐌳", true},
		{"𐌰𐌱𐌲𐌴", "𐌰𐌱𐌲𐌳", true}, {"12345678", "1324", false}, {"garage", "garag", true}, {"garages", "garag", false},
	} {
		typed := catalog.TypedWords(c.typed, catalog.NewestFolding)
		if len(typed) != 1 || typed[0].Begins(c.word) != c.want {
			t.Errorf("%s of %s: %v", c.typed, c.word, !c.want)
		}
	}
	if typed := catalog.TypedWords("b A b á", catalog.NewestFolding); len(typed) != 2 || typed[0].Text != "a" || typed[1].Text != "b" {
		t.Errorf("%+v", typed)
	}
}

// FuzzWords checks that folded words are whole, short and unchanged when they are folded
// and split again.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{"O'Brien's", "東京都", "e\u0301\u0327", "\xff\xfe", "İıß½"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := catalog.Words(catalog.Fold(text))
		for _, word := range words {
			if n := utf8.RuneCountInString(word); n == 0 || n > catalog.MaxWordLetters || !utf8.ValidString(word) {
				t.Errorf("%q of %q", word, text)
			}
			if again := catalog.Words(word); !slices.Equal(again, []string{word}) {
				t.Errorf("%q is %q", word, again)
			}
		}
		for _, typed := range catalog.TypedWords(text, catalog.NewestFolding) {
			if !slices.ContainsFunc(words, typed.Begins) {
				t.Errorf("%q does not begin one of %q", typed.Text, words)
			}
		}
	})
}
