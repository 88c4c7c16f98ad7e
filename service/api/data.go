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
	"atlas/service/api/openapi"
	"atlas/workspace"
	"atlas/workspace/book"
)

const tagData = "Data"

func (s *Server) dataRoutes() []Route {
	var routes []Route
	routes = append(routes, s.dataBatchRoute())
	for _, d := range catalogOrder {
		links := schema.Map[openapi.Link]{linkByID("get_"+d.Singular(), "id", "/data/0/id")}
		if d != catalog.Signals {
			links = append(links, linkByBody("upsert_workspace_"+d.Singular(), book.IDKey(d), "/data/0/id"))
		}
		routes = append(routes,
			Route{Method: "POST", Path: "/data/" + string(d) + "/search", Operation: "search_" + string(d),
				Scope: workspace.DataRead, Throttling: Metered, WorkspaceRequired: true, Budget: Budget{placesSearch, rowsSearch, 256},
				endpoint: takes(query.SearchRule(d, catalog.Data), s.searchData),
				doc: operationDoc{
					tag: tagData, summary: "Search " + string(d), examples: searchExamples[d],
					data: schema.Array(recordSchema(d), 0, query.MaxLimit), metadata: pageMetadataSchema, dryRun: dryRunAnswer, links: links,
				}},
			Route{Method: "GET", Path: "/data/" + string(d) + "/:id", Operation: "get_" + d.Singular(),
				Scope: workspace.DataRead, Throttling: Metered, WorkspaceRequired: true, Conditional: true,
				Budget:   Budget{placesSearch, rowsGet(d), 256},
				endpoint: noBody(s.getData(d)),
				doc: operationDoc{
					tag: tagData, summary: "Get one " + d.Singular(), params: []openapi.Parameter{includeParam(d), fieldsParam(d, fieldsOfRecord[d])},
					data: recordWithRelated(d), metadata: getMetadata, codes: []fault.Code{fault.NotFound},
				}},
			s.getBatchRoute(d),
		)
	}
	return routes
}

// searchExamples are requests of each dataset that show the grammar.
var searchExamples = map[catalog.Dataset][]example{
	catalog.Accounts: {{
		"builders", "Builders in Calgary with a project under construction",
		[]byte(`{"query":"builders","filters":{"account_type":{"value":["general_contractor","developer"]},"city":{"value":"calgary"}},"relations":{"has_project":{"stage":{"value":"under_construction"}}},"sort":{"field":"projects_count","order":"desc"},"limit":10}`),
	}},
	catalog.Contacts: {{
		"managers", "Project managers without a completed project",
		[]byte(`{"filters":{"role":{"value":"project_manager"}},"relations":{"without_project":{"stage":{"value":"completed"}}},"limit":10}`),
	}},
	catalog.Projects: {{"garages", "Garages that cost 10,000 or more", []byte(`{"query":"garage","filters":{"stage":{"value":["permitted","under_construction"]},"cost":{"value":[10000,null]},"filed_at":{"value":["2015-01-01","2019-12-31"]}},"relations":{"has_signal":{"signal_type":{"value":"permit_issued"}}},"sort":{"field":"cost","order":"desc"},"limit":10}`)}},
	catalog.Signals:  {{"issued", "Permits issued since a day", []byte(`{"filters":{"signal_type":{"value":"permit_issued"},"occurred_at":{"value":["2026-01-31",null]}},"limit":100}`)}},
}

func (s *Server) searchData(c *call, q query.Query) (reply, error) {
	return s.search(c, s.dataSearch(q))
}

func (s *Server) dataSearch(q query.Query) searching {
	return searching{q, "search_" + string(q.Dataset), q.ReadsPrivate(), s.Search.Search, recordsOf}
}

func (s *Server) getData(d catalog.Dataset) handler {
	return func(c *call) (reply, error) {
		includes, err := c.includes(d)
		if err != nil {
			return reply{}, err
		}
		fields, err := c.fields(fieldsOfRecord[d])
		if err != nil {
			return reply{}, err
		}
		return c.meteredGet(func(ctx context.Context) (jsontext.Value, error) {
			id := c.pathID("id").String()
			record, err := s.Search.Get(ctx, d, id, includes)
			if err == nil {
				record, err = withIncluded(fields, includes).Select(record)
			}
			return record, s.orMerged(ctx, d, id, err)
		})
	}
}

// includeParam describes the query parameter that includes reads.
func includeParam(d catalog.Dataset) openapi.Parameter {
	keys := includeKeys(d)
	return openapi.Parameter{
		Name: "include", In: "query", Style: "form", Explode: new(bool),
		Description: fmt.Sprintf("Related records to embed, at most %d of each.", query.MaxIncluded),
		Schema:      schema.Array(schema.OneOf(keys...), 0, 0), Example: keys,
	}
}

// includes reads the comma-separated keys of `include`, each once.
func (c *call) includes(d catalog.Dataset) ([]query.Include, error) {
	text, _, err := c.param("include")
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
				input.DidYouMean(" (", key, includeKeys(d), ")"), strings.Join(includeKeys(d), ", "),
			)
		}
		if !slices.Contains(includes, known[i]) {
			includes = append(includes, known[i])
		}
	}
	return includes, nil
}
