package api

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/views"
)

// RecordSearcher searches books and Views, and counts their records. *records.Records implements it.
type RecordSearcher interface {
	SearchBook(ctx context.Context, in workspace.ID, request query.Query) (query.Page, error)
	SearchView(ctx context.Context, v views.View, request query.Query) (query.Page, error)
	// Merged reports whether a search of a View merges two.
	Merged(v views.View, request query.Query) bool
	FacetBook(ctx context.Context, in workspace.ID, request query.FacetRequest) (query.Facets, error)
	FacetView(ctx context.Context, v views.View, request query.FacetRequest) (query.Facets, error)
	PivotBook(ctx context.Context, in workspace.ID, request query.PivotRequest) (query.Pivot, error)
	PivotView(ctx context.Context, v views.View, request query.PivotRequest) (query.Pivot, error)
}

// viewBodies is a search request of a View, whose dataset is not known yet.
var viewBodies = func() *schema.Schema {
	var bodies []*schema.Schema
	for _, d := range catalog.Held {
		bodies = append(bodies, query.SearchRule(d, catalog.View).Schema)
	}
	return schema.Named("ViewRecordsSearchRequest", schema.AnyOfObjects(bodies...).Described("A search request of the View's dataset."))
}()

func (s *Server) viewRecordRoutes() []Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	const visible = "Visible are all accounts and projects, and those contacts that a project names, that are in the book, or that are in a Static View of the workspace."
	ofStatic := []fault.Code{fault.ViewNotFound, fault.ViewTypeMismatch}
	ofAdded := []fault.Code{fault.RecordNotFound, fault.RecordNotVisible, fault.ViewFull}
	var answers []*schema.Schema
	for _, d := range catalog.Held {
		answers = append(answers, schema.Named("View"+d.Title()+"Records", schema.Object(
			schema.Required("dataset", schema.Const(d.Singular())),
			schema.Required("records", schema.Array(viewRow(d), 0, query.MaxLimit)),
		)))
	}
	return []Route{
		{Method: "POST", Path: "/workspace/views/:id/records/add", Operation: "add_view_record",
			Scope: write, Budget: Budget{placesRecords, 1, 32},
			endpoint: takes(recordToAdd, s.addViewRecord),
			doc: operationDoc{
				tag: tagViews, summary: "Put a record into a Static View",
				text: "Answers 200 with its one result, also when the record is refused. " + visible + " Asking to add a contact does not make it visible.",
				data: membersDataSchema(ofAdded...), metadata: batchMetadataSchema, codes: ofStatic,
			}},
		{Method: "POST", Path: "/workspace/views/:id/records/add/batch", Operation: "add_view_records_batch",
			Scope: write, Budget: Budget{placesRecords, maxBatch, 512},
			endpoint: takesBatch("inputs", recordToAdd, s.addViewRecords),
			doc: operationDoc{
				tag: tagViews, summary: "Put several records into a Static View", text: visible,
				data: membersDataSchema(batchCodes(ofAdded...)...), codes: ofStatic,
			}},
		{Method: "DELETE", Path: "/workspace/views/:id/records/:recordId", Operation: "remove_view_record",
			Scope: write, Budget: Budget{placesRecords, 0, 32},
			endpoint: noBody(s.removeViewRecord),
			doc: operationDoc{
				tag: tagViews, summary: "Take a record out of a Static View",
				text: "One that is not in it is fine.",
				data: membersDataSchema(), metadata: batchMetadataSchema, codes: ofStatic,
			}},
		{Method: "POST", Path: "/workspace/views/:id/records/delete/batch", Operation: "remove_view_records_batch",
			Scope: write, Budget: Budget{placesRecords, 0, 64},
			endpoint: takesBatch("ids", rule.UUID[uuid.UUID](), s.removeViewRecords),
			doc: operationDoc{
				tag: tagViews, summary: "Take several records out of a Static View",
				data: membersDataSchema(batchCodes()...), codes: ofStatic,
			}},
		{Method: "POST", Path: "/workspace/views/:id/records/search", Operation: "search_view_records",
			Scope: read, Throttling: Metered, Budget: Budget{placesSearch, rowsMerged, 512},
			endpoint: endpoint{body: viewBodies, bodyOptional: true, handle: s.searchViewRecords},
			doc: operationDoc{
				tag: tagViews, summary: "Search the records of a View",
				text:    "The request is one of the View's dataset; its conditions narrow the View for this call. One on a value of the book restricts the result to the book. The presentation's sorting is not used. " + visible,
				depends: "the View's dataset",
				examples: []example{
					{"all", "All records", []byte(`{}`)},
					{"accounts", "Of a View of accounts, those of a tier", []byte(`{"filters":{"icp_tier":{"value":"tier_1"}},"sort":{"field":"created_at","order":"desc"}}`)},
					{"projects", "Of a View of projects, the large ones", []byte(`{"filters":{"sqft":{"value":[10000,null]}},"limit":100}`)},
				},
				data:     schema.Named("ViewRecords", schema.OneOfObjects("dataset", answers...)),
				metadata: pageMetadataSchema, dryRun: dryRunAnswer, codes: []fault.Code{fault.ViewNotFound},
			}},
	}
}

// membersData is the answer of a change of a View's records.
type membersData struct {
	ViewID  views.ID         `json:"view_id"`
	Results []map[string]any `json:"results"`
}

func membersDataSchema(codes ...fault.Code) *schema.Schema {
	return schema.Object(schema.Required("view_id", schema.UUID()), schema.Required("results", batchResults(recordIDKey, nil, codes...)))
}

// recordIDKey names a record in the results of a change.
const recordIDKey = "record_id"

// membersReply is batchReply with the View's id. A change of one record answers
// as a batch of one.
func (c *call) membersReply(results []batchResult) (reply, error) {
	items, m, err := c.itemResults(recordIDKey, results)
	return reply{membersData{views.ID(c.pathID("id")), items}, m}, err
}

var recordToAdd = rule.Only(recordIDKey, rule.Pointer(rule.UUID[uuid.UUID]())).Named("ViewRecordToAdd")

func (s *Server) addViewRecord(c *call, record *uuid.UUID) (reply, error) {
	return s.addViewRecords(c, []batchItem[*uuid.UUID]{{in: record}})
}

func (s *Server) addViewRecords(c *call, items []batchItem[*uuid.UUID]) (reply, error) {
	results := make([]batchResult, len(items))
	for i, item := range items {
		results[i].err = item.err
		if item.in != nil {
			results[i].id = item.in.String()
		}
	}
	positions, records := validItems(items)
	ids := make([]uuid.UUID, len(records))
	for i, record := range records {
		ids[i] = *record
	}
	outcomes, err := s.Views.Memberships.Add(c.Context(), c.workspace(), views.ID(c.pathID("id")), ids)
	if err != nil {
		return reply{}, err
	}
	for i, outcome := range outcomes {
		results[positions[i]].err = outcome
	}
	return c.membersReply(results)
}

func (s *Server) removeViewRecord(c *call) (reply, error) {
	return s.removeViewRecords(c, []batchItem[uuid.UUID]{{in: c.pathID("recordId")}})
}

func (s *Server) removeViewRecords(c *call, items []batchItem[uuid.UUID]) (reply, error) {
	_, ids := validItems(items)
	if err := s.Views.Memberships.Remove(c.Context(), c.workspace(), views.ID(c.pathID("id")), ids); err != nil {
		return reply{}, err
	}
	return c.membersReply(resultsOf(items))
}

// rowsData is the answer of a View-record search.
type rowsData struct {
	Dataset string           `json:"dataset"`
	Records []jsontext.Value `json:"records"`
}

func (s *Server) searchViewRecords(c *call) (reply, error) {
	body, err := c.body()
	if err != nil {
		return reply{}, joinIssues(c.pathIssues, err)
	}
	if len(c.pathIssues) > 0 {
		return reply{}, joinIssues(c.pathIssues, ofAnyDataset(searchOfView(body)))
	}
	search, _, err := s.viewSearch(c, views.ID(c.pathID("id")), nil, func(d catalog.Dataset) (query.Query, error) {
		return query.Parse(body, d, query.Base{Kind: catalog.View})
	}, body)
	if err != nil {
		return reply{}, err
	}
	return s.search(c, search)
}

// viewSearch is a search of a View, whose body parse parses. found has Views that were read
// before, and gets this one, if it is not nil.
func (s *Server) viewSearch(
	c *call, id views.ID, found map[views.ID]views.View, parse func(catalog.Dataset) (query.Query, error),
	body input.Value,
) (searching, views.View, error) {
	base := query.Base{Kind: catalog.View, Workspace: c.workspace().String(), View: id.String()}
	if err := s.checkCursor(body, base); err != nil {
		return searching{}, views.View{}, err
	}
	v, known := found[id]
	if !known {
		var err error
		if v, err = s.viewToSearch(c, id, func(d catalog.Dataset) error { _, err := parse(d); return err }); err != nil {
			return searching{}, v, err
		}
		if found != nil {
			found[id] = v
		}
	}
	q, err := parse(v.Dataset)
	if err != nil {
		return searching{}, v, err
	}
	q.Base = base
	reads := q.ReadsPrivate() || query.HasAddress(v.Definition.Q) && catalog.HasPrivate(v.Dataset)
	return searching{
		q, "search_view_records", reads,
		func(ctx context.Context, q query.Query) (query.Page, error) { return s.Records.SearchView(ctx, v, q) },
		func(p query.Page) any { return rowsData{v.Dataset.Singular(), rowsOf(p)} },
	}, v, nil
}

// rowsOf are the rows of a page, none as an empty array.
func rowsOf(p query.Page) []jsontext.Value {
	if p.Rows == nil {
		return []jsontext.Value{}
	}
	return p.Rows
}

// checkCursor refuses a cursor that no search of the View can have returned,
// whatever the View's dataset is.
func (s *Server) checkCursor(body input.Value, base query.Base) (refused error) {
	if body.Get("search_after").Kind != input.String {
		return nil
	}
	for _, d := range catalog.Held {
		q, err := query.Parse(body, d, base)
		if err != nil {
			continue
		}
		if refused = s.Search.CheckCursor(q); refused == nil {
			return nil
		}
	}
	return refused
}

// viewToSearch returns a View. If there is none, the issues that the body
// has for every View come first; parse parses the body.
func (s *Server) viewToSearch(c *call, id views.ID, parse func(catalog.Dataset) error) (views.View, error) {
	v, err := s.Views.Views.ToSearch(c.Context(), c.workspace(), id)
	if fault.CodeOf(err) == fault.ViewNotFound {
		err = cmp.Or(ofAnyDataset(parse), err)
	}
	return v, err
}

// searchOfView parses the body of a View search for a dataset of the View.
func searchOfView(body input.Value) func(catalog.Dataset) error {
	return func(d catalog.Dataset) error {
		_, err := query.Parse(body, d, query.Base{Kind: catalog.View})
		return err
	}
}

// ofAnyDataset returns what is wrong with a body for every dataset of its View, nil if
// nothing is. parse parses the body.
func ofAnyDataset(parse func(catalog.Dataset) error) error {
	var common []fault.Issue
	for i, d := range catalog.Held {
		e, invalid := errors.AsType[*fault.Error](parse(d))
		if !invalid {
			return nil
		}
		if i == 0 {
			common = e.Issues
			continue
		}
		common = slices.DeleteFunc(common, func(a fault.Issue) bool {
			return !slices.ContainsFunc(e.Issues, func(b fault.Issue) bool {
				return a.Code == b.Code && slices.Equal(a.Path, b.Path) && slices.Equal(a.Keys, b.Keys)
			})
		})
	}
	if len(common) == 0 {
		return nil
	}
	return fault.Validation(common...)
}
