package elastic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"
)

// A node that failed is left out for firstPause, then for twice as long with
// each further failure, up to longestPause. Short, since a node that restarts
// is back within seconds, and asking in vain costs one request a retry.
const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// nodes chooses which node a request goes to: each in turn, leaving out those
// that failed lately. The library's own pool would do but for two things. It
// takes a request whose caller gave up for a failure of the node, so that
// impatient callers put healthy nodes aside; and it leaves a node out for a
// minute at least.
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

// use sets the nodes; the library calls it once, when the client is made.
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

// Next implements elastictransport.ConnectionPool. Nobody's request waits for a
// node that may not answer: those that failed are tried out beside it. When all
// have failed, it is the one whose pause ends first: there is nothing to lose.
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
		first.until = now.Add(firstPause) // the others' turn, until this one has answered
	}
	return first.connection, nil
}

// tryOut asks those again that failed and whose pause is over.
func (n *nodes) probeFailed(now time.Time) {
	for _, failed := range n.all {
		if failed.failures > 0 && !now.Before(failed.until) {
			failed.until = now.Add(probeTimeout)
			go n.probe(failed.connection.URL)
		}
	}
}

// tryFor is what a node that failed has for showing that it answers again.
const probeTimeout = 2 * time.Second

// try asks a node that failed for anything. Whatever it answers, without
// credentials, it is there again.
func (n *nodes) probe(at *url.URL) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.JoinPath("/").String(), nil)
	if err != nil {
		return // no address that was configured comes here
	}
	if res, err := n.RoundTrip(req); err == nil {
		_ = res.Body.Close()
	}
}

// RoundTrip implements http.RoundTripper, and learns from it how the node does.
// The answer has been read whole when it returns, so that one which breaks off is
// a failure of the node like any other, after which another one is asked.
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

// report takes in how a request that began then ended. Requests that were under
// way together and failed together are one failure.
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

// OnSuccess implements elastictransport.ConnectionPool: RoundTrip knows more.
func (*nodes) OnSuccess(*elastictransport.Connection) error { return nil }

// OnFailure implements elastictransport.ConnectionPool: RoundTrip knows more.
func (*nodes) OnFailure(*elastictransport.Connection) error { return nil }

// URLs implements elastictransport.ConnectionPool.
func (n *nodes) URLs() []*url.URL {
	urls := make([]*url.URL, len(n.all))
	for i, each := range n.all {
		urls[i] = each.connection.URL
	}
	return urls
}

// again tells whether another node is asked after an error: not for a caller
// whose time is over.
func canRetry(req *http.Request, _ error) bool { return req.Context().Err() == nil }

// checkAddresses refuses what is no http(s)://host[:port]. The addresses are
// not shown: they may hold a password.
func checkAddresses(addresses []string) error {
	if len(addresses) == 0 {
		return errors.New("elasticsearch: no address is given")
	}
	for i, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("elasticsearch: address %d is not http(s)://host:port", i+1)
		}
	}
	return nil
}
