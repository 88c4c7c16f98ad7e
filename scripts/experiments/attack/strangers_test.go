//go:build attack

package attack

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

const (
	strangers = 128 // connections
	// strangersFor is how long each attack lasts, calmFor how long nobody attacks before and
	// after it, and mostAsked how many requests it sends at most.
	strangersFor = 6 * time.Second
	calmFor      = 3 * time.Second
	mostAsked    = 200_000
)

// open is an address that needs no key.
type open struct {
	name, method, path, body string
}

// opened are addresses of every class.
var opened = []open{
	{name: "the OpenAPI document", method: "GET", path: "/api/v1/openapi.json"},
	{name: "a page of the documentation", method: "GET", path: "/docs/api"},
	{name: "a search of the documentation", method: "GET", path: "/docs/search?q=a+e+i+o+u+s+t+n"},
	{name: "a page that is not there", method: "GET", path: "/docs/nothing"},
	{name: "llms.txt", method: "GET", path: "/llms.txt"},
	{name: "liveness", method: "GET", path: "/health/live"},
	{name: "readiness", method: "GET", path: "/health/ready"},
	{name: "the Explorer", method: "GET", path: "/"},
	{name: "a session", method: "GET", path: "/session"},
	{name: "signing in", method: "POST", path: "/session", body: `{"token":"x"}`},
	{name: "unsubscribing", method: "POST", path: "/unsubscribe?token=x", body: "again=0"},
	{name: "a path that is not there", method: "POST", path: "/api/v1/data/acounts/serch", body: "{}"},
	{name: "a method that is not there", method: "PUT", path: "/api/v1/workspace"},
}

// stranger is what one connection does until ctx ends.
type stranger struct {
	name string
	act  func(ctx context.Context, s *rig.Server, from *net.Dialer, asked *atomic.Int64)
}

// strangeness is every attack: each address at the maximum rate of a connection, and requests
// that make a server wait.
func strangeness() (all []stranger) {
	for _, o := range opened {
		all = append(all, stranger{o.name + ", fast", func(ctx context.Context, s *rig.Server, from *net.Dialer, asked *atomic.Int64) {
			askOften(ctx, s.Root, from, o, asked)
		}})
	}
	slow := func(name, sent string, reads bool) {
		all = append(all, stranger{name, func(ctx context.Context, s *rig.Server, from *net.Dialer, _ *atomic.Int64) {
			holdOpen(ctx, s.Address, from, sent, reads)
		}})
	}
	for _, o := range opened {
		if o.method != http.MethodGet {
			slow(o.name+", a body that never comes", o.header("Content-Type: application/json\r\nContent-Length: 50\r\n")+"{", true)
		}
	}
	slow("a header that never ends", opened[0].header("X-Slow: ")[:40], true)
	slow("documents that are not read", strings.Repeat(opened[0].header(""), 100), false)
	return all
}

// header is the start of a request, with further fields.
func (o open) header(more string) string {
	return o.method + " " + o.path + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n"
}

// Strangers send requests without a key from 128 connections, each of another address: as
// fast as they can, and ones that never end. Searches of a workspace stay below three times their time, and readiness
// answers 200. What a search takes otherwise is measured before and after each attack, since
// other programs share the machine. It attacks the server that it has started, on loopback.
func TestStrangers(t *testing.T) {
	f := figures.New(t, "strangers", fmt.Sprintf("addresses without a key, from %d connections, fast and slow", strangers), 0)
	r := rig.Start(t, rig.Options{})
	s := r.Serve(rig.PatientRedis)
	c := s.By(r.Workspace(rig.Unlimited, "Ordinary"))
	ordinary := []request{{&grammar{dataset: "projects"}, object{"limit": 5}}}
	healthy(t, c, ordinary, calmFor) // warm-up
	calm := func() []time.Duration {
		took, failed := healthy(t, c, ordinary, calmFor)
		if failed > 0 {
			t.Fatalf("%d searches failed while nobody attacked", failed)
		}
		return took
	}
	before := calm()
	for _, who := range strangeness() {
		ctx, stop := context.WithTimeout(t.Context(), strangersFor)
		var all sync.WaitGroup
		var asked atomic.Int64
		for i := range strangers {
			// Each is a client of its own, so that the limits of one do not hide those of all.
			from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i+1))}}
			all.Go(func() { who.act(ctx, s, from, &asked) })
		}
		ready, unready := make(chan struct{}), 0
		go func() {
			defer close(ready)
			unready = notReady(ctx, t, s.Root)
		}()
		meanwhile, failed := healthy(t, c, ordinary, strangersFor-time.Second)
		stop()
		all.Wait()
		<-ready
		after := calm()
		alone := figures.Percentile(slices.Concat(before, after), 50)
		before = after
		f.Report(who.name+": answers", float64(asked.Load()), "")
		f.Report(who.name+": searches alone, p50", alone, "ms")
		f.AtMost(who.name+": searches, p50", figures.Percentile(meanwhile, 50), 3*alone, "ms")
		f.Exactly(who.name+": searches that failed", float64(failed), 0, "")
		f.Exactly(who.name+": probes of readiness that failed", float64(unready), 0, "")
	}
}

// askOften sends a request repeatedly on a connection of its own.
func askOften(ctx context.Context, root string, from *net.Dialer, o open, asked *atomic.Int64) {
	client := rig.Caller{Base: root, HTTP: &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1, DialContext: from.DialContext}}}
	defer client.HTTP.CloseIdleConnections()
	for ctx.Err() == nil && asked.Load() < mostAsked {
		var body any
		if o.body != "" {
			body = o.body
		}
		if _, err := client.Do(ctx, o.method, o.path, body); err == nil {
			asked.Add(1)
		}
	}
}

// holdOpen sends the beginning of a request on a new connection, and repeats that when the
// server closes it. If it reads nothing, it holds the connection to the end.
func holdOpen(ctx context.Context, address string, from *net.Dialer, beginning string, reads bool) {
	for ctx.Err() == nil {
		conn, err := from.DialContext(ctx, "tcp", address)
		if err != nil {
			return
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		_, _ = io.WriteString(conn, beginning)
		if reads {
			_, _ = io.Copy(io.Discard, conn)
		} else {
			<-ctx.Done()
		}
		stop()
		_ = conn.Close()
	}
}

// notReady counts the probes that are not answered with 200.
func notReady(ctx context.Context, t *testing.T, root string) (n int) {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		res, err := client.Get(root + "/health/ready")
		if err != nil || res.StatusCode != http.StatusOK {
			n++
			t.Logf("readiness: %v %+v", err, res)
		}
		if err == nil {
			_ = res.Body.Close()
		}
		select {
		case <-ctx.Done():
			return n
		case <-tick.C:
		}
	}
}
