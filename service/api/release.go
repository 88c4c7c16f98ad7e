package api

import (
	"context"
	"math"

	"atlas/internal/schema"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/workspace"
)

// Describer describes the content of the global dataset.
type Describer interface {
	FrequentValues(ctx context.Context) (catalog.FrequentValues, error)
	Release(ctx context.Context) (search.Release, error)
	Coverage(ctx context.Context, workspace string, c query.Coverage) ([]search.CoverageValue, error)
}

// releaseHandlers answers about the data as a whole.
type releaseHandlers struct{ Search Describer }

func (s releaseHandlers) routes() []endpoint.Route {
	return []endpoint.Route{
		{Method: "GET", Path: "/data/release", Operation: "get_release",
			Scope: workspace.DataRead, Throttling: endpoint.Limited, WorkspaceRequired: true, Conditional: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.getRelease),
			Doc: endpoint.Doc{
				Tag: tagData, Summary: "Get the state of the global dataset", Data: releaseSchema(),
			}},
		{Method: "POST", Path: "/data/coverage", Operation: "get_coverage",
			Scope: workspace.DataRead, Throttling: endpoint.Limited, WorkspaceRequired: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.Takes(query.CoverageRule, s.getCoverage),
			Doc: endpoint.Doc{
				Tag: tagData, Summary: "Find out which fields are known, by the values of one",
				Text: "Counts all global records, whatever the workspace. All counts are exact.",
				Examples: []endpoint.Example{
					{Name: "cities", Summary: "Projects of the ten largest cities", Body: []byte(`{"dataset":"projects","by":"city"}`)},
				},
				Data: coverageSchema(),
			}},
	}
}

func releaseSchema() *schema.Schema {
	newest := schema.Nullable(schema.Time()).Described("The latest `updated_at`, of signals `detected_at`; null without a record.")
	dataset := schema.Named("DatasetRelease", schema.Object(
		schema.Required("records", schema.Count().Example(4000)),
		schema.Required("newest", newest),
		schema.Required(
			"version",
			schema.Integer(0, 1<<53).
				Described("Rises with every change. After a rollback to an earlier generation it is lower.").
				Example(1_767_225_600_000_000),
		),
	))
	var datasets []schema.Property
	for _, d := range catalogOrder {
		datasets = append(datasets, schema.Required(string(d), dataset))
	}
	return schema.Named("Release", schema.Object(
		schema.Required("generation", schema.String("20260101t000000z-0a1b2c").Described("The load that searches use.")),
		schema.Required("loaded_at", schema.Time().Described("When that load began.")),
		schema.Required("datasets", schema.Object(datasets...)),
	))
}

func coverageSchema() *schema.Schema {
	share := &schema.Schema{Type: "number", Minimum: int64(0), Maximum: int64(1)}
	return schema.Object(schema.Required("values", schema.Array(schema.Named("CoverageValue", schema.Object(
		schema.Required("value", schema.String("calgary").Described("The value as a filter takes it, of a dynamic enum folded.")),
		schema.Required(
			"label",
			schema.String("Calgary").Described("The label of the value, of a dynamic enum its most frequent spelling."),
		),
		schema.Required("records", schema.Integer(1, math.MaxInt64).Example(4000)),
		schema.Required("newest", schema.Nullable(schema.Time()).Described("The latest `updated_at`, of signals `detected_at`.")),
		schema.Required("known", schema.ByKey(share).Example(map[string]any{"stage": 1, "cost": 0.9731}).
			Described("For each filter key, the share of these records that have a value, to four decimals.")),
		schema.Required(
			"source",
			schema.Nullable(termsSchema()).
				Described("What a source says of its data, with `by` `source`; null for values of other fields, and if it says nothing."),
		),
	)), 0, query.MaxCoverage)))
}

func termsSchema() *schema.Schema {
	return schema.Named("SourceTerms", schema.Object(
		schema.Required("page", schema.Nullable(schema.String("https://data.calgary.ca/d/c2es-76ed")).Described("Web page of the data.")),
		schema.Required("licence", schema.Nullable(schema.String("Open Government Licence – City of Calgary"))),
		schema.Required(
			"attribution",
			schema.Nullable(schema.String("Contains information licensed under the Open Government Licence – City of Calgary.")).
				Described("Line that must stand where the data is shown."),
		),
		schema.Required(
			"terms",
			schema.Nullable(schema.String("https://data.calgary.ca/stories/s/u45n-7awa")).Described("Web page of the terms of use."),
		),
	))
}

func (s releaseHandlers) getRelease(c *endpoint.Call) (endpoint.Reply, error) {
	release, err := s.Search.Release(c.Context())
	return endpoint.FreeReply(release), err
}

func (s releaseHandlers) getCoverage(c *endpoint.Call, request query.Coverage) (endpoint.Reply, error) {
	values, err := s.Search.Coverage(c.Context(), c.Workspace().String(), request)
	return endpoint.FreeReply(map[string]any{"values": values}), err
}
