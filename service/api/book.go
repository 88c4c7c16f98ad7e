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
	"atlas/service/api/openapi"
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
	// Rows returns the rows of those of the records that are in the book.
	Rows(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) (map[uuid.UUID]jsontext.Value, error)
}

const tagBook = "Book"

func (s *Server) bookRoutes() []Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	routes := []Route{s.workspaceBatchRoute()}
	for _, d := range catalog.Held {
		path, many, one := "/workspace/"+string(d), "workspace_"+string(d), "workspace_"+d.Singular()
		upsert, record := book.UpsertRule(d), bookRecord(d)
		routes = append(routes,
			Route{Method: "POST", Path: path + "/search", Operation: "search_" + many,
				Scope: read, Throttling: Metered, Budget: Budget{placesSearch, rowsSearch, 256},
				endpoint: takes(query.SearchRule(d, catalog.Book), s.searchBook),
				doc: operationDoc{
					tag: tagBook, summary: "Search the " + string(d) + " of the book",
					examples: []example{{
						"tagged", "Those with a tag, changed last first",
						[]byte(`{"filters":{"tags":{"value":["priority","north"]}},"sort":{"field":"updated_at","order":"desc"}}`),
					}},
					data: schema.Array(bookRow(d), 0, query.MaxLimit), metadata: pageMetadataSchema, dryRun: dryRunAnswer,
					links: schema.Map[openapi.Link]{linkByID("get_"+one, "id", "/data/0/id")},
				}},
			Route{Method: "GET", Path: path + "/:id", Operation: "get_" + one,
				Scope: read, Throttling: Metered, Conditional: true, Budget: Budget{placesSearch, 1, 64},
				endpoint: noBody(s.getBook(d)),
				doc: operationDoc{
					tag: tagBook, summary: "Get one " + d.Singular() + " of the book", params: []openapi.Parameter{fieldsParam(d, fieldsOfBook[d])},
					data: record, metadata: getMetadata, codes: []fault.Code{fault.NotFound},
				}},
			Route{Method: "POST", Path: path + "/upsert", Operation: "upsert_" + one,
				Scope: write, Budget: Budget{placesRecords, rowsMatched, 64},
				endpoint: takes(upsert, s.upsertBook(d)).answering(s.bookAgain(d, false)),
				doc: operationDoc{
					tag: tagBook, summary: "Put " + article(d) + " into the book, or change what is said of it",
					examples: upsertExamples[d], data: record, codes: upsertCodes(d),
					links: schema.Map[openapi.Link]{linkByID("get_"+one, "id", "/data/id"), linkByID("delete_"+one, "id", "/data/id")},
				}},
			Route{Method: "POST", Path: path + "/upsert/batch", Operation: "upsert_" + many + "_batch",
				Scope: write, Budget: Budget{placesRecords, maxBatch * rowsMatched, 512},
				endpoint: takesBatch("inputs", upsert, s.upsertBookBatch(d)).answering(s.bookAgain(d, true)),
				doc: operationDoc{
					tag: tagBook, summary: "Put several " + string(d) + " into the book, or change what is said of them",
					data: resultsData(batchResults(book.IDKey(d), record, batchCodes(upsertCodes(d)...)...)),
				}},
			Route{Method: "DELETE", Path: path + "/:id", Operation: "delete_" + one,
				Scope: write, Budget: Budget{placesRecords, 0, 32},
				endpoint: noBody(s.deleteBook(d)),
				doc: operationDoc{
					tag: tagBook, summary: "Take " + article(d) + " out of the book",
					text: "What the workspace says of it is deleted; the global record stays. One that is not in the book is fine.",
					data: deletedSchema,
				}},
			Route{Method: "POST", Path: path + "/delete/batch", Operation: "delete_" + many + "_batch",
				Scope: write, Budget: Budget{placesRecords, 0, 64},
				endpoint: takesBatchWith("ids", rule.UUID[uuid.UUID](), deletionOptions(d), s.deleteBookBatch(d)),
				doc: operationDoc{
					tag: tagBook, summary: "Take several " + string(d) + " out of the book",
					data: resultsData(batchResults(book.IDKey(d), nil, batchCodes(fault.RevisionConflict)...)),
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

// upsertExamples show both ways of naming a record.
var upsertExamples = map[catalog.Dataset][]example{
	catalog.Accounts: {
		{"id", "By id", []byte(`{"account_id":"` + schema.SampleID + `","icp_tier":"tier_1","tags":["north","priority"]}`)},
		{"match", "By domain", []byte(`{"match":{"domain":"https://www.bow-valley-builders.example/"},"workspace_status":"in talks","notes":null}`)},
	},
	catalog.Contacts: {
		{"id", "By id", []byte(`{"contact_id":"` + schema.SampleID + `","notes":"Met at the fair."}`)},
		{"match", "By e-mail address", []byte(`{"match":{"email":"Ada@Example.com"},"workspace_status":"in talks"}`)},
	},
	catalog.Projects: {{"id", "By id", []byte(`{"project_id":"` + schema.SampleID + `","tags":[]}`)}},
}

// upsertCodes are the codes of a well-formed upsert that fails.
func upsertCodes(d catalog.Dataset) []fault.Code {
	if _, matchable := catalog.MatchField(d); !matchable {
		return []fault.Code{fault.NotFound, fault.RevisionConflict, fault.LimitReached}
	}
	return []fault.Code{fault.NotFound, fault.AmbiguousMatch, fault.RevisionConflict, fault.LimitReached}
}

func (s *Server) searchBook(c *call, q query.Query) (reply, error) {
	return s.search(c, s.bookSearch(c, q))
}

func (s *Server) bookSearch(c *call, q query.Query) searching {
	in := c.workspace()
	q.Base.Workspace = in.String()
	return searching{
		q, "search_workspace_" + string(q.Dataset), q.ReadsPrivate(),
		func(ctx context.Context, q query.Query) (query.Page, error) {
			return s.Records.SearchBook(ctx, in, q)
		}, recordsOf,
	}
}

func (s *Server) getBook(d catalog.Dataset) handler {
	return func(c *call) (reply, error) {
		fields, err := c.fields(fieldsOfBook[d])
		if err != nil {
			return reply{}, err
		}
		return c.meteredGet(func(ctx context.Context) (jsontext.Value, error) {
			row, err := s.Book.Get(ctx, c.workspace(), d, c.pathID("id"))
			if err == nil {
				row, err = fields.Select(row)
			}
			return row, s.orMerged(ctx, d, c.pathID("id").String(), err)
		})
	}
}

func (s *Server) upsertBook(d catalog.Dataset) func(c *call, in book.Input) (reply, error) {
	return func(c *call, in book.Input) (reply, error) {
		outcomes, err := s.Book.Upsert(c.Context(), c.workspace(), d, []book.Input{in})
		if err != nil {
			return reply{}, err
		}
		if outcomes[0].Err != nil {
			return reply{}, s.orMerged(c.Context(), d, outcomes[0].Record, outcomes[0].Err)
		}
		return free(outcomes[0].Row), c.keepBook([]map[string]any{{book.IDKey(d): outcomes[0].Record, "status": "ok"}})
	}
}

func (s *Server) upsertBookBatch(d catalog.Dataset) func(c *call, items []batchItem[book.Input]) (reply, error) {
	return func(c *call, items []batchItem[book.Input]) (reply, error) {
		results := make([]batchResult, len(items))
		for i, item := range items {
			results[i] = batchResult{id: item.in.Record, err: item.err}
		}
		if positions, inputs := validItems(items); len(inputs) > 0 {
			outcomes, err := s.Book.Upsert(c.Context(), c.workspace(), d, inputs)
			if err != nil {
				return reply{}, err
			}
			for j, i := range positions {
				results[i] = batchResult{id: outcomes[j].Record, err: outcomes[j].Err}
				if outcomes[j].Err == nil {
					results[i].data = outcomes[j].Row
				}
			}
		}
		if err := s.withMerges(c.Context(), d, results); err != nil {
			return reply{}, err
		}
		done, m, err := c.itemResults(book.IDKey(d), results)
		if err == nil {
			err = c.keepBook(done)
		}
		return reply{map[string]any{"results": done}, m}, err
	}
}

func (s *Server) deleteBook(d catalog.Dataset) handler {
	return func(c *call) (reply, error) {
		err := s.Book.Delete(c.Context(), c.workspace(), d, []uuid.UUID{c.pathID("id")})
		return free(deleted{true}), err
	}
}

// deletionOptions are what a batch of deletions expects of its records.
func deletionOptions(d catalog.Dataset) batchOptions[map[uuid.UUID]book.Expectation] {
	expected := book.DeletionsRule(d, maxBatch)
	return batchOptions[map[uuid.UUID]book.Expectation]{
		properties: []schema.Property{schema.Optional("expected", expected.Schema.Described(
			"Of some of the ids: the record is taken out only if it is in the book with these values. Otherwise it stays, and its item is "+
				"`revision_conflict` with what is there as `current`."))},
		read: func(issues *input.Issues, r *input.Reader, into *map[uuid.UUID]book.Expectation) {
			*into = expected.Member(issues, r, "expected", false)
		},
	}
}

func (s *Server) deleteBookBatch(
	d catalog.Dataset,
) func(c *call, items []batchItem[uuid.UUID], expected map[uuid.UUID]book.Expectation) (reply, error) {
	return func(c *call, items []batchItem[uuid.UUID], expected map[uuid.UUID]book.Expectation) (reply, error) {
		positions, records := validItems(items)
		deletions := book.Deletions(records...)
		for i, id := range records {
			if e, is := expected[id]; is {
				deletions[i].Expected = &e
			}
		}
		// Who mistypes an id would take out a record of which nothing is expected.
		var issues input.Issues
		for id := range expected {
			if !slices.Contains(records, id) {
				issues.Add(fault.Custom, []string{"expected", id.String()}, "is not one of the ids")
			}
		}
		if err := issues.Err(); err != nil {
			return reply{}, err
		}
		refused, err := s.Book.DeleteIf(c.Context(), c.workspace(), d, deletions)
		if err != nil {
			return reply{}, err
		}
		results := resultsOf(items)
		for i, err := range refused {
			results[positions[i]].err = err
		}
		return c.batchReply(book.IDKey(d), results)
	}
}

// keepBook keeps of the results of upserts which records they are of, and why others
// failed, not the records.
func (c *call) keepBook(results []map[string]any) (err error) {
	if !c.keeping() {
		return nil
	}
	kept := make([]map[string]any, len(results))
	for i, r := range results {
		kept[i] = map[string]any{}
		for name, value := range r {
			if name != "data" {
				kept[i][name] = value
			}
		}
	}
	c.kept, err = json.Marshal(kept)
	return err
}

// bookAgain answers a repetition of upserts with the rows as they are now.
func (s *Server) bookAgain(d catalog.Dataset, batch bool) func(c *call, kept []byte) (reply, error) {
	key := book.IDKey(d)
	return func(c *call, kept []byte) (reply, error) {
		var results []map[string]any
		if err := json.Unmarshal(kept, &results); err != nil {
			return reply{}, err
		}
		var ids []uuid.UUID
		for _, r := range results {
			if id, err := uuid.Parse(textOf(r[key])); err == nil && r["status"] == "ok" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		rows, err := s.Book.Rows(c.Context(), c.workspace(), d, ids)
		if err != nil {
			return reply{}, err
		}
		var m batchMetadata
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
					return reply{}, gone
				}
				r["status"], r["error"] = gone.Code, c.itemErrorOf(gone)
			}
			m.Failed++
		}
		if !batch {
			row, _ := results[0]["data"].(jsontext.Value)
			return free(row), nil
		}
		return reply{data: map[string]any{"results": results}, metadata: m}, nil
	}
}

func textOf(v any) string {
	text, _ := v.(string)
	return text
}
