package read

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/xuri/excelize/v2"

	"atlas/internal/fault"
)

// The forms of JSON have the same rows.
func TestFormsOfJSON(t *testing.T) {
	t.Parallel()
	type rows = []map[string]string
	same := rows{{"id": "1", "place.lat": "30.5", "tags": "a; b"}, {"id": "2", "place.lat": "31"}}
	const objects = `{"id":"1","place":{"lat":30.5},"tags":["a","b"]},{"id":2,"place":{"lat":31},"more":null}`
	for name, c := range map[string]struct {
		text string
		o    Options
		want rows
	}{
		"array":    {"[" + objects + "]", Options{}, same},
		"lines":    {strings.ReplaceAll(objects, "},{", "}\n{") + "\n", Options{}, same},
		"one line": {`{"id":"1","place":{"lat":30.5},"tags":["a","b"]}`, Options{}, same[:1]},
		"OData 2":  {`{"d":{"__count":"2","results":[` + objects + `]}}`, Options{}, same},
		"OData 4":  {`{"@odata.context":"x","value":[` + objects + `]}`, Options{}, same},
		"CKAN":     {`{"success":true,"result":{"fields":[{"id":"x"}],"records":[` + objects + `]}}`, Options{}, same},
		"a path":   {`{"a":{"x":[{"no":1}],"b":[` + objects + `]}}`, Options{Path: "a.b"}, same},
		"ArcGIS": {
			`{"fields":[{"name":"id"}],"features":[{"attributes":{"id":1},"geometry":{"x":-79.5,"y":43}}]}`, Options{},
			rows{{"id": "1", "geometry.x": "-79.5", "geometry.y": "43"}},
		},
		"GeoJSON": {
			`{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"id":1},"geometry":{"type":"Point","coordinates":[-79.5,43]}}]}`,
			Options{}, rows{{"type": "Feature", "id": "1", "geometry.x": "-79.5", "geometry.y": "43"}},
		},
		"a polygon": {`[{"geometry":{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,4],[0,0]]]}}]`, Options{}, rows{{"geometry.x": "1", "geometry.y": "2"}}},
		"lists": {
			`[{"firms":[{"name":"A","type":"gc"},{"name":"B"}]}]`, Options{},
			rows{{"firms.1.name": "A", "firms.1.type": "gc", "firms.2.name": "B"}},
		},
		"a bom":         {"\ufeff[" + objects + "]", Options{}, same},
		"UTF-16":        {inUTF16("["+objects+"]", false, true), Options{}, same},
		"empty array":   {"[]", Options{}, nil},
		"spaced":        {"\n\n [ " + objects + " ] \n", Options{}, same},
		"a bad element": {"[1," + objects + "]", Options{}, same},
	} {
		columns, cells, _ := all(t, c.text, c.o)
		var got rows
		for _, row := range cells {
			m := map[string]string{}
			for i, cell := range row {
				if cell != "" {
					m[columns[i]] = cell
				}
			}
			got = append(got, m)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestBadJSON(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no array": "{\"a\":1,\n\"b\":{\"c\":[{\"x\":1}]}}", "cut off": `[{"a":1},{"a":`,
		"cut off after a record": `[{"a":1}`, "syntax": `[{"a":1} {"b":2}]`,
		"cut off in a long record": `[{"a":"` + strings.Repeat("x", 17<<20) + `"`,
	} {
		f, err := Read(strings.NewReader(text), Options{})
		for err == nil {
			_, err = f.Next()
		}
		if fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, cells, wrong := all(t, "{\"a\":1}\n{\"a\":}\n\n[2]\n{\"a\":3}\n", Options{})
	if len(cells) != 2 || !slices.Equal(wrong, []string{"2 not a JSON object", "4 not a JSON object"}) {
		t.Error(cells, wrong)
	}
}

// A record that is too long, or has too many columns, is reported by its number, and those
// around it are read.
func TestHostileJSON(t *testing.T) {
	t.Parallel()
	long := `{"x":["}\"{"],"a":"` + strings.Repeat(`\"]`, 6<<20) + `","b":{}}`
	wide := `{"a":"w"`
	for i := range 10_000 {
		wide += fmt.Sprintf(`,"c%d":1`, i)
	}
	deep := strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000)
	text := `{"d":{"results":[{"a":"1"},` + long + `, ` + long + `,{"a":"\u0000=1+1"},` + wide + `},` + deep + `,{"a":"2"}]}}`
	_, cells, wrong := all(t, text, Options{})
	if len(cells) != 4 || cells[0][0] != "1" || cells[1][0] != "\x00=1+1" || cells[3][0] != "2" {
		t.Errorf("%d rows, %.60q", len(cells), cells)
	}
	if diff := cmp.Diff(
		[]string{"2 longer than 16777216 bytes", "3 longer than 16777216 bytes", "5 more than 4096 columns"}, wrong,
	); diff != "" {
		t.Error(diff)
	}
}

// A workbook with long or many cells is read, or refused with a reason.
func TestHostileWorkbooks(t *testing.T) {
	t.Parallel()
	base := workbook(t)
	sheet := func(rows string) string {
		path := filepath.Join(t.TempDir(), "book.xlsx")
		whole, err := zip.NewReader(bytes.NewReader(base), int64(len(base)))
		if err != nil {
			t.Fatal(err)
		}
		parts := map[string]string{}
		for _, part := range whole.File {
			from, err := part.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(from)
			if err != nil {
				t.Fatal(err)
			}
			parts[part.Name] = string(text)
		}
		parts["xl/worksheets/sheet1.xml"] = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>` + rows + `</sheetData></worksheet>`
		content := archive(t, parts)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	row := func(n int, cells ...string) string {
		var b strings.Builder
		fmt.Fprintf(&b, `<row r="%d">`, n)
		for _, c := range cells {
			b.WriteString(`<c t="inlineStr"><is><t>` + c + `</t></is></c>`)
		}
		return b.String() + `</row>`
	}
	head := row(1, "a", "b")
	for name, c := range map[string]struct {
		rows string
		good int  // rows that are read
		bad  bool // refused
	}{
		"formulas":            {head + `<row r="2"><c r="A2" t="str"><f>1+1</f><v>=cmd()</v></c><c r="B2"><f>SUM(A1:A9)</f></c></row>`, 1, false},
		"10 MB in a cell":     {head + row(2, strings.Repeat("x", 10<<20), "1") + row(3, "2", "3"), 2, false},
		"10,000 columns":      {row(1, slices.Repeat([]string{"a"}, 10_000)...) + row(2, "1"), 0, true},
		"10,000 cells":        {head + row(2, slices.Repeat([]string{"a"}, 10_000)...) + row(3, "2", "3"), 1, false},
		"NUL":                 {head + row(2, "\x00", "1"), 0, true},
		"a row far away":      {head + `<row r="1048576"><c r="A1048576"><v>1</v></c></row>`, 1, false},
		"a row beyond":        {head + `<row r="99999999999"><c r="A99999999999"><v>1</v></c></row>`, 0, true},
		"cut":                 {head + `<row r="2"><c`, 0, true},
		"a text that is none": {head + `<row r="2"><c r="A2" t="s"><v>999</v></c><c r="B2"><v>1</v></c></row>`, 1, false},
	} {
		f, err := Open(sheet(c.rows), Options{})
		good := 0
		for one := (*RowError)(nil); err == nil || errors.As(err, &one); one = nil {
			if _, err = f.Next(); err == nil {
				good++
			}
		}
		if errors.Is(err, io.EOF) == c.bad || c.bad && fault.CodeOf(err) != fault.BadRequest || good != c.good {
			t.Errorf("%s: %d rows, %.300v", name, good, err)
		}
	}
}

func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func packed(t *testing.T, text string, by func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var b bytes.Buffer
	w := by(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func workbook(t *testing.T) []byte {
	t.Helper()
	f := excelize.NewFile()
	for cell, v := range map[string]any{"A1": "Permits of 2024", "A2": "a", "B2": "b", "C2": "c", "A3": "Ä", "B3": 2, "C3": 42374.5} {
		if err := f.SetCellValue("Sheet1", cell, v); err != nil {
			t.Fatal(err)
		}
	}
	style, err := f.NewStyle(&excelize.Style{NumFmt: 14})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetCellStyle("Sheet1", "C3", "C3", style); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFiles(t *testing.T) {
	t.Parallel()
	const text = "a,b\nÄ,2\n"
	toGzip := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	toZstd := func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	dir := t.TempDir()
	put := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := map[string]Options{
		put("plain.csv", []byte(text)):           {},
		put("gzip", packed(t, text, toGzip)):     {},
		put("zstd.csv", packed(t, text, toZstd)): {},
		put("one.zip", archive(t, map[string]string{"__MACOSX/x.csv": "no", "readme.pdf": "no", "p/permits.csv": text})): {},
		put("gz.zip", archive(t, map[string]string{"permits.csv.gz": string(packed(t, text, toGzip))})):                  {},
		put("named.zip", archive(t, map[string]string{"a.csv": "no", "b.csv": text})):                                    {Member: "b*"},
	}
	for path, o := range good {
		f, err := Open(path, o)
		if err != nil {
			t.Error(err)
			continue
		}
		row, err := f.Next()
		if err != nil || !slices.Equal(row.Cells, []string{"Ä", "2"}) {
			t.Errorf("%s: %q, %v", path, row.Cells, err)
		}
		if _, err := f.Next(); !errors.Is(err, io.EOF) {
			t.Error(path, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	f, err := Open(put("book.xlsx", workbook(t)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if row, err := f.Next(); err != nil || !slices.Equal(row.Cells, []string{"Ä", "2", "42374.5"}) || row.Line != 3 ||
		!slices.Equal(f.Columns(), []string{"a", "b", "c"}) {
		t.Errorf("a workbook: %q, %v, %q", row.Cells, err, f.Columns())
	}
	if _, err := f.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	cut := packed(t, strings.Repeat(text, 100_000), toGzip)
	for name, path := range map[string]string{
		"no such file": filepath.Join(dir, "none"), "a folder": dir,
		"two files": put("two.zip", archive(t, map[string]string{"a.csv": text, "b.csv": text})),
		"no data":   put("none.zip", archive(t, map[string]string{"a.pdf": text})), "damaged zip": put("bad.zip", []byte("PK\x03\x04\x00\x00")),
		"old workbook": put("old.xls", []byte{0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1}), "cut gzip": put("cut.csv.gz", cut[:len(cut)/2]),
		"damaged workbook": put("bad.xlsx", archive(t, map[string]string{"xl/workbook.xml": "<workbook"})),
	} {
		f, err := Open(path, Options{})
		for one := (*RowError)(nil); err == nil || errors.As(err, &one); {
			_, err = f.Next()
		}
		if code := fault.CodeOf(err); code != fault.BadRequest && code != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}
