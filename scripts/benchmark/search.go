package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// searchCmd compares searches through the service with the identical ones sent
// straight to Elasticsearch.
type searchCmd struct {
	place
	Records     int64  `default:"300000" help:"Records of the dataset, 10000 to 100000000 (default: 300000)."`
	Seed        uint64 `default:"1" help:"Seed of the dataset and of the requests (default: 1)."`
	Requests    int    `default:"2000" help:"Different requests, 100 to 100000; a result to be kept has at least 1000 (default: 2000)."`
	Seconds     int    `default:"20" help:"About how long each measurement takes, in seconds; never less than all requests once (default: 20)."`
	Rounds      int    `default:"5" help:"How often each is repeated, by turns; a result to be kept has at least 5 (default: 5)."`
	Connections int    `default:"8" help:"Connections at saturation (default: 8)."`
	JSON        bool   `name:"json" help:"Print JSON instead of tables."`
	Write       string `type:"path" placeholder:"FILE" help:"Put the tables into this file too, between the markers bench:search."`
}

func (c *searchCmd) Validate() error {
	within := func(name string, n, lowest, highest int64) error {
		if n < lowest || n > highest {
			return fmt.Errorf("--%s must be %d to %d", name, lowest, highest)
		}
		return nil
	}
	return errors.Join(
		within("records", c.Records, 10_000, 100_000_000),
		within("requests", int64(c.Requests), 100, 100_000),
		within("seconds", int64(c.Seconds), 1, 3600),
		within("rounds", int64(c.Rounds), 1, 100),
		within("connections", int64(c.Connections), 1, maxInFlight),
	)
}

// searchReport is the result.
type searchReport struct {
	heading
	Requests    requestFacts `json:"requests"`
	Seconds     int          `json:"seconds_each"`
	Rounds      int          `json:"rounds"`
	Connections int          `json:"connections"`

	Saturation saturation `json:"saturation"`
	FixedRate  fixedRate  `json:"fixed_rate"`
	Paging     []*paged   `json:"paging"`
}

// saturation is what the sides do when the next request comes at once. CPU is
// in milliseconds per request.
type saturation struct {
	Service         spread `json:"service_requests_per_second"`
	Direct          spread `json:"direct_requests_per_second"`
	Ratio           spread `json:"ratio"`
	ServiceCPU      cpu    `json:"service_cpu_ms_per_request"`
	DirectCPU       cpu    `json:"direct_cpu_ms_per_request"`
	RequestsARound  int    `json:"requests_a_round"`
	MegabytesServed spread `json:"service_megabytes_per_second"`
}

// fixedRate is how long answers take, in milliseconds from when they were due,
// while there is room.
type fixedRate struct {
	Rate           float64   `json:"requests_per_second"`
	RequestsARound int       `json:"requests_a_round"`
	P50            threeWays `json:"p50_ms"`
	P99            threeWays `json:"p99_ms"`
}

type threeWays struct {
	Service spread `json:"service"`
	Direct  spread `json:"direct"`
	Added   spread `json:"added"`
}

func (t *threeWays) add(service, direct float64) {
	t.Service.add(service)
	t.Direct.add(direct)
	t.Added.add(service - direct)
}

// searchBench is one run of it.
type searchBench struct {
	*searchCmd
	*sides
	report searchReport
}

// Run measures and prints.
func (c *searchCmd) Run(ctx context.Context) error {
	if err := hasSection(c.Write, "search"); err != nil {
		return err
	}
	return withInstallation(ctx, c.place, c.Records, c.Seed, c.on)
}

// on measures on an installation and prints.
func (c *searchCmd) on(ctx context.Context, i *installation, before machine) error {
	return i.bothWays(ctx, before, c.Requests, c.Seed, func(ctx context.Context, s *sides) (err error) {
		b := &searchBench{searchCmd: c, sides: s}
		b.report = searchReport{heading: s.heading, Requests: s.facts, Seconds: c.Seconds, Rounds: c.Rounds, Connections: c.Connections}
		if b.report.Paging, err = s.preparePages(ctx, s.through, s.service.base); err != nil {
			return err
		}
		if err := b.measure(ctx); err != nil {
			return err
		}
		return emit(b.report, c.JSON, c.Write, "search")
	})
}

func (b *searchBench) measure(ctx context.Context) error {
	rate, err := b.warmUp(ctx, b.Connections, 3*time.Duration(b.Seconds)*time.Second)
	if err != nil {
		return err
	}
	if err := b.saturate(ctx, rate); err != nil {
		return err
	}
	if err := b.atFixedRate(ctx); err != nil {
		return err
	}
	each := time.Duration(b.Seconds) * time.Second / time.Duration(len(b.report.Paging))
	for round := range b.Rounds {
		for _, p := range b.report.Paging {
			if err := p.measure(ctx, b.through, each); err != nil {
				return err
			}
		}
		say("paging, round %d of %d", round+1, b.Rounds)
	}
	return nil
}

// saturate sends all requests equally often both ways, as often as fits the
// time of a measurement, so that both have the same to do.
func (b *searchBench) saturate(ctx context.Context, rate float64) error {
	r := &b.report.Saturation
	passes := max(1, int(math.Round(rate*float64(b.Seconds)/float64(len(b.directs)))))
	r.RequestsARound = passes * len(b.directs)
	var bytes float64
	for _, call := range b.services {
		bytes += float64(call.size * passes)
	}
	for round := range b.Rounds {
		through, err := b.meter.closedLoop(ctx, b.through, b.services, b.Connections, r.RequestsARound, &r.ServiceCPU)
		if err != nil {
			return err
		}
		beside, err := b.meter.closedLoop(ctx, b.beside, b.directs, b.Connections, r.RequestsARound, &r.DirectCPU)
		if err != nil {
			return err
		}
		service, direct := through.perSecond(), beside.perSecond()
		r.Service.add(service)
		r.Direct.add(direct)
		r.Ratio.add(service / direct)
		r.MegabytesServed.add(bytes / through.took.Seconds() / 1e6)
		say("saturation, round %d of %d: %.0f requests/s through Atlas, %.0f by Elasticsearch alone", round+1, b.Rounds, service, direct)
	}
	return nil
}

// atFixedRate sends requests at a third of what Elasticsearch alone can do.
func (b *searchBench) atFixedRate(ctx context.Context) error {
	r := &b.report.FixedRate
	r.Rate = b.report.Saturation.Direct.Median / 3
	r.RequestsARound = max(100, int(r.Rate*float64(b.Seconds)))
	for round := range b.Rounds {
		service, err := b.through.openLoop(ctx, b.services, r.Rate, r.RequestsARound)
		if err != nil {
			return err
		}
		direct, err := b.beside.openLoop(ctx, b.directs, r.Rate, r.RequestsARound)
		if err != nil {
			return err
		}
		r.P50.add(milliseconds(quantile(service, 0.5)), milliseconds(quantile(direct, 0.5)))
		r.P99.add(milliseconds(quantile(service, 0.99)), milliseconds(quantile(direct, 0.99)))
		say("%.0f requests/s, round %d of %d: p50 %.1f ms, %.1f ms of it added; p99 %.1f ms, %.1f ms added", r.Rate, round+1, b.Rounds,
			r.P50.Service.Rounds[round], r.P50.Added.Rounds[round], r.P99.Service.Rounds[round], r.P99.Added.Rounds[round])
	}
	return nil
}

// markdown writes the tables. Figures are medians of the rounds, in brackets
// the lowest and the highest round.
func (r searchReport) markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.heading.markdown())
	fmt.Fprintf(&b, "- %s\n", r.Requests)
	fmt.Fprintf(&b, "- figures are medians of %d rounds, in brackets the lowest and the highest; both ways by turns, after a warm-up that does not count; every answer was compared with the first one to the same request\n\n", r.Rounds)

	s := r.Saturation
	fmt.Fprintf(&b, "**Throughput**: %d connections, the next request as soon as the one before is answered; %d requests a round each way.\n\n", r.Connections, s.RequestsARound)
	t := table{head: []string{"", "through Atlas", "Elasticsearch alone", "ratio, aim ≥ 0.8"}}
	t.add("requests/s", s.Service.text(0), s.Direct.text(0), s.Ratio.text(2))
	t.processes("ms/request", s.ServiceCPU, s.DirectCPU)
	fmt.Fprintln(&b, t)

	f := r.FixedRate
	fmt.Fprintf(&b, "**Latency** at %.0f requests/s, a third of what Elasticsearch alone can do, from when each request was due; %d requests a round each way.\n\n", f.Rate, f.RequestsARound)
	t = table{head: []string{"ms", "through Atlas", "Elasticsearch alone", "added"}}
	t.add("p50, aim ≤ 2 added", f.P50.Service.text(2), f.P50.Direct.text(2), f.P50.Added.text(2))
	t.add("p99", f.P99.Service.text(2), f.P99.Direct.text(2), f.P99.Added.text(2))
	fmt.Fprintln(&b, t)

	fmt.Fprintf(&b, "**Depth**: a page of %d by cursor far into a dataset beside the first one, through Atlas, by turns over one connection; medians in ms.\n\n", pageSize)
	t = table{head: []string{"dataset", "sort", "page", "page 1", "that page", "ratio, aim ≤ 1.3"}}
	for _, p := range r.Paging {
		t.add(string(p.Dataset), p.Sort, fmt.Sprint(p.Page), p.First.text(2), p.Deep.text(2), p.Ratio.text(2))
	}
	fmt.Fprintln(&b, t)
	return b.String()
}
