package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

// fuzzed is a call with a URL and headers of client input.
func fuzzed(t *testing.T, rawQuery string) *call {
	ctx, _ := gin.CreateTestContext(httptest.NewRecorder())
	ctx.Request = &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/", RawQuery: rawQuery}, Header: http.Header{}}
	ctx.Request = ctx.Request.WithContext(t.Context())
	return &call{gin: ctx, server: &Core{}}
}

// FuzzParameters: accepted query parameters are within their limits, and others are
// refused with a validation error.
func FuzzParameters(f *testing.F) {
	for _, s := range []string{
		"", "limit=25&offset=0", "limit=1e2", "limit=+5", "limit=9223372036854775808", "offset=-1", "limit=1&limit=2",
		"query=%00", "query=%ff", "query=",
		"dataset=account&view_type=static&favorite_only=true&record_id=0197a1b2-0000-7000-8000-000000000002&id=0197a1b2-0000-7000-8000-000000000001",
		"id=", "id=x;y", "dataset=%61ccount", "limit=%", "include=projects,,signals",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if _, err := url.ParseQuery(raw); err != nil {
			return // refused before any parameter is read
		}
		c := fuzzed(t, raw)
		refused := func(err error) bool {
			if err != nil && fault.CodeOf(err) != fault.InvalidInput && fault.CodeOf(err) != fault.BadRequest {
				t.Errorf("%q: %v", raw, err)
			}
			return err != nil
		}
		if m, err := c.page(25); !refused(err) && (m.Limit < 1 || m.Limit > maxLimit || m.Offset < 0 || m.Offset > maxOffset) {
			t.Errorf("%q is read as %+v", raw, m)
		}
		var issues input.Issues
		filter, err := c.viewFilter(&issues)
		if !refused(err) && !refused(issues.Err()) {
			if !utf8.ValidString(filter.Name) || strings.ContainsRune(filter.Name, 0) || utf8.RuneCountInString(filter.Name) > maxNamePart {
				t.Errorf("%q is read as a name %q", raw, filter.Name)
			}
		}
		for _, d := range catalog.Datasets {
			if all, err := c.includes(d); !refused(err) && len(all) > len(query.Includes(d)) {
				t.Errorf("%q includes %v", raw, all)
			}
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
		c.gin.Request.Header.Set("Content-Type", kind)
		c.gin.Request.Header.Set("Content-Encoding", encoding)
		if checkJSON(c.gin.Request.Header) == nil &&
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
	methods := map[string][]string{}
	for _, r := range (&Server{}).Routes() {
		methods[Version+r.Path] = append(methods[Version+r.Path], r.Method)
	}
	known := indexed(methods)
	f.Fuzz(func(t *testing.T, path string) {
		if allowed := known.methodsOf(Version + path); allowed != nil && len(allowed) == 0 {
			t.Errorf("%q takes no method", path)
		}
		for _, segment := range strings.Split(path, "/") {
			c := fuzzed(t, "")
			c.server.paths = known
			c.gin.Params = gin.Params{{Key: "id", Value: segment}}
			c.route.Path = "/:id"
			c.checkPath()
			if len(c.pathIssues) > 0 {
				continue
			}
			if id := c.pathID("id"); id.String() != strings.ToLower(segment) {
				t.Errorf("%q is read as %s", segment, id)
			}
		}
	})
}
