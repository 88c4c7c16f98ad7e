//go:build attack

package attack

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/scripts/experiments/figures"
	"atlas/scripts/experiments/rig"
)

const (
	strangers = 128 // connections
	// strangersFor is how long each attack lasts, and mostAsked how many requests it
	// sends at most.
	strangersFor = 8 * time.Second
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

// Strangers send requests without a key from 128 connections: as fast as they can, and ones
// whose body never comes. Searches of a workspace stay below three times their time, and
// readiness answers 200. It attacks the server that it has started, on loopback.
func TestStrangers(t *testing.T) {
	f := figures.New(t, "strangers", fmt.Sprintf("addresses without a key, from %d connections, fast and slow", strangers), 0)
	r := rig.Start(t, rig.Options{})
	s := r.Serve(rig.PatientRedis)
	c := s.By(r.Workspace(rig.Unlimited, "Ordinary"))
	ordinary := []request{{&grammar{dataset: "projects"}, object{"limit": 5}}}
	healthy(t, c, ordinary, 3*time.Second) // warm-up
	alone, failed := healthy(t, c, ordinary, strangersFor)
	before := figures.Percentile(alone, 50)
	f.Report("searches before: p50", before, "ms")
	f.Exactly("searches before that failed", float64(failed), 0, "")
	for _, slow := range []bool{false, true} {
		for _, o := range opened {
			name := o.name + ", fast"
			if slow {
				if o.method == "GET" {
					continue // it has no body
				}
				name = o.name + ", slow"
			}
			ctx, stop := context.WithTimeout(t.Context(), strangersFor)
			var all sync.WaitGroup
			var asked atomic.Int64
			for range strangers {
				all.Go(func() {
					if slow {
						holdOpen(ctx, s.Address, o)
						return
					}
					askOften(ctx, s.Root, o, &asked)
				})
			}
			ready, unready := make(chan struct{}), 0
			go func() {
				defer close(ready)
				unready = notReady(ctx, s.Root)
			}()
			meanwhile, failed := healthy(t, c, ordinary, strangersFor-time.Second)
			stop()
			all.Wait()
			<-ready
			f.Report(name+": answers", float64(asked.Load()), "")
			f.AtMost(name+": searches, p50", figures.Percentile(meanwhile, 50), 3*before, "ms")
			f.Exactly(name+": searches that failed", float64(failed), 0, "")
			f.Exactly(name+": probes of readiness that failed", float64(unready), 0, "")
		}
	}
}

// askOften sends a request again and again on a connection of its own.
func askOften(ctx context.Context, root string, o open, asked *atomic.Int64) {
	client := rig.Caller{Base: root, HTTP: &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}}
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

// holdOpen sends the header of a request and a byte of its body, again when the server has
// enough of it.
func holdOpen(ctx context.Context, address string, o open) {
	for ctx.Err() == nil {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		_, _ = io.WriteString(conn, o.method+" "+o.path+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{")
		_, _ = io.Copy(io.Discard, conn)
		stop()
		_ = conn.Close()
	}
}

// notReady counts the probes that are not answered with 200.
func notReady(ctx context.Context, root string) (n int) {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		res, err := client.Get(root + "/health/ready")
		if err != nil || res.StatusCode != http.StatusOK {
			n++
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
