package elastic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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
func (n *nodes) use(connections []*elastictransport.Connection, _ elastictransport.Selector) elastictransport.ConnectionPool {
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

// Next implements elastictransport.ConnectionPool. When all nodes are left out,
// it is the one whose pause ends first: there is nothing to lose.
func (n *nodes) Next() (*elastictransport.Connection, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.all) == 0 {
		return nil, errors.New("no node is configured")
	}
	now := time.Now()
	var chosen *node
	for i := range n.all {
		candidate := n.all[(n.turn+i)%len(n.all)]
		if !now.Before(candidate.until) {
			chosen = candidate
			n.turn += i
			break
		}
		if chosen == nil || candidate.until.Before(chosen.until) {
			chosen = candidate
		}
	}
	n.turn = (n.turn + 1) % len(n.all)
	if chosen.failures > 0 && !now.Before(chosen.until) {
		// This request tries it out; the others wait for what comes of it.
		chosen.until = now.Add(firstPause)
	}
	return chosen.connection, nil
}

// RoundTrip implements http.RoundTripper, and learns from it how the node does.
func (n *nodes) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	res, err := n.transport.RoundTrip(req)
	if err == nil || !errors.Is(context.Cause(req.Context()), context.Canceled) {
		n.report(req.URL.Host, began, err)
	}
	return res, err
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
func again(req *http.Request, _ error) bool { return req.Context().Err() == nil }

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
