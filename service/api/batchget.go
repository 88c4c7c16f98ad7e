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
	"atlas/workspace"
)

// getOptions are what the records of a batch of gets show.
type getOptions struct {
	fields   catalog.FieldSet
	includes []query.Include
	maxBytes int
}

// getBatchNumbers are the metadata of a batch of gets.
type getBatchNumbers struct {
	batchMetadata
	// Remaining is how many ids have no result, because the records before have as many
	// bytes as the answer may have.
	Remaining int `json:"remaining,omitzero"`
}

// getBatchMetadata is the metadata of a batch of gets.
var getBatchMetadata = schema.Named("GetBatchMetadata", schema.Object(
	schema.Required("credits", schema.Integer(0, maxBatch).Described("1 for each record found.").Example(1)),
	schema.Required("succeeded", schema.Integer(0, maxBatch).Example(1)),
	schema.Required("failed", schema.Integer(0, maxBatch)),
	schema.Optional(
		"remaining",
		schema.Integer(1, maxBatch-1).Described("How many ids, the last ones, have no result because of `max_bytes`. Ask for them in another call.").Example(1),
	),
))

// getBatchRoute is the route of a dataset that gets several records.
func (s *Server) getBatchRoute(d catalog.Dataset) Route {
	return Route{Method: "POST", Path: "/data/" + string(d) + "/get/batch", Operation: "get_" + string(d) + "_batch",
		Scope: workspace.DataRead, Throttling: Metered, WorkspaceRequired: true, Budget: Budget{placesGetBatch, rowsGet(d), 1024},
		endpoint: takesBatchWith("ids", rule.UUID[uuid.UUID](), getBatchOptions(d), s.getDataBatch(d)), doc: operationDoc{
			tag: tagData, summary: "Get several " + string(d),
			text: "An id that is given twice is answered, and costs, twice. `fields` and `include` apply to all records.",
			examples: []example{{
				"two", "One with two of its fields, one unknown",
				[]byte(`{"ids":["` + schema.SampleID + `","01a1fe20-0000-7000-8000-00000000dead"],"fields":["id","created_at"]}`),
			}},
			data: resultsData(batchResults("id", recordWithRelated(d), batchCodes(fault.RecordNotFound)...)), metadata: getBatchMetadata,
		}}
}

// getBatchOptions reads `fields` and `include`.
func getBatchOptions(d catalog.Dataset) batchOptions[getOptions] {
	known := query.Includes(d)
	include := rule.Array("keys of related records", rule.Enum(includeKeys(d)...), 1, len(known)).
		Described("Related records to embed, as in a get.")
	fields := fieldsOfRecord[d]
	return batchOptions[getOptions]{
		properties: []schema.Property{
			schema.Optional("fields", fields.Schema), schema.Optional("include", include.Schema),
			schema.Optional("max_bytes", query.MaxBytesRule.Schema),
		},
		read: func(issues *input.Issues, r *input.Reader, into *getOptions) {
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

func (s *Server) getDataBatch(d catalog.Dataset) func(c *call, items []batchItem[uuid.UUID], o getOptions) (reply, error) {
	return func(c *call, items []batchItem[uuid.UUID], o getOptions) (reply, error) {
		// get answers the first items, and has the records whose ids are among those.
		get := func(ctx context.Context, first int, among func(id string) bool) ([]batchResult, error) {
			results := resultsOf(items[:first])
			var ids []string
			for _, r := range results {
				if r.err == nil && !slices.Contains(ids, r.id) && among(r.id) {
					ids = append(ids, r.id)
				}
			}
			found, err := s.Search.GetBatch(ctx, d, ids, o.includes)
			if err != nil {
				return nil, err
			}
			bytes := 0
			for i := range results {
				r := &results[i]
				if r.err != nil {
					continue
				}
				record, exists := found[r.id]
				if !exists {
					r.err = fault.New(fault.RecordNotFound, "no %s has the id %s", d.Singular(), r.id)
					continue
				}
				if record, err = o.fields.Select(record); err != nil {
					return nil, err
				}
				if bytes += len(record); o.maxBytes > 0 && bytes > o.maxBytes && bytes > len(record) {
					results = results[:i]
					break
				}
				r.data = record
			}
			return results, s.withMerges(ctx, d, results)
		}
		return c.metered(len(items), func(ctx context.Context) (reply, int, error) {
			results, err := get(ctx, len(items), func(string) bool { return true })
			if err != nil {
				return reply{}, 0, err
			}
			var ids []uuid.UUID
			for i, r := range results {
				if r.err == nil && !slices.Contains(ids, items[i].in) {
					ids = append(ids, items[i].in)
				}
			}
			if err := c.keep(len(results), "", ids); err != nil {
				return reply{}, 0, err
			}
			r, err := c.batchReply("id", results)
			m, _ := r.metadata.(batchMetadata)
			m.Credits = int64(m.Succeeded)
			return reply{r.data, getBatchNumbers{m, len(items) - len(results)}}, m.Succeeded, err
		}, func(ctx context.Context, kept keptPage) (reply, error) {
			var answered int
			if err := json.Unmarshal(kept.Metadata, &answered); err != nil {
				return reply{}, err
			}
			results, err := get(ctx, min(answered, len(items)), kept.had())
			if err != nil {
				return reply{}, err
			}
			r, err := c.batchReply("id", results)
			m, _ := r.metadata.(batchMetadata)
			return reply{r.data, getBatchNumbers{m, len(items) - len(results)}}, err
		})
	}
}
