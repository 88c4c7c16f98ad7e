package api

import (
	"context"

	"atlas/internal/schema"
	"atlas/search"
	"atlas/search/query"
)

// dryRunData answers a dry run.
type dryRunData struct {
	Count   int `json:"count"`
	Credits int `json:"credits"`
	// Explanation is there with explain, if the search has a text.
	Explanation *search.Explanation `json:"explanation,omitempty"`
}

// dryRunAnswer is the answer of a search with dry_run.
var dryRunAnswer = schema.Named("DryRun", schema.Object(
	schema.Required("data", schema.Object(
		schema.Required("count", schema.Count().Described("All matches, counted exactly.").Example(1311)),
		schema.Required("credits", schema.Integer(0, query.MaxLimit).Described("What this page would cost; with `max_bytes` the most that it can cost, as if all its records fit.").Example(query.DefaultLimit)),
		schema.Optional("explanation", explanation),
	)),
	schema.Required("metadata", countMetadataSchema),
))

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
	data := dryRunData{Count: p.Total, Credits: len(p.Rows)}
	if q.Explain {
		data.Explanation = c.server.Search.Explain(q)
	}
	return reply{data, countMetadata{NotFound: p.NotFound, Hints: q.Hints.For(p.Total, p.Named)}}, err
}
