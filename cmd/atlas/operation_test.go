package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"atlas/cmd/internal/server"
	"atlas/search/catalog"
	"atlas/service/auth"
	"atlas/workspace/people"
)

// TestBackendsAway runs the server with each backend unreachable in turn.
func TestBackendsAway(t *testing.T) {
	t.Parallel()
	const nowhere = "127.0.0.1:1"
	t.Run("elasticsearch", func(t *testing.T) {
		t.Parallel()
		s := start(t, 0, func(c *server.Config) { c.ElasticsearchURL = []string{"http://" + nowhere} })
		a := s.call("POST", "/data/accounts/search", s.key, "{}")
		if a.status != 503 || a.body.Error.Code != "unavailable" || a.header.Get("Retry-After") == "" ||
			strings.Contains(string(a.raw), nowhere) {
			t.Errorf("search: %d %s", a.status, a.raw)
		}
		if got := string(s.call("GET", "/data/usage", s.key, "").body.Data); !strings.Contains(got, `"used_credits":0`) {
			t.Errorf("charged: %s", got)
		}
		for key, want := range map[string]int{"projects_count": 200, "account_type": 200, "city": 503, "has_project": 503} {
			if a := s.call("GET", "/data/fields/accounts/"+key, s.key, ""); a.status != want {
				t.Errorf("field %s: %d %s", key, a.status, a.raw)
			}
		}
		if a := s.call("POST", "/data/fields/search", s.key, `{"kind": "number"}`); a.status != 200 {
			t.Errorf("number fields: %d %s", a.status, a.raw)
		}
		if a := s.call("GET", "/health/ready", "", ""); a.status != 503 ||
			!strings.Contains(string(a.raw), `"elasticsearch":"unavailable"`) || !strings.Contains(string(a.raw), `"redis":"ok"`) {
			t.Errorf("ready: %d %s", a.status, a.raw)
		}
		s.call("GET", "/health/ready", "", "")
		if lines := s.lines("backend is not ready"); len(lines) != 1 || lines[0]["backend"] != "elasticsearch" {
			t.Errorf("two checks of a backend that is away are logged as %v", lines)
		}
		if !strings.Contains(s.log.String(), nowhere) {
			t.Error("the log does not have the cause")
		}
		waitFor(t, "the metrics show it", func() bool {
			m := s.metrics()
			return strings.Contains(m, `atlas_backend_call_duration_seconds_count{backend="elasticsearch",operation="search",outcome="error"} `) &&
				strings.Contains(m, `atlas_job_runs_total{outcome="error",task="projection_sweep"} `) &&
				!strings.Contains(m, `atlas_job_runs_total{outcome="error",task="projection_sweep"} 0`)
		})
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := start(t, 0, func(c *server.Config) { c.RedisURL = "redis://" + nowhere; c.RedisTimeout = 100 * time.Millisecond })
		for path, want := range map[string]int{
			"/data/usage": 503, "/workspace/credits": 503, "/workspace": 200, "/data/fields/accounts/name": 200,
		} {
			if a := s.call("GET", path, s.key, ""); a.status != want {
				t.Errorf("%s: %d %s", path, a.status, a.raw)
			}
		}
		if a := s.call("POST", "/data/accounts/search", s.key, "{}"); a.status != 503 {
			t.Errorf("search: %d %s", a.status, a.raw)
		}
		waitFor(t, "the breaker opens, and the metrics show it", func() bool {
			s.call("GET", "/data/usage", s.key, "")
			return strings.Contains(s.metrics(), "atlas_credits_breaker_open 1\n")
		})
		if refused := `atlas_credits_refused_total{operation="search_accounts",reason="unavailable"} 1`; !strings.Contains(s.metrics(), refused) {
			t.Errorf("no line %s", refused)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		s := start(t, 0, func(c *server.Config) {
			c.PostgresURL = "postgres://atlas_app@" + nowhere + "/x"
			c.PostgresSystemURL = "postgres://atlas_system@" + nowhere + "/x"
		})
		if a := s.call("POST", "/data/accounts/search", s.key, "{}"); a.status != 503 {
			t.Errorf("search: %d %s", a.status, a.raw)
		}
		if a := s.call("GET", "/health/live", "", ""); a.status != 200 {
			t.Errorf("live: %d", a.status)
		}
		waitFor(t, "the metrics show that the backlog cannot be read", func() bool {
			m := s.metrics()
			return !strings.Contains(m, "atlas_backlog_read_errors_total{backlog=\"projection\"} 0\n") &&
				!strings.Contains(m, "atlas_projection_pending ")
		})
		m := s.metrics()
		if !strings.Contains(m, `atlas_backend_call_duration_seconds_count{backend="postgres",operation="connect",outcome="error"} `) {
			t.Error("the metrics do not show that Postgres is away")
		}
	})
}

// TestStopLetsRequestsEnd stops the server while searches run. Each search gets its
// page or was never accepted.
func TestStopLetsRequestsEnd(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	var group sync.WaitGroup
	var lock sync.Mutex
	answered := 0
	begun := make(chan struct{}, 100)
	for range 8 {
		group.Go(func() {
			for {
				r, _ := http.NewRequestWithContext(t.Context(), "POST", s.base+"/data/signals/search", strings.NewReader(`{"limit":100}`))
				r.Header.Set("Authorization", "Bearer "+s.key)
				r.Header.Set("Content-Type", "application/json")
				res, err := http.DefaultTransport.RoundTrip(r)
				if err != nil {
					return // no longer accepted
				}
				var page struct{ Data []json.RawMessage }
				err = json.NewDecoder(res.Body).Decode(&page)
				res.Body.Close()
				if err != nil || res.StatusCode != http.StatusOK || len(page.Data) != 100 {
					t.Errorf("cut off: %d %v, %d records", res.StatusCode, err, len(page.Data))
					return
				}
				lock.Lock()
				answered++
				lock.Unlock()
				select {
				case begun <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 20 {
		<-begun
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	group.Wait()
	if answered < 20 {
		t.Errorf("%d answers", answered)
	}
}

func TestSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	token := s.user(people.Owner, func(c *auth.Claims) {})
	s.search(catalog.Accounts, `{"query": "verysecretquery"}`)
	s.call("POST", "/data/accounts/search?workspace_id="+s.pro.ID.String(), token, "{")
	s.call("POST", "/data/accounts/search", s.key+"x", "{}")
	log := s.log.String()
	for _, secret := range []string{s.key, token, "verysecretquery", testSecret} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	if !strings.Contains(log, `"operation":"search_accounts"`) || !strings.Contains(log, s.pro.ID.String()) {
		t.Errorf("the log lacks the request:\n%s", log)
	}
}

func TestConfigurationFaultsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	var c server.Config
	c.Listen, c.IndexPrefix, c.RedisURL = "nowhere", "Über", "http://x"
	c.ElasticsearchURL = []string{"ftp://x"}
	c.CursorKeys = []string{"short"}
	c.JWTSecret, c.JWKS = "short", "http://example.com/jwks"
	err := c.Check()
	if err == nil {
		t.Fatal("no fault")
	}
	for _, want := range []string{
		"--listen", "--index-prefix", "--redis-url", "--elasticsearch-url", "--postgres-url", "--postgres-system-url",
		"--cursor-keys", "--search-timeout", "--redis-timeout", "--max-requests", "--elasticsearch-max-calls",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in:\n%v", want, err)
		}
	}
}
