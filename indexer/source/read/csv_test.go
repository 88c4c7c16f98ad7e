package read

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"atlas/internal/fault"
)

func inUTF16(text string, big, mark bool) string {
	var b strings.Builder
	if mark {
		text = "\ufeff" + text
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		high, low := byte(unit>>8), byte(unit&0xff)
		if !big {
			high, low = low, high
		}
		b.WriteByte(high)
		b.WriteByte(low)
	}
	return b.String()
}

// all reads a text to its end: columns and rows, and a line for each error of a row.
func all(t testing.TB, text string, o Options) (columns []string, cells [][]string, wrong []string) {
	t.Helper()
	f, err := Read(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	for {
		row, err := f.Next()
		if errors.Is(err, io.EOF) {
			return f.Columns(), cells, wrong
		}
		if bad, is := errors.AsType[*RowError](err); is {
			wrong = append(wrong, fmt.Sprintf("%d %s", bad.Line, bad.Reason))
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		cells = append(cells, slices.Clone(row.Cells))
	}
}

// Files as programs save them have the same rows.
func TestFormsOfCSV(t *testing.T) {
	t.Parallel()
	const plain = "a,b\nÄ,2\n"
	semicolons := strings.ReplaceAll(plain, ",", ";")
	for name, text := range map[string]string{
		"UTF-8": plain, "a byte order mark": "\ufeff" + plain, "UTF-16, little end first": inUTF16(plain, false, true),
		"UTF-16, big end first": inUTF16(plain, true, true),
		"UTF-16 without a mark": inUTF16(plain, false, false), "Windows-1252": "a,b\n\xc4,2\n",
		"CR alone": strings.ReplaceAll(plain, "\n", "\r"), "CRLF": strings.ReplaceAll(plain, "\n", "\r\n"), "semicolons": semicolons,
		"bars": strings.ReplaceAll(plain, ",", "|"), "tabs": strings.ReplaceAll(plain, ",", "\t"),
		"sep=;": "sep=;\r\n" + semicolons, "sep=;, UTF-16": inUTF16("sep=;\n"+semicolons, false, true),
		"blanks": " a , b\n\n Ä ,2  \n", "a title": "Permits of 2024\n\na,b\nÄ,2\n",
		"a title with commas": "Permits of 2024,\na,b\nÄ,2\n", "too many cells, all empty": "a,b\nÄ,2,,\n",
		"quotes": "\"a\",\"b\"\r\n\"Ä\",\"2\"\r\n",
	} {
		columns, cells, wrong := all(t, text, Options{})
		if diff := cmp.Diff([][]string{{"a", "b"}, {"Ä", "2"}}, append([][]string{columns}, cells...)); diff != "" || wrong != nil {
			t.Errorf("%s (-want +got):\n%s%v", name, diff, wrong)
		}
	}
	if _, cells, _ := all(t, "a,b\n\xc4,2\n", Options{Encoding: Windows1252}); cells[0][0] != "Ä" {
		t.Errorf("Windows-1252 is read as %q", cells)
	}
	if columns, cells, _ := all(t, "Permits of 2024\rExtracted: today\r\ra;b;c\r1;2;3\r", Options{}); len(columns) != 3 || len(cells) != 1 {
		t.Errorf("titles: %q, %q", columns, cells)
	}
	if _, cells, _ := all(t, "x\ny,z\na,b\n1,2\n", Options{SkipLines: 2}); len(cells) != 1 || cells[0][1] != "2" {
		t.Errorf("lines above: %q", cells)
	}
	if _, cells, wrong := all(t, "a,b\n1\n", Options{FillShort: true}); len(cells) != 1 || wrong != nil {
		t.Errorf("a short row: %q, %v", cells, wrong)
	}
}

// Unreadable rows are reported, and the rows after them are read.
func TestHostileCSV(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10<<20)
	_, cells, wrong := all(t, "a,b\n1,2\n"+long+",2\n\"open,1\n3,\"4\" x\n5,6,7\n8\n9,=cmd()\nINSTALL 6\" PIPE,2\n\"7\" pipe\",1\n\"two\nlines\",2\n", Options{})
	if diff := cmp.Diff(
		[][]string{{"1", "2"}, {"9", "=cmd()"}, {`INSTALL 6" PIPE`, "2"}, {`7" pipe`, "1"}, {"two\nlines", "2"}}, cells,
	); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(
		[]string{
			"3 longer than 1048576 bytes", "4 a quote is not closed", "5 text after the quote that ends a cell",
			"6 3 fields where the first row has 2", "7 1 fields where the first row has 2",
		},
		wrong,
	); diff != "" {
		t.Error(diff)
	}
	for name, text := range map[string]string{
		"empty": "", "blank": "\n\n", "10,000 columns": strings.Repeat("a,", 9_999) + "b\n",
		"a quote without end": `"` + long,
	} {
		if _, err := Read(strings.NewReader(text), Options{}); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	columns, _, _ := all(t, "a,,a,b\n", Options{})
	if diff := cmp.Diff([]string{"a", "column 2", "a (2)", "b"}, columns); diff != "" {
		t.Error(diff)
	}
}

// Whatever stands between good rows, including quotes opened and closed at random, the good
// rows are read and exactly the bad lines are reported.
func TestGoodRowsSurviveBadLines(t *testing.T) {
	t.Parallel()
	bad := rapid.StringMatching(`[a-z"]{1,4}(,[a-z" ]{0,3}){0,7}`)
	// So many columns that bad lines cannot add up to a row by chance.
	const columns = 16
	good := strings.Repeat(",x", columns-2)
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Repeat("h,", columns-1) + "h\n"
		var want, wrong []string
		line := 1
		for n := range rapid.IntRange(0, 12).Draw(rt, "rows") {
			line++
			if !rapid.Bool().Draw(rt, "good") {
				wrong = append(wrong, fmt.Sprint(line))
				text += bad.Draw(rt, "bad") + "\n"
				continue
			}
			name := fmt.Sprint("row ", n)
			if rapid.IntRange(0, 3).Draw(rt, "two lines") == 0 {
				name += " \"b\"\nc"
				line++
			}
			want = append(want, name)
			text += `"` + strings.ReplaceAll(name, `"`, `""`) + `"` + good + ",\n"
		}
		_, cells, warnings := all(t, text, Options{Delimiter: ","})
		var got, lines []string
		for _, row := range cells {
			got = append(got, row[0])
		}
		for _, w := range warnings {
			at, _, _ := strings.Cut(w, " ")
			lines = append(lines, at)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("%s\n%s", diff, text)
		}
		if diff := cmp.Diff(wrong, lines); diff != "" {
			rt.Fatalf("wrong lines: %s\n%s", diff, text)
		}
	})
}

// Any bytes are read to their end, and line numbers only go up.
func FuzzRead(f *testing.F) {
	f.Add([]byte("a,b\n\"c\nd\",e\n\"stray\n1,2\n"))
	f.Add([]byte("\xEF\xBB\xBF\r\n,\x00\"\"\"\n\""))
	f.Add([]byte(`{"d":{"results":[{"a":{"b":[1,{"c":2}]}}]}}`))
	f.Add([]byte(`[{"geometry":{"coordinates":[1,2]}},null,3]`))
	f.Add([]byte("{\"a\":1}\n{\"a\":2}\nx\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := Read(strings.NewReader(string(text)), Options{})
		if err != nil {
			return
		}
		last := int64(0)
		for {
			row, err := in.Next()
			if _, is := errors.AsType[*RowError](err); err != nil && !is {
				return
			}
			if row.Line <= last {
				t.Fatalf("line %d after line %d", row.Line, last)
			}
			last = row.Line
		}
	})
}
