package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/mix"
	"atlas/scripts/benchmark/report"
	"atlas/search/catalog"
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
	Apart       bool   `help:"Give Elasticsearch a core of its own, and everything else the others."`
	report.Output
}

// Validate implements kong's interface.
func (c *searchCmd) Validate() error {
	return errors.Join(
		within("records", 10_000, 100_000_000, c.Records),
		within("requests", 100, 100_000, c.Requests),
		within("seconds", 1, 3600, c.Seconds),
		within("rounds", 1, 100, c.Rounds),
		within("connections", 1, load.MaxInFlight, c.Connections),
	)
}

// Run measures and prints.
func (c *searchCmd) Run(ctx context.Context) error {
	if err := c.Check(c.result()); err != nil {
		return err
	}
	return try(ctx, func(r *run) {
		i := install(r, c.place, c.Records, c.Seed)
		if c.Apart {
			i.setApart()
		}
		c.on(i)
	})
}

// result is the name of the result.
func (c *searchCmd) result() string {
	if c.Apart {
		return "search-apart"
	}
	return "search"
}

// searchReport is the result.
type searchReport struct {
	heading
	Requests    requestFacts `json:"requests"`
	Seconds     int          `json:"seconds_each"`
	Rounds      int          `json:"rounds"`
	Connections int          `json:"connections"`
	Apart       bool         `json:"elasticsearch_has_a_core_of_its_own"`

	Saturation saturation `json:"saturation"`
	FixedRate  fixedRate  `json:"fixed_rate"`
	Paging     []*paged   `json:"paging"`
}

// saturation is the performance of both sides in a closed loop without pauses. CPU
// is in milliseconds per request.
type saturation struct {
	Service         report.Spread `json:"service_requests_per_second"`
	Direct          report.Spread `json:"direct_requests_per_second"`
	Ratio           report.Spread `json:"ratio"`
	ServiceCPU      cpu           `json:"service_cpu_ms_per_request"`
	DirectCPU       cpu           `json:"direct_cpu_ms_per_request"`
	RequestsARound  int           `json:"requests_a_round"`
	MegabytesServed report.Spread `json:"service_megabytes_per_second"`
}

// fixedRate has the latencies below saturation, in milliseconds from the time when
// a request was due.
type fixedRate struct {
	Rate           float64   `json:"requests_per_second"`
	RequestsARound int       `json:"requests_a_round"`
	P50            threeWays `json:"p50_ms"`
	P99            threeWays `json:"p99_ms"`
}

// on runs the benchmark on an installation and prints the result.
func (c *searchCmd) on(i *installation) {
	i.bothWays(c.Requests, c.Seed, func(s *sides) {
		r := searchReport{
			heading: i.heading(), Requests: s.facts, Seconds: c.Seconds, Rounds: c.Rounds, Connections: c.Connections,
			Apart: c.Apart,
		}
		r.Paging = s.pages()
		warm := s.warmUp(c.Connections, 3*time.Duration(c.Seconds)*time.Second)
		r.Saturation.measure(s, c, warm)
		r.FixedRate.measure(s, c, r.Saturation.Direct.Median/3)
		each := time.Duration(c.Seconds) * time.Second / time.Duration(len(r.Paging))
		for round := range c.Rounds {
			for _, p := range r.Paging {
				p50 := s.byTurns(each, p.requests[:1], p.requests[1:])
				p.First.Add(p50[0])
				p.Deep.Add(p50[1])
				p.Ratio.Add(p50[1] / p50[0])
			}
			say("paging, round %d of %d", round+1, c.Rounds)
		}
		check(c.Emit(c.result(), r))
	})
}

// measure sends all requests equally often both ways, as often as fits into the
// time of a measurement.
func (r *saturation) measure(s *sides, c *searchCmd, warm load.Result) {
	n := passes(warm, float64(c.Seconds), len(s.directs))
	r.RequestsARound = n * len(s.directs)
	var bytes float64
	for _, request := range s.services {
		bytes += float64(request.Size * n)
	}
	for round := range c.Rounds {
		through := s.meter.closed(s.ctx, s.through, s.services, c.Connections, r.RequestsARound, &r.ServiceCPU)
		beside := s.meter.closed(s.ctx, s.beside, s.directs, c.Connections, r.RequestsARound, &r.DirectCPU)
		service, direct := through.PerSecond(), beside.PerSecond()
		r.Service.Add(service)
		r.Direct.Add(direct)
		r.Ratio.Add(service / direct)
		r.MegabytesServed.Add(bytes / through.Took.Seconds() / 1e6)
		say("saturation, round %d of %d: %.0f requests/s through Atlas, %.0f by Elasticsearch alone", round+1, c.Rounds, service, direct)
	}
}

// measure sends requests at a fixed rate.
func (r *fixedRate) measure(s *sides, c *searchCmd, rate float64) {
	r.Rate, r.RequestsARound = rate, max(100, int(rate*float64(c.Seconds)))
	for round := range c.Rounds {
		service := must(s.through.Open(s.ctx, s.services, rate, r.RequestsARound))
		direct := must(s.beside.Open(s.ctx, s.directs, rate, r.RequestsARound))
		r.P50.add(service.Percentile(50), direct.Percentile(50))
		r.P99.add(service.Percentile(99), direct.Percentile(99))
		say("%.0f requests/s, round %d of %d: p50 %.1f ms, %.1f ms of it added; p99 %.1f ms, %.1f ms added", rate, round+1, c.Rounds,
			r.P50.Service.Rounds[round], r.P50.Added.Rounds[round], r.P99.Service.Rounds[round], r.P99.Added.Rounds[round])
	}
}

// Markdown writes the tables. Figures are medians of the rounds, in brackets
// the lowest and the highest round.
func (r searchReport) Markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.whole())
	fmt.Fprintf(&b, "- %s\n", r.Requests)
	fmt.Fprintf(&b, "- figures are medians of %d rounds, in brackets the lowest and the highest; both ways by turns, after a warm-up that does not count; every answer was compared with the first one to the same request\n\n", r.Rounds)

	if r.Apart {
		fmt.Fprintf(&b, "**Elasticsearch has a core of its own**, everything else shares the others, both ways.\n\n")
	}
	s, aim := r.Saturation, 0.62
	if r.Apart {
		aim = 0.9
	}
	fmt.Fprintf(&b, "**Throughput**: %d connections, the next request as soon as the one before is answered; %d requests a round each way.\n\n", r.Connections, s.RequestsARound)
	t := report.Table{Head: []string{"", "through Atlas", "Elasticsearch alone", fmt.Sprintf("ratio, aim ≥ %.2g", aim)}}
	t.Add("requests/s", s.Service.Text(0), s.Direct.Text(0), s.Ratio.Text(2))
	addProcesses(&t, "ms/request", s.ServiceCPU, s.DirectCPU)
	fmt.Fprintln(&b, t)

	f := r.FixedRate
	fmt.Fprintf(&b, "**Latency** at %.0f requests/s, a third of what Elasticsearch alone can do, from when each request was due; %d requests a round each way.\n\n", f.Rate, f.RequestsARound)
	t = report.Table{Head: []string{"ms", "through Atlas", "Elasticsearch alone", "added"}}
	t.Add(f.P50.row("p50, aim ≤ 0.75 added")...)
	t.Add(f.P99.row("p99")...)
	fmt.Fprintln(&b, t)

	fmt.Fprintf(&b, "**Depth**: a page of %d by cursor far into a dataset beside the first one, through Atlas, by turns over one connection; medians in ms.\n\n", pageSize)
	t = report.Table{Head: []string{"dataset", "sort", "page", "page 1", "that page", "ratio, aim ≤ 1.3"}}
	for _, p := range r.Paging {
		t.Add(append([]string{string(p.Dataset), p.Sort, fmt.Sprint(p.Page)}, report.Texts(2, p.First, p.Deep, p.Ratio)...)...)
	}
	fmt.Fprintln(&b, t)
	return b.String()
}

// deepPage is the number of the page to compare with the first one.
const deepPage = 400

// pagedOrders are the datasets' default orders, by which the indices are sorted,
// and orders of each type: text, number, date, one with many unknown values.
var pagedOrders = []order{
	{catalog.Accounts, "name", false},
	{catalog.Projects, "last_signal_at", true},
	{catalog.Projects, "cost", true},
	{catalog.Projects, "stories", false},
	{catalog.Contacts, "created_at", false},
	{catalog.Signals, "detected_at", true},
}

// paged compares the first page with a deep page of one order.
type paged struct {
	Dataset catalog.Dataset `json:"dataset"`
	Sort    string          `json:"sort"`
	// Page is deepPage, or the last full one of a small dataset.
	Page  int           `json:"page"`
	First report.Spread `json:"page_1_ms"`
	Deep  report.Spread `json:"deep_page_ms"`
	Ratio report.Spread `json:"ratio"`

	requests []*load.Request // the first and the deep one
}

// pages walks to the deep pages. Each must equal the page of the same offset.
func (s *serving) pages() (all []*paged) {
	for _, o := range pagedOrders {
		p := &paged{
			Dataset: o.dataset, Sort: o.field + " " + o.direction(),
			Page: int(min(deepPage, mix.CountOf(s.dataset.Records, o.dataset)/pageSize)),
		}
		if p.Page < 2 {
			failf("%s has too few records to page through", o.dataset)
		}
		var deep []string
		p.requests, deep = s.walk(o, []int{1, p.Page}, pageSize)
		_, same := s.search(mix.Search{Dataset: o.dataset}.Path(), map[string]any{
			"sort": map[string]any{"field": o.field, "order": o.direction()}, "limit": pageSize, "offset": (p.Page - 1) * pageSize}, pageSize)
		if !slices.Equal(deep, same.Data) {
			failf("%s by %s: page %d by cursor is not the one by offset", o.dataset, o.field, p.Page)
		}
		all = append(all, p)
	}
	return all
}

// sides are the same searches in two forms: as clients send them to the service,
// and as the service sends them to Elasticsearch.
type sides struct {
	*serving
	through, beside   load.Client
	services, directs []*load.Request
	facts             requestFacts
}

// bothWays draws this many different requests, sends each once, and runs measure
// with another service, with further settings, which is not recorded.
func (i *installation) bothWays(requests int, seed uint64, measure func(*sides), settings ...string) {
	key := i.newKey()
	pairs := i.prepare(key, requests, seed)
	if i.found {
		pairs = slices.DeleteFunc(pairs, func(p *pair) bool { return p.records == 0 })
	}
	s := &sides{through: load.NewClient(load.MaxInFlight), beside: load.NewClient(load.MaxInFlight), facts: factsOf(pairs)}
	defer s.through.CloseIdleConnections()
	defer s.beside.CloseIdleConnections()
	say("%s", s.facts)
	i.serving(key, func(own *serving) {
		s.serving = own
		for _, p := range pairs {
			p.service.URL = must(url.Parse(own.server.Base + p.search.Path()))
			s.services, s.directs = append(s.services, p.service), append(s.directs, p.direct)
		}
		measure(s)
	}, settings...)
}

// warmUp sends all requests both ways for this long, at least twice, so that the
// JVM has compiled its hot code. It returns the last result of Elasticsearch alone.
func (s *sides) warmUp(connections int, about time.Duration) (alone load.Result) {
	say("warming up for about %.0f s", about.Seconds())
	end := time.Now().Add(about)
	for pass := 0; pass < 2 || time.Now().Before(end); pass++ {
		must(s.through.Closed(s.ctx, s.services, connections, len(s.services)))
		alone = must(s.beside.Closed(s.ctx, s.directs, connections, len(s.directs)))
	}
	return alone
}

// pair is a request of a client and the one that the service makes of it.
type pair struct {
	search          mix.Search
	service, direct *load.Request
	records         int // on the page
	searches        int // that the service sent for it
}

// Requests that continue from an earlier page: their share in percent of those that
// have a next page, and the maximum number of further pages of each.
const (
	followed    = 8
	followPages = 4
)

// prepare draws this many different requests and sends each once through a recorded
// service. The ids of each page must be those that Elasticsearch returned.
func (i *installation) prepare(key string, requests int, seed uint64) (pairs []*pair) {
	sample := must(mix.DrawSample(i.records(), i.dataset.Records, seed))
	recorder, server := i.recorded()
	defer func() { check(server.Stop()) }()
	client, searches := load.NewClient(1), mix.New(sample, seed)
	defer client.CloseIdleConnections()
	var answer []byte
	one := func(s mix.Search) (next string) {
		recorder.take()
		r := request(server, key, s.Path(), string(s.Encode()))
		answer = must(client.Do(i.ctx, r, answer))
		r.Expect(answer)
		direct, answered, searches := recorder.last(r)
		var p page
		check(json.Unmarshal(answer, &p))
		hits := hitsOf(answered)
		if want := hits[:min(len(hits), s.Limit())]; !slices.Equal(p.Data, want) {
			failf("%s %s: the service answered %v, Elasticsearch %v", s.Path(), r.Body, p.Data, want)
		}
		if pairs = append(pairs, &pair{s, r, direct, len(p.Data), searches}); len(pairs)%500 == 0 {
			say("prepared %d of %d requests", len(pairs), requests)
		}
		return p.Metadata.SearchAfter
	}
	random := rand.New(rand.NewPCG(seed, 0x6f72646572)) // #nosec G404 -- a seed repeats it
	for len(pairs) < requests {
		s := searches.Next()
		if i.limit > 0 {
			s.Body["limit"] = i.limit
		}
		next := one(s)
		if random.IntN(100) >= followed {
			continue
		}
		for range 1 + random.IntN(followPages) {
			s.Body = maps.Clone(s.Body)
			delete(s.Body, "offset")
			s.Body["search_after"] = next
			if next == "" || len(pairs) >= requests || !searches.IsNew(s) {
				break
			}
			next = one(s)
		}
	}
	// This keeps a page and the next ones from being sent in a row later.
	random.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	return pairs
}

// hitsOf are the ids of the records in an answer of Elasticsearch.
func hitsOf(answer []byte) (ids []string) {
	type found struct {
		Hits struct {
			Hits []struct {
				Source struct{ ID string } `json:"_source"`
			}
		}
	}
	var a struct {
		found
		Responses []found // of the page, and of the total
	}
	check(json.Unmarshal(answer, &a))
	if len(a.Responses) > 0 {
		a.found = a.Responses[0]
	}
	for _, h := range a.Hits.Hits {
		ids = append(ids, h.Source.ID)
	}
	return ids
}

// requestFacts describes the requests of a run.
type requestFacts struct {
	Requests int `json:"requests"`
	// DifferentBodies counts the distinct bodies that Elasticsearch gets.
	DifferentBodies int `json:"different_elasticsearch_bodies"`
	WithQuery       int `json:"with_query"`
	WithFilters     int `json:"with_filters"`
	WithRelations   int `json:"with_relations"`
	WithSort        int `json:"with_sort"`
	WithCursor      int `json:"with_cursor"`
	WithoutRecords  int `json:"without_records"`
	// SearchesARequest is how many searches Atlas sends to Elasticsearch for a request.
	SearchesARequest float64 `json:"searches_a_request"`
	RecordsAPage     float64 `json:"records_a_page"`
	BytesAnAnswer    float64 `json:"bytes_an_answer"`
}

func factsOf(pairs []*pair) requestFacts {
	f := requestFacts{Requests: len(pairs)}
	bodies := map[string]bool{}
	for _, p := range pairs {
		bodies[p.direct.URL.Path+"\n"+string(p.direct.Body)] = true
		for key, n := range map[string]*int{
			"query": &f.WithQuery, "filters": &f.WithFilters, "relations": &f.WithRelations, "sort": &f.WithSort,
			"search_after": &f.WithCursor,
		} {
			if _, ok := p.search.Body[key]; ok {
				*n++
			}
		}
		if p.records == 0 {
			f.WithoutRecords++
		}
		f.SearchesARequest += float64(p.searches) / float64(len(pairs))
		f.RecordsAPage += float64(p.records) / float64(len(pairs))
		f.BytesAnAnswer += float64(p.service.Size) / float64(len(pairs))
	}
	f.DifferentBodies = len(bodies)
	return f
}

func (f requestFacts) String() string {
	share := func(n int) string { return fmt.Sprintf("%d %%", (100*n+f.Requests/2)/f.Requests) }
	return fmt.Sprintf("%d different requests: %s with a query, %s with filters, %s with relations, %s with a sort, %s further pages by cursor, %s without a match; %.0f records and %.1f KiB an answer; Atlas sends %.2f searches of Elasticsearch for a request, of which Elasticsearch alone gets the one that finds the page",
		f.Requests, share(f.WithQuery), share(f.WithFilters), share(f.WithRelations), share(f.WithSort),
		share(f.WithCursor), share(f.WithoutRecords),
		f.RecordsAPage, f.BytesAnAnswer/1024, f.SearchesARequest)
}
