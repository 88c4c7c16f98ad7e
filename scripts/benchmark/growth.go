package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/mix"
	"atlas/scripts/benchmark/report"
	"atlas/search/catalog"
)

// growthCmd measures how cost grows: with the records of a dataset, with
// connections, with the size of a book, and with the depth of a page.
type growthCmd struct {
	Dir         string   `type:"path" help:"Folder that keeps backends and data, a folder for each size, for the next run with the same seed (default: temporary ones, removed after use)."`
	Atlas       string   `type:"path" placeholder:"FILE" help:"The atlas binary to measure (default: the one beside this program)."`
	Records     []int64  `default:"100000,1000000,5000000" help:"Sizes of datasets, each 10000 to 100000000 (default: 100000,1000000,5000000)."`
	Connections []int    `default:"1,8,64" help:"Numbers of connections, each 1 to 128; with the smallest dataset (default: 1,8,64)."`
	Books       []int    `default:"1000,3000,10000,30000,100000" help:"Projects in a book, each 1000 to 100000; those that the largest dataset has, in the smallest that has them (default: 1000,3000,10000,30000,100000)."`
	Pages       []int    `default:"1,10,100,1000,10000" help:"Pages by cursor, each 1 to 100000; of 25 records, or of fewer in a small dataset (default: 1,10,100,1000,10000)."`
	Parts       []string `default:"records,connections,pages,books" enum:"records,connections,pages,books" help:"What to measure (default: records,connections,pages,books)."`
	Seed        uint64   `default:"1" help:"Seed of the datasets and of the requests (default: 1)."`
	Requests    int      `default:"500" help:"Different searches, 100 to 100000 (default: 500)."`
	Seconds     int      `default:"5" help:"About how long each measurement takes, in seconds; never less than all requests once (default: 5)."`
	Rounds      int      `default:"5" help:"How often each is repeated, by turns; a result to be kept has at least 5 (default: 5)."`
	report.Output
}

// Validate implements kong's interface.
func (c *growthCmd) Validate() error {
	return errors.Join(within("records", 10_000, 100_000_000, c.Records...), within("connections", 1, load.MaxInFlight, c.Connections...),
		within("books", smallBook, 100_000, c.Books...), within("pages", 1, 100_000, c.Pages...), within("parts", 1, 4, len(c.Parts)),
		within("requests", 100, 100_000, c.Requests), within("seconds", 1, 3600, c.Seconds), within("rounds", 1, 100, c.Rounds))
}

func (c *growthCmd) has(part string) bool { return slices.Contains(c.Parts, part) }

// growthReport is the result. Parts that were not measured are empty.
type growthReport struct {
	heading
	Rounds      int            `json:"rounds"`
	Requests    int            `json:"requests"`
	Records     []*grown       `json:"records"`
	Connections []*grown       `json:"connections"`
	AtRecords   int64          `json:"connections_at_records"`
	Pages       *pagesGrowth   `json:"pages"`
	Books       *booksGrowth   `json:"books"`
	Taken       []minutesTaken `json:"taken"`
}

// minutesTaken is the duration of all measurements at one size.
type minutesTaken struct {
	Records int64   `json:"records"`
	Minutes float64 `json:"minutes"`
}

// grown is the cost of the search mix, through Atlas and direct, at one size or
// with one number of connections.
type grown struct {
	At      int64     `json:"at"`
	Service grownSide `json:"service"`
	Direct  grownSide `json:"direct"`
	ARound  int       `json:"requests_a_round"`
}

// grownSide is the cost on one side: times in milliseconds, CPU per request.
type grownSide struct {
	PerSecond report.Spread `json:"requests_per_second"`
	P50       report.Spread `json:"p50_ms"`
	P99       report.Spread `json:"p99_ms"`
	CPU       cpu           `json:"cpu_ms_per_request"`
}

// booksGrowth is the cost of searches of books, by their sizes.
type booksGrowth struct {
	// Records of the dataset that the books select from.
	Records int64 `json:"dataset_records"`
	// Sizes are the sizes of the books. Filled is how many seconds it took to fill
	// each, Projected how many until searches found all of it.
	Sizes     []int     `json:"sizes"`
	Filled    []float64 `json:"filled_seconds"`
	Projected []float64 `json:"projected_seconds"`
	Kinds     []*series `json:"kinds"`
}

// pagesGrowth is the cost of a page by cursor, by its depth in the dataset.
type pagesGrowth struct {
	Records int64 `json:"dataset_records"`
	// Limit is how many records a page has.
	Limit int       `json:"limit"`
	Pages []int     `json:"pages"`
	Sorts []*series `json:"sorts"`
}

// series are medians of one kind of request, in milliseconds, over a range of
// sizes.
type series struct {
	Name string          `json:"name"`
	P50  []report.Spread `json:"p50_ms"`

	requests [][]*load.Request
}

// Run measures and prints.
func (c *growthCmd) Run(ctx context.Context) error {
	if err := c.Check("growth"); err != nil {
		return err
	}
	for _, list := range []*[]int{&c.Connections, &c.Books, &c.Pages} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	slices.Sort(c.Records)
	c.Records = slices.Compact(c.Records)
	r := &growthReport{Rounds: c.Rounds, Requests: c.Requests}
	before := machineOf()
	for n, records := range c.Records {
		err := try(ctx, func(run *run) { c.size(run, r, before, n, records) })
		if err != nil {
			return fmt.Errorf("%d records: %w", records, err)
		}
	}
	return report.Output{JSON: c.JSON}.Emit("growth", r)
}

// size runs the measurements of the nth size, and stores the results.
func (c *growthCmd) size(run *run, r *growthReport, before machine, n int, records int64) {
	began := time.Now()
	books := c.has("books") && n == sizeFor(c.Records, slices.Max(c.Books))
	pages := c.has("pages") && n == sizeFor(c.Records, pageSize*slices.Max(c.Pages))
	searches := c.has("records") || c.has("connections") && n == 0
	if !books && !pages && !searches {
		return
	}
	say("\n%d records", records)
	p := place{Atlas: c.Atlas}
	if c.Dir != "" {
		p.Dir = filepath.Join(c.Dir, strconv.FormatInt(records, 10))
	}
	i := install(run, p, records, c.Seed)
	i.before = before
	if r.Date.IsZero() {
		r.heading = i.heading()
	}
	if searches {
		i.bothWays(c.Requests, c.Seed, func(s *sides) { c.searches(s, r, n) })
		check(c.save(r))
	}
	if pages {
		i.serving(i.newKey(), func(s *serving) { c.pages(s, r) })
		check(c.save(r))
	}
	if books {
		i.serving(i.newKey(), func(s *serving) { c.books(s, r) })
	}
	r.Taken = append(r.Taken, minutesTaken{records, time.Since(began).Minutes()})
	check(c.save(r))
}

// projectsShare of the records of a dataset are projects, in percent; signals are
// more.
const projectsShare = 26

// sizeFor is the index of the first size with this many projects, or of the last
// size.
func sizeFor(sizes []int64, projects int) int {
	for n, records := range sizes {
		if records*projectsShare/100 >= int64(projects) {
			return n
		}
	}
	return len(sizes) - 1
}

// searches measures the mix over one connection, and at the first size over each
// number of connections.
func (c *growthCmd) searches(s *sides, r *growthReport, n int) {
	s.warmUp(connections, 3*time.Duration(c.Seconds)*time.Second)
	if c.has("records") {
		r.Records = append(r.Records, c.grow(s, s.dataset.Total, 1))
	}
	if c.has("connections") && n == 0 {
		r.AtRecords = s.dataset.Total
		for _, connections := range c.Connections {
			r.Connections = append(r.Connections, c.grow(s, int64(connections), connections))
		}
	}
}

// grow sends all requests equally often both ways in each round. Rounds alternate
// which way is first.
func (c *growthCmd) grow(s *sides, at int64, connections int) *grown {
	g := &grown{At: at}
	warm := must(s.beside.Closed(s.ctx, s.directs, connections, len(s.directs)))
	g.ARound = len(s.directs) * passes(warm, float64(c.Seconds), len(s.directs))
	measure := func(side *grownSide, client load.Client, requests []*load.Request) {
		result := s.meter.closed(s.ctx, client, requests, connections, g.ARound, &side.CPU)
		side.PerSecond.Add(result.PerSecond())
		side.P50.Add(result.Percentile(50))
		side.P99.Add(result.Percentile(99))
	}
	for round := range c.Rounds {
		for i := range 2 {
			if (i+round)%2 == 0 {
				measure(&g.Service, s.through, s.services)
			} else {
				measure(&g.Direct, s.beside, s.directs)
			}
		}
		say("%d records, %d connections, round %d of %d: p50 %.2f ms through Atlas, %.2f ms by Elasticsearch alone", s.dataset.Total, connections, round+1, c.Rounds,
			g.Service.P50.Rounds[round], g.Direct.P50.Rounds[round])
	}
	return g
}

// measureSeries measures all series in each round, each in rotation over one
// connection, after an uncounted warm-up.
func (c *growthCmd) measureSeries(s *serving, all []*series) {
	for round := range c.Rounds + 1 {
		for _, one := range all {
			for i, p50 := range s.byTurns(time.Duration(c.Seconds)*time.Second, one.requests...) {
				if round == 0 {
					one.P50 = append(one.P50, report.Spread{})
				} else {
					one.P50[i].Add(p50)
				}
			}
		}
		if round > 0 {
			say("round %d of %d", round, c.Rounds)
		}
	}
}

// books fills one book for each size, each in its own workspace, with projects at
// equal distances, and measures searches of each.
func (c *growthCmd) books(s *serving, r *growthReport) {
	g := &booksGrowth{Records: s.dataset.Total}
	ids := s.recordIDs(catalog.Projects, slices.Max(c.Books))
	for _, kind := range bookCases {
		g.Kinds = append(g.Kinds, &series{Name: kind.name})
	}
	for _, size := range c.Books {
		if size > len(ids) {
			say("no book of %d: there are %d projects", size, len(ids))
			continue
		}
		own := s.inNewWorkspace()
		filled, projected := own.fillBook(spaced(ids, size))
		g.Sizes, g.Filled, g.Projected = append(g.Sizes, size), append(g.Filled, filled), append(g.Projected, projected)
		for i, kind := range bookCases {
			g.Kinds[i].requests = append(g.Kinds[i].requests, own.fullPages(kind.bodies))
		}
	}
	if len(g.Sizes) == 0 {
		failf("%d projects are too few for any book", len(ids))
	}
	s.settle()
	c.measureSeries(s, g.Kinds)
	r.Books = g
}

// deepOrders are the default orders of two datasets, by which the indices are
// sorted, and orders by a number with unknown values and by a text.
var deepOrders = []order{
	{catalog.Projects, "last_signal_at", true},
	{catalog.Projects, "cost", true},
	{catalog.Projects, "name", false},
	{catalog.Signals, "detected_at", true},
}

// pageLimit is the page size at which the last page of a dataset is full.
func pageLimit(records int64, page int) int { return int(min(pageSize, records/int64(page))) }

// pages walks to the deepest page in each order and measures the chosen pages on
// the way.
func (c *growthCmd) pages(s *serving, r *growthReport) {
	g := &pagesGrowth{Records: s.dataset.Total, Pages: c.Pages, Limit: pageSize}
	for _, o := range deepOrders {
		g.Limit = min(g.Limit, pageLimit(mix.CountOf(s.dataset.Records, o.dataset), slices.Max(c.Pages)))
	}
	if g.Limit < 1 {
		failf("too few records for the deepest page")
	}
	for _, o := range deepOrders {
		one := &series{Name: fmt.Sprintf("%s, %s %s", o.dataset, o.field, o.direction())}
		requests, _ := s.walk(o, g.Pages, g.Limit)
		for _, request := range requests {
			one.requests = append(one.requests, []*load.Request{request})
		}
		say("walked through %s to page %d", one.Name, slices.Max(g.Pages))
		g.Sorts = append(g.Sorts, one)
	}
	c.measureSeries(s, g.Sorts)
	r.Pages = g
}
