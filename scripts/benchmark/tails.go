package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/report"
)

// tailsCmd measures latencies at fixed shares of the service's capacity, and finds what the
// slowest requests have in common.
type tailsCmd struct {
	place
	Records     int64  `default:"300000" help:"Records of the dataset, 10000 to 100000000 (default: 300000)."`
	Seed        uint64 `default:"1" help:"Seed of the dataset and of the requests (default: 1)."`
	Requests    int    `default:"1000" help:"Different requests, 100 to 100000 (default: 1000)."`
	Seconds     int    `default:"18" help:"How long each measurement takes, in seconds (default: 18)."`
	Rounds      int    `default:"3" help:"How often each is repeated, by turns (default: 3)."`
	Warm        int    `default:"40" help:"How long the warm-up takes, in seconds (default: 40)."`
	Connections int    `default:"8" help:"Connections at saturation (default: 8)."`
	Shares      []int  `default:"30,60,80" help:"Rates, in percent of the throughput of the service at saturation (default: 30,60,80)."`
	report.Output
}

// Validate implements kong's interface.
func (c *tailsCmd) Validate() error {
	return errors.Join(
		within("records", 10_000, 100_000_000, c.Records),
		within("requests", 100, 100_000, c.Requests),
		within("seconds", 1, 3600, c.Seconds),
		within("rounds", 1, 100, c.Rounds),
		within("warm", 0, 3600, c.Warm),
		within("connections", 1, load.MaxInFlight, c.Connections),
		within("shares", 1, 100, c.Shares...),
	)
}

// Run measures and prints.
func (c *tailsCmd) Run(ctx context.Context) error {
	if err := c.Check("tails"); err != nil {
		return err
	}
	return try(ctx, func(r *run) { c.on(install(r, c.place, c.Records, c.Seed)) })
}

// tailsReport is the result.
type tailsReport struct {
	heading
	Requests   requestFacts `json:"requests"`
	Seconds    int          `json:"seconds_each"`
	Rounds     int          `json:"rounds"`
	Saturation float64      `json:"saturation_requests_per_second"`
	Rates      []*tail      `json:"rates"`
}

// tail has the latencies at one rate, in milliseconds from the time when a request was
// due, and the causes of the slowest.
type tail struct {
	Share          int       `json:"percent_of_saturation"`
	Rate           float64   `json:"requests_per_second"`
	RequestsARound int       `json:"requests_a_round"`
	P50            threeWays `json:"p50_ms"`
	P99            threeWays `json:"p99_ms"`
	P999           threeWays `json:"p99.9_ms"`
	// Service and Direct are of all rounds together.
	Service causes `json:"service_causes"`
	Direct  causes `json:"direct_causes"`
}

// slowestShare is the share of requests whose causes are counted.
const slowestShare = 0.001

// tailSettings make a service log each request with its time in backends, and its
// garbage collections.
var tailSettings = []string{"ATLAS_LOG_LEVEL=info", "GODEBUG=gctrace=1"}

// on runs the benchmark on an installation and prints the result.
func (c *tailsCmd) on(i *installation) {
	i.bothWays(c.Requests, c.Seed, func(s *sides) {
		r := tailsReport{heading: i.heading(), Requests: s.facts, Seconds: c.Seconds, Rounds: c.Rounds}
		s.warmUp(c.Connections, time.Duration(c.Warm)*time.Second)
		for _, client := range []load.Client{s.through, s.beside} { // opens all connections
			requests := map[load.Client][]*load.Request{s.through: s.services, s.beside: s.directs}[client]
			must(client.Closed(s.ctx, requests, load.MaxInFlight, len(requests)))
		}
		say("warm")
		r.Saturation = must(s.through.Closed(s.ctx, s.services, c.Connections, 4*len(s.services))).PerSecond()
		say("saturation: %.0f requests/s", r.Saturation)
		for _, share := range c.Shares {
			rate := r.Saturation * float64(share) / 100
			r.Rates = append(r.Rates, &tail{Share: share, Rate: rate, RequestsARound: max(len(s.services), int(rate*float64(c.Seconds)))})
		}
		var kept []*savedRound
		for round := range c.Rounds {
			for _, t := range r.Rates {
				k := &savedRound{tail: t}
				k.service = s.watched(s.through, s.services, t)
				k.direct = s.watched(s.beside, s.directs, t)
				kept = append(kept, k)
				service, direct := k.service.latencies(), k.direct.latencies()
				t.P50.add(service.Percentile(50), direct.Percentile(50))
				t.P99.add(service.Percentile(99), direct.Percentile(99))
				t.P999.add(service.Percentile(99.9), direct.Percentile(99.9))
				say(
					"%d %%, round %d of %d: p99.9 %.1f ms, alone %.1f ms", t.Share, round+1, c.Rounds,
					t.P999.Service.Rounds[round], t.P999.Direct.Rounds[round],
				)
			}
		}
		log := s.readLog()
		for _, t := range r.Rates {
			var service, direct []*watched
			for _, k := range kept {
				if k.tail == t {
					service, direct = append(service, k.service), append(direct, k.direct)
				}
			}
			t.Service, t.Direct = causesOf(service, log), causesOf(direct, nil)
		}
		check(c.Emit("tails", r))
	}, tailSettings...)
}

// savedRound is a round at one rate.
type savedRound struct {
	tail            *tail
	service, direct *watched
}

// watched are the requests of one way in a round, and what happened meanwhile.
type watched struct {
	timings []load.Timing
	events  map[string][]span
}

// span is a time in which something happened.
type span struct{ from, to time.Time }

func (w *watched) latencies() load.Latencies {
	all := load.NewLatencies()
	for _, t := range w.timings {
		all.Record(t.Ended.Sub(t.Due))
	}
	return all
}

// causes compares the slowest requests with all.
type causes struct {
	Slowest  int     `json:"slowest_requests"`
	AtLeast  float64 `json:"slowest_at_least_ms"`
	Overlaps []cause `json:"overlaps"`
	// Spent is where the time passed; empty without a log.
	Spent []timeIn `json:"spent"`
}

// cause is the share of requests, from 0 to 1, that something overlapped.
type cause struct {
	Name    string  `json:"name"`
	All     float64 `json:"of_all"`
	Slowest float64 `json:"of_slowest"`
}

// timeIn is the mean time of a request in a place, in milliseconds.
type timeIn struct {
	Place   string  `json:"place"`
	All     float64 `json:"all_ms"`
	Slowest float64 `json:"slowest_ms"`
}

// The causes in the order of the tables.
const (
	elasticsearchGC = "garbage collection of Elasticsearch"
	refreshes       = "refresh or merge"
	atlasGC         = "garbage collection of Atlas"
	sweeps          = "sweep of the projection"
	minutes         = "first 100 ms of a minute (credits)"
	connected       = "new connection of the client"
	costly          = "a costly request: its median of all rounds is half of that or more"
	queued          = "a queue: twice as many in flight as at the median"
	nothing         = "none of these"
)

var causeNames = []string{elasticsearchGC, refreshes, atlasGC, sweeps, minutes, connected, costly, queued, nothing}

// places are where the time of a request passes.
var places = []string{"Elasticsearch", "Redis", "Postgres", "Atlas", "client, network, waiting to be read"}

// causesOf counts for all requests of some rounds, and for the slowest of them, what
// overlapped them.
func causesOf(rounds []*watched, log *serviceLog) causes {
	type one struct {
		took  float64
		names map[string]bool
		spent []float64
	}
	var all []one
	medians := mediansOf(rounds)
	for _, w := range rounds {
		events := w.events
		if log != nil {
			events[atlasGC] = log.collections
		}
		since, flights, typical := w.episodes()
		for i, t := range w.timings {
			o := one{took: t.Ended.Sub(t.Due).Seconds() * 1e3, names: map[string]bool{}}
			for name, spans := range events {
				if slices.ContainsFunc(spans, func(s span) bool { return s.from.Before(t.Ended) && since[i].Before(s.to) }) {
					o.names[name] = true
				}
			}
			if t.Connected {
				o.names[connected] = true
			}
			if medians[t.Request] >= o.took/2 {
				o.names[costly] = true
			}
			if flights[i] >= 2*max(typical, 1) {
				o.names[queued] = true
			}
			if len(o.names) == 0 {
				o.names[nothing] = true
			}
			if log != nil {
				o.spent = log.spent(t)
			}
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b one) int { return int(b.took*1e6) - int(a.took*1e6) })
	n := max(1, int(float64(len(all))*slowestShare))
	c := causes{Slowest: n, AtLeast: all[n-1].took}
	for _, name := range causeNames {
		share := func(of []one) (sum float64) {
			for _, o := range of {
				if o.names[name] {
					sum++
				}
			}
			return sum / float64(len(of))
		}
		c.Overlaps = append(c.Overlaps, cause{name, share(all), share(all[:n])})
	}
	for p := range places {
		mean := func(of []one) (sum float64) {
			count := 0.0
			for _, o := range of {
				if o.spent != nil {
					sum += o.spent[p]
					count++
				}
			}
			return sum / max(count, 1)
		}
		if log != nil {
			c.Spent = append(c.Spent, timeIn{places[p], mean(all), mean(all[:n])})
		}
	}
	return c
}

// fewestRepeats is how often a request must have been sent for its median to say
// something about one of them.
const fewestRepeats = 4

// mediansOf are the median latencies of each different request in milliseconds, 0 for
// those that were sent too rarely.
func mediansOf(rounds []*watched) map[int]float64 {
	took := map[int][]float64{}
	for _, w := range rounds {
		for _, t := range w.timings {
			took[t.Request] = append(took[t.Request], t.Ended.Sub(t.Due).Seconds()*1e3)
		}
	}
	medians := map[int]float64{}
	for request, all := range took {
		if slices.Sort(all); len(all) >= fewestRepeats {
			medians[request] = all[len(all)/2]
		}
	}
	return medians
}

// episodes returns for each request how many others were in flight when it was due, the
// median of that, and since when it was more than the median without a break: what
// happened in that time may have delayed the request.
func (w *watched) episodes() (since []time.Time, flights []int, typical int) {
	n := len(w.timings)
	since, flights = make([]time.Time, n), make([]int, n)
	ends := make([]time.Time, n)
	for i, t := range w.timings {
		ends[i] = t.Ended
	}
	slices.SortFunc(ends, time.Time.Compare)
	ended := 0
	for i, t := range w.timings {
		for ended < n && ends[ended].Before(t.Due) {
			ended++
		}
		flights[i] = i - ended
	}
	sorted := slices.Sorted(slices.Values(flights))
	typical = sorted[n/2]
	for i, t := range w.timings {
		if since[i] = t.Due; i > 0 && flights[i] > typical {
			since[i] = since[i-1]
		}
	}
	return since, flights, typical
}

// Markdown writes the tables.
func (r tailsReport) Markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.whole())
	fmt.Fprintf(&b, "- %s\n", r.Requests)
	fmt.Fprintf(&b, "- open loop: latencies count from when each request was due; rates are shares of %.0f requests/s, the throughput through Atlas over 8 connections; figures are medians of %d rounds of %d s, in brackets the lowest and the highest; both ways by turns\n\n", r.Saturation, r.Rounds, r.Seconds)
	t := report.Table{Head: []string{"rate", "ms", "through Atlas", "Elasticsearch alone", "added"}}
	for _, at := range r.Rates {
		name := fmt.Sprintf("%d %%, %.0f requests/s", at.Share, at.Rate)
		for _, p := range []struct {
			name string
			of   threeWays
		}{{"p50", at.P50}, {"p99", at.P99}, {"p99.9", at.P999}} {
			t.Add(append([]string{name}, p.of.row(p.name)...)...)
		}
	}
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "**Causes**: share of all requests and of the slowest 0.1 %% of all rounds that something overlapped, from the moment when more requests than usual were in flight to the answer. A request counts for each cause; a cause matters if the second figure is well above the first.\n\n")
	t = report.Table{Head: []string{"%"}}
	for _, at := range r.Rates {
		t.Head = append(
			t.Head, fmt.Sprintf("Atlas at %d %%: all", at.Share),
			fmt.Sprintf("slowest %d, ≥ %.0f ms", at.Service.Slowest, at.Service.AtLeast),
			"Elasticsearch alone: all", fmt.Sprintf("slowest %d, ≥ %.0f ms", at.Direct.Slowest, at.Direct.AtLeast),
		)
	}
	for i, name := range causeNames {
		cells := []string{name}
		for _, at := range r.Rates {
			for _, c := range []causes{at.Service, at.Direct} {
				cells = append(cells, fmt.Sprintf("%.1f", 100*c.Overlaps[i].All), fmt.Sprintf("%.0f", 100*c.Overlaps[i].Slowest))
			}
		}
		t.Add(cells...)
	}
	fmt.Fprintln(&b, t)
	fmt.Fprintf(&b, "**Where the time of a request through Atlas passes**, from the service's log; means in ms. Waits for a call that another request has started count for Atlas.\n\n")
	t = report.Table{Head: []string{""}}
	for _, at := range r.Rates {
		t.Head = append(t.Head, fmt.Sprintf("%d %%: all", at.Share), "slowest 0.1 %")
	}
	for p, place := range places {
		cells := []string{place}
		for _, at := range r.Rates {
			cells = append(cells, fmt.Sprintf("%.2f", at.Service.Spent[p].All), fmt.Sprintf("%.1f", at.Service.Spent[p].Slowest))
		}
		t.Add(cells...)
	}
	fmt.Fprintln(&b, t)
	return b.String()
}
