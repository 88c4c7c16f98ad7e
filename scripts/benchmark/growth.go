package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"
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
	JSON        bool     `name:"json" help:"Print JSON instead of tables."`
	Write       string   `type:"path" placeholder:"FILE" help:"Put the tables into this file, between the markers bench:growth, and the pictures into the folder growth beside it, as soon as they are there."`
}

func (c *growthCmd) Validate() error {
	if !within(c.Records, 10_000, 100_000_000) || !within(c.Connections, 1, maxInFlight) || !within(c.Books, smallBook, 100_000) || !within(c.Pages, 1, 100_000) ||
		len(c.Parts) == 0 || c.Requests < 100 || c.Requests > 100_000 || c.Seconds < 1 || c.Rounds < 1 {
		return errors.New("an option is out of its bounds: see --help")
	}
	return nil
}

func (c *growthCmd) has(part string) bool { return slices.Contains(c.Parts, part) }

// growthReport is the result. What was not measured is empty.
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

// minutesTaken is how long everything at one size took.
type minutesTaken struct {
	Records int64   `json:"records"`
	Minutes float64 `json:"minutes"`
}

// growthBench is one run.
type growthBench struct {
	*growthCmd
	before machine
	report growthReport
}

// Run measures and prints.
func (c *growthCmd) Run(ctx context.Context) error {
	if err := hasSection(c.Write, "growth"); err != nil {
		return err
	}
	for _, list := range []*[]int{&c.Connections, &c.Books, &c.Pages} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	slices.Sort(c.Records)
	c.Records = slices.Compact(c.Records)
	b := &growthBench{growthCmd: c, before: machineOf(), report: growthReport{Rounds: c.Rounds, Requests: c.Requests}}
	for n, records := range c.Records {
		if err := b.size(ctx, n, records); err != nil {
			return fmt.Errorf("%d records: %w", records, err)
		}
	}
	return emit(b.report, c.JSON, "", "")
}

// size measures what is measured with the nth size, and keeps it.
func (b *growthBench) size(ctx context.Context, n int, records int64) error {
	began := time.Now()
	books := b.has("books") && n == sizeFor(b.Records, slices.Max(b.Books))
	pages := b.has("pages") && n == sizeFor(b.Records, pageSize*slices.Max(b.Pages))
	searches := b.has("records") || b.has("connections") && n == 0
	if !books && !pages && !searches {
		return nil
	}
	say("\n%d records", records)
	p := place{Atlas: b.Atlas}
	if b.Dir != "" {
		p.Dir = filepath.Join(b.Dir, strconv.FormatInt(records, 10))
	}
	return withInstallation(ctx, p, records, b.Seed, func(ctx context.Context, i *installation, _ machine) error {
		if searches {
			if err := i.bothWays(ctx, b.before, b.Requests, b.Seed, func(ctx context.Context, s *sides) error { return b.searches(ctx, s, n) }); err != nil {
				return err
			}
		}
		for _, part := range []struct {
			wanted  bool
			measure func(context.Context, *running) error
		}{{pages, b.pages}, {books, b.books}} {
			if !part.wanted {
				continue
			}
			if err := i.serving(ctx, b.before, part.measure); err != nil {
				return err
			}
			if err := b.keep(); err != nil {
				return err
			}
		}
		b.report.Taken = append(b.report.Taken, minutesTaken{records, time.Since(began).Minutes()})
		return b.keep()
	})
}

// projectsShare of the records of a dataset are projects, in percent; signals are
// more.
const projectsShare = 26

// sizeFor is which of the sizes is the first with so many projects, or the last.
func sizeFor(sizes []int64, projects int) int {
	for n, records := range sizes {
		if records*projectsShare/100 >= int64(projects) {
			return n
		}
	}
	return len(sizes) - 1
}

// head takes down where it is measured, once.
func (b *growthBench) head(r *running) {
	if b.report.Date.IsZero() {
		b.report.heading = r.heading
	}
}
