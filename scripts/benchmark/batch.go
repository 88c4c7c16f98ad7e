package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"atlas/client"
	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/report"
)

// batchCmd compares batches of searches with the same searches sent one by one, both
// through the service and straight to Elasticsearch. Requests that find nothing are left out:
// for these Atlas looks for other words, which Elasticsearch alone does not.
type batchCmd struct {
	place
	Records     int64  `default:"300000" help:"Records of the dataset, 10000 to 100000000 (default: 300000)."`
	Seed        uint64 `default:"1" help:"Seed of the dataset and of the requests (default: 1)."`
	Requests    int    `default:"2000" help:"Different searches, 100 to 100000 (default: 2000)."`
	Seconds     int    `default:"10" help:"About how long each measurement takes, in seconds (default: 10)."`
	Rounds      int    `default:"5" help:"How often each is repeated, by turns; a result to be kept has at least 5 (default: 5)."`
	Connections int    `default:"8" help:"Connections for single searches (default: 8)."`
	Batches     int    `default:"2" help:"Connections for batches (default: 2)."`
	report.Output
}

// A full batch: its searches, and the limit of each that it may have.
const (
	searchesOfBatch = client.MaxSearches
	batchedLimit    = 20
)

// Validate implements kong's interface.
func (c *batchCmd) Validate() error {
	return errors.Join(
		within("records", 10_000, 100_000_000, c.Records),
		within("requests", 100, 100_000, c.Requests),
		within("seconds", 1, 3600, c.Seconds),
		within("rounds", 1, 100, c.Rounds),
		within("connections", 1, load.MaxInFlight, c.Connections, c.Batches),
	)
}

// Run measures and prints.
func (c *batchCmd) Run(ctx context.Context) error {
	if err := c.Check("batch"); err != nil {
		return err
	}
	return try(ctx, func(r *run) {
		i := install(r, c.place, c.Records, c.Seed)
		i.limit, i.found = batchedLimit, true
		i.bothWays(c.Requests, c.Seed, func(s *sides) {
			b := batchReport{heading: i.heading(), Requests: s.facts, Rounds: c.Rounds, Seconds: c.Seconds}
			b.measure(s, c)
			check(c.Emit("batch", b))
		})
	})
}

// batchWay is a way to send the searches.
type batchWay struct {
	Name        string        `json:"name"`
	Connections int           `json:"connections"`
	Searches    report.Spread `json:"searches_per_second"`
	CPU         cpu           `json:"cpu_ms_per_search"`

	client   load.Client
	requests []*load.Request
	each     int // searches of a request
}

// batchReport is the result.
type batchReport struct {
	heading
	Requests requestFacts `json:"requests"`
	Rounds   int          `json:"rounds"`
	Seconds  int          `json:"seconds_each"`
	Ways     []*batchWay  `json:"ways"`
	// ToSingle and ToMsearch are the searches of batches beside those of Elasticsearch alone.
	ToSingle  report.Spread `json:"batches_to_single_searches_of_elasticsearch"`
	ToMsearch report.Spread `json:"batches_to_msearch_of_elasticsearch"`
}

func (b *batchReport) measure(s *sides, c *batchCmd) {
	b.Ways = []*batchWay{
		{Name: "Elasticsearch, single", Connections: c.Connections, client: s.beside, requests: s.directs, each: 1},
		{Name: "Elasticsearch, `_msearch` of 50", Connections: c.Batches, client: s.beside, requests: s.msearches(), each: searchesOfBatch},
		{Name: "Atlas, single", Connections: c.Connections, client: s.through, requests: s.services, each: 1},
		{Name: "Atlas, batches of 50", Connections: c.Batches, client: s.through, requests: s.batches(), each: searchesOfBatch},
	}
	s.warmUp(c.Connections, 2*time.Duration(c.Seconds)*time.Second)
	totals := make([]int, len(b.Ways))
	for i, w := range b.Ways {
		for _, r := range w.requests { // get the answers, and measure one pass
			r.Expect(must(w.client.Do(s.ctx, r, nil)))
		}
		once := must(w.client.Closed(s.ctx, w.requests, w.Connections, len(w.requests)))
		totals[i] = passes(once, float64(c.Seconds), len(w.requests)) * len(w.requests)
	}
	for round := range c.Rounds {
		var rates []float64
		for i, w := range b.Ways {
			var used cpu
			result := s.meter.closed(s.ctx, w.client, w.requests, w.Connections, totals[i], &used)
			for p := range processNames {
				for _, ms := range used.process(p).Rounds {
					w.CPU.process(p).Add(ms / float64(w.each))
				}
			}
			rates = append(rates, result.PerSecond()*float64(w.each))
			w.Searches.Add(rates[i])
		}
		b.ToSingle.Add(rates[3] / rates[0])
		b.ToMsearch.Add(rates[3] / rates[1])
		say("round %d of %d: %.0f searches/s", round+1, c.Rounds, rates)
	}
}

// batches are the searches of the clients in batches of 50.
func (s *sides) batches() (all []*load.Request) {
	for group := range slices.Chunk(s.services, searchesOfBatch) {
		if len(group) < searchesOfBatch {
			break
		}
		items := make([]map[string]any, len(group))
		for i, r := range group {
			check(json.Unmarshal(r.Body, &items[i]))
			parts := strings.Split(r.URL.Path, "/")
			items[i]["dataset"] = parts[len(parts)-2]
		}
		body := must(json.Marshal(map[string]any{"searches": items}))
		all = append(all, &load.Request{
			Method: "POST", URL: must(url.Parse(s.server.Base + "/data/search/batch")), Header: group[0].Header,
			Body: body,
		})
	}
	return all
}

// msearches are the same searches as the service would send them, 50 in a round trip.
func (s *sides) msearches() (all []*load.Request) {
	header := maps.Clone(s.directs[0].Header)
	header.Set("Content-Type", "application/x-ndjson")
	for group := range slices.Chunk(s.directs, searchesOfBatch) {
		if len(group) < searchesOfBatch {
			break
		}
		var body bytes.Buffer
		at := *group[0].URL
		at.Path, at.RawQuery = "/_msearch", ""
		for _, r := range group {
			index, several := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), "/_search")
			if several {
				fmt.Fprintf(&body, "{\"index\":%q}\n", index)
			}
			body.Write(bytes.TrimSpace(r.Body))
			body.WriteByte('\n')
		}
		all = append(all, &load.Request{Method: "POST", URL: &at, Header: header, Body: body.Bytes()})
	}
	return all
}

// Markdown writes the table.
func (b batchReport) Markdown() string {
	var text strings.Builder
	fmt.Fprint(&text, b.whole())
	fmt.Fprintf(&text, "- %s\n- each with a `limit` of %d; medians of %d rounds by turns, in brackets the lowest and the highest\n\n", b.Requests, batchedLimit, b.Rounds)
	t := report.Table{Head: []string{"", "connections", "searches/s", "CPU ms a search: Elasticsearch", "Atlas", "Redis"}}
	for _, w := range b.Ways {
		t.Add(w.Name, fmt.Sprint(w.Connections), w.Searches.Text(0), w.CPU.Elasticsearch.Text(2), w.CPU.Atlas.Text(3), w.CPU.Redis.Text(3))
	}
	fmt.Fprintln(&text, t)
	fmt.Fprintf(&text, "Batches beside single searches of Elasticsearch: %s (aim 1.1); beside its `_msearch`: %s (aim 0.9).\n\n", b.ToSingle.Text(2), b.ToMsearch.Text(2))
	return text.String()
}
