package telemetry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	s := httptest.NewServer(m.Handler())
	defer s.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d %v: %s", res.StatusCode, err, body)
	}
	return string(body)
}

func wantLines(t *testing.T, got string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %q in\n%s", line, got)
		}
	}
}

func TestWhatIsCounted(t *testing.T) {
	t.Parallel()
	m := New("v1")
	m.Request("search_accounts", 200, 20*time.Millisecond)
	m.Request("search_accounts", 503, time.Millisecond)
	m.InFlight(1)
	m.RequestShed()
	m.Draining()
	m.CreditsReserved("search_accounts", 25)
	m.CreditsCharged("search_accounts", 7)
	m.CreditsRefused("search_accounts", "used_up")
	m.Idempotency("replayed")
	m.JobDone(JobSweep, "ok")
	m.JobDone("invitation", "later")
	open := true
	m.Breaker(func() bool { return open })
	m.Pools(map[string]func() Pool{"redis": func() Pool { return Pool{InUse: 2, Idle: 3, Limit: 20, Waits: 4, Waited: 5 * time.Second} }})
	got := scrape(t, m)
	wantLines(t, got,
		`atlas_requests_total{operation="search_accounts",status="200"} 1`,
		`atlas_requests_total{operation="search_accounts",status="503"} 1`,
		`atlas_request_duration_seconds_bucket{operation="search_accounts",le="0.025"} 2`,
		`atlas_requests_in_flight 1`, `atlas_requests_shed_total 1`, `atlas_draining 1`,
		`atlas_credits_reserved_total{operation="search_accounts"} 25`,
		`atlas_credits_charged_total{operation="search_accounts"} 7`,
		`atlas_credits_refused_total{operation="search_accounts",reason="used_up"} 1`,
		`atlas_idempotency_total{outcome="replayed"} 1`,
		`atlas_job_runs_total{outcome="ok",task="projection_sweep"} 1`,
		`atlas_job_runs_total{outcome="error",task="projection_sweep"} 0`,
		`atlas_job_runs_total{outcome="ok",task="webhook_events"} 0`, `atlas_job_runs_total{outcome="failed",task="webhook_events"} 0`,
		`atlas_job_runs_total{outcome="ok",task="view_alerts"} 0`, `atlas_job_runs_total{outcome="failed",task="view_alerts"} 0`,
		`atlas_credits_breaker_open 1`,
		`atlas_pool_connections{pool="redis",state="in_use"} 2`, `atlas_pool_connections{pool="redis",state="idle"} 3`,
		`atlas_pool_limit{pool="redis"} 20`, `atlas_pool_waits_total{pool="redis"} 4`, `atlas_pool_wait_seconds_total{pool="redis"} 5`,
	)
	if strings.Contains(got, `atlas_job_last_success_timestamp_seconds{task="invitation"}`) {
		t.Error("an e-mail that was not sent is a success")
	}
	open = false
	wantLines(t, scrape(t, m), `atlas_credits_breaker_open 0`)
}

// However frequent scrapes are, a backlog is read at intervals; while it cannot be read,
// the metric is absent.
func TestBacklog(t *testing.T) {
	t.Parallel()
	m := New("v1")
	reads := 0
	m.Backlog("projection", func(ctx context.Context) (Backlog, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("a scrape could hang")
		}
		reads++
		return Backlog{Pending: 3, Oldest: 1500 * time.Millisecond}, nil
	})
	m.Backlog("jobs", func(context.Context) (Backlog, error) { return Backlog{}, errors.New("away") })
	for range 3 {
		wantLines(t, scrape(t, m), "atlas_projection_pending 3", "atlas_projection_oldest_pending_seconds 1.5")
	}
	if reads != 1 {
		t.Errorf("%d readings", reads)
	}
	got := scrape(t, m)
	wantLines(t, got, `atlas_backlog_read_errors_total{backlog="jobs"} 1`)
	if strings.Contains(got, "atlas_jobs_pending") {
		t.Error("a backlog that could not be read is reported")
	}
}

func TestSpent(t *testing.T) {
	t.Parallel()
	m := New("v1")
	ctx, spent := WithSpent(t.Context())
	m.BackendCall(ctx, Elasticsearch, "search", "ok", 5*time.Millisecond)
	m.BackendCall(context.WithoutCancel(ctx), Redis, "evalsha", "ok", time.Millisecond)
	m.BackendCall(ctx, Redis, "evalsha", "timeout", 2*time.Millisecond)
	m.BackendCall(t.Context(), Redis, "evalsha", "ok", time.Hour) // nobody's
	m.OwnWrites(ctx, time.Now().Add(-time.Minute))
	got := map[string]time.Duration{}
	spent.Each(func(backend string, took time.Duration) { got[backend] = took })
	if len(got) != 3 || got["own_writes"] < time.Minute || got[Elasticsearch] != 5*time.Millisecond || got[Redis] != 3*time.Millisecond {
		t.Errorf("%v", got)
	}
	wantLines(t, scrape(t, m), `atlas_backend_call_duration_seconds_count{backend="redis",operation="evalsha",outcome="ok"} 2`, "atlas_own_writes_wait_seconds_count 1")
}
