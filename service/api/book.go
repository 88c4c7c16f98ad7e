package api

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/book"
)

// Book is the workspaces' own data on global records. *workspace.Book implements
// it.
type Book interface {
	Upsert(ctx context.Context, in workspace.ID, d catalog.Dataset, inputs []book.Input) ([]book.Outcome, error)
	Delete(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) error
	DeleteIf(ctx context.Context, in workspace.ID, d catalog.Dataset, deletions []book.OverlayDeletion) ([]error, error)
	Get(ctx context.Context, in workspace.ID, d catalog.Dataset, record uuid.UUID) (jsontext.Value, error)
	// Rows returns the rows of the given records that are in the book.
	Rows(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) (map[uuid.UUID]jsontext.Value, error)
}

const tagBook = "Book"

type bookHandlers struct {
	searches
	Book Book
}

func (s bookHandlers) routes() []endpoint.Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	var routes []endpoint.Route
	for _, d := range catalog.Held {
		path, many, one := "/workspace/"+string(d), "workspace_"+string(d), "workspace_"+d.Singular()
		upsert, record := book.UpsertRule(d), bookRecord(d)
		routes = append(routes,
			endpoint.Route{Method: "POST", Path: path + "/search", Operation: "search_" + many,
				Scope: read, Throttling: endpoint.Metered, Budget: endpoint.Budget{Places: endpoint.PlacesSearch, Rows: rowsSearch, Heap: 256},
				Endpoint: endpoint.Takes(query.SearchRule(d, catalog.Book), s.searchBook),
				Doc: endpoint.Doc{
					Tag: tagBook, Summary: "Search the " + string(d) + " of the book",
					Examples: []endpoint.Example{{
						Name: "tagged", Summary: "Those with a tag, changed last first",
						Body: []byte(`{"filters":{"tags":{"value":["priority","north"]}},"sort":{"field":"updated_at","order":"desc"}}`),
					}},
					Data: schema.Array(bookRow(d), 0, query.MaxLimit), Metadata: endpoint.PageMetadataSchema, DryRun: dryRunAnswer,
					Links: schema.Map[openapi.Link]{endpoint.LinkByID("get_"+one, "id", "/data/0/id")},
				}},
			endpoint.Route{Method: "GET", Path: path + "/:id", Operation: "get_" + one,
				Scope: read, Throttling: endpoint.Metered, Conditional: true, Budget: endpoint.Budget{Places: endpoint.PlacesSearch, Rows: 1, Heap: 64},
				Endpoint: endpoint.NoBody(s.getBook(d)),
				Doc: endpoint.Doc{
					Tag: tagBook, Summary: "Get one " + d.Singular() + " of the book", Params: []openapi.Parameter{fieldsParam(d, fieldsOfBook[d])},
					Data: record, Metadata: endpoint.GetMetadata, Codes: []fault.Code{fault.NotFound},
				}},
			endpoint.Route{Method: "POST", Path: path + "/upsert", Operation: "upsert_" + one,
				Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: rowsMatched, Heap: 64},
				Endpoint: endpoint.Takes(upsert, s.upsertBook(d)).Replaying(s.replayBook(d, false)),
				Doc: endpoint.Doc{
					Tag: tagBook, Summary: "Put " + article(d) + " into the book, or change what is said of it",
					Examples: upsertExamples[d], Data: record, Codes: upsertCodes(d),
					Links: schema.Map[openapi.Link]{
						endpoint.LinkByID("get_"+one, "id", "/data/id"),
						endpoint.LinkByID("delete_"+one, "id", "/data/id"),
					},
				}},
			endpoint.Route{Method: "POST", Path: path + "/upsert/batch", Operation: "upsert_" + many + "_batch",
				Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: endpoint.MaxBatch * rowsMatched, Heap: 512},
				Endpoint: endpoint.TakesBatch("inputs", upsert, s.upsertBookBatch(d)).Replaying(s.replayBook(d, true)),
				Doc: endpoint.Doc{
					Tag: tagBook, Summary: "Put several " + string(d) + " into the book, or change what is said of them",
					Data: endpoint.ResultsData(endpoint.BatchResults(book.IDKey(d), record, endpoint.BatchCodes(upsertCodes(d)...)...)),
				}},
			endpoint.Route{Method: "DELETE", Path: path + "/:id", Operation: "delete_" + one,
				Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
				Endpoint: endpoint.NoBody(s.deleteBook(d)),
				Doc: endpoint.Doc{
					Tag: tagBook, Summary: "Take " + article(d) + " out of the book",
					Text: "What the workspace says of it is deleted; the global record stays. One that is not in the book is fine.",
					Data: deletedSchema,
				}},
			endpoint.Route{Method: "POST", Path: path + "/delete/batch", Operation: "delete_" + many + "_batch",
				Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
				Endpoint: endpoint.TakesBatchWith("ids", rule.UUID[uuid.UUID](), deletionOptions(d), s.deleteBookBatch(d)),
				Doc: endpoint.Doc{
					Tag: tagBook, Summary: "Take several " + string(d) + " out of the book",
					Data: endpoint.ResultsData(endpoint.BatchResults(book.IDKey(d), nil, endpoint.BatchCodes(fault.RevisionConflict)...)),
				}},
		)
	}
	return routes
}

func article(d catalog.Dataset) string {
	if d == catalog.Accounts {
		return "an " + d.Singular()
	}
	return "a " + d.Singular()
}

// upsertExamples show both ways to identify a record.
var upsertExamples = map[catalog.Dataset][]endpoint.Example{
	catalog.Accounts: {
		{
			Name:    "id",
			Summary: "By id",
			Body:    []byte(`{"account_id":"` + schema.SampleID + `","icp_tier":"tier_1","tags":["north","priority"]}`),
		},
		{
			Name:    "match",
			Summary: "By domain",
			Body:    []byte(`{"match":{"domain":"https://www.bow-valley-builders.example/"},"workspace_status":"in talks","notes":null}`),
		},
	},
	catalog.Contacts: {
		{Name: "id", Summary: "By id", Body: []byte(`{"contact_id":"` + schema.SampleID + `","notes":"Met at the fair."}`)},
		{Name: "match", Summary: "By e-mail address", Body: []byte(`{"match":{"email":"Ada@Example.com"},"workspace_status":"in talks"}`)},
	},
	catalog.Projects: {{Name: "id", Summary: "By id", Body: []byte(`{"project_id":"` + schema.SampleID + `","tags":[]}`)}},
}

// upsertCodes are the codes of a well-formed upsert that fails.
func upsertCodes(d catalog.Dataset) []fault.Code {
	if _, matchable := catalog.MatchField(d); !matchable {
		return []fault.Code{fault.NotFound, fault.RevisionConflict, fault.LimitReached}
	}
	return []fault.Code{fault.NotFound, fault.AmbiguousMatch, fault.RevisionConflict, fault.LimitReached}
}

func (s bookHandlers) searchBook(c *endpoint.Call, q query.Query) (endpoint.Reply, error) {
	return s.search(c, s.bookSearch(c, q))
}

func (s searches) bookSearch(c *endpoint.Call, q query.Query) searching {
	in := c.Workspace()
	q.Base.Workspace = in.String()
	return searching{
		q, "search_workspace_" + string(q.Dataset), q.ReadsPrivate(),
		func(ctx context.Context, q query.Query) (query.Page, error) {
			return s.Records.SearchBook(ctx, in, q)
		}, endpoint.RecordsOf,
	}
}

func (s bookHandlers) getBook(d catalog.Dataset) endpoint.Handler {
	return func(c *endpoint.Call) (endpoint.Reply, error) {
		fields, err := fields(c, fieldsOfBook[d])
		if err != nil {
			return endpoint.Reply{}, err
		}
		return c.MeteredGet(func(ctx context.Context) (jsontext.Value, error) {
			row, err := s.Book.Get(ctx, c.Workspace(), d, c.PathID("id"))
			if err == nil {
				row, err = fields.Select(row)
			}
			return row, orMerged(ctx, s.Merges, d, c.PathID("id").String(), err)
		})
	}
}

func (s bookHandlers) upsertBook(d catalog.Dataset) func(c *endpoint.Call, in book.Input) (endpoint.Reply, error) {
	return func(c *endpoint.Call, in book.Input) (endpoint.Reply, error) {
		outcomes, err := s.Book.Upsert(c.Context(), c.Workspace(), d, []book.Input{in})
		if err != nil {
			return endpoint.Reply{}, err
		}
		if outcomes[0].Err != nil {
			return endpoint.Reply{}, orMerged(c.Context(), s.Merges, d, outcomes[0].Record, outcomes[0].Err)
		}
		return endpoint.FreeReply(outcomes[0].Row), storeBook(c, []map[string]any{{book.IDKey(d): outcomes[0].Record, "status": "ok"}})
	}
}

func (s bookHandlers) upsertBookBatch(
	d catalog.Dataset,
) func(c *endpoint.Call, items []endpoint.BatchItem[book.Input]) (endpoint.Reply, error) {
	return func(c *endpoint.Call, items []endpoint.BatchItem[book.Input]) (endpoint.Reply, error) {
		results := make([]endpoint.BatchResult, len(items))
		for i, item := range items {
			results[i] = endpoint.BatchResult{ID: item.In.Record, Err: item.Err}
		}
		if positions, inputs := endpoint.ValidItems(items); len(inputs) > 0 {
			outcomes, err := s.Book.Upsert(c.Context(), c.Workspace(), d, inputs)
			if err != nil {
				return endpoint.Reply{}, err
			}
			for j, i := range positions {
				results[i] = endpoint.BatchResult{ID: outcomes[j].Record, Err: outcomes[j].Err}
				if outcomes[j].Err == nil {
					results[i].Data = outcomes[j].Row
				}
			}
		}
		if err := withMerges(c.Context(), s.Merges, d, results); err != nil {
			return endpoint.Reply{}, err
		}
		done, m, err := c.ItemResults(book.IDKey(d), results)
		if err == nil {
			err = storeBook(c, done)
		}
		return endpoint.Reply{Data: map[string]any{"results": done}, Metadata: m}, err
	}
}

func (s bookHandlers) deleteBook(d catalog.Dataset) endpoint.Handler {
	return func(c *endpoint.Call) (endpoint.Reply, error) {
		err := s.Book.Delete(c.Context(), c.Workspace(), d, []uuid.UUID{c.PathID("id")})
		return endpoint.FreeReply(deleted{true}), err
	}
}

// deletionOptions are the conditions of a batch of deletions on its records.
func deletionOptions(d catalog.Dataset) endpoint.BatchOptions[map[uuid.UUID]book.Expectation] {
	expected := book.DeletionsRule(d, endpoint.MaxBatch)
	return endpoint.BatchOptions[map[uuid.UUID]book.Expectation]{
		Properties: []schema.Property{schema.Optional("expected", expected.Schema.Described(
			"Of some of the ids: the record is taken out only if it is in the book with these values. Otherwise it stays, and its item is "+
				"`revision_conflict` with what is there as `current`."))},
		Read: func(issues *input.Issues, r *input.Reader, into *map[uuid.UUID]book.Expectation) {
			*into = expected.Member(issues, r, "expected", false)
		},
	}
}

func (s bookHandlers) deleteBookBatch(
	d catalog.Dataset,
) func(c *endpoint.Call, items []endpoint.BatchItem[uuid.UUID], expected map[uuid.UUID]book.Expectation) (endpoint.Reply, error) {
	return func(c *endpoint.Call, items []endpoint.BatchItem[uuid.UUID], expected map[uuid.UUID]book.Expectation) (endpoint.Reply, error) {
		positions, records := endpoint.ValidItems(items)
		deletions := book.Deletions(records...)
		for i, id := range records {
			if e, is := expected[id]; is {
				deletions[i].Expected = &e
			}
		}
		// Otherwise a misspelled member would delete a record without its condition.
		var issues input.Issues
		for id := range expected {
			if !slices.Contains(records, id) {
				issues.Add(fault.Custom, []string{"expected", id.String()}, "is not one of the ids")
			}
		}
		if err := issues.Err(); err != nil {
			return endpoint.Reply{}, err
		}
		refused, err := s.Book.DeleteIf(c.Context(), c.Workspace(), d, deletions)
		if err != nil {
			return endpoint.Reply{}, err
		}
		results := endpoint.ResultsOf(items)
		for i, err := range refused {
			results[positions[i]].Err = err
		}
		return c.BatchReply(book.IDKey(d), results)
	}
}

// storeBook reduces results of upserts to record ids and error codes for a replay.
func storeBook(c *endpoint.Call, results []map[string]any) (err error) {
	if !c.Idempotent() {
		return nil
	}
	stored := make([]map[string]any, len(results))
	for i, r := range results {
		stored[i] = map[string]any{}
		for name, value := range r {
			if name != "data" {
				stored[i][name] = value
			}
		}
	}
	c.Stored, err = json.Marshal(stored)
	return err
}

// replayBook replays upserts with the rows as they are now.
func (s bookHandlers) replayBook(d catalog.Dataset, batch bool) func(c *endpoint.Call, stored []byte) (endpoint.Reply, error) {
	key := book.IDKey(d)
	return func(c *endpoint.Call, stored []byte) (endpoint.Reply, error) {
		var results []map[string]any
		if err := json.Unmarshal(stored, &results); err != nil {
			return endpoint.Reply{}, err
		}
		var ids []uuid.UUID
		for _, r := range results {
			if id, err := uuid.Parse(textOf(r[key])); err == nil && r["status"] == "ok" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		rows, err := s.Book.Rows(c.Context(), c.Workspace(), d, ids)
		if err != nil {
			return endpoint.Reply{}, err
		}
		var m endpoint.BatchMetadata
		for _, r := range results {
			if r["status"] == "ok" {
				id, _ := uuid.Parse(textOf(r[key]))
				if row, there := rows[id]; there {
					r["data"] = row
					m.Succeeded++
					continue
				}
				gone := fault.New(fault.NotFound, "the %s was put into the book, and is not there anymore", d.Singular())
				if !batch {
					return endpoint.Reply{}, gone
				}
				r["status"], r["error"] = gone.Code, c.ItemErrorOf(gone)
			}
			m.Failed++
		}
		if !batch {
			row, _ := results[0]["data"].(jsontext.Value)
			return endpoint.FreeReply(row), nil
		}
		return endpoint.Reply{Data: map[string]any{"results": results}, Metadata: m}, nil
	}
}

func textOf(v any) string {
	text, _ := v.(string)
	return text
}
