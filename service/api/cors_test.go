package api_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"atlas/service/endpoint"
)

// Pages of a configured origin may call the API, without credentials. For other origins there
// are no CORS headers.
func TestCORS(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 100)
	const ours = "https://app.example"
	preflight := func(origin, path, method, headers string) answer {
		return w.ask(
			t, "", "OPTIONS", path, "", "Origin", origin, "Access-Control-Request-Method", method,
			"Access-Control-Request-Headers", headers,
		)
	}
	allowed := func(a answer) string { return a.header.Get("Access-Control-Allow-Origin") }
	if a := preflight(ours, "/data/accounts/search", "POST", "authorization"); a.status != 405 || allowed(a) != "" {
		t.Errorf("off by default: %d %v", a.status, a.header)
	}
	w.server.Origins = []string{ours, "http://localhost:3000"}
	listening := httptest.NewServer(w.server.Handler())
	t.Cleanup(listening.Close)
	w.base = listening.URL + endpoint.Version
	for _, c := range []struct {
		origin, path, method, headers string
		status                        int
		allowed                       bool
	}{
		{ours, "/data/accounts/search", "POST", "authorization,content-type,x-request-id", 204, true},
		{"http://localhost:3000", "/data/accounts/x", "GET", "authorization,if-none-match", 204, true},
		{ours, "/workspace/members/x", "PATCH", "authorization", 204, true},
		{ours, "/no/such/route", "GET", "authorization", 204, true},
		{ours, "/data/accounts/search", "TRACE", "", 204, false},
		{ours, "/data/accounts/search", "POST", "cookie", 204, false},
		{"null", "/data/accounts/search", "POST", "authorization", 405, false},
		{"https://app.example.evil.example", "/data/accounts/search", "POST", "authorization", 405, false},
		{"http://app.example", "/data/accounts/search", "POST", "authorization", 405, false},
		{"https://evil.example", "/no/such/route", "GET", "authorization", 404, false},
	} {
		a := preflight(c.origin, c.path, c.method, c.headers)
		if a.status != c.status || (allowed(a) == c.origin) != c.allowed || !c.allowed && allowed(a) != "" ||
			a.header.Get("X-Request-Id") == "" {
			t.Errorf("%+v: %d %v", c, a.status, a.header)
		}
		if a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%+v: credentials", c)
		}
	}
	for origin, is := range map[string]bool{ours: true, "null": false, "https://evil.example": false, "": false} {
		for _, token := range []string{key, "wrong"} {
			a := w.ask(t, token, "POST", "/data/accounts/search", `{}`, "Origin", origin)
			if (allowed(a) == origin) != is && origin != "" || origin == "" && allowed(a) != "" ||
				a.header.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%q: %v", origin, a.header)
			}
			if is && !strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "X-Credits-Charged") {
				t.Errorf("%q exposes %q", origin, a.header.Get("Access-Control-Expose-Headers"))
			}
			if !strings.Contains(strings.Join(a.header.Values("Vary"), ","), "Origin") {
				t.Errorf("%q: Vary is %q", origin, a.header.Values("Vary"))
			}
		}
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	for origin, ok := range map[string]bool{
		"https://app.example": true, "http://localhost:3000": true, "https://[::1]:8443": true,
		"*": false, "null": false, "": false, "https://*.example": false, "https://app.example/": false, "app.example": false,
		"https://App.example": false, "https://user@app.example": false, "ftp://app.example": false, "https://": false,
		"https://app.example?x": false,
	} {
		if err := endpoint.CheckOrigin(origin); (err == nil) != ok {
			t.Errorf("%q: %v", origin, err)
		}
	}
}
