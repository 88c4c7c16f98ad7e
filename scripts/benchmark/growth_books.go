package main

import (
	"context"
	"fmt"
	"time"

	"atlas/search/query"
)

// booksGrowth is what searches of books cost, by their sizes.
type booksGrowth struct {
	// Records of the dataset that the books are of.
	Records int64 `json:"dataset_records"`
	// Sizes are those of the books. Filled and Projected are how many seconds it
	// took to fill each, and until searches saw all of it.
	Sizes     []int     `json:"sizes"`
	Filled    []float64 `json:"filled_seconds"`
	Projected []float64 `json:"projected_seconds"`
	Kinds     []*series `json:"kinds"`
}

// series are medians of one kind of request, in milliseconds, over a range of
// sizes.
type series struct {
	Name string   `json:"name"`
	P50  []spread `json:"p50_ms"`

	calls [][]*call
}

// measure sends the calls of all sizes by turns over one connection.
func (s *series) measure(ctx context.Context, client client, about time.Duration, dry bool) error {
	things := make([]func(int) (time.Duration, error), len(s.calls))
	for i, calls := range s.calls {
		things[i] = client.timed(ctx, calls...)
	}
	took, err := byTurns(about, things...)
	if err != nil || dry {
		return err
	}
	if s.P50 == nil {
		s.P50 = make([]spread, len(took))
	}
	for i := range took {
		s.P50[i].add(milliseconds(quantile(took[i], 0.5)))
	}
	return nil
}

// measureSeries measures all in each round, after a warm-up that does not count.
func measureSeries(ctx context.Context, client client, all []*series, seconds, rounds int) error {
	for round := range rounds + 1 {
		for _, s := range all {
			if err := s.measure(ctx, client, time.Duration(seconds)*time.Second, round == 0); err != nil {
				return err
			}
		}
		if round > 0 {
			say("round %d of %d", round, rounds)
		}
	}
	return nil
}

// books fills one for each size, each in a workspace of its own, with projects at
// equal distances.
func (b *growthBench) books(ctx context.Context, r *running) error {
	b.head(r)
	g := &booksGrowth{Records: r.dataset.Total}
	ids, err := r.recordIDs(ctx, query.Projects, b.Books[len(b.Books)-1])
	if err != nil {
		return err
	}
	for _, c := range bookCases {
		g.Kinds = append(g.Kinds, &series{Name: c.name})
	}
	for _, size := range b.Books {
		if size > len(ids) {
			say("no book of %d: there are %d projects", size, len(ids))
			continue
		}
		if err := b.fillOne(ctx, r, g, spaced(ids, size)); err != nil {
			return err
		}
	}
	if len(g.Sizes) == 0 {
		return fmt.Errorf("%d projects are too few for any book", len(ids))
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	if err := measureSeries(ctx, r.client, g.Kinds, b.Seconds, b.Rounds); err != nil {
		return err
	}
	b.report.Books = g
	return nil
}

// fillOne fills a book with these projects, and makes each search of it once.
func (b *growthBench) fillOne(ctx context.Context, r *running, g *booksGrowth, ids []string) error {
	own, err := r.inNewWorkspace(ctx)
	if err != nil {
		return err
	}
	filled, projected, err := own.fillBook(ctx, ids)
	if err != nil {
		return err
	}
	say("filled a book with %d records in %.1f s, searchable %.1f s later", len(ids), filled, projected)
	g.Sizes, g.Filled, g.Projected = append(g.Sizes, len(ids)), append(g.Filled, filled), append(g.Projected, projected)
	for i, c := range bookCases {
		var calls []*call
		for _, body := range c.bodies {
			call, err := own.fullPage(ctx, body)
			if err != nil {
				return err
			}
			calls = append(calls, call)
		}
		g.Kinds[i].calls = append(g.Kinds[i].calls, calls)
	}
	return nil
}

// spaced are so many of the ids at equal distances.
func spaced(ids []string, n int) []string {
	some := make([]string, n)
	for i := range some {
		some[i] = ids[i*len(ids)/n]
	}
	return some
}

func (g *booksGrowth) chart() chart {
	return seriesChart(chart{title: fmt.Sprintf("Searches of a book by its size, %s records", figure(float64(g.Records))), x: "records in the book", y: "ms a search, p50"}, g.Sizes, g.Kinds)
}

// seriesChart adds the lines.
func seriesChart(c chart, sizes []int, all []*series) chart {
	for kind, s := range all {
		l := line{name: s.Name, kind: kind % len(light.kinds)}
		for i, p50 := range s.P50 {
			l.points = append(l.points, pointOf(float64(sizes[i]), p50))
		}
		c.lines = append(c.lines, l)
	}
	return c
}

// seriesTable has a column for each size, and a last one for what the largest
// costs beside the smallest.
func seriesTable(of, size string, sizes []int, all []*series) table {
	t := table{head: []string{of}}
	for _, n := range sizes {
		t.head = append(t.head, fmt.Sprintf(size, figure(float64(n))))
	}
	t.head = append(t.head, "last to first")
	for _, s := range all {
		row := []string{s.Name}
		for _, p50 := range s.P50 {
			row = append(row, p50.text(2))
		}
		t.add(append(row, s.grows().text(2))...)
	}
	return t
}

// grows is the ratio of the last to the first, round by round.
func (s *series) grows() (ratio spread) {
	first, last := s.P50[0], s.P50[len(s.P50)-1]
	for i := range first.Rounds {
		ratio.add(last.Rounds[i] / first.Rounds[i])
	}
	return ratio
}
