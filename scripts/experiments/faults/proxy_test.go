//go:build faults

package faults

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"atlas/internal/devstack"
	"atlas/internal/experiment/figures"
	"atlas/internal/timer"
	"atlas/scripts/experiments/rig"
)

// Common to every experiment with a proxy.
const (
	proxyClients   = 20
	searchTimeout  = 4 * time.Second
	requestTimeout = 8 * time.Second
	// grace is added to limits on a busy machine.
	grace = 2 * time.Second
	// faultHolds is the duration of a fault: whatever a client waits for when it begins
	// is answered before it ends.
	faultHolds = requestTimeout + grace + time.Second
	// recoversWithin is the time after a fault until all requests must succeed.
	recoversWithin = 5 * time.Second
	// spare is the number of additional goroutines and connections that are allowed for
	// background jobs.
	spare = 10
	// settlesWithin is the time until the others must be gone: the Postgres driver
	// closes an unresponsive connection in the background, after 15 s.
	settlesWithin = time.Minute
)

// disturbance is a fault of the connection to a backend.
type disturbance struct {
	name  string
	begin func(*rig.Proxy) error
}

func cut(p *rig.Proxy) error { p.Cut(); return nil }

func TestProxyElasticsearch(t *testing.T) {
	disturb(t, devstack.Elasticsearch, "proxy-elasticsearch", nil, []disturbance{
		{"delayed", func(p *rig.Proxy) error { return p.Delay(6000, 500) }},
		{"cut", cut},
		{"reset", (*rig.Proxy).Reset},
		{"black hole", (*rig.Proxy).BlackHole},
		{"trickle", func(p *rig.Proxy) error { return p.Trickle(64, 20_000) }},
		{"broken off", func(p *rig.Proxy) error { return p.Truncate(6_000) }},
	})
}

func TestProxyPostgres(t *testing.T) {
	disturb(t, devstack.Postgres, "proxy-postgres", nil, []disturbance{
		{"delayed", func(p *rig.Proxy) error { return p.Delay(10_000, 500) }},
		{"cut", cut},
		{"reset", (*rig.Proxy).Reset},
		{"black hole", (*rig.Proxy).BlackHole},
		{"trickle", func(p *rig.Proxy) error { return p.Trickle(4, 100_000) }},
		{"broken off", func(p *rig.Proxy) error { return p.Truncate(1_500) }},
	})
}

func TestProxyRedis(t *testing.T) {
	disturb(t, devstack.Redis, "proxy-redis", []string{"ATLAS_REDIS_TIMEOUT=500ms"}, []disturbance{
		{"delayed", func(p *rig.Proxy) error { return p.Delay(1000, 100) }},
		{"cut", cut},
		{"reset", (*rig.Proxy).Reset},
		{"black hole", (*rig.Proxy).BlackHole},
		{"trickle", func(p *rig.Proxy) error { return p.Trickle(1, 20_000) }},
		{"broken off", func(p *rig.Proxy) error { return p.Truncate(60) }},
	})
}

// disturb injects one fault after the other into the connection to a backend while
// clients search and list. Every answer is the known page or the documented 503, in
// time. Afterwards everything is as before, including goroutines and connections.
func disturb(t *testing.T, b devstack.Backend, experiment string, settings []string, faults []disturbance) {
	seed := figures.Seed(t)
	f := figures.New(t, experiment, "the way to "+string(b)+" disturbed in six ways, under 20 clients", seed)
	r := rig.Start(t, rig.Options{Seed: seed})
	p := r.Proxy(b)
	s := r.Serve(slices.Concat([]string{"ATLAS_REDIS_TIMEOUT=2s"}, settings, p.Settings,
		[]string{"ATLAS_SEARCH_TIMEOUT=" + searchTimeout.String(), "ATLAS_REQUEST_TIMEOUT=" + requestTimeout.String()})...)
	w := r.Workspace(rig.Unlimited)
	c := s.By(w)
	own := &http.Transport{MaxIdleConnsPerHost: proxyClients}
	c.HTTP = &http.Client{Transport: own}
	newFreeWrites(t, s, w) // makes a View, a member, a book
	free := knownLists(t, c)
	pages := knownPages(t, c)
	before := used(t, c)

	// A load without faults: afterwards goroutines and connections are at their
	// normal maximum.
	calm := startSearchLoad(t.Context(), c, slices.Concat(pages, free), proxyClients, seed)
	calm.waitFor(t, 200, 20*proxyClients, time.Minute)
	exchanges := calm.stop()
	own.CloseIdleConnections()
	base := footprint(t, r, s, b)
	t.Logf("before: %+v", base)

	for i, d := range faults {
		searchLoad := startSearchLoad(t.Context(), c, pages, proxyClients, seed+uint64(i))
		lists := startSearchLoad(t.Context(), c, free, 2, seed+uint64(i), 20*time.Millisecond)
		searchLoad.waitFor(t, 200, proxyClients, time.Minute)
		rig.Check(t, d.begin(p))
		began := time.Now()
		sleep(t, faultHolds)
		ended := time.Now()
		rig.Check(t, p.Heal())
		healed := time.Now()
		searchLoad.waitFor(t, 200, 5*proxyClients, time.Minute)
		some, listed := searchLoad.stop(), lists.stop()
		exchanges = slices.Concat(exchanges, some, listed)
		all := slices.Concat(some, listed)
		answered := map[int]bool{}
		for _, e := range some {
			if e.ended.After(began) && e.ended.Before(ended) {
				answered[e.client] = true
			}
		}
		under := slices.DeleteFunc(slices.Clone(all), func(e exchange) bool { return e.ended.Before(began) || e.began.After(healed) })
		refused := func(e exchange) bool { return e.status == http.StatusServiceUnavailable }
		f.AtLeast(d.name+": clients answered meanwhile", float64(len(answered)), proxyClients, "")
		f.AtLeast(d.name+": refused meanwhile", float64(count(under, refused)), 1, "")
		f.AtMost(d.name+": slowest answer", slowest(under), (requestTimeout + grace).Seconds(), "s")
		f.AtMost(d.name+": until all succeed again", recovery(t, s, all, healed, b), recoversWithin.Seconds(), "s")
		f.Exactly(d.name+": answers outside the contract", float64(wrong(t, all)), 0, "")
		if b == devstack.Redis {
			f.Exactly(
				d.name+": free requests refused",
				float64(count(listed, func(e exchange) bool { return e.status != 200 })), 0,
				"of "+fmt.Sprint(len(listed)),
			)
		}
	}
	own.CloseIdleConnections()
	after := base
	err := rig.Until(settlesWithin, "goroutines and connections are as before", func() error {
		if after = footprint(t, r, s, b); after.goroutines > base.goroutines+spare || after.connections > base.connections+spare {
			return fmt.Errorf("%+v, were %+v", after, base)
		}
		return nil
	})
	if err != nil {
		t.Log(err)
	}
	f.Exactly("other pages than before, of "+fmt.Sprint(count(exchanges, func(e exchange) bool { return e.status == 200 })),
		float64(count(exchanges, func(e exchange) bool { return e.status == 200 && e.wrong != "" })), 0, "")
	t.Logf("after: %+v", after)
	f.AtMost("goroutines more than before", after.goroutines-base.goroutines, spare, "")
	f.AtMost("connections more than before", after.connections-base.connections, spare, "")
	surplus := float64(used(t, c) - before - credits(exchanges))
	if b != devstack.Redis {
		f.Exactly("credits counted and not delivered", surplus, 0, "")
		return
	}
	// A charge that Redis executed stays even if its answers are lost. It is logged,
	// and the request was refused.
	f.Between("credits counted and not delivered", surplus, 0, unsettled(s), "")
}

// knownLists are requests that cost nothing, with their answers.
func knownLists(t *testing.T, c rig.Caller) []page {
	t.Helper()
	var all []page
	for _, path := range []string{"/workspace/views", "/workspace/members", "/workspace/signal-subscriptions"} {
		a, err := c.Want(t.Context(), http.StatusOK, "GET", path, nil)
		rig.Check(t, err)
		data, err := dataOf(a)
		rig.Check(t, err)
		all = append(all, page{method: "GET", path: path, data: data})
	}
	return all
}

// occupied is what a server uses.
type occupied struct {
	goroutines    float64 // but for the two of each connection to Elasticsearch
	elasticsearch float64 // connections; how many are idle varies with the load
	connections   float64 // to the disturbed backend
}

func footprint(t *testing.T, r *rig.Rig, s *rig.Server, b devstack.Backend) occupied {
	t.Helper()
	goroutines, err := s.Goroutines(t.Context())
	rig.Check(t, err)
	elasticsearch, err := r.Connections(t.Context(), devstack.Elasticsearch)
	rig.Check(t, err)
	connections, err := r.Connections(t.Context(), b)
	rig.Check(t, err)
	return occupied{goroutines - 2*float64(elasticsearch), float64(elasticsearch), float64(connections)}
}

// sleep waits, unless the test ends.
func sleep(t *testing.T, d time.Duration) {
	t.Helper()
	rig.Check(t, timer.Sleep(t.Context(), d))
}
