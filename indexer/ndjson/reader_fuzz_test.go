package ndjson_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"atlas/indexer/ndjson"
	"atlas/internal/fault"
)

// FuzzReader: a file is refused, or read to its end, to a line that is too long, or to
// where it is damaged; and a reader that resumes at any line's offset reads the rest of it.
func FuzzReader(f *testing.F) {
	for name, text := range map[string]string{
		"x.ndjson":     "{\"a\":1}\r\n\n{\"b\":2}",
		"y.ndjson":     "\xef\xbb\xbf{\"a\":1}\n\x00",
		"z.ndjson.gz":  "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x00\x00\x00\xff\xff",
		"z.ndjson.zst": "\x28\xb5\x2f\xfd\x04\x00\x00",
		"a.ndjson":     "[1]", "b.ndjson": "",
	} {
		f.Add([]byte(text), uint8(len(name)))
	}
	names := []string{"in.ndjson", "in.ndjson.gz", "in.ndjson.zst"}
	f.Fuzz(func(t *testing.T, data []byte, which uint8) {
		path := filepath.Join(t.TempDir(), names[int(which)%len(names)])
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		type place struct{ offset, line int64 }
		read := func(from place) (lines [][]byte, places []place, refused bool) {
			r, err := ndjson.Open(path)
			if err != nil {
				if fault.CodeOf(err) != fault.BadRequest {
					t.Fatalf("%q: %v", data, err)
				}
				return nil, nil, true
			}
			defer r.Close()
			if from.line > 0 {
				if err := r.Resume(t.Context(), from.offset, from.line); err != nil {
					t.Fatalf("%q: going on at %+v: %v", data, from, err)
				}
			}
			for {
				_, line, err := r.Next()
				if tooLong := (*ndjson.LineError)(nil); errors.As(err, &tooLong) {
					continue
				}
				if err != nil {
					if !errors.Is(err, io.EOF) && fault.CodeOf(err) != fault.BadRequest {
						t.Fatalf("%q: %v", data, err)
					}
					return lines, places, false
				}
				lines, places = append(lines, bytes.Clone(line)), append(places, place{r.Offset(), r.Line()})
			}
		}
		lines, places, refused := read(place{})
		if refused || len(lines) == 0 {
			return
		}
		half := len(lines) / 2
		if rest, _, _ := read(places[half]); !bytes.Equal(bytes.Join(rest, []byte("\n")), bytes.Join(lines[half+1:], []byte("\n"))) {
			t.Errorf("%q: after line %d comes %q, and %q when gone on there", data, places[half].line, lines[half+1:], rest)
		}
	})
}
