package api

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/highlight"
	"atlas/search/query"
)

// searching is a search of a route, or of a batch.
type searching struct {
	q query.Query
	// operation is what it is charged to.
	operation string
	// reads says that it reads e-mail addresses.
	reads bool
	find  func(context.Context, query.Query) (query.Page, error)
	data  func(query.Page) any
}

// search answers a search, or says what the page would cost.
func (c *call) search(s searching) (reply, error) {
	page := func(ctx context.Context) (reply, int, error) {
		r, rows, err := c.searchPage(ctx, s)
		if err != nil {
			return reply{}, 0, err
		}
		m, _ := r.metadata.(pageMetadata)
		return r, len(rows), c.keepRows(m.free(), rows)
	}
	return c.answerPage(s, 1, page, func(ctx context.Context, kept keptPage) (reply, error) { return c.pageAgain(ctx, s, kept) })
}

// answerPage answers with a page whose rows have each records at most, and charges what page
// says that it has, or says what the page would cost. again answers a repetition.
func (c *call) answerPage(
	s searching, each int,
	page func(context.Context) (reply, int, error), again func(context.Context, keptPage) (reply, error),
) (reply, error) {
	if s.q.DryRun {
		return c.dryRun(s, each)
	}
	run := func(ctx context.Context) (reply, int, error) {
		return c.guarded(s.reads, func() (reply, int, error) { return page(ctx) })
	}
	if w := c.principal.Workspace; !c.keeping() && c.server.Ledger.Ample(w.ID.String(), w.CreditCeiling, c.key()) {
		return c.chargeAfter(run)
	}
	return c.metered(s.q.Limit*each, run, again)
}

// searchPage is the page of a search. rows are its rows with all of their members.
func (c *call) searchPage(ctx context.Context, s searching) (r reply, rows []jsontext.Value, err error) {
	p, err := s.find(ctx, s.q)
	if err != nil {
		return reply{}, nil, err
	}
	rows = slices.Clone(p.Rows)
	if p, err = shown(s.q, p); err != nil {
		return reply{}, nil, err
	}
	m := metadataOf(s.q, p)
	if m.Highlights, err = c.highlights(ctx, s.q, p.Rows); err != nil {
		return reply{}, nil, err
	}
	if strings.Contains(c.gin.GetHeader("Accept"), "csv") {
		m.Hints = append(m.Hints, "answers are always JSON; atlas export writes CSV")
	}
	return reply{s.data(p), m}, rows[:len(p.Rows)], nil
}

// pageAgain is the page of a repetition.
func (c *call) pageAgain(ctx context.Context, s searching, kept keptPage) (reply, error) {
	rows, metadata, err := kept.rows(s.q, func(q query.Query) ([]jsontext.Value, error) {
		p, err := s.find(ctx, q)
		return p.Rows, err
	})
	if err == nil && s.q.Highlight {
		metadata, err = c.withHighlights(ctx, s.q, rows, metadata)
	}
	return reply{s.data(query.Page{Rows: rows}), metadata}, err
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
