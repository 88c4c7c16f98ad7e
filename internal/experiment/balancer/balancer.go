// Package balancer is a load balancer of HTTP for tests and experiments. It sends
// requests in turn to the servers that were ready at their last probe, to all while none
// is, and never repeats a request.
package balancer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Poll is the interval of readiness probes. The drain pause of the servers must be
// longer, also on a busy machine.
const Poll = 100 * time.Millisecond

// probeWithin bounds a probe. A server that does not respond is not ready.
const probeWithin = 5 * time.Second

// Balancer is in front of servers.
type Balancer struct {
	// Root is http://host:port.
	Root string

	ctx     context.Context // of the probes
	cancel  context.CancelFunc
	asking  sync.WaitGroup
	lock    sync.Mutex
	servers []*server
	next    atomic.Int64
	front   *http.Server
	served  chan struct{}
}

// server is one behind the balancer.
type server struct {
	url   *url.URL
	ready atomic.Bool
	leave context.CancelFunc
}

// New starts a balancer without servers. An empty address means a free loopback port.
func New(address string) (*Balancer, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	b := &Balancer{Root: "http://" + listener.Addr().String(), served: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.front = &http.Server{ReadHeaderTimeout: time.Minute, Handler: &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(b.pick()) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			http.Error(w, fmt.Sprintf("%s: %v", r.URL.Host, err), http.StatusBadGateway)
		},
		ErrorLog: log.New(io.Discard, "", 0), // of interrupted answers, which the client notices
	}}
	go func() {
		_ = b.front.Serve(listener) // until Close
		close(b.served)
	}()
	return b, nil
}

// Close ends the probes and all connections.
func (b *Balancer) Close() error {
	b.cancel()
	b.asking.Wait()
	err := b.front.Close()
	<-b.served
	return err
}

// Set sets the servers, by their roots. Those that were already set keep their state.
func (b *Balancer) Set(roots ...string) error {
	b.lock.Lock()
	defer b.lock.Unlock()
	var servers []*server
	var errs []error
	for _, root := range roots {
		at := slices.IndexFunc(b.servers, func(s *server) bool { return s.url.String() == root })
		if at >= 0 {
			servers = append(servers, b.servers[at])
			continue
		}
		u, err := url.Parse(root)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ctx, leave := context.WithCancel(b.ctx)
		s := &server{url: u, leave: leave}
		servers = append(servers, s)
		b.asking.Go(func() { s.ask(ctx) })
	}
	for _, s := range b.servers {
		if !slices.Contains(servers, s) {
			s.leave()
		}
	}
	b.servers = servers
	return errors.Join(errs...)
}

// ask probes one server until ctx ends, independent of the others.
func (s *server) ask(ctx context.Context) {
	each := time.NewTicker(Poll)
	defer each.Stop()
	for {
		ready := s.answers(ctx)
		if ctx.Err() != nil {
			return
		}
		s.ready.Store(ready)
		select {
		case <-ctx.Done():
			return
		case <-each.C:
		}
	}
}

func (s *server) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.JoinPath("/health/ready").String(), nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// Ready is the number of servers that were ready at their last probe.
func (b *Balancer) Ready() (n int) {
	b.lock.Lock()
	defer b.lock.Unlock()
	for _, s := range b.servers {
		if s.ready.Load() {
			n++
		}
	}
	return n
}

// pick returns the next server.
func (b *Balancer) pick() *url.URL {
	b.lock.Lock()
	defer b.lock.Unlock()
	var all, ready []*url.URL
	for _, s := range b.servers {
		all = append(all, s.url)
		if s.ready.Load() {
			ready = append(ready, s.url)
		}
	}
	if len(ready) == 0 {
		// A backend of all of them may be down: they still answer some requests.
		ready = all
	}
	if len(ready) == 0 {
		return &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	}
	return ready[int(b.next.Add(1))%len(ready)]
}
