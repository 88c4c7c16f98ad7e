package main

import (
	"context"
	"errors"
	"fmt"

	"atlas/search/query"
)

// pagesGrowth is what a page by cursor costs, by how far into the dataset it is.
type pagesGrowth struct {
	Records int64 `json:"dataset_records"`
	// Limit is how many records a page has.
	Limit int       `json:"limit"`
	Pages []int     `json:"pages"`
	Sorts []*series `json:"sorts"`
}

// deepOrders are defaults of two datasets, which the indices are sorted by, and a
// number with unknown values and a text.
var deepOrders = []order{
	{query.Projects, "last_signal_at", true},
	{query.Projects, "cost", true},
	{query.Projects, "name", false},
	{query.Signals, "detected_at", true},
}

// pageLimit is the number of records, pageSize at most, with which a dataset of
// so many has the page.
func pageLimit(records int64, page int) int { return int(min(pageSize, records/int64(page))) }

// pages walks to the deepest page in each order and measures those on the way.
func (b *growthBench) pages(ctx context.Context, r *running) error {
	b.head(r)
	g := &pagesGrowth{Records: r.dataset.Total, Pages: b.Pages, Limit: pageSize}
	for _, o := range deepOrders {
		g.Limit = min(g.Limit, pageLimit(countOf(r.dataset.Records, o.dataset), b.Pages[len(b.Pages)-1]))
	}
	if g.Limit < 1 {
		return errors.New("too few records for the deepest page")
	}
	for _, o := range deepOrders {
		s := &series{Name: fmt.Sprintf("%s, %s %s", o.dataset, o.field, o.direction())}
		if err := r.walkTo(ctx, o, g.Pages, g.Limit, func(c *call) { s.calls = append(s.calls, []*call{c}) }); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		say("walked through %s to page %d", s.Name, g.Pages[len(g.Pages)-1])
		g.Sorts = append(g.Sorts, s)
	}
	if err := measureSeries(ctx, r.client, g.Sorts, b.Seconds, b.Rounds); err != nil {
		return err
	}
	b.report.Pages = g
	return nil
}

// walkTo pages through a dataset and takes the requests of these pages, which
// ascend and are full.
func (r *running) walkTo(ctx context.Context, o order, pages []int, limit int, take func(*call)) error {
	get := func(limit int, cursor string) (*call, page, error) {
		body := fmt.Sprintf(`{"sort":{"field":%q,"order":%q},"limit":%d}`, o.field, o.direction(), limit)
		if cursor != "" {
			body = fmt.Sprintf(`{"sort":{"field":%q,"order":%q},"limit":%d,"search_after":%q}`, o.field, o.direction(), limit, cursor)
		}
		var p page
		call, err := r.send(ctx, search{dataset: o.dataset}.path(), body, &p)
		if err == nil && len(p.Data) != limit {
			err = fmt.Errorf("%d of %d records", len(p.Data), limit)
		}
		return call, p, err
	}
	cursor := ""
	seen := 0
	for _, page := range pages {
		for before := (page - 1) * limit; seen < before; {
			_, p, err := get(min(before-seen, query.MaxLimit), cursor)
			if err != nil {
				return fmt.Errorf("after %d records: %w", seen, err)
			}
			seen, cursor = seen+len(p.Data), p.Metadata.SearchAfter
		}
		call, _, err := get(limit, cursor)
		if err != nil {
			return fmt.Errorf("page %d: %w", page, err)
		}
		take(call)
	}
	return nil
}

func (g *pagesGrowth) chart() chart {
	return seriesChart(chart{title: fmt.Sprintf("A page of %d by its number, %s records", g.Limit, figure(float64(g.Records))), x: "page", y: "ms a page, p50"}, g.Pages, g.Sorts)
}
