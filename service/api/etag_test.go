package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"atlas/search/searchtest"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/people"
)

// ask sends a request with headers. The transport neither asks for compression nor
// undoes it.
func (w *world) ask(t *testing.T, key, method, path, body string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.base+path, strings.NewReader(body))
	fatal(t, err)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	plain := http.DefaultTransport.(*http.Transport).Clone()
	plain.DisableCompression = true
	defer plain.CloseIdleConnections()
	res, err := plain.RoundTrip(r)
	fatal(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	fatal(t, err)
	return answer{res.StatusCode, res.Header, string(text)}
}

// A client that has the answer gets 304, for free. The tag changes with the content, and is
// of one workspace.
func TestConditionalGets(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 20)
	w.holds(t)
	_, other := w.key(
		t,
		people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "Other", workspace.Pro, 20)}, Scopes: workspace.AllScopes()},
	)
	account := searchtest.ID("a", 1)
	upsert := func(notes string) {
		w.call(t, key, "POST", "/workspace/accounts/upsert", fmt.Sprintf(`{"account_id":%q,"notes":%q}`, account, notes)).into(t, nil, nil)
	}
	upsert("one")
	for path, charged := range map[string]string{
		"/data/accounts/" + account:                                     "1",
		"/data/accounts/" + account + "?fields=name":                    "1",
		"/data/contacts/" + searchtest.ID("c", 1) + "?include=projects": "1",
		"/workspace/accounts/" + account:                                "1",
		"/data/fields/accounts/city":                                    "",
		"/data/release":                                                 "",
		"/openapi.json":                                                 "",
	} {
		first := w.ask(t, key, "GET", path, "")
		tag := first.header.Get("ETag")
		if first.status != 200 || !strings.HasPrefix(tag, `W/"`) || first.header.Get("Cache-Control") != "private" ||
			first.header.Get("X-Credits-Charged") != charged {
			t.Errorf("%s: %d %v", path, first.status, first.header)
		}
		for _, match := range [][]string{{tag}, {strings.TrimPrefix(tag, "W/")}, {`"x", W/"y" ,` + tag}, {`"x"`, tag}} {
			var headers []string
			for _, line := range match {
				headers = append(headers, "If-None-Match", line)
			}
			again := w.ask(t, key, "GET", path, "", headers...)
			free := charged
			if free == "1" {
				free = "0"
			}
			if again.status != 304 || again.text != "" || again.header.Get("ETag") != tag ||
				again.header.Get("X-Credits-Charged") != free || again.header.Get("X-Request-Id") == "" {
				t.Errorf("%s %q: %d %q %v", path, match, again.status, again.text, again.header)
			}
		}
	}
	path := "/data/accounts/" + account
	tag := w.ask(t, key, "GET", path, "").header.Get("ETag")
	for name, c := range map[string]struct {
		key, path, match string
		status           int
	}{
		"a star":               {key, path, "*", 200},
		"another tag":          {key, path, `W/"AAAAAAAAAAAAAAAAAAAAAA"`, 200},
		"part of the tag":      {key, path, tag[:len(tag)-2] + `"`, 200},
		"other fields":         {key, path + "?fields=name", tag, 200},
		"another record":       {key, "/data/accounts/" + searchtest.ID("a", 2), tag, 200},
		"no record":            {key, "/data/accounts/" + unknownID, tag, 404},
		"another workspace":    {other, path, tag, 200},
		"not in its book":      {other, "/workspace/accounts/" + account, tag, 404},
		"without a token":      {"", path, tag, 401},
		"an invalid parameter": {key, path + "?fields=nmae", tag, 400},
	} {
		if a := w.ask(t, c.key, "GET", c.path, "", "If-None-Match", c.match); a.status != c.status ||
			c.status != 200 && (a.header.Get("ETag") != "" || a.header.Get("Cache-Control") != "no-store") {
			t.Errorf("%s: %d %v", name, a.status, a.header)
		}
	}
	book := "/workspace/accounts/" + account
	tag = w.ask(t, key, "GET", book, "").header.Get("ETag")
	upsert("two")
	if a := w.ask(t, key, "GET", book, "", "If-None-Match", tag); a.status != 200 || a.header.Get("ETag") == tag {
		t.Errorf("changed: %d", a.status)
	}
	// An exhausted ceiling is reported first, also to clients with the record.
	_, poor := w.key(t, people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "Poor", workspace.Pro, 1)}, Scopes: workspace.AllScopes()})
	tag = w.ask(t, poor, "GET", path, "").header.Get("ETag")
	if a := w.ask(t, poor, "GET", path, "", "If-None-Match", tag); a.code() != "rate_limited" {
		t.Errorf("used up: %d", a.status)
	}
}

// A header of 1 MB is answered at once, and never with a 304.
func TestHugeIfNoneMatch(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 10)
	conn, err := (&net.Dialer{}).DialContext(
		t.Context(),
		"tcp",
		strings.TrimSuffix(strings.TrimPrefix(w.base, "http://"), endpoint.Version),
	)
	fatal(t, err)
	defer conn.Close()
	go func() {
		_, _ = fmt.Fprintf(
			conn,
			"GET %s/data/release HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nIf-None-Match: %s\r\n\r\n",
			endpoint.Version,
			key,
			strings.Repeat(`"x",`, 1<<18),
		)
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	fatal(t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge && res.StatusCode != http.StatusOK {
		t.Errorf("%d", res.StatusCode)
	}
	if a := w.ask(t, key, "GET", "/data/release", "", "If-None-Match", strings.Repeat(`"x",`, 1<<17)); a.status != 200 {
		t.Errorf("512 kB: %d", a.status)
	}
}

// Answers of over 1 kB are compressed as the client prefers. Small ones, and the one
// with a secret, are not.
func TestCompression(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1000)
	search, body := "/data/accounts/search", `{"limit":5}`
	plain := w.ask(t, key, "POST", search, body)
	if plain.header.Get("Content-Encoding") != "" || plain.header.Get("Content-Length") != fmt.Sprint(len(plain.text)) ||
		len(plain.text) <= 1024 {
		t.Fatalf("%d bytes, %v", len(plain.text), plain.header)
	}
	for accepts, want := range map[string]string{
		"gzip":                       "gzip",
		"zstd":                       "zstd",
		"gzip, deflate, br, zstd":    "zstd",
		"zstd;q=0.1, gzip;q=0.9":     "gzip",
		"gzip;q=0":                   "",
		"gzip;q=0, zstd;q=0":         "",
		"gzip;q=0.0, zstd":           "zstd",
		"identity":                   "",
		"*":                          "",
		"br":                         "",
		"gzip;q=x":                   "",
		",;,=q, ;q=1":                "",
		strings.Repeat("x,", 10_000): "",
	} {
		a := w.ask(t, key, "POST", search, body, "Accept-Encoding", accepts)
		if got := a.header.Get("Content-Encoding"); got != want && accepts != "gzip;q=x" {
			t.Errorf("%.50q: %q, want %q", accepts, got, want)
		}
		if text := decompressed(t, a); text != plain.text ||
			!strings.Contains(strings.Join(a.header.Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("%.50q: %d bytes of %d, %v", accepts, len(text), len(plain.text), a.header)
		}
	}
	if a := w.ask(t, key, "POST", search, `{"limit":1,"fields":["id"]}`, "Accept-Encoding", "gzip"); a.header.Get(
		"Content-Encoding",
	) != "" ||
		len(a.text) > 1024 {
		t.Errorf("a small answer: %v", a.header)
	}
	if a := w.ask(t, "", "GET", "/openapi.json", "", "Accept-Encoding", "zstd, gzip"); a.header.Get("Content-Encoding") != "gzip" ||
		len(a.text)*4 > len(decompressed(t, a)) {
		t.Errorf("the document: %d bytes, %v", len(a.text), a.header)
	}
	// The tag depends on the content, not on its encoding.
	get := "/data/fields/projects/primary_use"
	tagged := w.ask(t, key, "GET", get, "", "Accept-Encoding", "gzip")
	if a := w.ask(t, key, "GET", get, "", "If-None-Match", tagged.header.Get("ETag")); tagged.header.Get("Content-Encoding") != "gzip" ||
		a.status != 304 {
		t.Errorf("%v, then %d", tagged.header, a.status)
	}
	// The longest address gives the longest answer.
	long := strings.Repeat("a", 60) + "@" + strings.Repeat(strings.Repeat("b", 60)+".", 3) + "example"
	a := w.ask(t, key, "POST", "/workspace/invitations", fmt.Sprintf(`{"email":%q,"role":"member"}`, long), "Accept-Encoding", "gzip, zstd")
	if a.status != 200 || !strings.Contains(a.text, "accept_url") || a.header.Get("Content-Encoding") != "" ||
		a.header.Get("No-Gzip-Compression") != "" {
		t.Errorf("an invitation: %d %v", a.status, a.header)
	}
}

func decompressed(t *testing.T, a answer) string {
	t.Helper()
	var r io.Reader = strings.NewReader(a.text)
	var err error
	switch a.header.Get("Content-Encoding") {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r)
	}
	fatal(t, err)
	text, err := io.ReadAll(r)
	fatal(t, err)
	return string(text)
}
