package catalog

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for _, group := range [][]string{
		{"lodz", "Łódź", "ŁÓDŹ", "łódź", "Lodz", norm.NFD.String("Łódź")},
		{"strasse", "Straße", "STRASSE", "STRAẞE", "strasse"},
		{"eclair", "Éclair", norm.NFD.String("Éclair"), "éCLAIR", "ECLAIR"},
		{"cafe", "Café", "CAFÉ", "cafe\u0301"},
		{"istanbul", "İstanbul", "Istanbul", "ISTANBUL", "ıstanbul", "istanbul"},
		{"οδυσσευσ", "Οδυσσεύς", "ΟΔΥΣΣΕΥΣ", "ΟΔΥΣΣΕΎΣ", "οδυσσευς"},
		{"smorrebrod", "Smørrebrød", "SMØRREBRØD"},
		{"aebleskiver", "Æbleskiver", "æbleskiver"},
		{"nguyen", "Nguyễn", "NGUYỄN"},
		{"тверь", "Тверь", "ТВЕРЬ"},
		{"елка", "Ёлка", "елка"},
		{"file", "ﬁle", "FILE"},
		{"thorsteinn", "Þorsteinn", "þorsteinn"},
		{"dodhtl", "ĐOÐĦŦŁ", "đođħŧł"},
		{"が", "が", "か\u3099"},
		{"angstrom", "Ångström", "\u212bngstrom"},
		{"", ""},
	} {
		for _, s := range group {
			if got := Fold(s); got != group[0] {
				t.Errorf("Fold(%+q) = %+q, want %+q", s, got, group[0])
			}
		}
	}
	// Nothing else becomes equal.
	for _, pair := range [][2]string{
		{"a b", "ab"}, {"acme inc", "acme inc."}, {"acme", "acme "}, {"カ", "ガ"}, {"कि", "क"}, {"東京", "京都"},
		{"ab", "a-b"}, {"ö", "oe"}, {"й", "j"},
		{"は", "ぱ"}, {"か", "が"}, {"ש", "ש\u05c1"}, {"ا", "أ"}, {"x2", "x²"}, {"กา", "กํา"},
		{"o'dell", "odell"}, {"m²", "m2"}, {"m³", "m3"}, {"㎡", "m2"}, {"1½", "11/2"}, {"1½", "11⁄2"}, {"①", "1"},
		{"co₂", "co2"}, {"10⁶", "106"}, {"ⅳ", "iv"}, {"5'", `5"`},
	} {
		if Fold(pair[0]) == Fold(pair[1]) {
			t.Errorf("%q and %q fold to the same %q", pair[0], pair[1], Fold(pair[0]))
		}
	}
}

// cased is past every letter that has case or an accent.
const cased = 0x20000

// letters draws text of scripts with and without case, with marks of their own
// and such that were put on.
func letters() *rapid.Generator[string] {
	return rapid.StringOf(rapid.OneOf(
		rapid.Rune(),
		rapid.RuneFrom(
			nil, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Armenian, unicode.Cherokee, unicode.Hangul,
			unicode.Hebrew, unicode.Devanagari,
		),
		rapid.RuneFrom(nil, unicode.Mn),
		rapid.RuneFrom([]rune("ßẞıİŁłøÆœﬁΐΰŉǰᾳᾼςΣͅſKÅ")),
	))
}

func TestFoldIsIdempotent(t *testing.T) {
	t.Parallel()
	for r := rune(1); r < cased; r++ {
		if once := Fold(string(r)); Fold(once) != once {
			t.Fatalf("Fold(%U) = %+q, then %+q", r, once, Fold(once))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := letters().Draw(t, "s")
		if once := Fold(s); Fold(once) != once {
			t.Errorf("Fold(%+q) = %+q, then %+q", s, once, Fold(once))
		}
	})
}

func TestFoldIgnoresSpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := letters().Draw(t, "s")
		want := Fold(s)
		for name, spelled := range map[string]string{"composed": norm.NFC.String(s), "decomposed": norm.NFD.String(s)} {
			if got := Fold(spelled); got != want {
				t.Errorf("Fold(%+q) = %+q, %s %+q", s, want, name, got)
			}
		}
		if !utf8.ValidString(want) || !norm.NFC.IsNormalString(want) {
			t.Errorf("Fold(%+q) = %+q, which is not in normal form", s, want)
		}
	})
}

// Upper and lower case of one letter are equal, for every letter that has both.
func TestFoldIgnoresCase(t *testing.T) {
	t.Parallel()
	for r := rune(1); r < cased; r++ {
		upper, lower := unicode.ToUpper(r), unicode.ToLower(r)
		if unicode.IsUpper(r) && unicode.ToUpper(lower) == r && Fold(string(r)) != Fold(string(lower)) {
			t.Errorf("%c: %+q and its lower case %+q", r, Fold(string(r)), Fold(string(lower)))
		}
		if unicode.IsLower(r) && unicode.ToLower(upper) == r && Fold(string(r)) != Fold(string(upper)) {
			t.Errorf("%c: %+q and its upper case %+q", r, Fold(string(r)), Fold(string(upper)))
		}
	}
}

// The fast path for ASCII equals the slow one.
func TestFoldOfASCII(t *testing.T) {
	t.Parallel()
	const accented = "é"
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom(nil, &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0, Hi: 0x7f, Stride: 1}}})).Draw(t, "s")
		if got, want := Fold(s), strings.TrimSuffix(Fold(s+accented), "e"); got != want {
			t.Errorf("Fold(%q) = %q, the long way %q", s, got, want)
		}
	})
}

func TestExactValue(t *testing.T) {
	t.Parallel()
	name, _ := FieldNamed(Accounts, "name")
	description, _ := FieldNamed(Accounts, "description")
	long := strings.Repeat("x", maxExactBytes+1)
	if got := ExactValue(name, long); got != long {
		t.Errorf("a field that sorts is compared by %q", got)
	}
	if got := ExactValue(description, long[1:]); got != long[1:] {
		t.Errorf("a short value is compared by %q", got)
	}
	digest, other := ExactValue(description, long), ExactValue(description, long+"y")
	if len(digest) > 80 || digest == other || digest != ExactValue(description, long) {
		t.Errorf("digests %q and %q", digest, other)
	}
}

// Folding rune by rune is folding the text, wherever that is done.
func TestFoldOfWesternTexts(t *testing.T) {
	t.Parallel()
	check := func(s string) string {
		if _, ok := foldWestern(s); !ok {
			return "is not taken for western"
		}
		if got, want := FoldCase(s), foldAny(s); got != want {
			return got + ", want " + want
		}
		return ""
	}
	var all []rune
	for r := range rune(westernEnd) {
		all = append(all, r)
	}
	for r := rune(dashesStart); r < dashesStop; r++ {
		all = append(all, r)
	}
	for _, r := range all {
		for _, s := range []string{string(r), "a" + string(r) + "Ü", "s" + string(r) + "´", "ǰ" + string(r) + "ß"} {
			if wrong := check(s); wrong != "" {
				t.Errorf("%+q: %s", s, wrong)
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		if s := rapid.StringOf(rapid.SampledFrom(all)).Draw(rt, "s"); check(s) != "" {
			rt.Fatalf("%+q: %s", s, check(s))
		}
	})
}
