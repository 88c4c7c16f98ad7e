package permits

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever stands between good rows, quotes opened and closed at random
// included, the good rows are read and each bad line is told, no other.
func TestGoodRowsSurviveBadLines(t *testing.T) {
	t.Parallel()
	bad := rapid.StringMatching(`[a-z"]{1,4}(,[a-z" ]{0,3}){0,7}`)
	// As many columns as a permits file has at least: bad lines cannot add up
	// to a row by chance.
	good := strings.Repeat(",x", 14)
	rapid.Check(t, func(rt *rapid.T) {
		var text strings.Builder
		want, wrong := []string{}, []int64{}
		line := int64(0)
		for n := range rapid.IntRange(0, 12).Draw(rt, "rows") {
			line++
			if !rapid.Bool().Draw(rt, "good") {
				wrong = append(wrong, line)
				text.WriteString(bad.Draw(rt, "bad") + "\n")
				continue
			}
			name := fmt.Sprint("row ", n)
			if rapid.IntRange(0, 3).Draw(rt, "two lines") == 0 {
				name += " \"b\"\nc"
				line++
			}
			want = append(want, name)
			text.WriteString(`"` + strings.ReplaceAll(name, `"`, `""`) + `"` + good + ",\n")
		}
		in := newRows(strings.NewReader(text.String()))
		in.width = 16
		got, lines := []string{}, []int64{}
		for {
			at, fields, err := in.read()
			if errors.Is(err, io.EOF) {
				break
			}
			if _, ok := errors.AsType[*rowError](err); err != nil && !ok {
				rt.Fatal(err)
			}
			// A row of another width is for the header to refuse.
			if err != nil || len(fields) != in.width {
				lines = append(lines, at)
				continue
			}
			got = append(got, fields[0])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("%s\n%s", diff, text.String())
		}
		if diff := cmp.Diff(wrong, lines); diff != "" {
			rt.Fatalf("wrong lines: %s\n%s", diff, text.String())
		}
	})
}

// Any bytes are read to their end, and line numbers only go up.
func FuzzRows(f *testing.F) {
	f.Add([]byte("a,b\n\"c\nd\",e\n\"stray\n1,2\n"), 2)
	f.Add([]byte("\xEF\xBB\xBF\r\n,\x00\"\"\"\n\""), 0)
	f.Fuzz(func(t *testing.T, text []byte, width int) {
		in := newRows(strings.NewReader(string(text)))
		in.width = width
		last := int64(0)
		for {
			at, _, err := in.read()
			if errors.Is(err, io.EOF) {
				return
			}
			if _, ok := errors.AsType[*rowError](err); err != nil && !ok {
				t.Fatal(err)
			}
			if at <= last {
				t.Fatalf("line %d after line %d", at, last)
			}
			last = at
		}
	})
}
