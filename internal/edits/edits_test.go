package edits_test

import (
	"testing"

	"pgregory.net/rapid"

	"atlas/internal/edits"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"garage", "garage", 0}, {"garge", "garage", 1}, {"garaeg", "garage", 1},
		{"primray_ues", "primary_use", 2}, {"ca", "abc", 3}, {"дом", "том", 1}, {"𝔸b", "b𝔸", 1}, {"stage", "city", 5},
	} {
		for _, more := range []int{0, 1, 2, 10} {
			want := min(c.want, more+1)
			if got, back := edits.Distance(c.a, c.b, more), edits.Distance(c.b, c.a, more); got != want || back != want {
				t.Errorf("%s to %s, at most %d: %d and back %d", c.a, c.b, more, got, back)
			}
		}
	}
}

// The distance is that of its definition by recursion.
func TestDistanceByDefinition(t *testing.T) {
	t.Parallel()
	var distance func(a, b []rune) int
	distance = func(a, b []rune) int {
		if len(a) == 0 || len(b) == 0 {
			return len(a) + len(b)
		}
		m, n := len(a)-1, len(b)-1
		least := min(distance(a[:m], b)+1, distance(a, b[:n])+1)
		if a[m] == b[n] {
			least = min(least, distance(a[:m], b[:n]))
		} else {
			least = min(least, distance(a[:m], b[:n])+1)
		}
		if m > 0 && n > 0 && a[m] == b[n-1] && a[m-1] == b[n] {
			least = min(least, distance(a[:m-1], b[:n-1])+1)
		}
		return least
	}
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abж")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b, more := word.Draw(t, "a"), word.Draw(t, "b"), rapid.IntRange(0, 7).Draw(t, "more")
		if got, want := edits.Distance(a, b, more), min(distance([]rune(a), []rune(b)), more+1); got != want {
			t.Errorf("%s to %s, at most %d: %d, want %d", a, b, more, got, want)
		}
	})
}
