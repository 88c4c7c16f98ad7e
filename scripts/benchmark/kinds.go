package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"atlas/internal/input"
	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/mix"
	"atlas/scripts/benchmark/report"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
)

// kindsCmd measures what each kind of search costs Elasticsearch, without Atlas:
// the bodies are those that Atlas compiles.
type kindsCmd struct {
	Dir      string  `type:"path" help:"Folder that keeps backends and data, a folder for each size, for the next run with the same seed; not of clusters (default: temporary ones, removed after use)."`
	Atlas    string  `type:"path" placeholder:"FILE" help:"The atlas binary that loads the data (default: the one beside this program)."`
	Records  []int64 `default:"100000,1000000,5000000" help:"Sizes of datasets, each 10000 to 100000000 (default: 100000,1000000,5000000)."`
	Nodes    []int   `help:"Clusters of 1 to 9 nodes, each with a heap of 512 MiB and as many shards a dataset as nodes (default: one node with 1 GiB and one shard)."`
	Seed     uint64  `default:"1" help:"Seed of the datasets and of the requests (default: 1)."`
	Requests int     `default:"300" help:"Different searches of a kind, 20 to 10000; Elasticsearch caches filters that are among the last 256 (default: 300)."`
	Warm     int     `default:"40" help:"Seconds of warm-up at each size (default: 40)."`
	Rounds   int     `default:"3" help:"How often each kind is repeated, by turns (default: 3)."`
	report.Output
}

// Validate implements kong's interface.
func (c *kindsCmd) Validate() error {
	err := errors.Join(within("records", 10_000, 100_000_000, c.Records...), within("requests", 20, 10_000, c.Requests),
		within("warm", 1, 3600, c.Warm), within("rounds", 1, 100, c.Rounds))
	if c.Nodes != nil {
		err = errors.Join(err, within("nodes", 1, 9, c.Nodes...))
	}
	return err
}

// section of the file of results.
func (c *kindsCmd) section() string {
	if c.Nodes != nil {
		return "nodes"
	}
	return "kinds"
}

// kindsReport is the result: a cost for each kind and each installation.
type kindsReport struct {
	heading
	Rounds   int           `json:"rounds"`
	Requests int           `json:"requests"`
	On       []measuredOn  `json:"on"`
	Kinds    []*costOfKind `json:"kinds"`
}

// measuredOn is an installation: a dataset's size, and the nodes of its cluster, 0
// for the usual single node.
type measuredOn struct {
	Records int64 `json:"records"`
	Nodes   int   `json:"nodes"`
}

func (m measuredOn) String() string {
	switch m.Nodes {
	case 0:
		return report.Number(m.Records)
	case 1:
		return "1 node, 1 shard"
	}
	return fmt.Sprintf("%d nodes, %d shards", m.Nodes, m.Nodes)
}

// costOfKind is the cost of a kind on each installation: CPU of Elasticsearch per
// request and latencies over one connection, all in milliseconds.
type costOfKind struct {
	Name string          `json:"name"`
	CPU  []report.Spread `json:"elasticsearch_cpu_ms"`
	P50  []report.Spread `json:"p50_ms"`
	P99  []report.Spread `json:"p99_ms"`
}

// Run measures and prints.
func (c *kindsCmd) Run(ctx context.Context) error {
	if err := c.Check(c.section()); err != nil {
		return err
	}
	r, before := &kindsReport{Rounds: c.Rounds, Requests: c.Requests}, machineOf()
	nodes := c.Nodes
	if nodes == nil {
		nodes = []int{0}
	}
	for _, records := range c.Records {
		for _, n := range nodes {
			on := measuredOn{records, n}
			say("\n%s records, %d nodes", report.Number(records), n)
			if err := try(ctx, func(run *run) { c.measure(run, r, before, on) }); err != nil {
				return fmt.Errorf("%s: %w", on, err)
			}
		}
	}
	return c.Emit(c.section(), r)
}

// measure adds one installation to the result.
func (c *kindsCmd) measure(run *run, r *kindsReport, before machine, on measuredOn) {
	p := place{Atlas: c.Atlas, nodes: on.Nodes}
	if c.Dir != "" && on.Nodes == 0 {
		p.Dir = filepath.Join(c.Dir, strconv.FormatInt(on.Records, 10))
	}
	i := install(run, p, on.Records, c.Seed)
	i.before = before
	if r.Date.IsZero() {
		r.heading = i.heading()
	}
	d := &direct{installation: i, client: load.NewClient(1)}
	defer d.client.CloseIdleConnections()
	d.meter = newMeter(i.ctx, i.Rig, i.redis, true, 0)
	kinds := d.prepare(c.Requests, c.Seed)
	d.warmUp(kinds, time.Duration(c.Warm)*time.Second)
	r.On = append(r.On, on)
	d.measure(kinds, c.Rounds)
	for n, k := range kinds {
		if n == len(r.Kinds) {
			r.Kinds = append(r.Kinds, &costOfKind{Name: k.name})
		}
		cost := r.Kinds[n]
		cost.CPU, cost.P50, cost.P99 = append(cost.CPU, k.cpu.Elasticsearch), append(cost.P50, k.p50), append(cost.P99, k.p99)
	}
}

// direct sends searches straight to Elasticsearch.
type direct struct {
	*installation
	client load.Client
	meter  cpuMeter
}

// directKind is a kind with its requests.
type directKind struct {
	name     string
	requests []*load.Request
	cpu      cpu
	p50, p99 report.Spread
	each     time.Duration // the latest average latency
}

// slowTenth of the mix are a kind of their own, in percent.
const slowTenth = 10

// prepare draws the requests of each kind, and ten times as many of the mix. Each
// is sent twice, and its answers must be equal.
func (d *direct) prepare(requests int, seed uint64) (kinds []*directKind) {
	sample := must(mix.DrawSample(d.records(), d.dataset.Records, seed))
	m := mix.New(sample, seed)
	for _, k := range mix.Kinds() {
		kinds = append(kinds, d.kind(m, k, requests))
	}
	whole := d.kind(m, mix.Whole, 10*requests)
	slowest := &directKind{name: fmt.Sprintf("the slowest %d %% of the mix", slowTenth), requests: d.slowest(whole.requests)}
	return append(kinds, whole, slowest)
}

func (d *direct) kind(m *mix.Mix, k mix.Kind, requests int) *directKind {
	all := &directKind{name: k.Name}
	var answer []byte
	for _, s := range m.OfKind(k, requests) {
		r := d.request(k, s)
		answer = must(d.client.Do(d.ctx, r, answer))
		r.Expect(answer)
		all.requests = append(all.requests, r)
	}
	if len(all.requests) == 0 {
		failf("no request of the kind %q", k.Name)
	}
	return all
}

// slowest returns the requests whose quicker one of two latencies is the longest.
func (d *direct) slowest(all []*load.Request) []*load.Request {
	took := map[*load.Request]time.Duration{}
	var buf []byte
	for _, r := range all {
		took[r] = math.MaxInt64
		for range 2 {
			began := time.Now()
			buf = must(d.client.Check(d.ctx, r, buf))
			took[r] = min(took[r], time.Since(began))
		}
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b *load.Request) int { return cmp.Compare(took[b], took[a]) })
	return sorted[:len(sorted)*slowTenth/100]
}

// request compiles a search. Elasticsearch must not answer it from its cache of
// answers without records.
func (d *direct) request(k mix.Kind, s mix.Search) *load.Request {
	body, issues := input.Decode(s.Encode())
	if len(issues) > 0 {
		failf("%s: %v", s.Encode(), issues)
	}
	q := must(query.Parse(body, s.Dataset, query.Base{Kind: catalog.Data}))
	q.CountOnly = k.CountOnly
	address := d.Elasticsearch[0] + "/" + d.Index(string(s.Dataset)) + "/_search?allow_partial_search_results=false&request_cache=false&timeout=60s"
	compiled := search.Compile(q, nil)
	if k.AfterOffset {
		before := q
		before.Offset, before.Limit, q.Offset = q.Offset-1, 1, 0
		compiled = search.Compile(q, d.sortOf(s.Dataset, search.Compile(before, nil)))
	}
	return &load.Request{
		Method: http.MethodPost, URL: must(url.Parse(address)), Body: compiled,
		Header: http.Header{"Content-Type": {"application/json"}},
	}
}

// sortOf returns the sort values of the first row that a search finds, nil if there
// is none.
func (d *direct) sortOf(of catalog.Dataset, body []byte) json.RawMessage {
	var answer struct {
		Hits struct {
			Hits []struct{ Sort json.RawMessage }
		}
	}
	check(d.Ask(d.ctx, "POST", "/"+d.Index(string(of))+"/_search", string(body), &answer))
	if len(answer.Hits.Hits) == 0 {
		return nil
	}
	return answer.Hits.Hits[0].Sort
}

// warmUp sends requests of all kinds in turn, so that the JVM has compiled its hot
// code.
func (d *direct) warmUp(kinds []*directKind, about time.Duration) {
	say("warming up for %.0f s", about.Seconds())
	for end := time.Now().Add(about); ; {
		for _, k := range kinds {
			r := must(d.client.Closed(d.ctx, k.requests, 1, min(20, len(k.requests))))
			k.each = r.Took / time.Duration(r.TotalCount())
		}
		if time.Now().After(end) {
			return
		}
	}
}

// measure sends requests of each kind in each round, for as long as Elasticsearch
// needs to look at its CPU time.
func (d *direct) measure(kinds []*directKind, rounds int) {
	for round := range rounds {
		for _, k := range kinds {
			n := max(20, int(elasticsearchLooks/k.each))
			at := round * n % len(k.requests)
			took := d.meter.closed(d.ctx, d.client, slices.Concat(k.requests[at:], k.requests[:at]), 1, n, &k.cpu)
			k.each = took.Took / time.Duration(n)
			k.p50.Add(took.Percentile(50))
			k.p99.Add(took.Percentile(99))
		}
		say("round %d of %d", round+1, rounds)
	}
}

// Markdown writes the table, the kinds that cost the most CPU on the last
// installation first.
func (r *kindsReport) Markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.where())
	fmt.Fprintf(&b, "- datasets of seed %d; client and backends share the machine; up to %d different requests of a kind, straight to Elasticsearch over one connection; figures in ms are medians of %d rounds, by turns after a warm-up; CPU also with the lowest and the highest round; every answer was compared with the first one to the same request\n", r.Dataset.Seed, r.Requests, r.Rounds)
	if r.On[0].Nodes > 0 {
		fmt.Fprintf(&b, "- %s records in each cluster, each node with a heap of 512 MiB and only the first compiler of the JVM; the nodes share the machine\n", report.Number(r.On[0].Records))
	}
	fmt.Fprintln(&b)
	t := report.Table{Head: []string{"kind"}}
	for _, of := range []string{"CPU", "p50", "p99"} {
		for _, on := range r.On {
			t.Head = append(t.Head, of+", "+on.String())
		}
	}
	last := len(r.On) - 1
	for _, k := range slices.SortedFunc(slices.Values(r.Kinds), func(a, b *costOfKind) int {
		return cmp.Compare(b.CPU[last].Median, a.CPU[last].Median)
	}) {
		row := append([]string{k.Name}, report.Texts(2, k.CPU...)...)
		for _, s := range slices.Concat(k.P50, k.P99) {
			row = append(row, fmt.Sprintf("%.1f", s.Median))
		}
		t.Add(row...)
	}
	fmt.Fprintln(&b, t)
	return b.String()
}
