package ndjson_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer/ndjson"
	"atlas/internal/fault"
)

// A reader that resumes at another's position reads the same lines by the same numbers,
// wherever that was.
func TestResume(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300<<10)
	tooLong := strings.Repeat("y", ndjson.MaxLine+5)
	text := "\xEF\xBB\xBF" + `{"n":1}` + "\n\n" + `{"n":2}` + "\r\n" + `{"n":"` + long + `"}` + "\n" + tooLong + "\n" +
		` {"n":4} ` + "\n\n\n" + `{"n":5}`
	type at struct{ offset, line int64 }
	walk := func(r *ndjson.Reader) (all []string, places []at) {
		for {
			number, line, err := r.Next()
			if errors.Is(err, io.EOF) {
				return all, places
			}
			if bad, ok := errors.AsType[*ndjson.LineError](err); ok {
				all = append(all, fmt.Sprint(bad.Line, " is too long"))
			} else if err != nil {
				t.Fatal(err)
			} else {
				all = append(all, fmt.Sprint(number, " ", len(line), " ", string(line[:min(len(line), 10)])))
			}
			places = append(places, at{r.Offset(), r.Line()})
		}
	}
	for name, c := range map[string]ndjson.Compression{"plain": ndjson.Plain, "gzip": ndjson.Gzip, "zstd": ndjson.Zstd} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := put(t, ndjson.FileName("accounts", c), pack(t, c, []byte(text)))
			open := func() *ndjson.Reader {
				r, err := ndjson.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = r.Close() })
				return r
			}
			first := open()
			start := at{first.Offset(), first.Line()}
			all, places := walk(first)
			if len(all) != 6 {
				t.Fatal(all)
			}
			for done, place := range append([]at{start}, places...) {
				r := open()
				if err := r.Resume(t.Context(), place.offset, place.line); err != nil {
					t.Fatal(err)
				}
				rest, _ := walk(r)
				if diff := cmp.Diff(strings.Join(all[done:], "\n"), strings.Join(rest, "\n")); diff != "" {
					t.Errorf("after %d lines: %s", done, diff)
				}
				if r.BytesRead() != r.Size() {
					t.Errorf("%d bytes of %d", r.BytesRead(), r.Size())
				}
			}
			if err := open().Resume(t.Context(), int64(len(text)+1), 99); fault.CodeOf(err) != fault.BadRequest {
				t.Errorf("past the end: %v", err)
			}
		})
	}
}
