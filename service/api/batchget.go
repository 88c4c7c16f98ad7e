package api

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/workspace"
)

// getOptions are the options for the records of a batch of gets.
type getOptions struct {
	fields   catalog.FieldSet
	includes []query.Include
	maxBytes int
}

// getBatchNumbers are the metadata of a batch of gets.
type getBatchNumbers struct {
	endpoint.BatchMetadata
	// Remaining is the number of ids without a result, because the answer reached its maximum
	// size.
	Remaining int `json:"remaining,omitzero"`
}

// getBatchMetadata is the metadata of a batch of gets.
var getBatchMetadata = schema.Named("GetBatchMetadata", schema.Object(
	schema.Required("credits", schema.Integer(0, endpoint.MaxBatch).Described("1 for each record found.").Example(1)),
	schema.Required("succeeded", schema.Integer(0, endpoint.MaxBatch).Example(1)),
	schema.Required("failed", schema.Integer(0, endpoint.MaxBatch)),
	schema.Optional(
		"remaining",
		schema.Integer(1, endpoint.MaxBatch-1).
			Described("How many ids, the last ones, have no result because of `max_bytes`. Ask for them in another call.").
			Example(1),
	),
))

// getBatchRoute is the route of a dataset that gets several records by id.
func (s searches) getBatchRoute(d catalog.Dataset) endpoint.Route {
	return endpoint.Route{Method: "POST", Path: "/data/" + string(d) + "/get/batch", Operation: "get_" + string(d) + "_batch",
		Scope: workspace.DataRead, Throttling: endpoint.Metered, WorkspaceRequired: true,
		Budget:   endpoint.Budget{Places: endpoint.PlacesGetBatch, Rows: rowsGet(d), Heap: 1024},
		Endpoint: endpoint.TakesBatchWith("ids", rule.UUID[uuid.UUID](), getBatchOptions(d), s.getDataBatch(d)), Doc: endpoint.Doc{
			Tag: tagData, Summary: "Get several " + string(d),
			Text: "An id that is given twice is answered, and costs, twice. `fields` and `include` apply to all records.",
			Examples: []endpoint.Example{{
				Name: "two", Summary: "One with two of its fields, one unknown",
				Body: []byte(`{"ids":["` + schema.SampleID + `","01a1fe20-0000-7000-8000-00000000dead"],"fields":["id","created_at"]}`),
			}},
			Data: endpoint.ResultsData(
				endpoint.BatchResults("id", recordWithRelated(d), endpoint.BatchCodes(fault.RecordNotFound)...),
			), Metadata: getBatchMetadata,
		}}
}

// getBatchOptions reads `fields` and `include`.
func getBatchOptions(d catalog.Dataset) endpoint.BatchOptions[getOptions] {
	known := query.Includes(d)
	include := rule.Array("keys of related records", rule.Enum(endpoint.IncludeKeys(d)...), 1, len(known)).
		Described("Related records to embed, as in a get.")
	fields := fieldsOfRecord[d]
	return endpoint.BatchOptions[getOptions]{
		Properties: []schema.Property{
			schema.Optional("fields", fields.Schema), schema.Optional("include", include.Schema),
			schema.Optional("max_bytes", query.MaxBytesRule.Schema),
		},
		Read: func(issues *input.Issues, r *input.Reader, into *getOptions) {
			into.fields = fields.Member(issues, r, "fields", false)
			into.maxBytes = query.MaxBytesRule.Member(issues, r, "max_bytes", false)
			for _, key := range include.Member(issues, r, "include", false) {
				i := slices.IndexFunc(known, func(inc query.Include) bool { return inc.Key == key })
				if !slices.Contains(into.includes, known[i]) {
					into.includes = append(into.includes, known[i])
				}
			}
			into.fields = withIncluded(into.fields, into.includes)
		},
	}
}

func (s searches) getDataBatch(
	d catalog.Dataset,
) func(c *endpoint.Call, items []endpoint.BatchItem[uuid.UUID], o getOptions) (endpoint.Reply, error) {
	return func(c *endpoint.Call, items []endpoint.BatchItem[uuid.UUID], o getOptions) (endpoint.Reply, error) {
		// get answers the first items; among has the ids to read.
		get := func(ctx context.Context, first int, among func(id string) bool) ([]endpoint.BatchResult, error) {
			results := endpoint.ResultsOf(items[:first])
			var ids []string
			for _, r := range results {
				if r.Err == nil && !slices.Contains(ids, r.ID) && among(r.ID) {
					ids = append(ids, r.ID)
				}
			}
			found, err := s.Search.GetBatch(ctx, d, ids, o.includes)
			if err != nil {
				return nil, err
			}
			bytes := 0
			for i := range results {
				r := &results[i]
				if r.Err != nil {
					continue
				}
				record, exists := found[r.ID]
				if !exists {
					r.Err = fault.New(fault.RecordNotFound, "no %s has the id %s", d.Singular(), r.ID)
					continue
				}
				if record, err = o.fields.Select(record); err != nil {
					return nil, err
				}
				if bytes += len(record); o.maxBytes > 0 && bytes > o.maxBytes && bytes > len(record) {
					results = results[:i]
					break
				}
				r.Data = record
			}
			return results, withMerges(ctx, s.Merges, d, results)
		}
		return c.Metered(len(items), func(ctx context.Context) (endpoint.Reply, int, error) {
			results, err := get(ctx, len(items), func(string) bool { return true })
			if err != nil {
				return endpoint.Reply{}, 0, err
			}
			var ids []uuid.UUID
			for i, r := range results {
				if r.Err == nil && !slices.Contains(ids, items[i].In) {
					ids = append(ids, items[i].In)
				}
			}
			if err := c.Store(len(results), "", ids); err != nil {
				return endpoint.Reply{}, 0, err
			}
			r, err := c.BatchReply("id", results)
			m, _ := r.Metadata.(endpoint.BatchMetadata)
			m.Credits = int64(m.Succeeded)
			return endpoint.Reply{Data: r.Data, Metadata: getBatchNumbers{m, len(items) - len(results)}}, m.Succeeded, err
		}, func(ctx context.Context, stored endpoint.StoredPage) (endpoint.Reply, error) {
			var answered int
			if err := json.Unmarshal(stored.Metadata, &answered); err != nil {
				return endpoint.Reply{}, err
			}
			results, err := get(ctx, min(answered, len(items)), stored.Had())
			if err != nil {
				return endpoint.Reply{}, err
			}
			r, err := c.BatchReply("id", results)
			m, _ := r.Metadata.(endpoint.BatchMetadata)
			return endpoint.Reply{Data: r.Data, Metadata: getBatchNumbers{m, len(items) - len(results)}}, err
		})
	}
}
