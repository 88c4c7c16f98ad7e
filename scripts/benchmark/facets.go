package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"atlas/internal/elastic"
	"atlas/internal/input"
	"atlas/mappings"
	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/report"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
)

// facetsCmd compares facets through the service with the identical aggregations sent
// straight to Elasticsearch.
type facetsCmd struct {
	place
	Records  int64  `default:"300000" help:"Records of the dataset, 10000 to 100000000 (default: 300000)."`
	Seed     uint64 `default:"1" help:"Seed of the dataset (default: 1)."`
	Requests int    `default:"40" help:"Different requests of a kind in a round, 10 to 1000 (default: 40)."`
	Rounds   int    `default:"5" help:"How often each kind is measured, by turns (default: 5)."`
	AtOnce   int    `default:"200" help:"Requests at once when memory is measured, 1 to 1000 (default: 200)."`
	report.Output
}

// Validate implements kong's interface.
func (c *facetsCmd) Validate() error {
	return errors.Join(within("records", 10_000, 100_000_000, c.Records), within("requests", 10, 1_000, c.Requests),
		within("rounds", 1, 100, c.Rounds), within("at-once", 1, 1_000, c.AtOnce))
}

// facetsReport is the result.
type facetsReport struct {
	heading
	Requests int           `json:"requests"`
	Rounds   int           `json:"rounds"`
	AtOnce   int           `json:"at_once"`
	Kinds    []*facetsKind `json:"kinds"`
	Rest     report.Spread `json:"resident_at_rest_mib"`
	Loaded   taken         `json:"loaded"`
}

// facetsKind is a kind of requests: medians in milliseconds over one connection.
type facetsKind struct {
	Name   string        `json:"name"`
	Direct report.Spread `json:"direct_p50_ms"`
	Cold   report.Spread `json:"cold_p50_ms"`
	Ratio  report.Spread `json:"ratio"`
	Cached report.Spread `json:"cached_p50_ms"`

	// body returns the nth request, which differs from all others.
	body func(n int) string
}

// twelveFacets are of projects. Their limits make the nth request differ from others,
// although Elasticsearch counts the same for each.
func twelveFacets(n int) string {
	return fmt.Sprintf(`"facets":[{"field":"stage","limit":%d},{"field":"primary_use","limit":%d},{"field":"city","limit":%d},{"field":"state"},{"field":"disposition"},{"field":"gc_status"},{"field":"account_ids"},{"field":"filed_at","interval":"month"},{"field":"permitted_at","interval":"quarter"},{"field":"cost","buckets":20},{"field":"stories","ranges":[[0,1],[2,5],[6,null]]},{"field":"sqft","buckets":10,"measure":{"field":"cost","of":"avg"}}]`,
		1+n%100, 1+n/100%100, 1+n/10_000%100)
}

func facetsKinds() []*facetsKind {
	filtered := func(n int) string {
		return fmt.Sprintf(`"filters":{"created_at":{"value":["2000-01-01T00:00:00.%03dZ",null]}}`, n%1_000)
	}
	return []*facetsKind{
		{Name: "one enum, of all projects", body: func(n int) string {
			return fmt.Sprintf(`{"facets":[{"field":"stage","limit":%d},{"field":"stage","limit":%d}]}`, 1+n%100, 1+n/100%100)
		}},
		{Name: "stage and use under their own filters, cost by stage", body: func(n int) string {
			return fmt.Sprintf(`{"filters":{"stage":{"value":["filed","permitted"]},"primary_use":{"value":"multifamily"},"cost":{"value":[%d,null]}},"facets":[{"field":"stage","measure":{"field":"cost","of":"sum"}},{"field":"primary_use"}]}`, n)
		}},
		{Name: "six facets of a query", body: func(n int) string {
			return `{"query":"house",` + filtered(n) + `,"facets":[{"field":"stage"},{"field":"city"},{"field":"primary_use"},{"field":"account_ids"},{"field":"filed_at","interval":"year"},{"field":"cost","buckets":10}]}`
		}},
		{Name: "twelve facets of all projects", body: func(n int) string { return `{` + twelveFacets(n) + `}` }},
	}
}

// Run measures and prints.
func (c *facetsCmd) Run(ctx context.Context) error {
	if err := c.Check("facets"); err != nil {
		return err
	}
	return try(ctx, func(r *run) { c.on(install(r, c.place, c.Records, c.Seed)) })
}

func (c *facetsCmd) on(i *installation) {
	r := facetsReport{heading: i.heading(), Requests: c.Requests, Rounds: c.Rounds, AtOnce: c.AtOnce, Kinds: facetsKinds()}
	i.serving(i.newKey(), func(s *serving) {
		d := newFacetSender(s)
		defer d.client.CloseIdleConnections()
		n := 0
		for round := range c.Rounds + 1 { // the first one warms up
			for _, k := range r.Kinds {
				took := d.measure(k, n, c.Requests)
				n += c.Requests
				if round == 0 {
					continue
				}
				k.Direct.Add(took.direct)
				k.Cold.Add(took.cold)
				k.Ratio.Add(took.cold / took.direct)
				k.Cached.Add(took.cached)
			}
			say("round %d of %d", round, c.Rounds)
		}
	}, freeOfLimits...)
	c.memory(i, &r)
	check(c.Emit("facets", r))
}

// freeOfLimits turns the limit for free operations off.
var freeOfLimits = []string{"ATLAS_FREE_RATE=0"}

// facetSender sends facets through the service, and their aggregations straight to
// Elasticsearch.
type facetSender struct {
	*serving
	client   load.Client // of Elasticsearch
	engine   *search.Engine
	recorded []*load.Request
}

func newFacetSender(s *serving) *facetSender {
	d := &facetSender{serving: s, client: load.NewClient(1)}
	client := must(elastic.New(elastic.Config{Addresses: s.Elasticsearch, Transport: d}))
	d.engine = &search.Engine{Elastic: client, Names: mappings.Names{Prefix: indexPrefix}, Timeout: time.Minute}
	return d
}

// RoundTrip records the requests of the engine that count. It implements
// http.RoundTripper.
func (d *facetSender) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/_msearch") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		d.recorded = append(d.recorded, &load.Request{Method: r.Method, URL: r.URL, Header: r.Header, Body: body})
	}
	return http.DefaultTransport.RoundTrip(r)
}

// tookMs are medians in milliseconds.
type tookMs struct{ direct, cold, cached float64 }

// measure sends requests from the nth on, each ways by turns. Before each, it clears the
// caches of Elasticsearch, as a refresh does.
func (d *facetSender) measure(k *facetsKind, first, requests int) tookMs {
	var direct, cold, cached []float64
	var buf []byte
	for n := first; n < first+requests; n++ {
		body, issues := input.Decode([]byte(k.body(n)))
		check(input.Issues(issues).Err())
		facets := must(query.FacetRule(catalog.Projects, catalog.Data).Parse(body))
		d.recorded = nil
		must(d.engine.Facets(d.ctx, query.FacetSearch{Request: facets, Sets: []query.Query{facets.Query}}))
		through := request(d.server, d.key, "/data/projects/facets", k.body(n))
		ways := []func(){
			func() {
				began := time.Now()
				for _, r := range d.recorded {
					buf = must(d.client.Do(d.ctx, r, buf))
				}
				direct = append(direct, since(began))
			},
			func() {
				began := time.Now()
				answer := must(d.serving.client.Do(d.ctx, through, nil))
				cold = append(cold, since(began))
				through.Expect(answer)
				began = time.Now()
				must(d.serving.client.Check(d.ctx, through, answer))
				cached = append(cached, since(began))
			},
		}
		if n%2 == 1 {
			slices.Reverse(ways)
		}
		for _, way := range ways {
			check(d.Ask(d.ctx, "POST", "/"+indexPrefix+"*/_cache/clear?request=true", "", nil))
			way()
		}
	}
	return tookMs{median(direct), median(cold), median(cached)}
}

func median(values []float64) float64 {
	var s report.Spread
	for _, v := range values {
		s.Add(v)
	}
	return s.Median
}

// memory measures a new server with many different requests at once.
func (c *facetsCmd) memory(i *installation, r *facetsReport) {
	key := i.newKey()
	s := i.serve(freeOfLimits...)
	defer func() { check(s.Stop()) }()
	time.Sleep(restAfterStart)
	r.Rest.Add(must(resident(s)))
	client := load.NewClient(c.AtOnce)
	defer client.CloseIdleConnections()
	requests := make([]*load.Request, 2*c.AtOnce)
	for n := range requests {
		requests[n] = request(s, key, "/data/projects/facets", `{`+twelveFacets(n)+`}`)
	}
	i.most(s, &r.Loaded, func() { check(sendAll(i.ctx, client, requests, c.AtOnce)) })
}

// sendAll sends requests, so many at once.
func sendAll(ctx context.Context, client load.Client, requests []*load.Request, atOnce int) error {
	errs := make(chan error, atOnce)
	for worker := range atOnce {
		go func() {
			var err error
			for n := worker; n < len(requests) && err == nil; n += atOnce {
				_, err = client.Do(ctx, requests[n], nil)
			}
			errs <- err
		}()
	}
	var all error
	for range atOnce {
		all = errors.Join(all, <-errs)
	}
	return all
}

// Markdown writes the table.
func (r facetsReport) Markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.whole())
	fmt.Fprintf(&b, "- p50 in ms over one connection; figures are medians of %d rounds of %d different requests, in brackets the lowest and the highest, after a round that does not count; each way by turns; Elasticsearch gets what Atlas sends to count, and caches no answers; cached is the same request once more\n\n", r.Rounds, r.Requests)
	t := report.Table{Head: []string{"facets", "Elasticsearch alone", "through Atlas, cold", "ratio, aim ≤ 1.25", "cached, aim < 2 ms"}}
	for _, k := range r.Kinds {
		t.Add(k.Name, k.Direct.Text(2), k.Cold.Text(2), k.Ratio.Text(2), k.Cached.Text(2))
	}
	fmt.Fprintln(&b, t)
	fmt.Fprintf(
		&b, "**Memory**: %d different requests for twelve facets at once take %s MiB at most, beside %s MiB at rest.\n",
		r.AtOnce, report.Number(int(r.Loaded.Resident.Median)), report.Number(int(r.Rest.Median)),
	)
	return b.String()
}
