package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/search/query"
)

// balancer sends requests in turn to the servers that were ready at their last probe.
// It does not retry.
type balancer struct {
	ctx     context.Context // of the probes
	asking  sync.WaitGroup
	lock    sync.Mutex
	servers []*behind
	next    atomic.Int64
	front   *httptest.Server
}

// behind is a server behind the balancer.
type behind struct {
	url   *url.URL
	ready atomic.Bool
	leave context.CancelFunc
}

// balancerPoll is the interval of readiness probes. The drain pause must be longer,
// also on a busy machine.
const (
	balancerPoll  = 100 * time.Millisecond
	balancerPause = 3 * time.Second
)

func newBalancer(t *testing.T) *balancer {
	ctx, cancel := context.WithCancel(t.Context())
	b := &balancer{ctx: ctx}
	b.front = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(b.pick()) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 32},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			http.Error(w, fmt.Sprintf("%s: %v", r.URL.Host, err), http.StatusBadGateway)
		},
	})
	t.Cleanup(func() { cancel(); b.asking.Wait(); b.front.Close() })
	return b
}

// set sets the current servers.
func (b *balancer) set(t *testing.T, roots ...string) {
	t.Helper()
	b.lock.Lock()
	defer b.lock.Unlock()
	var servers []*behind
	for _, root := range roots {
		at := slices.IndexFunc(b.servers, func(s *behind) bool { return s.url.String() == root })
		if at >= 0 {
			servers = append(servers, b.servers[at])
			continue
		}
		u, err := url.Parse(root)
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(b.ctx)
		server := &behind{url: u, leave: leave}
		servers = append(servers, server)
		b.asking.Go(func() { server.ask(ctx) })
	}
	for _, s := range b.servers {
		if !slices.Contains(servers, s) {
			s.leave()
		}
	}
	b.servers = servers
}

// ask probes one server until ctx ends, independent of the others.
func (s *behind) ask(ctx context.Context) {
	for each := time.NewTicker(balancerPoll); ; {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.JoinPath("/health/ready").String(), nil)
		if err == nil {
			var res *http.Response
			if res, err = http.DefaultClient.Do(r); err == nil {
				res.Body.Close()
			}
			s.ready.Store(err == nil && res.StatusCode == http.StatusOK)
		}
		select {
		case <-ctx.Done():
			each.Stop()
			return
		case <-each.C:
		}
	}
}

func (b *balancer) ready() []*url.URL {
	b.lock.Lock()
	defer b.lock.Unlock()
	var ready []*url.URL
	for _, s := range b.servers {
		if s.ready.Load() {
			ready = append(ready, s.url)
		}
	}
	return ready
}

func (b *balancer) pick() *url.URL {
	ready := b.ready()
	if len(ready) == 0 {
		return &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	}
	return ready[int(b.next.Add(1))%len(ready)]
}

func (b *balancer) readyAre(n int) bool { return len(b.ready()) == n }

// users send searches and writes, one request after the other, until stop is called.
type users struct {
	answered, charged atomic.Int64
	lock              sync.Mutex
	failures          []string
	group             sync.WaitGroup
	stop              chan struct{}
}

func sendLoad(s *service, root string, projects []string) *users {
	u := &users{stop: make(chan struct{})}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	for worker := range 5 {
		u.group.Go(func() {
			defer client.CloseIdleConnections()
			for n := 0; ; n++ {
				select {
				case <-u.stop:
					return
				default:
				}
				method, path, body := "POST", "/api/v1/data/projects/search", fmt.Sprintf(`{"limit": %d, "offset": %d}`, 1+n%50, worker)
				switch n % 4 {
				case 1:
					path, body = "/api/v1/workspace/projects/upsert", fmt.Sprintf(`{"project_id":%q,"notes":"%d by %d"}`, projects[worker], n, worker)
				case 3:
					path, body = "/api/v1/workspace/projects/search", `{"limit": 10}`
				}
				u.send(s, client, method, root+path, body)
			}
		})
	}
	return u
}

func (u *users) send(s *service, client *http.Client, method, target, body string) {
	r, err := http.NewRequest(method, target, strings.NewReader(body)) //nolint:noctx // it ends by itself
	if err != nil {
		u.fail(err.Error())
		return
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	res, err := client.Do(r)
	if err != nil {
		u.fail(err.Error())
		return
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	var answer struct{ Metadata struct{ Credits int64 } }
	if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(raw, &answer) != nil {
		u.fail(fmt.Sprintf("%s %s: %d %v %s", method, target, res.StatusCode, err, raw))
		return
	}
	u.answered.Add(1)
	u.charged.Add(answer.Metadata.Credits)
}

func (u *users) fail(what string) {
	u.lock.Lock()
	defer u.lock.Unlock()
	u.failures = append(u.failures, what)
}

// TestRollingRestart restarts two servers behind a balancer one after the other, under
// load. No request fails, and every charged credit was delivered.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	s := start(t, 1_000_000)
	projects := s.search(query.Projects, `{"limit": 8}`).ids(t)
	waitFor(t, "the indices of held records are there", func() bool {
		return s.call("POST", "/workspace/projects/upsert", s.key, fmt.Sprintf(`{"project_id":%q,"notes":"first"}`, projects[0])).status == http.StatusOK &&
			s.call("POST", "/workspace/projects/search", s.key, `{"limit": 1}`).status == http.StatusOK
	})
	before := s.usedCredits()
	b := newBalancer(t)
	const drain = 30 * time.Second
	again := func() *process {
		return startProcess(t, s, "ATLAS_DRAIN_PAUSE="+balancerPause.String(), "ATLAS_DRAIN="+drain.String())
	}
	first, second := again(), again()
	b.set(t, first.root, second.root)
	waitFor(t, "two servers are ready", func() bool { return b.readyAre(2) })
	load := sendLoad(s, b.front.URL, projects)
	more := func(n int64) {
		t.Helper()
		from := load.answered.Load()
		waitFor(t, "requests are answered", func() bool { return load.answered.Load() >= from+n })
	}
	more(50)
	all := []*process{first, second}
	for i, old := range []*process{first, second} {
		if took := old.terminate(); took > drain {
			t.Errorf("stopped after %v, the limit is %v", took, drain)
		}
		all = append(all, again())
		running := all[i+1:] // the other old server and the new ones
		roots := make([]string, len(running))
		for j, p := range running {
			roots[j] = p.root
		}
		b.set(t, roots...)
		waitFor(t, "both servers are ready again", func() bool { return b.readyAre(2) })
		more(50)
	}
	close(load.stop)
	load.group.Wait()
	var ending sync.WaitGroup
	for _, p := range all[2:] {
		ending.Go(func() { p.terminate() })
	}
	ending.Wait()
	if len(load.failures) > 0 {
		t.Errorf("%d of %d requests failed, such as %s", len(load.failures), load.answered.Load()+int64(len(load.failures)), load.failures[0])
	}
	for i, p := range all {
		out := p.log.String()
		if !strings.Contains(out, `"operation":"search_projects"`) || !strings.Contains(out, `"msg":"stopped"`) {
			t.Errorf("server %d served nothing, or did not stop by itself:\n%s", i, out)
		}
		noSecrets(t, out, s.key)
		if len(load.failures) > 0 {
			for line := range strings.Lines(out) {
				if !strings.Contains(line, `"level":"INFO"`) {
					t.Logf("server %d: %s", i, line)
				}
			}
		}
	}
	if used := s.usedCredits() - before; used != load.charged.Load() {
		t.Errorf("used %d credits, delivered %d", used, load.charged.Load())
	}
	s.noLeases()
	t.Logf("%d requests", load.answered.Load())
}

func (s *service) usedCredits() int64 {
	s.t.Helper()
	var usage struct {
		Used int64 `json:"used_credits"`
	}
	if err := json.Unmarshal(s.call("GET", "/data/usage", s.key, "").body.Data, &usage); err != nil {
		s.t.Fatal(err)
	}
	return usage.Used
}

// noLeases stops the test's own server. After that no lease may be held.
func (s *service) noLeases() {
	s.t.Helper()
	if err := s.stop(); err != nil {
		s.t.Fatal(err)
	}
	db, err := pgx.Connect(s.t.Context(), s.config.PostgresSystemURL)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close(context.WithoutCancel(s.t.Context()))
	var held, known int
	err = db.QueryRow(s.t.Context(), `
		SELECT (SELECT count(*) FROM projectors WHERE holder IS NOT NULL AND deadline > clock_timestamp())
		     + (SELECT count(*) FROM leases WHERE deadline > clock_timestamp()), (SELECT count(*) FROM projectors)`).Scan(&held, &known)
	if err != nil || held > 0 || known == 0 {
		s.t.Errorf("%d leases are held, of %d projectors, after all servers stopped: %v", held, known, err)
	}
}
