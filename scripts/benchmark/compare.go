package main

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"time"

	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/report"
	"atlas/scripts/experiments/rig"
)

// byTurns sends requests of several kinds in rotation over one connection, and
// returns the p50 of each kind in milliseconds.
func (s *serving) byTurns(about time.Duration, kinds ...[]*load.Request) (p50 []float64) {
	things := make([]func(int) (time.Duration, error), len(kinds))
	for i, requests := range kinds {
		things[i] = s.client.Timed(s.ctx, requests...)
	}
	for _, took := range must(load.Turns(about, things...)) {
		p50 = append(p50, took.Percentile(50))
	}
	return p50
}

// threeWays is a figure through Atlas, straight to the backends, and the
// difference.
type threeWays struct {
	Service report.Spread `json:"service"`
	Direct  report.Spread `json:"direct"`
	Added   report.Spread `json:"added"`
}

func (t *threeWays) add(service, direct float64) {
	t.Service.Add(service)
	t.Direct.Add(direct)
	t.Added.Add(service - direct)
}

func (t threeWays) row(name string) []string {
	return append([]string{name}, report.Texts(2, t.Service, t.Direct, t.Added)...)
}

// compared compares one kind of request with another, and with the time of Elasticsearch
// alone for the first.
type compared struct {
	Name  string        `json:"name"`
	One   report.Spread `json:"p50_ms"`
	Other report.Spread `json:"beside_p50_ms"`
	Ratio report.Spread `json:"ratio"`
	Alone report.Spread `json:"elasticsearch_alone_p50_ms"`

	one, other, alone []*load.Request
}

// addAlone adds the Elasticsearch requests that the service sends for the first
// kind of each.
func (s *serving) addAlone(all []*compared) {
	recorder, server := s.recorded()
	defer func() { check(server.Stop()) }()
	for _, c := range all {
		for _, r := range c.one {
			recorder.take()
			repeated := *r
			repeated.URL = must(url.Parse(server.Base))
			repeated.URL.Path, repeated.URL.RawQuery = r.URL.Path, r.URL.RawQuery
			must(s.client.Check(s.ctx, &repeated, nil))
			direct, _, _ := recorder.last(r)
			c.alone = append(c.alone, direct)
		}
	}
}

// compareAll measures everything in each round, which takes about this many
// seconds, after an uncounted warm-up. Then it measures several kinds at
// saturation.
func (s *serving) compareAll(all []*compared, rounds int, seconds float64, loads ...*kindsSaturated) {
	for _, l := range loads {
		l.warmUp(s, seconds/3/float64(len(loads)))
	}
	each := time.Duration(seconds / float64(len(all)) * float64(time.Second))
	for round := range rounds + 1 {
		for _, c := range all {
			if round == 0 {
				s.byTurns(time.Second, c.one, c.other, c.alone)
				continue
			}
			p50 := s.byTurns(each, c.one, c.other, c.alone)
			c.One.Add(p50[0])
			c.Other.Add(p50[1])
			c.Ratio.Add(p50[0] / p50[1])
			c.Alone.Add(p50[2])
		}
		if round == 0 {
			continue
		}
		for _, l := range loads {
			l.measure(s)
		}
		say("round %d of %d", round, rounds)
	}
}

// comparedTable has a row for each kind.
func comparedTable(all []*compared, head ...string) report.Table {
	t := report.Table{Head: head}
	for _, c := range all {
		t.Add(append([]string{c.Name}, report.Texts(2, c.One, c.Other, c.Ratio, c.Alone)...)...)
	}
	return t
}

// saturated is the rate and the cost of requests of one kind in a closed loop
// without pauses.
type saturated struct {
	Name      string        `json:"name"`
	PerSecond report.Spread `json:"requests_per_second"`
	CPU       cpu           `json:"cpu_ms_per_request"`

	requests []*load.Request
}

// kindsSaturated are several kinds, with equally many requests of each.
type kindsSaturated struct {
	RequestsARound int          `json:"requests_a_round"`
	Kinds          []*saturated `json:"kinds"`
}

// saturate makes three kinds from the sides of a comparison. Each row has the same
// share, whatever its number of variants.
func saturate(all []*compared, names ...string) *kindsSaturated {
	k := &kindsSaturated{}
	for side, name := range names {
		kind := &saturated{Name: name}
		for _, c := range all {
			requests := [][]*load.Request{c.one, c.other, c.alone}[side]
			for i := range 10 {
				kind.requests = append(kind.requests, requests[i%len(requests)])
			}
		}
		k.Kinds = append(k.Kinds, kind)
	}
	return k
}

// shortest is the minimum time of saturation with one kind, in seconds: CPU time is
// counted in steps, for Elasticsearch once a second.
const shortest = 1.5

// warmUp finds how many requests of the first kind take about this many seconds.
func (k *kindsSaturated) warmUp(s *serving, seconds float64) {
	n := len(k.Kinds[0].requests)
	for i, kind := range k.Kinds {
		result := must(s.client.Closed(s.ctx, kind.requests, connections, max(2*n, 100)))
		if i == 0 {
			k.RequestsARound = passes(result, max(seconds, shortest), n) * n
		}
	}
}

// passes is how often n requests fit into this many seconds, at least once.
func passes(warm load.Result, seconds float64, n int) int {
	return max(1, int(math.Round(warm.PerSecond()*seconds/float64(n))))
}

// measure sends equally many requests of each kind.
func (k *kindsSaturated) measure(s *serving) {
	for _, kind := range k.Kinds {
		result := s.meter.closed(s.ctx, s.client, kind.requests, connections, k.RequestsARound, &kind.CPU)
		kind.PerSecond.Add(result.PerSecond())
	}
}

func (k *kindsSaturated) table() report.Table {
	t := report.Table{Head: []string{""}}
	row := []string{"requests/s"}
	var used []cpu
	for _, kind := range k.Kinds {
		t.Head, row, used = append(t.Head, kind.Name), append(row, kind.PerSecond.Text(0)), append(used, kind.CPU)
	}
	t.Add(row...)
	addProcesses(&t, "ms/request", used...)
	return t
}

// recorder records the searches that a service sends to Elasticsearch while
// requests are prepared, never while they are measured. So the requests that the
// benchmark later sends straight to Elasticsearch are byte for byte those of the
// service.
type recorder struct {
	to   *url.URL
	lock sync.Mutex
	seen []rig.Exchange
}

// recorded starts a service and records its searches on Elasticsearch.
func (i *installation) recorded() (*recorder, *rig.Server) {
	r := &recorder{to: must(url.Parse(i.Elasticsearch[0]))}
	return r, i.serve("ATLAS_ELASTICSEARCH_URL=" + rig.Tap(i.run, i.Elasticsearch[0], nil, r.add))
}

func (r *recorder) add(e rig.Exchange) {
	if !e.Searches() {
		return // background work of the service on held records
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.seen = append(r.seen, e)
}

// take returns the exchanges since the last take.
func (r *recorder) take() []rig.Exchange {
	r.lock.Lock()
	defer r.lock.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

// last returns the request since the last take that found the page, for sending straight to
// Elasticsearch, the answer that it got, and how many searches there were. Earlier ones found
// too few rows, or only a bound; if nothing is found, others look for other words.
func (r *recorder) last(by *load.Request) (direct *load.Request, answer []byte, searches int) {
	seen := r.take()
	if len(seen) == 0 || seen[len(seen)-1].Status != http.StatusOK {
		check(fmt.Errorf("%s: %d requests of Elasticsearch, the last of which does not succeed", by.Body, len(seen)))
	}
	found := seen[len(seen)-1]
	for _, e := range seen {
		searches += max(1, bytes.Count(e.Body, []byte("\n"))/2) // a search has one line, an _msearch two each
		if asksForRows.Match(e.Body) {
			found = e
		}
	}
	return directly(found, r.to), found.Answer, searches
}

// asksForRows matches searches that return rows, not only counts or words.
var asksForRows = regexp.MustCompile(`"size":[1-9]`)

// directly returns the same request for another address.
func directly(e rig.Exchange, to *url.URL) *load.Request {
	r := &load.Request{Method: e.Method, URL: to.ResolveReference(must(url.Parse(e.Target))), Header: e.Header, Body: e.Body}
	// The client sets these itself.
	for _, name := range []string{"Content-Length", "Connection", "Accept-Encoding"} {
		r.Header.Del(name)
	}
	r.Expect(e.Answer)
	return r
}
