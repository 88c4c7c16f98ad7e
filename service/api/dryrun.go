package api

import (
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
