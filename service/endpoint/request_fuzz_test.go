package endpoint

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"atlas/internal/fault"
)

// fuzzed is a call with a URL and headers of client input.
func fuzzed(t *testing.T, rawQuery string) *Call {
	ctx, _ := gin.CreateTestContext(httptest.NewRecorder())
	ctx.Request = &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/", RawQuery: rawQuery}, Header: http.Header{}}
	ctx.Request = ctx.Request.WithContext(t.Context())
	return &Call{Gin: ctx, server: &Core{}}
}

// FuzzPages: an accepted page is within its limits, and another is refused with a validation
// error.
func FuzzPages(f *testing.F) {
	for _, s := range []string{
		"", "limit=25&offset=0", "limit=1e2", "limit=+5", "limit=9223372036854775808", "offset=-1", "limit=1&limit=2", "limit=%",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		params, err := url.ParseQuery(raw)
		if err != nil {
			return // refused before any parameter is read
		}
		c := fuzzed(t, raw)
		c.Params = params
		switch m, err := c.Page(25); {
		case err != nil && fault.CodeOf(err) != fault.InvalidInput:
			t.Errorf("%q: %v", raw, err)
		case err == nil && (m.Limit < 1 || m.Limit > maxLimit || m.Offset < 0 || m.Offset > maxOffset):
			t.Errorf("%q is read as %+v", raw, m)
		}
	})
}

// FuzzHeaders: a request id fits into a log line and a header, and only the media type
// decides whether a body counts as JSON.
func FuzzHeaders(f *testing.F) {
	for _, s := range [][3]string{
		{"abc-1", "application/json", ""}, {"a\r\nb", "application/json; charset=utf-8", "gzip"}, {"é", "Application/JSON;charset=\"UTF-8\"", ""},
		{strings.Repeat("x", 129), "application/json; charset=latin1", ""}, {"", ";;", "identity"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, id, kind, encoding string) {
		got := requestID(id)
		if got == "" || len(got) > 128 || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q becomes %q", id, got)
		}
		c := fuzzed(t, "")
		c.Gin.Request.Header.Set("Content-Type", kind)
		c.Gin.Request.Header.Set("Content-Encoding", encoding)
		if checkJSON(c.Gin.Request.Header) == nil &&
			(encoding != "" || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(kind)), "application/json")) {
			t.Errorf("%q, encoded %q, counts as JSON", kind, encoding)
		}
	})
}

// FuzzPaths: a path that matches a route also matches it by the rules of the route
// table, and an id in a path is a UUID in lower case.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{
		"/data/accounts/x", "/data/accounts/0197A1B2-0000-7000-8000-000000000001", "//",
		"/workspace/views/%2e%2e/records/add", "/data/fields/accounts/name/", "/workspace/views/a/records/b\x00",
	} {
		f.Add(s)
	}
	get := []string{http.MethodGet}
	known := indexed(map[string][]string{
		Version + "/data/accounts/:id": get, Version + "/data/accounts/search": {http.MethodPost}, Version + "/workspace": get,
		Version + "/data/fields/:dataset/:key": get, Version + "/workspace/views/:viewId/records/:recordId": {http.MethodDelete},
	})
	f.Fuzz(func(t *testing.T, path string) {
		if allowed := known.methodsOf(Version + path); allowed != nil && len(allowed) == 0 {
			t.Errorf("%q takes no method", path)
		}
		for _, segment := range strings.Split(path, "/") {
			c := fuzzed(t, "")
			c.server.paths = known
			c.Gin.Params = gin.Params{{Key: "id", Value: segment}}
			c.Route.Path = "/:id"
			c.CheckPath()
			if len(c.PathIssues) > 0 {
				continue
			}
			if id := c.PathID("id"); id.String() != strings.ToLower(segment) {
				t.Errorf("%q is read as %s", segment, id)
			}
		}
	})
}
