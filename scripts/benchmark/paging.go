package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"atlas/search/query"
)

// deepPage is the page that is compared with the first one, of pageSize records.
const (
	deepPage = 400
	pageSize = 25
)

// order is a dataset and a sort of it.
type order struct {
	dataset query.Dataset
	field   string
	desc    bool
}

func (o order) direction() string {
	if o.desc {
		return "desc"
	}
	return "asc"
}

// pagedOrders are the datasets' defaults, which the indices are sorted by, and
// others of each type: text, number, date, one with many unknown values.
var pagedOrders = []order{
	{query.Accounts, "name", false},
	{query.Projects, "last_signal_at", true},
	{query.Projects, "cost", true},
	{query.Projects, "stories", false},
	{query.Contacts, "created_at", false},
	{query.Signals, "detected_at", true},
}

// paged compares a first with a deep page of one order.
type paged struct {
	Dataset query.Dataset `json:"dataset"`
	Sort    string        `json:"sort"`
	// Page is deepPage, or the last full one of a small dataset.
	Page  int    `json:"page"`
	First spread `json:"page_1_ms"`
	Deep  spread `json:"deep_page_ms"`
	Ratio spread `json:"ratio"`

	first, deep *call
}

// preparePages finds the cursors of the deep pages by walking there.
func (i *installation) preparePages(ctx context.Context, c client, base string) ([]*paged, error) {
	var all []*paged
	for _, o := range pagedOrders {
		p := &paged{Dataset: o.dataset, Sort: o.field + " " + o.direction(), Page: int(min(deepPage, countOf(i.dataset.Records, o.dataset)/pageSize))}
		if p.Page < 2 {
			return nil, fmt.Errorf("%s has too few records to page through", o.dataset)
		}
		if err := i.findPages(ctx, c, base, o, p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (i *installation) findPages(ctx context.Context, c client, base string, o order, p *paged) (err error) {
	get := func(limit, offset int, cursor string) (*call, page, error) {
		body := map[string]any{"sort": map[string]any{"field": o.field, "order": o.direction()}, "limit": limit}
		if offset > 0 {
			body["offset"] = offset
		}
		if cursor != "" {
			body["search_after"] = cursor
		}
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, page{}, err
		}
		call, err := i.serviceCall(base, search{dataset: o.dataset}.path(), raw)
		if err != nil {
			return nil, page{}, err
		}
		answer, status, err := c.do(ctx, call, nil)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s answered %d to %s: %.500s", call.url, status, raw, answer)
		}
		if err != nil {
			return nil, page{}, err
		}
		call.expect(answer)
		read, err := readPage(answer)
		if err == nil && len(read.Data) != limit {
			err = fmt.Errorf("%s answered %d of %d records to %s", call.url, len(read.Data), limit, raw)
		}
		return call, read, err
	}
	if p.first, _, err = get(pageSize, 0, ""); err != nil {
		return err
	}
	var walked page
	before := (p.Page - 1) * pageSize
	for left := before; left > 0; left -= len(walked.Data) {
		if _, walked, err = get(min(left, query.MaxLimit), 0, walked.Metadata.SearchAfter); err != nil {
			return err
		}
	}
	var deep, same page
	if p.deep, deep, err = get(pageSize, 0, walked.Metadata.SearchAfter); err != nil {
		return err
	}
	// The same page by its offset, which can reach that far.
	if _, same, err = get(pageSize, before, ""); err != nil {
		return err
	}
	if !slices.Equal(deep.ids(), same.ids()) {
		return fmt.Errorf("%s by %s: page %d by cursor is not the one by offset", o.dataset, o.field, p.Page)
	}
	return nil
}

// measure sends both by turns over one connection.
func (p *paged) measure(ctx context.Context, c client, about time.Duration) error {
	took, err := byTurns(about, c.timed(ctx, p.first), c.timed(ctx, p.deep))
	if err != nil {
		return err
	}
	f, d := milliseconds(quantile(took[0], 0.5)), milliseconds(quantile(took[1], 0.5))
	p.First.add(f)
	p.Deep.add(d)
	p.Ratio.add(d / f)
	return nil
}
