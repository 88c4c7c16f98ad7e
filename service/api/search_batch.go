package api

import (
	"slices"
	"strconv"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/views"
)

var searchBatchMetadata = schema.Named("SearchBatchMetadata", schema.Object(
	schema.Required("credits", schema.Integer(0, maxBatchRows).Described("The sum of the searches.").Example(1)),
	schema.Required("succeeded", schema.Integer(0, maxBatchSearches).Example(1)),
	schema.Required("failed", schema.Integer(0, maxBatchSearches)),
))

// searchBatchRoute is a batch of searches whose bodies match one of the alternatives.
func (s batchHandlers) searchBatchRoute(
	path, operation string,
	scope workspace.Scope,
	summary string,
	examples []endpoint.Example,
	alternatives []*schema.Schema,
	read func(*endpoint.Call) func(issues input.Issues, item input.Value) (searching, error),
) endpoint.Route {
	item := schema.Named(schema.Identifier(operation)+"Item", schema.AnyOfObjects(alternatives...))
	items := schema.Array(item, 1, maxBatchSearches).Described("Each is the body of a single search, with a `limit` of " +
		strconv.Itoa(batchLimit) +
		" by default. All limits together are at most 1,000. The service takes items of another shape too: they fail alone, as `invalid_input`.")
	return endpoint.Route{Method: "POST", Path: path, Operation: operation,
		Scope: scope, Throttling: endpoint.Metered, WorkspaceRequired: scope == workspace.DataRead,
		Budget: endpoint.Budget{Places: endpoint.PlacesSearchBatch, Rows: rowsSearch, Heap: 300},
		Endpoint: endpoint.Endpoint{
			Body: schema.Object(schema.Required(searchesMember, items)), Item: item, Items: searchesMember,
			Handle: func(c *endpoint.Call) (endpoint.Reply, error) {
				return s.searchBatch(c, read(c))
			},
		},
		Doc: endpoint.Doc{
			Tag: tagData, Summary: summary, Examples: examples,
			Text: "1 to " + strconv.Itoa(
				maxBatchSearches,
			) + " searches in one call, each as its own operation answers it, and charged to that. " +
				"Credits are granted in order: searches after the one that reaches the ceiling or the key's budget are `rate_limited` or `key_budget_used`, and are not run. " +
				"Takes one turn of the key's rate, and owes one for each further search.",
			Data: endpoint.ResultsData(searchResultsSchema), Metadata: searchBatchMetadata,
		}}
}

// searchItemMetadata is the metadata of a page, or of a dry run.
var searchItemMetadata = func() *schema.Schema {
	properties := slices.Clone(endpoint.PageMetadataProperties)
	for i, p := range properties {
		properties[i].Required = p.Name == "credits"
	}
	return schema.Named("SearchItemMetadata", schema.Object(properties...))
}()

var searchResultsSchema = func() *schema.Schema {
	codes := endpoint.ItemCodes(
		endpoint.BatchCodes(fault.BadRequest, fault.RateLimited, fault.KeyBudgetUsed, fault.TooManyRequests, fault.ViewNotFound),
	)
	failure := endpoint.ItemErrorSchema.Narrowed((&schema.Schema{Enum: schema.OneOf(codes...).Enum}).At("code"))
	return schema.Array(schema.Object(
		schema.Required("index", schema.Integer(0, maxBatchSearches-1)),
		schema.Required("status", schema.OneOf(append([]fault.Code{"ok"}, codes...)...)),
		schema.Optional(
			"data",
			(&schema.Schema{}).Described("Of a search that succeeded: what the single search answers.").Example([]any{}),
		),
		schema.Optional("metadata", searchItemMetadata.Described("Of a search that succeeded.")),
		schema.Optional("error", failure.Described("Of a search that failed:\n\n"+endpoint.ItemMeanings(codes))),
	).When(
		schema.Is("status", "ok"), schema.Requires("data", "metadata").And(schema.Never().At("error")),
		schema.Requires("error").And(schema.Never().At("data")),
	), 1, maxBatchSearches)
}()

// dataBatchRoutes are the batch of searches of the Data API.
func (s batchHandlers) dataBatchRoutes() []endpoint.Route {
	var bodies []*schema.Schema
	for _, d := range catalog.Datasets {
		bodies = append(bodies, query.SearchRule(d, catalog.Data).Schema.With(schema.Required("dataset", schema.OneOf(d))))
	}
	return []endpoint.Route{s.searchBatchRoute(
		"/data/search/batch",
		"search_data_batch",
		workspace.DataRead,
		"Several searches of any dataset",
		[]endpoint.Example{
			{
				Name:    "two",
				Summary: "Firms and projects of a city",
				Body: []byte(
					`{"searches":[{"dataset":"accounts","query":"builders","filters":{"city":{"value":"calgary"}}},{"dataset":"projects","filters":{"city":{"value":"calgary"}},"limit":5}]}`,
				),
			},
		},
		bodies,
		s.readDataItem,
	)}
}

// workspaceBatchRoutes are the batch of searches of books and Views.
func (s batchHandlers) workspaceBatchRoutes() []endpoint.Route {
	var bodies []*schema.Schema
	for _, d := range catalog.Held { // what is valid for a book is valid for a View
		body := query.SearchRule(d, catalog.View).Schema.With(schema.Optional("view_id", schema.UUID())).With(
			schema.Optional("dataset", schema.OneOf(d)),
		)
		bodies = append(bodies, body.When(schema.Requires("view_id"), schema.Never().At("dataset"), schema.Requires("dataset")))
	}
	return []endpoint.Route{s.searchBatchRoute(
		"/workspace/search/batch", "search_workspace_batch", workspace.WorkspaceRead,
		"Several searches of the book and of Views",
		[]endpoint.Example{{
			Name: "two", Summary: "The book, and a View",
			Body: []byte(
				`{"searches":[{"dataset":"accounts","filters":{"tags":{"value":"priority"}}},{"view_id":"` + schema.SampleID + `","limit":5}]}`,
			),
		}},
		bodies, s.readWorkspaceItem,
	)}
}

func (s batchHandlers) readDataItem(c *endpoint.Call) func(input.Issues, input.Value) (searching, error) {
	datasets := rule.Enum(catalog.Datasets...)
	return func(issues input.Issues, item input.Value) (searching, error) {
		d, body, known := datasetOf(&issues, item, datasets)
		if !known {
			return searching{}, issues.Err()
		}
		q, err := readItem(&issues, body, query.SearchRule(d, catalog.Data))
		return s.dataSearch(q), err
	}
}

func (s batchHandlers) readWorkspaceItem(c *endpoint.Call) func(input.Issues, input.Value) (searching, error) {
	datasets := rule.Enum(catalog.Held...)
	found := map[views.ID]views.View{}
	return func(issues input.Issues, item input.Value) (searching, error) {
		for _, name := range []string{"dataset", "view_id"} { // generated clients send both
			if item.Get(name).Kind == input.Null {
				item = without(item, name)
			}
		}
		if item.Get("view_id").Kind == input.Absent {
			d, body, known := datasetOf(&issues, item, datasets)
			if !known {
				return searching{}, issues.Err()
			}
			q, err := readItem(&issues, body, query.SearchRule(d, catalog.Book))
			return s.bookSearch(c, q), err
		}
		if item.Get("dataset").Kind != input.Absent {
			issues.Add(fault.Custom, []string{"dataset"}, "belongs to searches of the book: leave it out beside view_id")
		}
		id := rule.UUID[uuid.UUID]().Member(&issues, issues.Object(only(item, "view_id")), "view_id", true)
		if err := issues.Err(); err != nil {
			return searching{}, err
		}
		body := endpoint.WithoutNulls(without(item, "view_id"), viewBodies)
		search, v, err := s.viewSearch(c, views.ID(id), found, func(d catalog.Dataset) (query.Query, error) {
			var none input.Issues
			return readItem(&none, body, query.SearchRule(d, catalog.View))
		}, body)
		if err == nil && search.q.Offset > maxMergedOffset && s.Records.Merged(v, search.q) {
			err = fault.Validation(fault.Issue{
				Code: fault.TooBig, Path: []string{"offset"},
				Message: "must be at most 1000 in a batch for a View whose records come from two searches; send this search alone, or follow search_after",
			})
		}
		return search, err
	}
}

// datasetOf reads the dataset of an item, and returns the rest.
func datasetOf(
	issues *input.Issues,
	item input.Value,
	datasets rule.Rule[catalog.Dataset],
) (d catalog.Dataset, body input.Value, known bool) {
	if item.Kind != input.Object {
		issues.Object(item)
		return "", item, false
	}
	before := len(*issues)
	d = datasets.Member(issues, issues.Object(only(item, "dataset")), "dataset", true)
	return d, without(item, "dataset"), len(*issues) == before
}

// only returns an object with just the named member, if present.
func only(v input.Value, name string) input.Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m input.Member) bool { return m.Name != name })
	return v
}

// without is an object without a member.
func without(v input.Value, name string) input.Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m input.Member) bool { return m.Name == name })
	return v
}

// readItem parses the body of a search in a batch.
func readItem(issues *input.Issues, body input.Value, by rule.Rule[query.Query]) (query.Query, error) {
	body = endpoint.WithoutNulls(body, by.Schema)
	q := by.Read(issues, body)
	if body.Get("limit").Kind == input.Absent {
		q.Limit = batchLimit
	}
	return q, issues.Err()
}
