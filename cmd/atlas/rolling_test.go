package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/internal/experiment/balancer"
	"atlas/search/catalog"
)

// balancerPause is longer than balancer.Poll, also on a busy machine.
const balancerPause = 3 * time.Second

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
			pace := time.NewTicker(40 * time.Millisecond) // else they take all of the machine, for as long as servers start
			defer pace.Stop()
			for n := 0; ; n++ {
				select {
				case <-u.stop:
					return
				case <-pace.C:
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
	projects := s.search(catalog.Projects, `{"limit": 8}`).ids(t)
	waitFor(t, "the indices of held records are there", func() bool {
		return s.call(
			"POST", "/workspace/projects/upsert", s.key, fmt.Sprintf(`{"project_id":%q,"notes":"first"}`, projects[0]),
		).status == http.StatusOK &&
			s.call("POST", "/workspace/projects/search", s.key, `{"limit": 1}`).status == http.StatusOK
	})
	before := s.usedCredits()
	b, err := balancer.New("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	set := func(roots ...string) {
		t.Helper()
		if err := b.Set(roots...); err != nil {
			t.Fatal(err)
		}
	}
	const drain = 30 * time.Second
	again := func() *process {
		return startProcess(t, s, "ATLAS_DRAIN_PAUSE="+balancerPause.String(), "ATLAS_DRAIN="+drain.String())
	}
	first, second := again(), again()
	set(first.root, second.root)
	waitFor(t, "two servers are ready", func() bool { return b.Ready() == 2 })
	load := sendLoad(s, b.Root, projects)
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
		set(roots...)
		waitFor(t, "both servers are ready again", func() bool { return b.Ready() == 2 })
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
