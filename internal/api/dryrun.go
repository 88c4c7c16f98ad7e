package api

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/schema"
	"atlas/search/query"
)

// dryRunData answers a dry run.
type dryRunData struct {
	Count   int `json:"count"`
	Credits int `json:"credits"`
}

// dryRunAnswer is the answer of a search with dry_run.
var dryRunAnswer = schema.Named("DryRun", schema.Object(
	schema.Required("data", schema.Object(
		schema.Required("count", schema.Count().Described("All matches, counted exactly.").Example(1311)),
		schema.Required("credits", schema.Integer(0, query.MaxLimit).Described("What this page would cost.").Example(query.DefaultLimit)),
	)),
	schema.Required("metadata", countMetadataSchema),
))

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

// unmetered lets a call of a metered route cost nothing, and draw on the token bucket of
// its caller. It works without the ledger.
func (c *call) unmetered() error {
	window, err := c.check()
	switch {
	case err == nil:
		c.showWindow(window)
	case outOfCredits(err):
		return err
	}
	return c.takeToken()
}

func (c *call) dryRun(q query.Query, find func(context.Context) (query.Page, error)) (reply, error) {
	if err := c.unmetered(); err != nil {
		return reply{}, err
	}
	p, err := find(c.Context())
	return reply{dryRunData{p.Total, len(p.Rows)}, countMetadata{DidYouMean: p.DidYouMean, Hints: q.Hints.For(p.Total, p.Named)}}, err
}
