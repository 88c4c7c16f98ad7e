package api

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/highlight"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/views"
)

const tagData = "Data"

// Searcher searches the global dataset.
type Searcher interface {
	Search(ctx context.Context, q query.Query) (query.Page, error)
	// Together runs tasks whose searches share round trips.
	Together(ctx context.Context, tasks int, run func(ctx context.Context, task int))
	// CheckCursor refuses a cursor of another query: fault.BadRequest.
	CheckCursor(q query.Query) error
	// Explain returns the interpretation of q's text, nil if it has none.
	Explain(q query.Query) *search.Explanation
	// Highlights returns the parts of rows that match the text of q.
	Highlights(ctx context.Context, q query.Query, rows []jsontext.Value) ([]highlight.Row, error)
	Getter
}

// Getter reads global records by id.
type Getter interface {
	Get(ctx context.Context, d catalog.Dataset, id string, includes []query.Include) (jsontext.Value, error)
	// GetBatch returns the records of ids as Get does, without those that do not exist.
	GetBatch(ctx context.Context, d catalog.Dataset, ids []string, includes []query.Include) (map[string]jsontext.Value, error)
	// Join finds the records that belong to each of the accounts.
	Join(ctx context.Context, j query.Join, accounts []string) ([]search.Joined, error)
}

// RecordSearcher searches books and Views, and counts their records. *records.Records implements it.
type RecordSearcher interface {
	SearchBook(ctx context.Context, in workspace.ID, request query.Query) (query.Page, error)
	SearchView(ctx context.Context, v views.View, request query.Query) (query.Page, error)
	// Merged reports whether a search of a View merges two.
	Merged(v views.View, request query.Query) bool
	FacetBook(ctx context.Context, in workspace.ID, request query.FacetRequest) (query.Facets, error)
	FacetView(ctx context.Context, v views.View, request query.FacetRequest) (query.Facets, error)
	PivotBook(ctx context.Context, in workspace.ID, request query.PivotRequest) (query.Pivot, error)
	PivotView(ctx context.Context, v views.View, request query.PivotRequest) (query.Pivot, error)
}

// searches answers searches and gets of records.
type searches struct {
	*endpoint.Core
	Search  Searcher
	Records RecordSearcher
	Merges  Merges
}

// searching is a search of a route or of a batch.
type searching struct {
	q query.Query
	// operation is what the search is charged to.
	operation string
	// reads is set if it reads e-mail addresses.
	reads bool
	find  func(context.Context, query.Query) (query.Page, error)
	data  func(query.Page) any
}

// search answers a search, or its price for a dry run.
func (s searches) search(c *endpoint.Call, f searching) (endpoint.Reply, error) {
	page := func(ctx context.Context) (endpoint.Reply, int, error) {
		r, rows, err := s.searchPage(c, ctx, f)
		if err != nil {
			return endpoint.Reply{}, 0, err
		}
		m, _ := r.Metadata.(endpoint.PageMetadata)
		return r, len(rows), c.StoreRows(m.Free(), rows)
	}
	return s.answerPage(c, f, 1, page, func(ctx context.Context, stored endpoint.StoredPage) (endpoint.Reply, error) {
		return s.replayPage(c, ctx, f, stored)
	})
}

// answerPage answers with a page whose rows have at most each records, and charges the
// records that page reports; a dry run gets the price. replay answers a repetition.
func (s searches) answerPage(
	c *endpoint.Call, f searching, each int,
	page func(context.Context) (endpoint.Reply, int, error), replay func(context.Context, endpoint.StoredPage) (endpoint.Reply, error),
) (endpoint.Reply, error) {
	if f.q.DryRun {
		return s.dryRun(c, f, each)
	}
	run := func(ctx context.Context) (endpoint.Reply, int, error) {
		return c.Guarded(f.reads, func() (endpoint.Reply, int, error) { return page(ctx) })
	}
	if w := c.Principal.Workspace; !c.Idempotent() && s.Ledger.Ample(w.ID.String(), w.CreditCeiling, c.Key()) {
		return c.ChargeAfter(run)
	}
	return c.Metered(f.q.Limit*each, run, replay)
}

// searchPage is the page of a search, rows its rows with all members.
func (s searches) searchPage(c *endpoint.Call, ctx context.Context, f searching) (r endpoint.Reply, rows []jsontext.Value, err error) {
	p, err := f.find(ctx, f.q)
	if err != nil {
		return endpoint.Reply{}, nil, err
	}
	rows = slices.Clone(p.Rows)
	if p, err = shown(f.q, p); err != nil {
		return endpoint.Reply{}, nil, err
	}
	m := c.MetadataOf(f.q, p)
	if m.Highlights, err = s.highlights(c, ctx, f.q, p.Rows); err != nil {
		return endpoint.Reply{}, nil, err
	}
	if strings.Contains(c.Gin.GetHeader("Accept"), "csv") {
		m.Hints = append(m.Hints, "answers are always JSON; atlas export writes CSV")
	}
	return endpoint.Reply{Data: f.data(p), Metadata: m}, rows[:len(p.Rows)], nil
}

// replayPage is the page of a replay.
func (s searches) replayPage(c *endpoint.Call, ctx context.Context, f searching, stored endpoint.StoredPage) (endpoint.Reply, error) {
	rows, metadata, err := stored.Rows(f.q, func(q query.Query) ([]jsontext.Value, error) {
		p, err := f.find(ctx, q)
		return p.Rows, err
	})
	if err == nil && f.q.Highlight {
		metadata, err = s.withHighlights(c, ctx, f.q, rows, metadata)
	}
	return endpoint.Reply{Data: f.data(query.Page{Rows: rows}), Metadata: metadata}, err
}

// shown is the page reduced to the members and number of rows that q asks for.
func shown(q query.Query, p query.Page) (_ query.Page, err error) {
	if p.Rows, err = q.Fields.SelectAll(p.Rows); err != nil {
		return query.Page{}, err
	}
	return p.Within(q.MaxBytes), nil
}

// highlights are the parts of the rows that match the text of q, if q asks for them.
func (s searches) highlights(c *endpoint.Call, ctx context.Context, q query.Query, rows []jsontext.Value) ([]highlight.Row, error) {
	if !q.Highlight || q.Text == "" || len(rows) == 0 {
		return nil, nil
	}
	return s.Search.Highlights(ctx, q, rows)
}

// withHighlights adds the highlights to the rows of a replay. They are not stored, because
// they quote records.
func (s searches) withHighlights(
	c *endpoint.Call,
	ctx context.Context,
	q query.Query,
	rows []jsontext.Value,
	metadata jsontext.Value,
) (jsontext.Value, error) {
	all, err := s.highlights(c, ctx, q, rows)
	if err != nil || all == nil {
		return metadata, err
	}
	return endpoint.WithMember(metadata, "highlights", all)
}

// dryRun answers a dry run as a call of its own. A row has at most each records.
func (s searches) dryRun(c *endpoint.Call, f searching, each int) (endpoint.Reply, error) {
	if err := c.Unmetered(); err != nil {
		return endpoint.Reply{}, err
	}
	return s.dryPage(c, c.Context(), f, each)
}

// dryPage is the answer of a dry run.
func (s searches) dryPage(c *endpoint.Call, ctx context.Context, f searching, each int) (endpoint.Reply, error) {
	q := f.q
	p, err := f.find(ctx, q)
	data := dryRunData{Count: p.Total, Credits: len(p.Rows) * each}
	if q.Explain {
		data.Explanation = s.Search.Explain(q)
	}
	return endpoint.Reply{
		Data:     data,
		Metadata: endpoint.CountMetadata{NotFound: p.NotFound, Hints: c.Addressed(q.Hints.For(p.Total, p.Named))},
	}, err
}
