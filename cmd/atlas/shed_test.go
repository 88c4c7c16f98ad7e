package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"atlas/cmd/internal/server"
	"atlas/internal/devstack/backends"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/workspace"
	"atlas/workspace/people"
)

// gate is a proxy before Elasticsearch that holds searches back while it is shut.
type gate struct {
	address string
	held    atomic.Int64 // waiting requests
	ended   atomic.Int64 // requests whose client disconnected while they waited
	lock    sync.Mutex
	open    chan struct{}
	limits  []string // the timeouts of the searches
}

func newGate(t *testing.T) *gate {
	t.Helper()
	to, err := url.Parse(backends.Elasticsearch(t))
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{open: make(chan struct{})}
	close(g.open)
	proxy := &httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorLog: log.New(io.Discard, "", 0), // disconnected clients are expected
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // a disconnect is detected only after the body is read
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.HasSuffix(r.URL.Path, "/_search") && r.URL.Query().Get("timeout") != "" && !g.pass(r) {
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { g.release(); front.Close() })
	g.address = front.URL
	return g
}

func (g *gate) pass(r *http.Request) bool {
	g.lock.Lock()
	g.limits = append(g.limits, r.URL.Query().Get("timeout"))
	open := g.open
	g.lock.Unlock()
	select {
	case <-open:
		return true
	default:
	}
	g.held.Add(1)
	defer g.held.Add(-1)
	select {
	case <-open:
		return true
	case <-r.Context().Done():
		g.ended.Add(1)
		return false
	}
}

func (g *gate) shut() {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) release() {
	g.lock.Lock()
	defer g.lock.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// TestLoadIsShed sends more requests than the limit while searches are held back.
// Requests above the limit are refused at once and cost nothing. Those within are
// answered when Elasticsearch answers.
func TestLoadIsShed(t *testing.T) {
	t.Parallel()
	const within, beyond, limit = 3, 12, 5
	for name, bound := range map[string]func(*server.Config){
		"requests":      func(c *server.Config) { c.MaxRequests = within },
		"elasticsearch": func(c *server.Config) { c.MaxCalls = within },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t)
			s := start(t, 1000, func(c *server.Config) { c.ElasticsearchURL = []string{g.address} }, bound)
			body := fmt.Sprintf(`{"limit": %d}`, limit)
			s.search("accounts", body) // the key is cached from here on
			g.shut()
			var group sync.WaitGroup
			answers := make(chan answer, within)
			for range within {
				group.Go(func() { answers <- s.call("POST", "/data/accounts/search", s.key, body) })
			}
			waitFor(t, "the searches are held back", func() bool { return g.held.Load() == within })
			for range beyond {
				group.Go(func() {
					began := time.Now()
					a := s.call("POST", "/data/accounts/search", s.key, body)
					if a.status != http.StatusServiceUnavailable || a.body.Error.Code != "unavailable" ||
						a.header.Get("Retry-After") != "1" || a.header.Get("X-Credits-Charged") != "0" {
						t.Errorf("beyond the bound: %d %v %s", a.status, a.header, a.raw)
					}
					if took := time.Since(began); took > 20*time.Second { // a search may take 30 s
						t.Errorf("refused after %v", took)
					}
				})
			}
			waitFor(t, "all others are refused", func() bool {
				return strings.Contains(s.metrics(), fmt.Sprintf("atlas_requests_total{operation=\"search_accounts\",status=\"503\"} %d\n", beyond))
			})
			if n := g.held.Load(); n != within {
				t.Errorf("%d searches wait in Elasticsearch", n)
			}
			if a := s.call("GET", "/health/ready", "", ""); a.status != http.StatusOK {
				t.Errorf("a busy server is not ready: %d %s", a.status, a.raw)
			}
			g.release()
			group.Wait()
			for range within {
				if a := <-answers; a.status != http.StatusOK || a.body.Metadata.Credits != limit {
					t.Errorf("within the bound: %d %s", a.status, a.raw)
				}
			}
			if used := s.usedCredits(); used != (within+1)*limit {
				t.Errorf("used %d credits, want %d", used, (within+1)*limit)
			}
			shed := map[string]string{
				"requests":      fmt.Sprintf("atlas_requests_shed_total %d\n", beyond),
				"elasticsearch": fmt.Sprintf("atlas_backend_call_duration_seconds_count{backend=\"elasticsearch\",operation=\"search\",outcome=\"shed\"} %d\n", beyond),
			}[name]
			if m := s.metrics(); !strings.Contains(m, shed) {
				t.Errorf("no line %q", shed)
			}
			if failed := s.lines("request failed"); len(failed) > 0 {
				t.Errorf("a fault of ours: %v", failed)
			}
		})
	}
}

// TestWorkspacesShare uses all places that one workspace may have, with hanging
// searches. Its next request is refused, and other workspaces are served.
func TestWorkspacesShare(t *testing.T) {
	t.Parallel()
	const places, share = 8, 6
	g := newGate(t)
	s := start(t, 1000, func(c *server.Config) { c.ElasticsearchURL, c.MaxRequests = []string{g.address}, places })
	key := s.otherKey(t)
	s.search("accounts", `{}`) // the keys are cached from here on
	if a := s.call("GET", "/workspace", key, ""); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	g.shut()
	var group sync.WaitGroup
	defer group.Wait()
	defer g.release()
	for range share {
		group.Go(func() { s.call("POST", "/data/accounts/search", s.key, `{"limit":5}`) })
	}
	waitFor(t, "the workspace has its share", func() bool { return g.held.Load() == share })
	a := s.call("POST", "/data/accounts/search", s.key, `{}`)
	if a.status != http.StatusServiceUnavailable || a.body.Error.Code != "unavailable" || a.header.Get("Retry-After") != "1" ||
		a.header.Get("X-Credits-Charged") != "0" {
		t.Errorf("past the share: %d %v %s", a.status, a.header, a.raw)
	}
	if m := s.metrics(); !strings.Contains(m, "atlas_requests_shed_total 1\n") {
		t.Errorf("counted otherwise:\n%s", m)
	}
	for _, token := range []string{key, s.user(people.Admin)} {
		want := http.StatusOK
		if token != key {
			want = http.StatusServiceUnavailable // the limit is per workspace, for all of its callers
		}
		if a := s.call("GET", "/workspace", token, ""); a.status != want {
			t.Errorf("answered %d, want %d: %s", a.status, want, a.raw)
		}
	}
	g.release()
	group.Wait()
	waitFor(t, "the share is given back", func() bool { return s.call("GET", "/workspace", s.key, "").status == http.StatusOK })
}

// otherKey makes another workspace with a key.
func (s *service) otherKey(t *testing.T) string {
	t.Helper()
	other, err := s.directory.CreateWorkspace(t.Context(), "Other", workspace.Pro, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return s.newKey(people.NewKey{Name: "other", Workspaces: []workspace.ID{other.ID}, Scopes: workspace.AllScopes()})
}

// TestSlowBodiesHoldNoPlaces sends many incomplete bodies, several times the limit of
// requests in progress: from users without a workspace, with a key, and without a
// token. Each group is refused above its limit. Others are served normally: another key
// of the same workspace, and another workspace.
func TestSlowBodiesHoldNoPlaces(t *testing.T) {
	t.Parallel()
	const places, many = 8, 100
	// Of 256 bodies being received: the limit of a caller, and of all without a
	// workspace.
	const ofCaller, ofOutsiders = 32, 16
	s := start(t, 1000, func(c *server.Config) { c.MaxRequests = places })
	strangers := make([]string, 10)
	for i := range strangers {
		var err error
		if strangers[i], err = auth.Mint(
			testSecret, auth.Claims{User: workspace.NewUserID(), Email: "stranger@example.com"}, time.Hour,
		); err != nil {
			t.Fatal(err)
		}
	}
	second := s.newKey(people.NewKey{Name: "second", Workspaces: []workspace.ID{s.pro.ID}, Scopes: workspace.AllScopes()})
	other := s.otherKey(t)
	slow := func(token, path string) {
		t.Helper()
		c, err := net.Dial("tcp", strings.TrimPrefix(s.root, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := fmt.Fprintf(c, "POST /api/v1%s HTTP/1.1\r\nHost: atlas\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", path, token); err != nil {
			t.Fatal(err)
		}
	}
	for i := range many {
		slow(strangers[i%len(strangers)], "/workspace/invitations/accept")
		slow(s.key, "/data/accounts/search")
		slow("invented", "/data/accounts/search")
	}
	counted := func(name, labels string, n int) bool {
		return strings.Contains(s.metrics(), fmt.Sprintf("%s%s %d\n", name, labels, n))
	}
	waitFor(t, "all others are refused", func() bool {
		return counted("atlas_requests_total", `{operation="accept_invitation",status="503"}`, many-ofOutsiders) &&
			counted("atlas_requests_total", `{operation="search_accounts",status="503"}`, many-ofCaller) &&
			counted("atlas_requests_total", `{operation="search_accounts",status="401"}`, many)
	})
	if !counted("atlas_requests_in_flight", "", ofCaller+ofOutsiders) ||
		!counted("atlas_requests_shed_total", "", 2*many-ofCaller-ofOutsiders) {
		t.Errorf("counted otherwise:\n%s", s.metrics())
	}
	for name, token := range map[string]string{"the same workspace": second, "another workspace": other} {
		for range places {
			if a := s.call("POST", "/data/accounts/search", token, `{}`); a.status != http.StatusOK {
				t.Errorf("%s: %d %s", name, a.status, a.raw)
			}
		}
	}
	if a := s.call("POST", "/data/accounts/search", s.key, `{}`); a.status != http.StatusServiceUnavailable ||
		a.header.Get("Retry-After") != "1" || a.header.Get("X-Credits-Charged") != "0" {
		t.Errorf("past the share: %d %v %s", a.status, a.header, a.raw)
	}
}

// TestClientLeaves disconnects while a search is held back, which is not counted as a
// failure of the service.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	s := start(t, 1000, func(c *server.Config) { c.ElasticsearchURL = []string{g.address} })
	g.shut()
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(ctx, "POST", s.base+"/data/accounts/search", strings.NewReader(`{}`))
		if err == nil {
			r.Header.Set("Authorization", "Bearer "+s.key)
			r.Header.Set("Content-Type", "application/json")
			var res *http.Response
			if res, err = http.DefaultClient.Do(r); err == nil {
				res.Body.Close()
			}
		}
		left <- err
	}()
	waitFor(t, "the search hangs", func() bool { return g.held.Load() == 1 })
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	waitFor(t, "the request is logged", func() bool { return len(s.lines("request")) == 1 })
	if line := s.lines("request")[0]; line["status"] != 499.0 || line["client_left"] != true {
		t.Errorf("logged: %v", line)
	}
	if m := s.metrics(); !strings.Contains(m, `atlas_requests_total{operation="search_accounts",status="499"} 1`+"\n") ||
		strings.Contains(m, `status="5`) {
		t.Errorf("counted otherwise:\n%s", m)
	}
}

// TestRequestTimeout holds a search back for longer than the request timeout.
func TestRequestTimeout(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	s := start(t, 1000, func(c *server.Config) {
		c.ElasticsearchURL = []string{g.address}
		c.SearchTimeout, c.RequestTimeout = 5*time.Second, 5500*time.Millisecond // the answer of a search may take 1 s more
	})
	g.shut()
	a := s.call("POST", "/data/accounts/search", s.key, `{}`)
	if a.status != http.StatusServiceUnavailable || a.header.Get("X-Credits-Charged") != "0" {
		t.Errorf("%d %v %s", a.status, a.header, a.raw)
	}
	waitFor(t, "the search in Elasticsearch is cancelled", func() bool { return g.ended.Load() == 1 })
	if used := s.usedCredits(); used != 0 {
		t.Errorf("used %d credits", used)
	}
	if failed := s.lines("request failed"); len(failed) != 1 || failed[0]["level"] != "ERROR" || failed[0]["code"] != "unavailable" ||
		!strings.Contains(fmt.Sprint(failed[0]["message"]), "try again") || strings.Contains(fmt.Sprint(failed[0]["error"]), "try again") {
		t.Errorf("logged: %v", failed)
	}
	limit, err := time.ParseDuration(g.limits[0])
	if err != nil || limit <= 0 || limit > 5*time.Second {
		t.Errorf("Elasticsearch was given %s, %v", g.limits[0], err)
	}
}

// TestDrainLimit stops a server while a search hangs. Readiness fails at once, the
// search is canceled, its reservation is released, and the shutdown ends within its
// limit.
func TestDrainLimit(t *testing.T) {
	t.Parallel()
	const drain, ceiling = 8 * time.Second, 100
	g := newGate(t)
	s := start(t, ceiling, func(c *server.Config) {
		c.ElasticsearchURL, c.Drain, c.DrainPause = []string{g.address}, drain, 3*time.Second
	})
	g.shut()
	cutOff := make(chan error, 1)
	go func() {
		r, err := http.NewRequest("POST", s.base+"/data/accounts/search", strings.NewReader(`{"limit":100}`)) //nolint:noctx // it is cut off
		if err == nil {
			r.Header.Set("Authorization", "Bearer "+s.key)
			r.Header.Set("Content-Type", "application/json")
			var res *http.Response
			if res, err = http.DefaultTransport.RoundTrip(r); err == nil {
				res.Body.Close()
				if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "1" ||
					res.Header.Get("X-Credits-Charged") != "0" {
					t.Errorf("a search that was cut off: %d %v", res.StatusCode, res.Header)
				}
			}
		}
		cutOff <- err
	}()
	waitFor(t, "the search hangs", func() bool { return g.held.Load() == 1 })
	began := time.Now()
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	waitFor(t, "readiness falls", func() bool { return strings.Contains(s.metrics(), "atlas_draining 1\n") })
	ready := s.call("GET", "/health/ready", "", "")
	if ready.status != http.StatusServiceUnavailable || !strings.Contains(string(ready.raw), "stopping") || !ready.closes {
		t.Errorf("readiness of a stopping server: %d %v %s", ready.status, ready.header, ready.raw)
	}
	if a := s.call("GET", "/workspace", s.key, ""); a.status != http.StatusOK || !a.closes {
		t.Errorf("a stopping server: %d %v %s", a.status, a.header, a.raw)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > drain+2*time.Second || took < 3*time.Second {
		t.Errorf("stopping took %v", took)
	}
	if err := <-cutOff; err != nil {
		t.Errorf("a search that was cut off has no answer: %v", err)
	}
	for _, line := range s.lines("request") {
		if line["client_left"] != nil || line["operation"] == "search_accounts" && line["status"] != 503.0 {
			t.Errorf("logged: %v", line)
		}
	}
	if n := len(s.lines("requests are cut off")); n != 1 {
		t.Errorf("%d lines say that requests were cut off", n)
	}
	redis, err := credits.Open(s.config.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Close()
	ledger, err := credits.New(redis, credits.Options{Prefix: s.config.RedisPrefix, Timeout: 5 * time.Second, Wait: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := ledger.Reserve(t.Context(), s.pro.ID.String(), ceiling, "search_accounts", ceiling, credits.Key{})
	if err != nil {
		t.Fatalf("what the search held was not given back: %v", err)
	}
	if w, err := all.Settle(t.Context(), 0); err != nil || w.Used != 0 {
		t.Errorf("used %d credits, %v", w.Used, err)
	}
}

// TestSecondSignal ends a program that waits for its load balancers.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	p := startProcess(t, s, "ATLAS_DRAIN=10m", "ATLAS_DRAIN_PAUSE=5m")
	signal := func() {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
	}
	signal()
	waitFor(t, "it is stopping", func() bool { return strings.Contains(p.log.String(), `"msg":"stopping"`) })
	var ended error
	waitFor(t, "a further signal ends it", func() bool {
		signal()
		select {
		case ended = <-p.exited:
			return true
		default:
			return false
		}
	})
	if ended == nil {
		t.Error("it says that all went well")
	}
}
