package permits

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
)

func inUTF16(text string, big bool) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		high, low := byte(unit>>8), byte(unit&0xff)
		if !big {
			high, low = low, high
		}
		b.WriteByte(high)
		b.WriteByte(low)
	}
	return b.String()
}

// Files as programs save them have the same rows.
func TestFormsOfFiles(t *testing.T) {
	t.Parallel()
	const plain = "a,b\nÄ,2\n"
	want := [][]string{{"a", "b"}, {"Ä", "2"}}
	semicolons := strings.ReplaceAll(plain, ",", ";")
	for name, text := range map[string]string{
		"UTF-8": plain, "a byte order mark": "\ufeff" + plain, "UTF-16, little end first": inUTF16(plain, false), "UTF-16, big end first": inUTF16(plain, true),
		"CR alone": strings.ReplaceAll(plain, "\n", "\r"), "CRLF": strings.ReplaceAll(plain, "\n", "\r\n"), "semicolons": semicolons,
		"bars": strings.ReplaceAll(plain, ",", "|"), "tabs": strings.ReplaceAll(plain, ",", "\t"), "sep=;": "sep=;\r\n" + semicolons, "sep=;, UTF-16": inUTF16("sep=;\n"+semicolons, false),
	} {
		in := newRows(strings.NewReader(text))
		var got [][]string
		for {
			_, fields, err := in.read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got = append(got, slices.Clone(fields))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTitleAboveTheHeader(t *testing.T) {
	t.Parallel()
	_, err := parseHeader([]string{"Permits of 2024", "", ""})
	if fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), `names one column, "Permits of 2024"; delete titles above`) {
		t.Error(err)
	}
}
