package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"atlas/internal/devstack"
	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/mix"
	"atlas/scripts/benchmark/report"
	"atlas/scripts/experiments/rig"
)

// serviceCmd measures what a server takes without requests and with many at once, and how
// fast it starts.
type serviceCmd struct {
	place
	Before   string `type:"path" placeholder:"FILE" help:"Another atlas binary to measure beside it, of an earlier version with the same schema and indices."`
	Records  int64  `default:"300000" help:"Records of the dataset, 10000 to 100000000 (default: 300000)."`
	Seed     uint64 `default:"1" help:"Seed of the dataset and of the requests (default: 1)."`
	AtOnce   int    `default:"200" help:"Searches at once, 1 to 1000 (default: 200)."`
	Requests int    `default:"6000" help:"Searches of a round (default: 6000)."`
	Starts   int    `default:"7" help:"How often a server is started in a round, 1 to 100 (default: 7)."`
	Rounds   int    `default:"3" help:"How often each binary is measured, by turns (default: 3)."`
	report.Output
}

// Validate implements kong's interface.
func (c *serviceCmd) Validate() error {
	return errors.Join(
		within("records", 10_000, 100_000_000, c.Records),
		within("at-once", 1, 1000, c.AtOnce),
		within("requests", 100, 1_000_000, c.Requests),
		within("starts", 1, 100, c.Starts),
		within("rounds", 1, 100, c.Rounds),
	)
}

// Run measures and prints.
func (c *serviceCmd) Run(ctx context.Context) error {
	if err := c.Check("service"); err != nil {
		return err
	}
	return try(ctx, func(r *run) { c.on(install(r, c.place, c.Records, c.Seed)) })
}

// serviceReport is the result.
type serviceReport struct {
	heading
	AtOnce   int        `json:"at_once"`
	Rounds   int        `json:"rounds"`
	Binaries []*service `json:"binaries"`
}

// service is what servers of one binary take.
type service struct {
	Name string  `json:"name"`
	Size float64 `json:"size_mb"`
	// Milliseconds from the start of the process.
	Program   report.Spread `json:"program_ms"` // to the end of a program that only reads its options
	Listening report.Spread `json:"listening_ms"`
	Ready     report.Spread `json:"ready_ms"`

	Rest    taken         `json:"at_rest"`
	Loaded  taken         `json:"loaded"`
	Batched taken         `json:"batched"`
	After   report.Spread `json:"resident_after_mib"`

	rig *rig.Rig
	exe string
}

// taken are the most that was seen.
type taken struct {
	Resident      report.Spread `json:"resident_mib"`
	Goroutines    report.Spread `json:"goroutines"`
	Elasticsearch report.Spread `json:"elasticsearch_connections"`
	Postgres      report.Spread `json:"postgres_connections"`
	Redis         report.Spread `json:"redis_connections"`
}

func (t *taken) all() []*report.Spread {
	return []*report.Spread{&t.Resident, &t.Goroutines, &t.Elasticsearch, &t.Postgres, &t.Redis}
}

// on runs the benchmark on an installation and prints the result.
func (c *serviceCmd) on(i *installation) {
	r := serviceReport{heading: i.heading(), AtOnce: c.AtOnce, Rounds: c.Rounds}
	if c.Before != "" {
		r.Binaries = append(r.Binaries, &service{Name: "before", rig: i.With(c.Before), exe: c.Before})
	}
	r.Binaries = append(r.Binaries, &service{Name: "now", rig: i.Rig, exe: i.atlas})
	sample := must(mix.DrawSample(i.records(), i.dataset.Records, c.Seed))
	keys := make([]string, batchesAtOnce/batchesEach)
	for n := range keys {
		keys[n] = i.newKey()
	}
	for round := range c.Rounds {
		for _, b := range r.Binaries {
			b.Size = float64(must(os.Stat(b.exe)).Size()) / 1e6
			i.starts(b, c.Starts)
			searches := mix.New(sample, c.Seed)
			i.atOnce(b, c, keys, func() mix.Search { return searches.Next() })
			say("%s, round %d of %d: ready in %.0f ms, %.0f MiB, %.0f MiB with %d searches at once, %.0f MiB with %d batches", b.Name, round+1,
				c.Rounds, b.Ready.Rounds[len(b.Ready.Rounds)-1], b.Rest.Resident.Rounds[round], b.Loaded.Resident.Rounds[round], c.AtOnce,
				b.Batched.Resident.Rounds[round], batchesAtOnce)
		}
	}
	check(c.Emit("service", r))
}

// starts starts and stops servers.
func (i *installation) starts(b *service, times int) {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range times {
		began := time.Now()
		check(exec.CommandContext(i.ctx, b.exe, "serve", "--help").Run()) // #nosec G204 -- the program that is measured
		b.Program.Add(since(began))
	}
	s := b.rig.Serve()
	for range times {
		check(s.Stop())
		began := time.Now()
		check(s.Launch())
		every(i.ctx, func() bool {
			conn, err := net.Dial("tcp", s.Address)
			if err == nil {
				_ = conn.Close()
			}
			return err == nil
		})
		b.Listening.Add(since(began))
		every(i.ctx, func() bool {
			res, err := client.Get(s.Root + "/health/ready")
			if err == nil {
				_ = res.Body.Close()
			}
			return err == nil && res.StatusCode == http.StatusOK
		})
		b.Ready.Add(since(began))
	}
	check(s.Stop())
}

// startLooks is the interval of looking for a start. More often would slow it down.
const startLooks = 2 * time.Millisecond

// every calls a function until it returns true.
func every(ctx context.Context, done func() bool) {
	for !done() {
		check(context.Cause(ctx))
		time.Sleep(startLooks)
	}
}

func since(began time.Time) float64 { return time.Since(began).Seconds() * 1e3 }

// Times that a server is left alone before it is measured at rest.
const (
	restAfterStart = 2 * time.Second
	restAfterLoad  = 5 * time.Second
)

// Batches that run at once on a server, and those of one workspace: both are bounds.
const (
	batchesAtOnce = 16
	batchesEach   = 4
)

// atOnce measures a new server at rest, with many searches, and with many full batches.
func (i *installation) atOnce(b *service, c *serviceCmd, keys []string, next func() mix.Search) {
	s := b.rig.Serve("ATLAS_REDIS_TIMEOUT=10s", "ATLAS_SEARCH_TIMEOUT=60s")
	defer func() { check(s.Stop()) }()
	time.Sleep(restAfterStart)
	i.most(s, &b.Rest, func() {})

	client := load.NewClient(c.AtOnce)
	defer client.CloseIdleConnections()
	var searches []mix.Search
	var requests []*load.Request
	for len(requests) < c.AtOnce {
		search := next()
		r := request(s, keys[0], search.Path(), string(search.Encode()))
		answer := must(client.Do(i.ctx, r, nil))
		if bytes.Contains(answer, []byte(`"total":0,`)) {
			continue // under load there may be less advice than before
		}
		r.Expect(answer)
		searches, requests = append(searches, search), append(requests, r)
	}
	i.most(s, &b.Loaded, func() { must(client.Closed(i.ctx, requests, c.AtOnce, c.Requests)) })
	var batches []*load.Request
	for n := range batchesAtOnce {
		items := make([]map[string]any, searchesOfBatch)
		for m := range items {
			search := searches[(n*searchesOfBatch+m)%len(searches)]
			items[m] = maps.Clone(search.Body)
			items[m]["dataset"], items[m]["limit"] = search.Dataset, batchedLimit
		}
		body := must(json.Marshal(map[string]any{"searches": items}))
		batches = append(batches, request(s, keys[n/batchesEach], "/data/search/batch", string(body)))
		batches[n].Expect(must(client.Do(i.ctx, batches[n], nil)))
	}
	i.most(s, &b.Batched, func() { must(client.Closed(i.ctx, batches, batchesAtOnce, c.Requests/searchesOfBatch)) })
	client.CloseIdleConnections()
	time.Sleep(restAfterLoad)
	b.After.Add(must(resident(s)))
}

// lookEvery is the interval of looking at a server under load.
const lookEvery = 100 * time.Millisecond

// most adds the most that a server took during some work.
func (i *installation) most(s *rig.Server, t *taken, work func()) {
	var most [5]float64
	var failed error
	look := func() error {
		memory, err := resident(s)
		metrics, err2 := s.Metrics(i.ctx)
		now := []float64{memory, metrics["go_goroutines"]}
		err = errors.Join(err, err2)
		for _, backend := range []devstack.Backend{devstack.Elasticsearch, devstack.Postgres, devstack.Redis} {
			n, err2 := i.Connections(i.ctx, backend)
			now, err = append(now, float64(n)), errors.Join(err, err2)
		}
		for n, v := range now {
			most[n] = max(most[n], v)
		}
		return err
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for failed = look(); failed == nil; failed = look() {
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	work()
	close(done)
	watching.Wait()
	check(failed)
	for n, spread := range t.all() {
		spread.Add(most[n])
	}
}

// resident is the resident memory of a server in MiB.
func resident(s *rig.Server) (float64, error) {
	p, err := procfs.NewProc(s.PID())
	if err != nil {
		return 0, err
	}
	status, err := p.NewStatus()
	return float64(status.VmRSS) / (1 << 20), err
}

// Markdown writes the table.
func (r serviceReport) Markdown() string {
	var b strings.Builder
	fmt.Fprint(&b, r.whole())
	fmt.Fprintf(&b, "- figures are medians, in brackets the lowest and the highest; %d rounds of each binary by turns; under load the most that was seen\n\n", r.Rounds)
	t := report.Table{Head: []string{""}}
	for _, of := range r.Binaries {
		t.Head = append(t.Head, of.Name)
	}
	row := func(name string, text func(*service) string) {
		cells := []string{name}
		for _, of := range r.Binaries {
			cells = append(cells, text(of))
		}
		t.Add(cells...)
	}
	row("binary, MB", func(s *service) string { return fmt.Sprintf("%.1f", s.Size) })
	row("`atlas serve --help`, ms", func(s *service) string { return s.Program.Text(0) })
	row("start to listening, ms", func(s *service) string { return s.Listening.Text(0) })
	row("start to ready, ms, aim ≤ 300", func(s *service) string { return s.Ready.Text(0) })
	for n, name := range []string{"resident memory, MiB", "goroutines", "connections to Elasticsearch", "to Postgres", "to Redis"} {
		row("at rest: "+name, func(s *service) string { return s.Rest.all()[n].Text(0) })
	}
	for n, name := range []string{"resident memory, MiB", "goroutines", "connections to Elasticsearch", "to Postgres", "to Redis"} {
		row(fmt.Sprintf("%d searches at once: %s", r.AtOnce, name), func(s *service) string { return s.Loaded.all()[n].Text(0) })
	}
	for n, name := range []string{"resident memory, MiB, aim ≤ 300", "goroutines"} {
		row(fmt.Sprintf("%d batches of %d at once: %s", batchesAtOnce, searchesOfBatch, name), func(s *service) string {
			return s.Batched.all()[n].Text(0)
		})
	}
	row("5 s later: resident memory, MiB", func(s *service) string { return s.After.Text(0) })
	fmt.Fprintln(&b, t)
	return b.String()
}
