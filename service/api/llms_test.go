package api_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"atlas/service/api"
	"atlas/service/endpoint"
)

// The links of the index for language models work.
func TestIndexForModels(t *testing.T) {
	t.Parallel()
	for _, agents := range []*api.MCP{nil, {}} {
		s := httptest.NewServer((&api.Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler)}, MCP: agents}).Handler())
		t.Cleanup(s.Close)
		get := func(path string) (int, string) {
			res, err := http.Get(s.URL + path)
			fatal(t, err)
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			fatal(t, err)
			return res.StatusCode, string(text)
		}
		status, text := get("/llms.txt")
		links := regexp.MustCompile(`\]\((/[^)]*)\)`).FindAllStringSubmatch(text, -1)
		if status != http.StatusOK || !strings.HasPrefix(text, "# Atlas\n\n> ") || len(links) < 4 ||
			strings.Contains(text, "/mcp") != (agents != nil) || !strings.Contains(text, "\n## Optional\n") {
			t.Errorf("%d %s", status, text)
		}
		for _, link := range links {
			want := http.StatusOK
			if link[1] == "/mcp" {
				want = http.StatusMethodNotAllowed
			}
			if got, _ := get(link[1]); got != want {
				t.Errorf("%s: %d, want %d", link[1], got, want)
			}
		}
	}
}
