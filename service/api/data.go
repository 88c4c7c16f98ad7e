package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/book"
)

func (s searches) dataRoutes() []endpoint.Route {
	var routes []endpoint.Route
	for _, d := range catalogOrder {
		links := schema.Map[openapi.Link]{endpoint.LinkByID("get_"+d.Singular(), "id", "/data/0/id")}
		if d != catalog.Signals {
			links = append(links, endpoint.LinkByBody("upsert_workspace_"+d.Singular(), book.IDKey(d), "/data/0/id"))
		}
		routes = append(routes,
			endpoint.Route{Method: "POST", Path: "/data/" + string(d) + "/search", Operation: "search_" + string(d),
				Scope: workspace.DataRead, Throttling: endpoint.Metered, WorkspaceRequired: true,
				Budget:   endpoint.Budget{Places: endpoint.PlacesSearch, Rows: rowsSearch, Heap: 256},
				Endpoint: endpoint.Takes(query.SearchRule(d, catalog.Data), s.searchData),
				Doc: endpoint.Doc{
					Tag: tagData, Summary: "Search " + string(d), Examples: searchExamples[d],
					Data: schema.Array(
						recordSchema(d),
						0,
						query.MaxLimit,
					), Metadata: endpoint.PageMetadataSchema, DryRun: dryRunAnswer, Links: links,
				}},
			endpoint.Route{Method: "GET", Path: "/data/" + string(d) + "/:id", Operation: "get_" + d.Singular(),
				Scope: workspace.DataRead, Throttling: endpoint.Metered, WorkspaceRequired: true, Conditional: true,
				Budget:   endpoint.Budget{Places: endpoint.PlacesSearch, Rows: rowsGet(d), Heap: 256},
				Endpoint: endpoint.NoBody(s.getData(d)),
				Doc: endpoint.Doc{
					Tag: tagData, Summary: "Get one " + d.Singular(), Params: []openapi.Parameter{includeParam(d), fieldsParam(d, fieldsOfRecord[d])},
					Data: recordWithRelated(d), Metadata: endpoint.GetMetadata, Codes: []fault.Code{fault.NotFound},
				}},
			s.getBatchRoute(d),
		)
	}
	return routes
}

// searchExamples are requests of each dataset that show the grammar.
var searchExamples = map[catalog.Dataset][]endpoint.Example{
	catalog.Accounts: {{
		Name: "builders", Summary: "Builders in Calgary with a project under construction",
		Body: []byte(
			`{"query":"builders","filters":{"account_type":{"value":["general_contractor","developer"]},"city":{"value":"calgary"}},"relations":{"has_project":{"stage":{"value":"under_construction"}}},"sort":{"field":"projects_count","order":"desc"},"limit":10}`,
		),
	}},
	catalog.Contacts: {{
		Name: "managers", Summary: "Project managers without a completed project",
		Body: []byte(
			`{"filters":{"role":{"value":"project_manager"}},"relations":{"without_project":{"stage":{"value":"completed"}}},"limit":10}`,
		),
	}},
	catalog.Projects: {
		{
			Name:    "garages",
			Summary: "Garages that cost 10,000 or more",
			Body: []byte(
				`{"query":"garage","filters":{"stage":{"value":["permitted","under_construction"]},"cost":{"value":[10000,null]},"filed_at":{"value":["2015-01-01","2019-12-31"]}},"relations":{"has_signal":{"signal_type":{"value":"permit_issued"}}},"sort":{"field":"cost","order":"desc"},"limit":10}`,
			),
		},
	},
	catalog.Signals: {
		{
			Name:    "issued",
			Summary: "Permits issued since a day",
			Body: []byte(
				`{"filters":{"signal_type":{"value":"permit_issued"},"occurred_at":{"value":["2026-01-31",null]}},"limit":100}`,
			),
		},
	},
}

func (s searches) searchData(c *endpoint.Call, q query.Query) (endpoint.Reply, error) {
	return s.search(c, s.dataSearch(q))
}

func (s searches) dataSearch(q query.Query) searching {
	return searching{q, "search_" + string(q.Dataset), q.ReadsPrivate(), s.Search.Search, endpoint.RecordsOf}
}

func (s searches) getData(d catalog.Dataset) endpoint.Handler {
	return func(c *endpoint.Call) (endpoint.Reply, error) {
		includes, err := includes(c, d)
		if err != nil {
			return endpoint.Reply{}, err
		}
		fields, err := fields(c, fieldsOfRecord[d])
		if err != nil {
			return endpoint.Reply{}, err
		}
		return c.MeteredGet(func(ctx context.Context) (jsontext.Value, error) {
			id := c.PathID("id").String()
			record, err := s.Search.Get(ctx, d, id, includes)
			if err == nil {
				record, err = withIncluded(fields, includes).Select(record)
			}
			return record, orMerged(ctx, s.Merges, d, id, err)
		})
	}
}

// includeParam describes the query parameter that includes reads.
func includeParam(d catalog.Dataset) openapi.Parameter {
	keys := endpoint.IncludeKeys(d)
	return openapi.Parameter{
		Name: "include", In: "query", Style: "form", Explode: new(bool),
		Description: fmt.Sprintf("Related records to embed, at most %d of each.", query.MaxIncluded),
		Schema:      schema.Array(schema.OneOf(keys...), 0, 0), Example: keys,
	}
}

// includes reads the comma-separated keys of `include`, each once.
func includes(c *endpoint.Call, d catalog.Dataset) ([]query.Include, error) {
	text, _, err := c.Param("include")
	if err != nil || text == "" {
		return nil, err
	}
	known := query.Includes(d)
	var includes []query.Include
	for key := range strings.SplitSeq(text, ",") {
		key = strings.TrimSpace(key)
		i := slices.IndexFunc(known, func(inc query.Include) bool { return inc.Key == key })
		if i < 0 {
			return nil, fault.New(
				fault.BadRequest, "%s cannot include %.100q%s; known: %s", d, key,
				input.DidYouMean(" (", key, endpoint.IncludeKeys(d), ")"), strings.Join(endpoint.IncludeKeys(d), ", "),
			)
		}
		if !slices.Contains(includes, known[i]) {
			includes = append(includes, known[i])
		}
	}
	return includes, nil
}
