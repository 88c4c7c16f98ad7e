package search

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Files as programs save them: bytes before the header remain in the written file, and no
// row is lost.
func TestFilesThatAreEnriched(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"name,city\nA,B\n", "\ufeffname,city\nA,B\n", "sep=;\nname;city\nA;B\n", "\ufeffsep=;\r\nname;city\r\nA;B\r\n",
		"sep=|\nname|city\nA|B\n", "name|city\nA|B\n", "name\tcity\nA\tB", "sep=\t\nname\tcity\nA\tB\n",
	} {
		path := filepath.Join(t.TempDir(), "list.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := openCSV(path)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for range 2 { // the file is read twice
			if !slices.Equal(in.header, []string{"name", "city"}) {
				t.Errorf("%q: the header %q", text, in.header)
			}
			whole := in.appended(nil, in.head, nil)
			row, err := in.next()
			if err != nil || !slices.Equal(row.cells, []string{"A", "B"}) {
				t.Errorf("%q: %v %q", text, err, row.cells)
			}
			whole = in.appended(whole, row, nil)
			last, err := in.next()
			if !errors.Is(err, io.EOF) {
				t.Errorf("%q: %v", text, err)
			}
			if whole = append(whole, last.before...); string(whole) != text {
				t.Errorf("%q became %q", text, whole)
			}
			if err := in.rewind(); err != nil {
				t.Error(err)
			}
		}
		if err := in.file.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestByteOrderMarkOfAnExport(t *testing.T) {
	t.Parallel()
	c := csvRows{members: []string{"id"}, bom: true}
	if head, _, err := c.begin(nil); err != nil || string(head) != "\ufeffid\n" {
		t.Errorf("%q %v", head, err)
	}
}
