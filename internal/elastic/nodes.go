package elastic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"
)

// A node that failed is left out for firstPause, doubled with each further failure
// up to longestPause. The pauses are short: a node that restarts is back within
// seconds, and a failed request costs one retry.
const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// nodes chooses the node of a request: each in turn, without those that failed
// recently. It replaces the library's pool, which has two faults: it counts a
// request that its caller cancelled as a failure of the node, so that impatient
// callers exclude healthy nodes; and it excludes a node for at least a minute.
type nodes struct {
	transport http.RoundTripper

	mu     sync.Mutex
	all    []*node
	byHost map[string]*node
	turn   int
}

type node struct {
	connection *elastictransport.Connection
	failures   int       // in a row
	last       time.Time // when a failure was last counted
	until      time.Time // left out until then
}

var (
	_ elastictransport.ConnectionPool = (*nodes)(nil)
	_ http.RoundTripper               = (*nodes)(nil)
)

// setConnections sets the nodes. The library calls it once, when the client is
// made.
func (n *nodes) setConnections(connections []*elastictransport.Connection, _ elastictransport.Selector) elastictransport.ConnectionPool {
	n.byHost = make(map[string]*node, len(connections))
	for _, c := range connections {
		if n.byHost[c.URL.Host] != nil {
			continue // the same address twice
		}
		added := &node{connection: c}
		n.all = append(n.all, added)
		n.byHost[c.URL.Host] = added
	}
	return n
}

// Next implements elastictransport.ConnectionPool. No request waits for a node that may not
// answer: failed nodes are probed in the background. When all have failed, the one whose
// pause ends first is used.
func (n *nodes) Next() (*elastictransport.Connection, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.all) == 0 {
		return nil, errors.New("no node is configured")
	}
	now := time.Now()
	inTurn := slices.Concat(n.all[n.turn:], n.all[:n.turn])
	n.turn = (n.turn + 1) % len(n.all)
	for i, each := range inTurn {
		if each.failures == 0 {
			n.turn = (n.turn + i) % len(n.all)
			n.probeFailed(now)
			return each.connection, nil
		}
	}
	first := slices.MinFunc(inTurn, func(a, b *node) int { return a.until.Compare(b.until) })
	if !now.Before(first.until) {
		first.until = now.Add(firstPause) // use the others until this one has answered
	}
	return first.connection, nil
}

// probeFailed probes the failed nodes whose pause is over.
func (n *nodes) probeFailed(now time.Time) {
	for _, failed := range n.all {
		if failed.failures > 0 && !now.Before(failed.until) {
			failed.until = now.Add(probeTimeout)
			go n.probe(failed.connection.URL)
		}
	}
}

// probeTimeout bounds a probe.
const probeTimeout = 2 * time.Second

// probe sends a request without credentials to a failed node. Any answer shows that
// the node is back.
func (n *nodes) probe(at *url.URL) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.JoinPath("/").String(), nil)
	if err != nil {
		return // cannot happen with a configured address
	}
	if res, err := n.RoundTrip(req); err == nil {
		_ = res.Body.Close()
	}
}

// RoundTrip implements http.RoundTripper and records success or failure of the node. It
// reads the whole answer, so that a truncated answer counts as a failure of the node and
// another node is tried.
func (n *nodes) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	res, err := n.transport.RoundTrip(req)
	if err == nil {
		err = bufferBody(res)
	}
	if err == nil || !errors.Is(context.Cause(req.Context()), context.Canceled) {
		n.report(req.URL.Host, began, err)
	}
	if err != nil {
		return nil, err
	}
	return res, nil
}

// report records the end of a request that began then. Concurrent requests that
// fail together count as one failure.
func (n *nodes) report(host string, began time.Time, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	asked := n.byHost[host]
	switch {
	case asked == nil:
	case err == nil:
		asked.failures, asked.until = 0, time.Time{}
	case asked.failures == 0 || began.After(asked.last):
		now := time.Now()
		pause := longestPause
		if asked.failures < 5 { // 1, 2, 4, 8, 16 s
			pause = firstPause << asked.failures
		}
		asked.failures++
		asked.last, asked.until = now, now.Add(pause)
	}
}

// OnSuccess implements elastictransport.ConnectionPool. RoundTrip records it.
func (*nodes) OnSuccess(*elastictransport.Connection) error { return nil }

// OnFailure implements elastictransport.ConnectionPool. RoundTrip records it.
func (*nodes) OnFailure(*elastictransport.Connection) error { return nil }

// URLs implements elastictransport.ConnectionPool.
func (n *nodes) URLs() []*url.URL {
	urls := make([]*url.URL, len(n.all))
	for i, each := range n.all {
		urls[i] = each.connection.URL
	}
	return urls
}

// canRetry reports whether another node is tried after an error: not when the context of
// the request has ended.
func canRetry(req *http.Request, _ error) bool { return req.Context().Err() == nil }

// parseAddresses refuses addresses other than http(s)://host[:port]. Its errors do
// not show them: they can contain a password.
func parseAddresses(addresses []string) ([]*url.URL, error) {
	if len(addresses) == 0 {
		return nil, errors.New("elasticsearch: no address is given")
	}
	urls := make([]*url.URL, len(addresses))
	for i, address := range addresses {
		u, err := url.Parse(strings.TrimRight(address, "/"))
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("elasticsearch: address %d is not http(s)://host:port", i+1)
		}
		urls[i] = u
	}
	return urls, nil
}
