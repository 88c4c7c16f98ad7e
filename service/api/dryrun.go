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
		schema.Required(
			"credits",
			schema.Integer(0, query.MaxLimit).Described("What this page would cost; with `max_bytes` and of joins the most that it can cost, as if all its records fit and were there.").Example(query.DefaultLimit),
		),
		schema.Optional("explanation", explanation),
	)),
	schema.Required("metadata", countMetadataSchema),
))

// unmetered lets a call of a metered route cost nothing, and draw on the token bucket of
// its caller. It works without the ledger.
func (c *call) unmetered() error {
	if err := c.showUnmetered(); err != nil {
		return err
	}
	return c.takeToken()
}

// showUnmetered is unmetered without the token.
func (c *call) showUnmetered() error {
	window, err := c.check()
	switch {
	case err == nil:
		c.showWindow(window)
	case outOfCredits(err):
		return err
	}
	return nil
}

// dryRun answers a dry run that is a call of its own. A row has each records at most.
func (c *call) dryRun(s searching, each int) (reply, error) {
	if err := c.unmetered(); err != nil {
		return reply{}, err
	}
	return c.dryPage(c.Context(), s, each)
}

// dryPage is the answer of a dry run.
func (c *call) dryPage(ctx context.Context, s searching, each int) (reply, error) {
	q := s.q
	p, err := s.find(ctx, q)
	data := dryRunData{Count: p.Total, Credits: len(p.Rows) * each}
	if q.Explain {
		data.Explanation = c.server.Search.Explain(q)
	}
	return reply{data, countMetadata{NotFound: p.NotFound, Hints: allAddressed(q.Hints.For(p.Total, p.Named))}}, err
}
