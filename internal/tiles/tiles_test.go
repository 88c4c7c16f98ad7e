package tiles_test

import (
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"atlas/internal/tiles"
)

// header is that of an archive of vector tiles without any.
func header() []byte {
	b := append([]byte("PMTiles\x03"), make([]byte, 119)...)
	b[98], b[99] = 2, 1
	binary.LittleEndian.PutUint64(b[8:], 127)
	return b
}

// write returns the path of a file.
func write(t *testing.T, body []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiles.pmtiles")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpen(t *testing.T) {
	t.Parallel()
	changed := func(at int, to byte) string {
		b := header()
		b[at] = to
		return write(t, b)
	}
	for setting, says := range map[string]string{
		"":                                      "",
		"https://tiles.example/{z}/{x}/{y}.pbf": "",
		"https://a.b-c.example:8443/t/{z}/{y}/{x}?key=a1": "",
		"https://127.0.0.1/{z}/{x}/{y}":                   "",
		write(t, header()):                                "",
		"http://tiles.example/{z}/{x}/{y}":                "no address of https",
		"file:///etc/passwd":                              "no address of https",
		"https://tiles.example/{z}/{x}":                   "{y} once",
		"https://tiles.example/{z}/{z}/{x}/{y}":           "{z} once",
		"https://{z}.example/{x}/{y}":                     "cannot be read",
		"https://*.example/{z}/{x}/{y}":                   "must be one name",
		"https://a.example;script-src/{z}/{x}/{y}":        "must be one name",
		"https://a.example b/{z}/{x}/{y}":                 "cannot be read",
		"https:///{z}/{x}/{y}":                            "must be one name",
		"https://u:p@tiles.example/{z}/{x}/{y}":           "no user",
		"https://tiles.example/{z}/{x}/{y}#a":             "no fragment",
		"https://tiles.example/{z}/{x}/{y}/{s}":           "no other placeholders",
		"https://tiles.example/{z}/{x}/{y}?a='":           "no blanks, quotes",
		"/nowhere.pmtiles":                                "no such file",
		t.TempDir():                                       "must be a file",
		write(t, header()[:100]):                          "too short",
		changed(0, 'p'):                                   "is no PMTiles archive",
		changed(7, 2):                                     "of version 2, not 3",
		changed(99, 2):                                    "has pictures",
		changed(98, 4):                                    "something else than gzip",
		changed(64+7, 1):                                  "shorter than its header says",
		changed(8+7, 255):                                 "shorter than its header says",
	} {
		s, err := tiles.Open(setting, "©")
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, want %q", setting, err, says)
		}
		if err == nil && s.Archive != nil {
			_ = s.Archive.Close()
		}
	}
	for _, text := range []string{"a\nb", strings.Repeat("a", 201), "\xff"} {
		if _, err := tiles.Open("https://tiles.example/{z}/{x}/{y}", text); err == nil {
			t.Errorf("attribution %q", text)
		}
	}
	s, err := tiles.Open("https://tiles.example:1/{z}/{x}/{y}", "©")
	if err != nil || s.Origin() != "https://tiles.example:1" || (tiles.Source{}).Origin() != "" {
		t.Errorf("origin %q, %v", s.Origin(), err)
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	body := append(header(), make([]byte, 3_000_000)...)
	for i := range body[127:] {
		body[127+i] = byte(i * 7)
	}
	path := write(t, body)
	a, err := tiles.OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	ask := func(method string, headers ...string) *http.Response {
		r := httptest.NewRequestWithContext(t.Context(), method, "/map/archive.pmtiles", nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Add(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		a.Serve(w, r)
		if got, want := a.Length(r), int64(w.Body.Len()); w.Code == http.StatusPartialContent && got != want {
			t.Errorf("%v: weighs %d, has %d bytes", headers, got, want)
		}
		return w.Result()
	}
	size := len(body)
	head := ask("HEAD")
	tag := head.Header.Get("ETag")
	if head.StatusCode != 200 || head.ContentLength != int64(size) || len(tag) < 10 || head.Header.Get("Accept-Ranges") != "bytes" {
		t.Fatalf("%+v", head)
	}
	for name, c := range map[string]struct {
		headers     []string
		status      int
		first, last int
	}{
		"the header":               {[]string{"Range", "bytes=0-126"}, 206, 0, 126},
		"one byte":                 {[]string{"Range", "bytes=5-5"}, 206, 5, 5},
		"the most":                 {[]string{"Range", "bytes=7-1000006"}, 206, 7, 1000006},
		"the last ones":            {[]string{"Range", "bytes=-10"}, 206, size - 10, size - 1},
		"to the end":               {[]string{"Range", "bytes=2999999-"}, 206, 2999999, size - 1},
		"beyond the end":           {[]string{"Range", "bytes=3000000-3000999"}, 206, 3000000, size - 1},
		"of this version":          {[]string{"Range", "bytes=0-1", "If-Range", tag}, 206, 0, 1},
		"if it is this version":    {[]string{"Range", "bytes=0-1", "If-Match", `"x", ` + tag}, 206, 0, 1},
		"everything":               {nil, 416, 0, 0},
		"one more":                 {[]string{"Range", "bytes=7-1000007"}, 416, 0, 0},
		"nearly everything":        {[]string{"Range", "bytes=0-"}, 416, 0, 0},
		"two":                      {[]string{"Range", "bytes=0-1,3-4"}, 416, 0, 0},
		"two headers":              {[]string{"Range", "bytes=0-1", "Range", "bytes=0-1"}, 416, 0, 0},
		"behind the end":           {[]string{"Range", "bytes=" + strconv.Itoa(size) + "-"}, 416, 0, 0},
		"the other way round":      {[]string{"Range", "bytes=5-4"}, 416, 0, 0},
		"none of the last":         {[]string{"Range", "bytes=-0"}, 416, 0, 0},
		"more of the last":         {[]string{"Range", "bytes=-1000001"}, 416, 0, 0},
		"negative":                 {[]string{"Range", "bytes=--1"}, 416, 0, 0},
		"signed":                   {[]string{"Range", "bytes=+1-+2"}, 416, 0, 0},
		"past all numbers":         {[]string{"Range", "bytes=0-99999999999999999999999"}, 416, 0, 0},
		"other units":              {[]string{"Range", "tiles=0-1"}, 416, 0, 0},
		"no range":                 {[]string{"Range", "bytes=x"}, 416, 0, 0},
		"of another version":       {[]string{"Range", "bytes=0-1", "If-Range", `"other"`}, 416, 0, 0},
		"of a time":                {[]string{"Range", "bytes=0-1", "If-Range", time.Now().UTC().Format(http.TimeFormat)}, 416, 0, 0},
		"if it is another version": {[]string{"Range", "bytes=0-1", "If-Match", `"x"`}, 412, 0, 0},
		"that is there":            {[]string{"Range", "bytes=0-1", "If-None-Match", "W/" + tag}, 304, 0, 0},
	} {
		res := ask("GET", c.headers...)
		got, _ := io.ReadAll(res.Body)
		switch {
		case res.StatusCode != c.status:
			t.Errorf("%s: %d, want %d", name, res.StatusCode, c.status)
		case c.status == 206:
			where := "bytes " + strconv.Itoa(c.first) + "-" + strconv.Itoa(c.last) + "/" + strconv.Itoa(size)
			if string(got) != string(body[c.first:c.last+1]) || res.Header.Get("Content-Range") != where || res.Header.Get("ETag") != tag {
				t.Errorf("%s: %d bytes, %v", name, len(got), res.Header)
			}
		case c.status == 416 && res.Header.Get("Content-Range") != "bytes */"+strconv.Itoa(size):
			t.Errorf("%s: %v", name, res.Header)
		case len(got) > 200:
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
	// A file that replaces it changes nothing until the next start; one that is changed in
	// place is given to nobody.
	if err := os.Chtimes(path, time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if res := ask("GET", "Range", "bytes=0-1"); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("changed in place: %d", res.StatusCode)
	}
}

func FuzzRange(f *testing.F) {
	body := append(header(), make([]byte, 2_000_000)...)
	path := filepath.Join(f.TempDir(), "a")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		f.Fatal(err)
	}
	a, err := tiles.OpenArchive(path)
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range []string{"bytes=0-1", "bytes=-5", "bytes=9-", "bytes=0-1,2-3", "bytes= 1-2 ", ""} {
		f.Add(r)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Range", text)
		w := httptest.NewRecorder()
		a.Serve(w, r)
		if n := w.Body.Len(); w.Code != 206 && w.Code != 416 || n > tiles.MaxRange || w.Code == 206 && int64(n) != a.Length(r) {
			t.Errorf("%q: %d with %d bytes, weighs %d", text, w.Code, n, a.Length(r))
		}
	})
}
