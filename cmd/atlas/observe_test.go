package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"atlas/cmd/internal/server"
	"atlas/search/catalog"
	"atlas/service/auth"
	"atlas/workspace"
	"atlas/workspace/people"
)

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
		time.Sleep(5 * time.Millisecond) // polling interval
	}
}

var (
	loggedAddress = regexp.MustCompile(`[A-Za-z0-9._+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]+`)
	loggedToken   = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{10,}|(?i)bearer [A-Za-z0-9]`)
	loggedKey     = regexp.MustCompile(`atlas_(k1_[0-9A-Za-z]{30,}|[0-9a-f-]{36}_[A-Za-z0-9_-]{8,})`)
)

// noSecrets checks that a log has no keys, tokens, e-mail addresses and given secrets.
func noSecrets(t *testing.T, log string, secrets ...string) {
	t.Helper()
	for _, pattern := range []*regexp.Regexp{loggedAddress, loggedToken, loggedKey} {
		if found := pattern.FindString(log); found != "" {
			t.Errorf("the log has %q", found)
		}
	}
	for _, secret := range append(secrets, testSecret, "0123456789abcdef") {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// lines returns the log lines with a message.
func (s *service) lines(message string) []map[string]any {
	s.t.Helper()
	var found []map[string]any
	for lines := bufio.NewScanner(strings.NewReader(s.log.String())); lines.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			s.t.Fatalf("a log line that is no JSON: %s", lines.Text())
		}
		if line["msg"] == message {
			found = append(found, line)
		}
	}
	return found
}

// TestRequestLines checks the request log. It must not contain client input or content
// of records.
func TestRequestLines(t *testing.T) {
	t.Parallel()
	s := start(t, 1000)
	var userID string
	owner := s.user(people.Owner, func(c *auth.Claims) { userID = c.User.String() })
	parsed, _, err := workspace.ParseKey(s.key)
	if err != nil {
		t.Fatal(err)
	}
	keyID := parsed.String()
	in := "?workspace_id=" + s.pro.ID.String()
	project := s.search(catalog.Projects, `{"limit": 1}`).ids(t)[0]
	record := string(s.call("GET", "/data/projects/"+project, s.key, "", "X-Request-Id", "the-get").raw)
	s.call(
		"POST", "/workspace/projects/upsert", s.key,
		`{"project_id":"`+project+`","notes":"confidential note","tags":["confidential tag"],"workspace_status":"confidential status"}`,
		"X-Request-Id", "the-upsert",
	)
	s.call("POST", "/workspace/projects/search", s.key, `{"query":"confidential query"}`, "X-Request-Id", "the-search")
	s.call("POST", "/workspace/views/upsert"+in, owner, `{"dataset":"projects","view_type":"static","name":"confidential view"}`)
	s.call(
		"POST", "/workspace/invitations"+in, owner, `{"email":"confidential@example.com","role":"member"}`,
		"X-Request-Id", "the-invitation",
	)
	s.call("POST", "/data/projects/search", s.key, `{"confidential key":1,"query":`, "X-Request-Id", "the-bad-one")
	s.call("GET", "/data/projects/confidential", s.key, "")
	s.call("GET", "/confidential/path", s.key, "", "X-Request-Id", "the-lost-one")
	s.call("GET", "/data/usage", "atlas_confidential", "", "X-Request-Id", "the-stranger")
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}

	byID := map[string]map[string]any{}
	for _, line := range s.lines("request") {
		id := line["request_id"].(string)
		if byID[id] != nil {
			t.Errorf("two lines of request %s", id)
		}
		byID[id] = line
	}
	for id, want := range map[string]map[string]any{
		"the-get": {
			"operation": "get_project", "method": "GET", "path": "/api/v1/data/projects/:id", "status": 200.0,
			"principal": "key", "client": "127.0.0.1", "key": keyID, "user": nil,
			"workspace": s.pro.ID.String(), "credits": 1.0, "code": nil,
		},
		"the-upsert": {"operation": "upsert_workspace_project", "status": 200.0, "credits": nil},
		"the-invitation": {
			"operation": "create_invitation", "status": 200.0, "principal": "user", "user": userID, "key": nil,
			"elasticsearch_ms": nil, "redis_ms": positive,
		},
		"the-search": {
			"operation": "search_workspace_projects", "status": 200.0, "duration_ms": positive,
			"elasticsearch_ms": positive, "postgres_ms": positive, "redis_ms": positive,
		},
		"the-bad-one": {"operation": "search_projects", "status": 400.0, "code": "invalid_input", "credits": 0.0, "elasticsearch_ms": nil},
		"the-lost-one": {
			"operation": "none", "path": "", "status": 404.0, "code": "not_found", "workspace": nil,
			"client": "127.0.0.1", "key": nil,
		},
		"the-stranger": {
			"operation": "get_usage", "status": 401.0, "code": "unauthorized", "workspace": nil, "principal": nil,
			"client": "127.0.0.1", "key": nil, "user": nil,
		},
	} {
		line := byID[id]
		for field, value := range want {
			got := line[field]
			if number, ok := got.(float64); value == positive && (!ok || number <= 0) || value != positive && got != value {
				t.Errorf("%s: %s is %v, want %v, in %v", id, field, got, value, line)
			}
		}
	}
	log := s.log.String()
	noSecrets(t, log, owner, "confidential")
	var shown struct {
		Data struct{ Name, Description, Address string }
	}
	if err := json.Unmarshal([]byte(record), &shown); err != nil || shown.Data.Name == "" {
		t.Fatalf("%v in %s", err, record)
	}
	for _, content := range []string{shown.Data.Name, shown.Data.Description, shown.Data.Address} {
		if content != "" && strings.Contains(log, content) {
			t.Errorf("the log has %q of a record", content)
		}
	}
}

// positive stands for any number above 0.
const positive = "a number above 0"

// metrics reads all metrics of a server.
func (s *service) metrics() string {
	s.t.Helper()
	lines := s.lines("serving metrics")
	if len(lines) == 0 {
		s.t.Fatal("no metrics are served")
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+lines[0]["address"].(string)+"/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("metrics: %d %v %s", res.StatusCode, err, body)
	}
	return string(body)
}

// TestMetrics uses each feature once and checks the counters.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := start(t, 20, func(c *server.Config) {
		c.SMTPURL, c.MailFrom = "smtp://127.0.0.1:1?tls=none", "Atlas <atlas@atlas.example>"
	})
	project := s.search(catalog.Projects, `{"limit": 5}`).ids(t)[0]
	s.call("POST", "/workspace/projects/upsert", s.key, `{"project_id":"`+project+`","notes":"one"}`)
	s.call("POST", "/workspace/invitations", s.key, `{"email":"new@example.com","role":"member"}`)
	for range 2 {
		if status, _, _, text := send(
			t, s.base, s.key, "k", "/workspace/views/upsert", `{"dataset":"account","view_type":"static","name":"One"}`,
		); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
	}
	s.search(catalog.Projects, `{"limit": 15}`)
	if a := s.call("POST", "/data/projects/search", s.key, `{}`); a.status != http.StatusTooManyRequests {
		t.Fatalf("above the ceiling: %d %s", a.status, a.raw)
	}
	s.call("GET", "/no/route", s.key, "")
	s.call("GET", "/health/ready", "", "")
	s.call("POST", "/health/ready", "", "")
	s.call("GET", "/openapi.json", "", "")
	waitFor(t, "an e-mail attempt and a sweep", func() bool {
		m := s.metrics()
		return strings.Contains(m, `atlas_job_runs_total{outcome="later",task="invitation"} 1`) &&
			strings.Contains(m, `atlas_job_last_success_timestamp_seconds{task="projection_sweep"}`) && strings.Contains(m, "\natlas_jobs_pending ")
	})
	m := s.metrics()
	for _, line := range []string{
		`atlas_requests_total{operation="search_projects",status="200"} 2`,
		`atlas_requests_total{operation="search_projects",status="429"} 1`,
		`atlas_requests_total{operation="none",status="404"} 1`, `atlas_requests_total{operation="none",status="405"} 1`,
		`atlas_requests_total{operation="get_readiness",status="200"} 1`, `atlas_requests_total{operation="get_openapi",status="200"} 1`,
		`atlas_request_duration_seconds_count{operation="search_projects"} 3`,
		`atlas_credits_reserved_total{operation="search_projects"} 20`,
		`atlas_credits_charged_total{operation="search_projects"} 20`,
		`atlas_credits_refused_total{operation="search_projects",reason="used_up"} 1`,
		`atlas_idempotency_total{outcome="first"} 1`, `atlas_idempotency_total{outcome="replayed"} 1`,
		`atlas_requests_in_flight 0`, `atlas_draining 0`, `atlas_credits_breaker_open 0`,
		`atlas_pool_limit{pool="elasticsearch"} 256`, `atlas_pool_limit{pool="postgres_app"} 16`,
		`atlas_pool_limit{pool="elasticsearch_background"} 16`, `atlas_pool_limit{pool="redis"} ` + fmt.Sprint(10*runtime.GOMAXPROCS(0)),
	} {
		if !strings.Contains(m, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	for _, start := range []string{
		`atlas_backend_call_duration_seconds_count{backend="elasticsearch",operation="search",outcome="ok"} `,
		`atlas_backend_call_duration_seconds_count{backend="postgres",operation="batch",outcome="ok"} `,
		`atlas_backend_call_duration_seconds_count{backend="redis",operation="evalsha",outcome="ok"} `,
		`atlas_projection_pending `, `atlas_projection_oldest_pending_seconds `, `atlas_pool_connections{pool="redis",state="idle"} `,
		`go_goroutines `, `process_open_fds `, `atlas_build_info{`,
	} {
		if !strings.Contains(m, "\n"+start) && !strings.Contains(m, "\n"+strings.TrimSuffix(start, " ")) {
			t.Errorf("no line begins with %q", start)
		}
	}
	for _, label := range []string{s.pro.ID.String(), project, "/api/", "example.com"} {
		if strings.Contains(m, label) {
			t.Errorf("the metrics have %q", label)
		}
	}
	checkMetricsDocumented(t, m)
	for _, line := range s.lines("request") {
		if line["operation"] == "get_readiness" {
			t.Errorf("a check of a ready server is logged: %v", line)
		}
	}
	if t.Failed() {
		t.Log(m)
	}
}
