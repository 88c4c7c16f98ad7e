package elastic

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"
)

// answers are the results of each host; requests take no time.
type answers map[string]error

func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if err := a[req.URL.Host]; err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

func nodesOf(t *testing.T, transport http.RoundTripper, hosts ...string) *nodes {
	t.Helper()
	n := &nodes{transport: transport}
	var connections []*elastictransport.Connection
	for _, h := range hosts {
		connections = append(connections, &elastictransport.Connection{URL: &url.URL{Scheme: "http", Host: h}})
	}
	n.setConnections(connections, nil)
	return n
}

// ask sends a request to the next node and returns which that was.
func (n *nodes) ask(t *testing.T, ctx context.Context) string {
	t.Helper()
	c, err := n.Next()
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := n.RoundTrip(req); err == nil {
		res.Body.Close()
	}
	return c.URL.Host
}

// count asks several times and counts who was asked.
func (n *nodes) count(t *testing.T, times int) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for range times {
		counts[n.ask(t, t.Context())]++
	}
	return counts
}

func TestNodesTakeTurns(t *testing.T) {
	t.Parallel()
	n := nodesOf(t, answers{}, "a", "b", "c", "a")
	got := n.count(t, 9)
	if got["a"] != 3 || got["b"] != 3 || got["c"] != 3 {
		t.Errorf("asked %v", got)
	}
}

// recorded notes when a host is asked.
type recorded struct {
	http.RoundTripper
	host  string
	mu    sync.Mutex
	asked []time.Time
}

func (r *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == r.host {
		r.mu.Lock()
		r.asked = append(r.asked, time.Now())
		r.mu.Unlock()
	}
	return r.RoundTripper.RoundTrip(req)
}

// A failed node is probed after 1, 2, 4 … 30 s, once each time and by no client's request
// while there is another.
func TestNodeIsLeftOutForLongerEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hosts := answers{"b": errors.New("connection refused")}
		tried := &recorded{RoundTripper: hosts, host: "b"}
		n := nodesOf(t, tried, "a", "b")
		began, clients := time.Now(), 0
		for time.Since(began) < 2*time.Minute {
			clients += n.count(t, 4)["b"]
			synctest.Wait()
			time.Sleep(100 * time.Millisecond)
		}
		for i, want := range []time.Duration{0, 1, 3, 7, 15, 31, 61, 91} {
			if i >= len(tried.asked) || (tried.asked[i].Sub(began)-want*time.Second).Abs() > time.Second {
				t.Fatalf("tried at %v, want about 0, 1, 3, 7, 15, 31, 61 and 91 s after %v", tried.asked, began)
			}
		}
		if len(tried.asked) > 8 || clients > 1 {
			t.Errorf("tried at %v, by %d clients", tried.asked, clients)
		}
		delete(hosts, "b")
		time.Sleep(longestPause)
		n.count(t, 1)
		synctest.Wait()
		if got := n.count(t, 10); got["b"] != 5 {
			t.Errorf("back again, it is asked %v", got)
		}
	})
}

// hung takes requests and answers none.
type hung struct {
	http.RoundTripper
	host string
}

func (h hung) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != h.host {
		return h.RoundTripper.RoundTrip(req)
	}
	<-req.Context().Done()
	return nil, context.Cause(req.Context())
}

// A node that accepts requests and answers none costs its time limit once, and no client
// waits for it until it answers.
func TestHungNodeIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := nodesOf(t, hung{answers{}, "b"}, "a", "b")
		const limit = 10 * time.Second
		waited := 0
		for began := time.Now(); time.Since(began) < 2*time.Minute; time.Sleep(time.Second) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			asked := time.Now()
			n.ask(t, ctx)
			cancel()
			if time.Since(asked) > 0 {
				waited++
			}
		}
		if waited != 1 {
			t.Errorf("%d requests waited for it", waited)
		}
		time.Sleep(probeTimeout) // the last try is over
	})
}

// When all are left out, requests go on, to the one that is due first.
func TestNodesThatAllFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("connection refused")
		hosts := answers{"a": down, "b": down}
		n := nodesOf(t, hosts, "a", "b")
		n.count(t, 6)
		delete(hosts, "b")
		got := n.count(t, 6)
		if got["b"] == 0 {
			t.Errorf("the one that is back is not asked: %v", got)
		}
		if got := n.count(t, 6); got["b"] != 6 {
			t.Errorf("asked are %v", got)
		}
	})
}

// Who gives up says nothing about the node; a node that has not answered in
// time does.
func TestImpatientCallersPutNoNodeAside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := nodesOf(t, answers{}, "a", "b")
		gone, giveUp := context.WithCancel(t.Context())
		giveUp()
		for range 10 {
			n.ask(t, gone)
		}
		if got := n.count(t, 10); got["a"] != 5 || got["b"] != 5 {
			t.Errorf("asked %v", got)
		}
		over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		slow := n.ask(t, over)
		if got := n.count(t, 10); got[slow] != 0 {
			t.Errorf("%s has not answered in time, and is asked: %v", slow, got)
		}
	})
}

// A crowd that fails together is one failure.
func TestFailuresSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := nodesOf(t, nil, "a", "b")
		began := time.Now()
		time.Sleep(time.Millisecond)
		for range 20 {
			n.report("a", began, errors.New("reset"))
		}
		if got := n.byHost["a"]; got.failures != 1 || time.Until(got.until) != firstPause {
			t.Errorf("%d failures, left out for %v", got.failures, time.Until(got.until))
		}
	})
}
