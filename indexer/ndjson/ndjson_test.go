package ndjson_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"atlas/indexer/ndjson"
	"atlas/internal/fault"
)

var compressions = []ndjson.Compression{ndjson.Plain, ndjson.Gzip, ndjson.Zstd}

// got is the result of reading a file: its lines by number, its line errors, and the final
// error ("" for the end of the file).
type got struct {
	Lines map[int64]string
	Bad   map[int64]string
	End   fault.Code
	Text  string
}

func readAll(t *testing.T, path string) got {
	t.Helper()
	g := got{Lines: map[int64]string{}, Bad: map[int64]string{}}
	r, err := ndjson.Open(path)
	if err != nil {
		g.End, g.Text = fault.CodeOf(err), err.Error()
		return g
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	for {
		n, line, err := r.Next()
		if bad, ok := errors.AsType[*ndjson.LineError](err); ok {
			g.Bad[bad.Line] = bad.Reason
			continue
		}
		if errors.Is(err, io.EOF) && fault.CodeOf(err) == fault.Internal {
			if r.BytesRead() != r.Size() {
				t.Errorf("read %d of %d bytes at the end of the file", r.BytesRead(), r.Size())
			}
			return g
		}
		if err != nil {
			g.End, g.Text = fault.CodeOf(err), err.Error()
			if _, _, second := r.Next(); !errors.Is(second, err) {
				t.Errorf("after %v, Next went on with %v", err, second)
			}
			return g
		}
		g.Lines[n] = string(line)
	}
}

func pack(t *testing.T, c ndjson.Compression, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	switch c {
	case ndjson.Plain:
		b.Write(text)
	case ndjson.Gzip:
		w := gzip.NewWriter(&b)
		_, _ = w.Write(text)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	case ndjson.Zstd:
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(text)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func put(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReaderLines(t *testing.T) {
	t.Parallel()
	longest := `{"a":"` + strings.Repeat("x", ndjson.MaxLine-8) + `"}`
	cases := map[string]struct {
		text string
		want got
	}{
		"empty": {"", got{}},
		"blank lines, BOM, CRLF, no last line end": {
			"\xEF\xBB\xBF{\"a\":1}\r\n\n  \r\n{\"a\":2}\n{\"a\":3}",
			got{Lines: map[int64]string{1: `{"a":1}`, 4: `{"a":2}`, 5: `{"a":3}`}},
		},
		"bad JSON is not the reader's business": {
			"{\"a\":1}\n[1]\nnull\n{\n",
			got{Lines: map[int64]string{1: `{"a":1}`, 2: `[1]`, 3: `null`, 4: `{`}},
		},
		"a bad first line": {
			"[1,2]\n{\"a\":1}\n",
			got{Lines: map[int64]string{1: `[1,2]`, 2: `{"a":1}`}},
		},
		"a single bad line": {"garbage\n", got{Lines: map[int64]string{1: `garbage`}}},
		"the longest line, and one byte more": {
			"{\"a\":1}\n" + longest + "\r\n" + longest + " x\n{\"a\":2}\n",
			got{
				Lines: map[int64]string{1: `{"a":1}`, 2: longest, 4: `{"a":2}`},
				Bad:   map[int64]string{3: "longer than 4194304 bytes"},
			},
		},
		"a last line that is too long": {
			"{\"a\":1}\n" + longest + longest,
			got{Lines: map[int64]string{1: `{"a":1}`}, Bad: map[int64]string{2: "longer than 4194304 bytes"}},
		},
	}
	for name, tc := range cases {
		for _, c := range compressions {
			t.Run(name+"/"+string(c), func(t *testing.T) {
				t.Parallel()
				want := tc.want
				if want.Lines == nil {
					want.Lines = map[int64]string{}
				}
				if want.Bad == nil {
					want.Bad = map[int64]string{}
				}
				g := readAll(t, put(t, ndjson.FileName("accounts", c), pack(t, c, []byte(tc.text))))
				if diff := cmp.Diff(want, g); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestFileThatIsNotWhatItsNameSays(t *testing.T) {
	t.Parallel()
	good := []byte("{\"a\":1}\n{\"a\":2}\n")
	cases := map[string]struct {
		name string
		data []byte
		say  string
	}{
		"gzip named plain":  {"a.ndjson", pack(t, ndjson.Gzip, good), ".gz"},
		"zstd named plain":  {"a.ndjson", pack(t, ndjson.Zstd, good), ".zst"},
		"plain named gz":    {"a.ndjson.gz", good, "no gzip data"},
		"plain named zst":   {"a.ndjson.zst", good, "no zstd data"},
		"empty named gz":    {"a.ndjson.gz", nil, "no gzip data"},
		"empty named zst":   {"a.ndjson.zst", nil, "no zstd data"},
		"gzip in gzip":      {"a.ndjson.gz", pack(t, ndjson.Gzip, pack(t, ndjson.Gzip, good)), "gzip data"},
		"zip":               {"a.ndjson", []byte("PK\x03\x04\x14\x00"), "zip"},
		"binary":            {"a.ndjson", []byte("\x7fELF\x02\x01\x01\x00\x00"), "binary"},
		"UTF-16":            {"a.ndjson", []byte("\xff\xfe{\x00}\x00"), "UTF-16"},
		"JSON array":        {"a.ndjson", []byte(`[{"a":1},{"a":2}]`), "JSON array"},
		"JSON array, lines": {"a.ndjson", []byte("[\n  {\"a\":1},\n  {\"a\":2}\n]\n"), "JSON array"},
		"CSV":               {"a.ndjson.gz", pack(t, ndjson.Gzip, []byte("id,name\n1,x\n2,y\n")), "no line"},
		"other name":        {"a.json", good, "must end in"},
		"BOM and binary":    {"a.ndjson", []byte("\xEF\xBB\xBF\x00\x00"), "binary"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := readAll(t, put(t, tc.name, tc.data))
			if g.End != fault.BadRequest || !strings.Contains(g.Text, tc.say) || len(g.Lines) > 0 {
				t.Errorf("got %+v, want a bad_request that says %q", g, tc.say)
			}
		})
	}
	t.Run("a folder", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a.ndjson")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if g := readAll(t, path); g.End != fault.BadRequest {
			t.Errorf("got %+v", g)
		}
	})
	t.Run("absent", func(t *testing.T) {
		t.Parallel()
		if g := readAll(t, filepath.Join(t.TempDir(), "a.ndjson")); g.End != fault.NotFound {
			t.Errorf("got %+v", g)
		}
	})
}

// A compressed file cut anywhere, or with a changed byte, never passes for a
// whole one: either the file ends in an error, or every line is there.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	whole := map[int64]string{}
	for i := range int64(300) {
		line := fmt.Sprintf(`{"id":%d,"name":"%x"}`, i, i*7919*7919)
		whole[i+1] = line
		text.WriteString(line + "\n")
	}
	dir := t.TempDir()
	for _, c := range compressions[1:] {
		data := pack(t, c, text.Bytes())
		path := filepath.Join(dir, ndjson.FileName("signals", c))
		rapid.Check(t, func(rt *rapid.T) {
			cut := rapid.IntRange(0, len(data)-1).Draw(rt, "cut")
			if err := os.WriteFile(path, data[:cut], 0o600); err != nil {
				rt.Fatal(err)
			}
			g := readAll(t, path)
			if g.End != fault.BadRequest {
				rt.Fatalf("%s cut at %d of %d: ended with %q after %d lines", c, cut, len(data), g.End, len(g.Lines))
			}
			for n, line := range g.Lines {
				if whole[n] != line {
					rt.Fatalf("line %d reads %q", n, line)
				}
			}
			flipped := bytes.Clone(data)
			flipped[rapid.IntRange(0, len(data)-1).Draw(rt, "at")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "by"))
			if err := os.WriteFile(path, flipped, 0o600); err != nil {
				rt.Fatal(err)
			}
			if g := readAll(t, path); g.End == "" && !cmp.Equal(g.Lines, whole) {
				rt.Fatalf("%s: a damaged file was read as if whole", c)
			}
		})
	}
}

func TestWriterGivesTheNameAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, c := range compressions {
		path := filepath.Join(t.TempDir(), ndjson.FileName("contacts", c))
		if err := os.WriteFile(path, []byte("older"), 0o600); err != nil {
			t.Fatal(err)
		}
		// The remains of a killed run are longer than the new content.
		if err := os.WriteFile(path+".partial", bytes.Repeat([]byte("x"), 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := ndjson.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ndjson.Create(path); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("a second writer of one file: %v", err)
		}
		want := got{Lines: map[int64]string{}, Bad: map[int64]string{}}
		for i := range int64(1000) {
			line := fmt.Sprintf(`{"id":%d}`, i)
			want.Lines[i+1] = line
			if err := w.Write([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		if old, _ := os.ReadFile(path); string(old) != "older" {
			t.Errorf("the file changed before Close")
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		w.Abort() // must not undo Close
		if w.Lines() != 1000 {
			t.Errorf("lines %d", w.Lines())
		}
		if diff := cmp.Diff(want, readAll(t, path)); diff != "" {
			t.Error(diff)
		}
		left, _ := os.ReadDir(filepath.Dir(path))
		if len(left) != 1 {
			t.Errorf("beside the file stand %v", left)
		}
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "folder")
	f, err := ndjson.CreateFolder(dir, ndjson.Gzip)
	if err != nil {
		t.Fatal(err)
	}
	f.Abort()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("after Abort stand %v", left)
	}
	if f, err = ndjson.CreateFolder(dir, ndjson.Gzip); err != nil {
		t.Fatal(err)
	}
	for i, w := range f.Writers() {
		if err := w.Write([]byte(`{"dataset":"` + ndjson.Datasets[i] + `"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := ndjson.Find(dir, "accounts"); found != "" || err != nil {
		t.Errorf("before Commit Find gives %q, %v", found, err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, dataset := range ndjson.Datasets {
		found, err := ndjson.Find(dir, dataset)
		if err != nil || found != filepath.Join(dir, dataset+".ndjson.gz") {
			t.Errorf("Find gives %q, %v", found, err)
		}
		if g := readAll(t, found); g.Lines[1] != `{"dataset":"`+dataset+`"}` {
			t.Errorf("%s holds %+v", dataset, g)
		}
	}
	if _, err := ndjson.CreateFolder(dir, ndjson.Plain); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a second compression beside the first: %v", err)
	}
	if _, err := ndjson.CreateFolder(t.TempDir(), "rar"); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("an unknown compression: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "accounts.ndjson"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ndjson.Find(dir, "accounts"); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("two files of one dataset: %v", err)
	}
}
