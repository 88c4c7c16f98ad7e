package elastic

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// A batch that was filled up to a size is one request; a limit is never exceeded by more
// than the first item.
func TestPortion(t *testing.T) {
	t.Parallel()
	const size = 10_000
	b := &Batch{}
	for i := 0; b.Size() < size; i++ {
		b.Index(fmt.Sprint(i), []byte(strings.Repeat("x", 100*(i+1))))
	}
	n, last := b.Len(), b.items[b.Len()-1]
	for _, c := range []struct{ size, limit, want int }{
		{size, math.MaxInt, n},
		{b.Size() - 1, b.Size(), n},
		{last.start, math.MaxInt, n - 1},
		{size, b.Size() - 1, n - 1},
		{1, 1, 1},
		{math.MaxInt, 1, 1},
	} {
		positions, body := b.portion(b.all(), c.size, c.limit)
		if len(positions) != c.want || string(body) != string(b.body[:b.items[c.want-1].end]) {
			t.Errorf("size %d, limit %d: %d of %d items, not %d", c.size, c.limit, len(positions), n, c.want)
		}
	}
	some := []int{0, 2, 3}
	want := slices.Concat(b.body[:b.items[0].end], b.body[b.items[2].start:b.items[3].end])
	if positions, body := b.portion(some, size, size); !slices.Equal(positions, some) || string(body) != string(want) {
		t.Errorf("%v: %s", positions, body)
	}
}

func TestAllIndexed(t *testing.T) {
	for answer, want := range map[string]int{
		`{"items":[{"index":{"status":201}}]}`:                          1,
		`{"items":[{"index":{"status":201}},{"index":{"status":200}}]}`: 2,
		`{}`:           0,
		`{"items":[]}`: 0,
		`{"items":[{"index":{"status":201}},{"index":{"status":429}}]}`:            0,
		`{"items":[{"index":{"status":202}}]}`:                                     0,
		`{"items":[{"index":{"status":2010}}]}`:                                    0,
		`{"items":[{"index":{"status":201,"error":{}}}]}`:                          0,
		`{"items":[{"delete":{"status":200}}]}`:                                    0,
		`{"items":[{"index":{"status":201}},{"delete":{"status":200}}]}`:           0,
		`{"items":[{"index":{"status":201}},`:                                      0,
		`{"items":[{"index":{"status":201}}`:                                       0,
		`{"items":[{"index":{"status":201}}]} `:                                    0,
		`{"items":[{"index":{"status":201}}]}{"items":[{"index":{"status":201}}]}`: 0,
		`{"errors":false,"items":[{"index":{"status":201}}]}`:                      0,
	} {
		if n, ok := allIndexed([]byte(answer)); n != want && ok || ok != (want > 0) {
			t.Errorf("%s: %d, %t", answer, n, ok)
		}
	}
}
