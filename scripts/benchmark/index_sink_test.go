package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A sink acknowledges and counts each document, and forwards all other requests.
func TestSink(t *testing.T) {
	t.Parallel()
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "behind: "+r.Method+" "+r.URL.Path)
	}))
	defer behind.Close()
	s, err := newSink(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const one = "{\"index\":{\"_id\":\"a\"}}\n{}\n"
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/x-loading/_bulk?require_alias=true", one + one, `{"items":[{"index":{"status":201}},{"index":{"status":201}}]}`},
		{"POST", "/x-loading/_bulk", one, `{"items":[{"index":{"status":201}}]}`},
		{"POST", "/y-loading/_bulk", one, `{"items":[{"index":{"status":201}}]}`},
		{"GET", "/x/_count", "", `{"count":3,"_shards":{"total":1,"failed":0}}`},
		{"GET", "/z/_count", "", `{"count":0,"_shards":{"total":1,"failed":0}}`},
		{"PUT", "/x", "{}", "behind: PUT /x"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || string(got) != c.want {
			t.Errorf("%s %s: %s %v, want %s", c.method, c.path, got, err, c.want)
		}
	}
}
