package api

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/highlight"
	"atlas/search/query"
)

// search answers a search whose page find returns, or says what the page would cost.
// reads says that it reads e-mail addresses.
func (c *call) search(q query.Query, reads bool, find func(context.Context, query.Query) (query.Page, error), data func(query.Page) any) (reply, error) {
	if q.DryRun {
		return c.dryRun(q, func(ctx context.Context) (query.Page, error) { return find(ctx, q) })
	}
	page := func(ctx context.Context) (reply, int, error) {
		p, err := find(ctx, q)
		if err != nil {
			return reply{}, 0, err
		}
		whole := slices.Clone(p.Rows)
		if p, err = shown(q, p); err != nil {
			return reply{}, 0, err
		}
		m := metadataOf(q, p)
		if m.Highlights, err = c.highlights(ctx, q, p.Rows); err != nil {
			return reply{}, 0, err
		}
		if strings.Contains(c.gin.GetHeader("Accept"), "csv") {
			m.Hints = append(m.Hints, "answers are always JSON; atlas export writes CSV")
		}
		return reply{data(p), m}, len(p.Rows), c.keepRows(m.free(), whole[:len(p.Rows)])
	}
	return c.metered(q.Limit, func(ctx context.Context) (reply, int, error) {
		return c.guarded(reads, func() (reply, int, error) { return page(ctx) })
	}, func(ctx context.Context, kept keptPage) (reply, error) {
		rows, metadata, err := kept.rows(q, func(q query.Query) ([]jsontext.Value, error) {
			p, err := find(ctx, q)
			return p.Rows, err
		})
		if err == nil && q.Highlight {
			metadata, err = c.withHighlights(ctx, q, rows, metadata)
		}
		return reply{data(query.Page{Rows: rows}), metadata}, err
	})
}

// shown is a page with the members of the rows, and as many of the rows, as q asks for.
func shown(q query.Query, p query.Page) (_ query.Page, err error) {
	if p.Rows, err = q.Fields.SelectAll(p.Rows); err != nil {
		return query.Page{}, err
	}
	return p.Within(q.MaxBytes), nil
}

// highlights say what of rows matches the text of q, if q asks for it.
func (c *call) highlights(ctx context.Context, q query.Query, rows []jsontext.Value) ([]highlight.Row, error) {
	if !q.Highlight || q.Text == "" || len(rows) == 0 {
		return nil, nil
	}
	return c.server.Search.Highlights(ctx, q, rows)
}

// withHighlights adds the highlights of the rows of a repetition. They are not kept: they
// have texts of the records.
func (c *call) withHighlights(ctx context.Context, q query.Query, rows []jsontext.Value, metadata jsontext.Value) (jsontext.Value, error) {
	all, err := c.highlights(ctx, q, rows)
	if err != nil || all == nil {
		return metadata, err
	}
	return withMember(metadata, "highlights", all)
}
