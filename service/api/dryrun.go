package api

import (
	"context"

	"atlas/internal/schema"
	"atlas/search"
	"atlas/search/query"
	"atlas/service/endpoint"
)

// dryRunData answers a dry run.
type dryRunData struct {
	Count   int `json:"count"`
	Credits int `json:"credits"`
	// Explanation is set with explain, if the search has a text.
	Explanation *search.Explanation `json:"explanation,omitempty"`
}

// dryRunAnswer is the answer to a search with dry_run.
var dryRunAnswer = schema.Named("DryRun", schema.Object(
	schema.Required("data", schema.Object(
		schema.Required("count", schema.Count().Described("All matches, counted exactly.").Example(1311)),
		schema.Required(
			"credits",
			schema.Integer(0, query.MaxLimit).
				Described("What this page would cost; with `max_bytes` and of joins the most that it can cost, as if all its records fit and were there.").
				Example(query.DefaultLimit),
		),
		schema.Optional("explanation", explanation),
	)),
	schema.Required("metadata", endpoint.CountMetadataSchema),
))

// DryRun answers a dry run as a call of its own. A row has at most each records.
func (s *Server) dryRun(c *endpoint.Call, f searching, each int) (endpoint.Reply, error) {
	if err := c.Unmetered(); err != nil {
		return endpoint.Reply{}, err
	}
	return s.dryPage(c, c.Context(), f, each)
}

// dryPage is the answer of a dry run.
func (s *Server) dryPage(c *endpoint.Call, ctx context.Context, f searching, each int) (endpoint.Reply, error) {
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
