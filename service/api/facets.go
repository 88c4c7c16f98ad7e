package api

import (
	"context"

	"atlas/internal/fault"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/views"
)

// Faceter counts global records, and their values. *search.Engine implements it.
type Faceter interface {
	Facets(ctx context.Context, s query.FacetSearch) (query.Facets, error)
	Pivot(ctx context.Context, s query.PivotSearch) (query.Pivot, error)
}

// facetThrottling is the throttling of all facet routes.
const facetThrottling = endpoint.Limited

const facetText = "How many records match, and how they are distributed. All counts are exact. `query`, `filters` and `relations` are those of a search, but neither searches e-mail addresses: a filter on `email` is an error."

// countHandlers answers with counts and sums of records.
type countHandlers struct {
	Facets  Faceter
	Records RecordSearcher
	Views   Views
}

// facetRoutes are the routes of facets of datasets, books and Views.
func (s countHandlers) facetRoutes() []endpoint.Route {
	const read = workspace.WorkspaceRead
	var routes []endpoint.Route
	var bodies []*schema.Schema
	for _, d := range catalogOrder {
		routes = append(routes, endpoint.Route{Method: "POST", Path: "/data/" + string(d) + "/facets", Operation: "facet_" + string(d),
			Scope: workspace.DataRead, Throttling: facetThrottling, WorkspaceRequired: true,
			Budget:   endpoint.Budget{Places: endpoint.PlacesSearch, Rows: rowsNamed, Heap: 256},
			Endpoint: endpoint.Takes(query.FacetRule(d, catalog.Data), s.facetData),
			Doc: endpoint.Doc{
				Tag: tagData, Summary: "Count " + string(d), Text: facetText, Examples: facetExamples[d],
				Data: facetsSchema, Metadata: endpoint.CountMetadataSchema,
			}})
	}
	for _, d := range catalog.Held {
		bodies = append(bodies, query.FacetRule(d, catalog.View).Schema)
		routes = append(
			routes,
			endpoint.Route{Method: "POST", Path: "/workspace/" + string(d) + "/facets", Operation: "facet_workspace_" + string(d),
				Scope: read, Throttling: facetThrottling, Budget: endpoint.Budget{Places: endpoint.PlacesSearch, Rows: rowsNamed, Heap: 256},
				Endpoint: endpoint.Takes(query.FacetRule(d, catalog.Book), s.facetBook),
				Doc: endpoint.Doc{
					Tag: tagBook, Summary: "Count the " + string(d) + " of the book", Text: facetText,
					Examples: []endpoint.Example{
						{
							Name:    "tags",
							Summary: "The most frequent tags",
							Body:    []byte(`{"facets":[{"field":"tags","limit":20},{"field":"updated_at","interval":"week"}]}`),
						},
					},
					Data: facetsSchema, Metadata: endpoint.CountMetadataSchema,
				}},
		)
	}
	return append(routes, endpoint.Route{Method: "POST", Path: "/workspace/views/:id/records/facets", Operation: "facet_view_records",
		Scope: read, Throttling: facetThrottling, Budget: endpoint.Budget{Places: endpoint.PlacesSearch, Rows: rowsNamed, Heap: 256},
		Endpoint: endpoint.Endpoint{
			Body:         schema.Named("ViewRecordsFacetRequest", &schema.Schema{AnyOf: bodies}),
			BodyOptional: true,
			Handle:       s.facetView,
		},
		Doc: endpoint.Doc{
			Tag: tagViews, Summary: "Count the records of a View",
			Text:    facetText + "\n\nThe request is one of the View's dataset. A facet of a value of the book counts records outside the book as unknown; a filter on one restricts to the book, also where its own facet ignores it.",
			Depends: "the View's dataset",
			Examples: []endpoint.Example{
				{Name: "status", Summary: "By status in the book", Body: []byte(`{"facets":[{"field":"workspace_status"}]}`)},
			},
			Data: facetsSchema, Metadata: endpoint.CountMetadataSchema, Codes: []fault.Code{fault.ViewNotFound},
		}})
}

var facetExamples = map[catalog.Dataset][]endpoint.Example{
	catalog.Accounts: {
		{
			Name:    "cities",
			Summary: "The most frequent cities of builders",
			Body: []byte(
				`{"filters":{"account_type":{"value":"general_contractor"}},"facets":[{"field":"city","limit":5},{"field":"account_type"}]}`,
			),
		},
	},
	catalog.Contacts: {{Name: "roles", Summary: "How many contacts have which role", Body: []byte(`{"facets":[{"field":"role"}]}`)}},
	catalog.Projects: {
		{
			Name: "firms", Summary: "Cost by stage, permits by month, and the firms with most projects",
			Body: []byte(
				`{"query":"garage","facets":[{"field":"stage","measure":{"field":"cost","of":"sum"}},{"field":"permitted_at","interval":"month"},{"field":"cost","ranges":[[null,10000],[10000,50000],[50000,null]]},{"field":"account_ids","limit":3}]}`,
			),
		},
		{
			Name:    "map",
			Summary: "A map of the costs of Calgary",
			Body: []byte(
				`{"filters":{"location":{"value":{"within":{"north":51.21,"south":50.84,"east":-113.86,"west":-114.32}}}},"facets":[{"geo":{"precision":12},"measure":{"field":"cost","of":"sum"},"exclude_own":false}]}`,
			),
		},
	},
	catalog.Signals: {{Name: "types", Summary: "How many signals of which type", Body: []byte(`{"facets":[{"field":"signal_type"}]}`)}},
}

// facetsSchema is the answer of every route of facets.
var facetsSchema = func() *schema.Schema {
	number := &schema.Schema{Type: "number"}
	bound := schema.Named("FacetBound", &schema.Schema{AnyOf: []*schema.Schema{number, {Type: "string"}, schema.Null()}})
	end := func(text string) *schema.Schema { return bound.Described(text) }
	measure := schema.Optional(
		"measure",
		schema.Nullable(number).
			Described("The measure that the facet asks for; null if no value is known, or if the sum is beyond a double.").
			Example(1250000.5),
	)
	count := schema.Required("count", schema.Count().Example(12))
	unknown := schema.Required("unknown", schema.Count().Described("Records without a value.").Example(3))
	field := schema.Required("field", schema.String("stage"))
	value := schema.Named("ValueCount", schema.Object(
		schema.Required("value", schema.String("filed").Described("What a filter takes.")),
		schema.Required(
			"label",
			schema.Nullable(&schema.Schema{Type: "string"}).
				Described("Of a closed enumeration its label, of other values the most frequent spelling, of an account its name: null if it is not known.").
				Example("Filed"),
		),
		count, measure))
	bucket := schema.Named("BucketCount", schema.Object(
		schema.Required("from", end("A number or a time; null at an open end.")),
		schema.Required("to", end("As `from`; buckets of dates end before it, and it is null after the year 9999.")),
		count, measure))
	values := schema.Named("ValueCounts", schema.Object(
		field,
		schema.Required("values", schema.Array(value, 0, query.MaxFacetValues).Described("By count, then by folded value.")),
		schema.Required(
			"other",
			schema.Count().Described("The sum of the counts of the values that are not listed.").Example(40),
		),
		unknown,
	))
	buckets := schema.Named("BucketCounts", schema.Object(field,
		schema.Required("buckets", schema.Array(bucket, 0, query.MaxFacetBuckets)), unknown,
		schema.Required("min", end("The lowest value; null if there is none.")),
		schema.Required("max", end("The highest value; null if there is none."))))
	coordinate := &schema.Schema{Type: "number", Format: "double"}
	cell := schema.Named("CellCount", schema.Object(
		schema.Required("latitude", coordinate.Described("The mean of the records.").Example(51.0447)),
		schema.Required("longitude", coordinate.Described("As `latitude`.").Example(-114.0719)),
		count, schema.Required("box", query.BoxSchema.Described("The map tile.")), measure))
	cells := schema.Named("CellCounts", schema.Object(
		schema.Required(
			"geo",
			schema.Array(cell, 0, query.MaxFacetCells).
				Described("The tiles with records: by count, then from north to south, then from west to east."),
		),
		schema.Required("unknown", schema.Count().Described("Records without a point.").Example(3))))
	return schema.Named("FacetCounts", schema.Object(
		schema.Required("count", schema.Count().Described("How many records match.").Example(55)),
		schema.Required("export_credits", schema.Count().Described("What reading all of them costs.").Example(55)),
		schema.Required(
			"facets",
			schema.Array(
				schema.Named("Facet", schema.AnyOfObjects(values, buckets, cells).Example(values.Sample())), 0,
				query.MaxFacets,
			).Described("In the order of the request."),
		),
	))
}()

func facetReply(c *endpoint.Call, r query.FacetRequest, f query.Facets) endpoint.Reply {
	return endpoint.Reply{
		Data:     f,
		Metadata: endpoint.CountMetadata{NotFound: f.NotFound, Hints: c.Addressed(r.Hints.For(int(f.Count), nil))},
	}
}

func (s countHandlers) facetData(c *endpoint.Call, r query.FacetRequest) (endpoint.Reply, error) {
	facets, err := s.Facets.Facets(
		c.Context(),
		query.FacetSearch{Request: r, Workspace: c.Workspace().String(), Sets: []query.Query{r.Query}},
	)
	return facetReply(c, r, facets), err
}

func (s countHandlers) facetBook(c *endpoint.Call, r query.FacetRequest) (endpoint.Reply, error) {
	facets, err := s.Records.FacetBook(c.Context(), c.Workspace(), r)
	return facetReply(c, r, facets), err
}

func (s countHandlers) facetView(c *endpoint.Call) (endpoint.Reply, error) {
	body, err := c.Body()
	if err != nil {
		return endpoint.Reply{}, endpoint.JoinIssues(c.PathIssues, err)
	}
	read := func(d catalog.Dataset) (query.FacetRequest, error) {
		return query.FacetRule(d, catalog.View).Parse(body)
	}
	parse := func(d catalog.Dataset) error {
		_, err := read(d)
		return err
	}
	if len(c.PathIssues) > 0 {
		return endpoint.Reply{}, endpoint.JoinIssues(c.PathIssues, ofAnyDataset(parse))
	}
	v, err := s.Views.toSearch(c, views.ID(c.PathID("id")), parse)
	if err != nil {
		return endpoint.Reply{}, err
	}
	r, err := read(v.Dataset)
	if err != nil {
		return endpoint.Reply{}, err
	}
	facets, err := s.Records.FacetView(c.Context(), v, r)
	return facetReply(c, r, facets), err
}
