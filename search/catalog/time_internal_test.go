package catalog

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Times are written as their layout says.
func TestAppendTime(t *testing.T) {
	t.Parallel()
	first := time.Date(-2, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	last := time.Date(10001, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	rapid.Check(t, func(rt *rapid.T) {
		ms := rapid.OneOf(rapid.Int64Range(first, last), rapid.Int64Range(-1e6, 1e6)).Draw(rt, "ms")
		want := time.UnixMilli(ms).UTC().Format(TimeLayout)
		if got := string(appendTime(nil, ms)); got != want {
			rt.Fatalf("%s, want %s", got, want)
		}
	})
}
