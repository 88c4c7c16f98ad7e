package main

import (
	"net/http"
	"strings"
	"testing"

	"atlas/cmd/internal/server"
)

// If several addresses are given, one dead server of a backend does not matter.
func TestSeveralAddresses(t *testing.T) {
	t.Parallel()
	const dead = "127.0.0.1:1"
	several := func(url string) string {
		return strings.Replace(url, "@", "@"+dead+",", 1) + "&target_session_attrs=read-write"
	}
	s := start(t, 1000, func(c *server.Config) {
		c.ElasticsearchURL = append([]string{"http://" + dead}, c.ElasticsearchURL...)
		c.PostgresURL, c.PostgresSystemURL = several(c.PostgresURL), several(c.PostgresSystemURL)
	})
	if !strings.Contains(s.config.PostgresURL, dead+",") || !strings.Contains(s.config.PostgresSystemURL, "?") {
		t.Fatalf("the test gives no several addresses: %s", s.config.PostgresURL)
	}
	for range 10 {
		if a := s.call("GET", "/health/ready", "", ""); a.status != http.StatusOK {
			t.Fatalf("readiness: %d %s\n%s", a.status, a.raw, s.log)
		}
		s.search("projects", `{"limit": 1}`)
	}
}
