package catalog

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzFold: folding twice equals folding once, the fast paths equal the slow one, and the
// result can be indexed.
func FuzzFold(f *testing.F) {
	for _, s := range []string{
		"", "Łódź", "STRAẞE", "ΐ", "Cafe\u0301", "\u13f8", "\ufb01le", "a\u0300\u0315", "\u1e9e", "—’", "\u0345",
		"\U0001F600", "か\u200b\u3099", "ﾊﾟ", "o’de\u00adll", "５ｍ²", "ŉ…",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return // no client's text, see internal/input
		}
		once := Fold(s)
		if again := Fold(once); again != once {
			t.Errorf("Fold(%+q) = %+q, then %+q", s, once, again)
		}
		first := FoldCase(s)
		if long := foldAny(s); long != first {
			t.Errorf("FoldCase(%+q) = %+q, the long way %+q", s, first, long)
		}
		if refined := Fold(first); refined != once {
			t.Errorf("Fold(%+q) = %+q, of what FoldCase makes of it %+q", s, once, refined)
		}
		if !utf8.ValidString(once) || strings.ContainsRune(once, 0) != strings.ContainsRune(s, 0) {
			t.Errorf("Fold(%+q) = %+q", s, once)
		}
	})
}

// FuzzInstant: an accepted time is written as in answers and reads back as the same time.
func FuzzInstant(f *testing.F) {
	for _, s := range []string{
		"2020-01-01T00:00:00Z", "2020-12-31T23:59:60Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999999999Z",
		"2020-01-01T1:00:00Z", "2020-01-01T00:00:00,5Z", "2020-02-30",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, ok := ParseInstant(s)
		if !ok {
			if at, ok = ParseDay(s); !ok {
				return
			}
		}
		written := at.Format(TimeLayout)
		again, ok := ParseInstant(written)
		if !ok || again.UnixMilli() != at.UnixMilli() || len(written) != len("2020-01-01T00:00:00.000Z") {
			t.Errorf("%q is written as %q and read as %v, %v", s, written, again, ok)
		}
	})
}
