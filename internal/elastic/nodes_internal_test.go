package elastic

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"
)

// answers says what each host does; every request takes no time.
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
	n.use(connections, nil)
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

// A node that fails is tried again after 1, 2, 4 … 30 s, by one request each.
func TestNodeIsLeftOutForLongerEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("connection refused")
		hosts := answers{"b": down}
		n := nodesOf(t, hosts, "a", "b")
		var tried []time.Duration
		for began := time.Now(); time.Since(began) < 2*time.Minute; time.Sleep(100 * time.Millisecond) {
			if n.count(t, 4)["b"] > 0 {
				tried = append(tried, time.Since(began))
			}
		}
		for i, want := range []time.Duration{0, 1, 3, 7, 15, 31, 61, 91} {
			if i >= len(tried) || (tried[i]-want*time.Second).Abs() > time.Second {
				t.Fatalf("tried after %v, want about 0, 1, 3, 7, 15, 31, 61 and 91 s", tried)
			}
		}
		if len(tried) > 8 {
			t.Errorf("tried after %v", tried)
		}
		delete(hosts, "b")
		time.Sleep(longestPause)
		if got := n.count(t, 10); got["b"] != 5 {
			t.Errorf("back again, it is asked %v", got)
		}
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
