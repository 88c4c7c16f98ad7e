package api

import (
	"fmt"

	"atlas/internal/fault"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/views"
)

var pivotText = fmt.Sprintf(
	"How many records match, by the values of one field or two, with a measure of each cell that has %d known values or more. All counts are exact. `query`, `filters` and `relations` are those of a search, but neither searches e-mail addresses. At most %d cells, listed rows times listed columns; each %d of them draw a token, the first before the request and the others after it.",
	query.MinMeasured,
	query.MaxPivotCells,
	query.CellsOfToken,
)

// pivotRoutes are the routes of pivots of datasets, books and Views.
func (s countHandlers) pivotRoutes() []endpoint.Route {
	var routes []endpoint.Route
	var bodies []*schema.Schema
	add := func(path, operation string, r endpoint.Route, doc endpoint.Doc) {
		r.Method, r.Path, r.Operation, r.Throttling, r.Budget = "POST", path, operation, endpoint.Limited, endpoint.Budget{
			Places: endpoint.PlacesSearch,
			Rows:   0,
			Heap:   256,
		}
		doc.Text, doc.Data, doc.Metadata = pivotText+doc.Text, pivotSchema, endpoint.CountMetadataSchema
		r.Doc = doc
		routes = append(routes, r)
	}
	for _, d := range catalogOrder {
		add(
			"/data/"+string(d)+"/pivot",
			"pivot_"+string(d),
			endpoint.Route{
				Scope:             workspace.DataRead,
				WorkspaceRequired: true,
				Endpoint:          endpoint.Takes(query.PivotRule(d, catalog.Data), s.pivotData),
			},
			endpoint.Doc{Tag: tagData, Summary: "Pivot " + string(d), Examples: pivotExamples[d]},
		)
	}
	for _, d := range catalog.Held {
		bodies = append(bodies, query.PivotRule(d, catalog.View).Schema)
		add("/workspace/"+string(d)+"/pivot", "pivot_workspace_"+string(d),
			endpoint.Route{Scope: workspace.WorkspaceRead, Endpoint: endpoint.Takes(query.PivotRule(d, catalog.Book), s.pivotBook)},
			endpoint.Doc{
				Tag: tagBook, Summary: "Pivot the " + string(d) + " of the book",
				Examples: []endpoint.Example{
					{
						Name:    "tags",
						Summary: "The most frequent tags by city",
						Body:    []byte(`{"rows":{"field":"tags","limit":20},"columns":{"field":"city","limit":5}}`),
					},
				},
			})
	}
	add("/workspace/views/:id/records/pivot", "pivot_view_records",
		endpoint.Route{Scope: workspace.WorkspaceRead, Endpoint: endpoint.Endpoint{
			Body: schema.Named("ViewRecordsPivotRequest", &schema.Schema{AnyOf: bodies}), Handle: s.pivotView,
		}},
		endpoint.Doc{
			Tag: tagViews, Summary: "Pivot the records of a View",
			Text:    "\n\nThe request is one of the View's dataset. A field of the book restricts to the book.",
			Depends: "the View's dataset", Codes: []fault.Code{fault.ViewNotFound},
			Examples: []endpoint.Example{{Name: "tags", Summary: "By the tags of the book", Body: []byte(`{"rows":{"field":"tags"}}`)}},
		})
	return routes
}

var pivotExamples = map[catalog.Dataset][]endpoint.Example{
	catalog.Accounts: {
		{
			Name:    "types",
			Summary: "Types of firms by city",
			Body:    []byte(`{"rows":{"field":"account_type"},"columns":{"field":"city","limit":5}}`),
		},
	},
	catalog.Contacts: {{Name: "roles", Summary: "Contacts by role", Body: []byte(`{"rows":{"field":"role"}}`)}},
	catalog.Projects: {{
		Name: "median", Summary: "The median cost by use and year",
		Body: []byte(
			`{"filters":{"city":{"value":"calgary"}},"rows":{"field":"primary_use","limit":5},"columns":{"field":"permitted_at","interval":"year"},"measure":{"field":"cost","of":"median"}}`,
		),
	}},
	catalog.Signals: {
		{
			Name:    "months",
			Summary: "Types of signals by month",
			Body:    []byte(`{"rows":{"field":"signal_type"},"columns":{"field":"occurred_at","interval":"year"}}`),
		},
	},
}

// pivotSchema is the answer of every route of pivots.
var pivotSchema = func() *schema.Schema {
	measure := schema.Optional("measure", schema.Nullable(&schema.Schema{Type: "number"}).Described(fmt.Sprintf(
		"The measure that the pivot asks for; null of fewer than %d known values, or if the sum is beyond a double.",
		query.MinMeasured,
	)).
		Example(1250000.5))
	count := schema.Required("count", schema.Count().Example(12))
	end := schema.Nullable(schema.String("2026-01-01T00:00:00.000Z"))
	group := schema.Named("PivotGroup", schema.Object(
		schema.Required("group", schema.OneOf(
			string(query.GroupValue), string(query.GroupBucket), string(query.GroupOther), string(query.GroupUnknown)).
			Described("`value` and `bucket` are listed. `other` has records with values, none of which is listed, `unknown` those without a value; both come last, and only if they have records."),
		),
		schema.Optional("value", schema.String("filed").Described("What a filter takes; of `value`.")),
		schema.Optional("label", schema.String("Filed").Described("The value for people.")),
		schema.Optional("from", end.Described("Where a bucket begins.")),
		schema.Optional("to", end.Described("Before which a bucket ends; null after the year 9999.")),
		count, measure))
	axis := schema.Named("PivotAxis", schema.Object(
		schema.Required("field", schema.String("stage")),
		schema.Required(
			"groups",
			schema.Array(group, 0, query.MaxPivotCells+2).
				Described("With all of their records. Records of a list of values are in several."),
		),
	))
	cell := schema.Named("PivotCell", schema.Object(count, measure))
	return schema.Named("Pivot", schema.Object(
		schema.Required("count", schema.Count().Described("How many records match.").Example(55)),
		schema.Required("export_credits", schema.Count().Described("What reading all of them costs.").Example(55)),
		schema.Required("cell_count", schema.Integer(0, query.MaxPivotCells).Described("Listed rows times listed columns.").Example(20)),
		schema.Required(
			"tokens",
			schema.Integer(1, query.MaxPivotCells/query.CellsOfToken).
				Described("What the pivot draws on the bucket of free operations; a dry run draws one.").
				Example(1),
		),
		measure,
		schema.Optional("rows", axis.Described("Absent of a dry run.")),
		schema.Optional("columns", axis.Described("Absent of a dry run and without columns.")),
		schema.Optional("cells", schema.Array(schema.Array(cell, 0, query.MaxPivotCells+2), 0, query.MaxPivotCells+2).
			Described("By the group of the rows, then by that of the columns; absent without columns.")),
	))
}()

// pivotReply draws the tokens for the other cells, whose number is known only now.
func pivotReply(c *endpoint.Call, r query.PivotRequest, p query.Pivot, err error) (endpoint.Reply, error) {
	if err == nil && !r.DryRun {
		c.OweTokens(p.Tokens - 1)
	}
	return endpoint.Reply{
		Data:     p,
		Metadata: endpoint.CountMetadata{NotFound: p.NotFound, Hints: c.Addressed(r.Hints.For(int(p.Count), nil))},
	}, err
}

func (s countHandlers) pivotData(c *endpoint.Call, r query.PivotRequest) (endpoint.Reply, error) {
	p, err := s.Facets.Pivot(c.Context(), query.PivotSearch{Request: r, Workspace: c.Workspace().String(), Sets: []query.Query{r.Query}})
	return pivotReply(c, r, p, err)
}

func (s countHandlers) pivotBook(c *endpoint.Call, r query.PivotRequest) (endpoint.Reply, error) {
	p, err := s.Records.PivotBook(c.Context(), c.Workspace(), r)
	return pivotReply(c, r, p, err)
}

func (s countHandlers) pivotView(c *endpoint.Call) (endpoint.Reply, error) {
	body, err := c.Body()
	if err != nil {
		return endpoint.Reply{}, endpoint.JoinIssues(c.PathIssues, err)
	}
	read := func(d catalog.Dataset) (query.PivotRequest, error) {
		return query.PivotRule(d, catalog.View).Parse(body)
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
	p, err := s.Records.PivotView(c.Context(), v, r)
	return pivotReply(c, r, p, err)
}
