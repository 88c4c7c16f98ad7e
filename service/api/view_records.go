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
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/views"
)

// viewBodies is a search request of a View whose dataset is not known yet.
var viewBodies = func() *schema.Schema {
	var bodies []*schema.Schema
	for _, d := range catalog.Held {
		bodies = append(bodies, query.SearchRule(d, catalog.View).Schema)
	}
	return schema.Named("ViewRecordsSearchRequest", schema.AnyOfObjects(bodies...).Described("A search request of the View's dataset."))
}()

type viewRecordHandlers struct {
	searches
	Views Views
}

func (s viewRecordHandlers) routes() []endpoint.Route {
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
	return []endpoint.Route{
		{Method: "POST", Path: "/workspace/views/:id/records/add", Operation: "add_view_record",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 1, Heap: 32},
			Endpoint: endpoint.Takes(recordToAdd, s.addViewRecord),
			Doc: endpoint.Doc{
				Tag: tagViews, Summary: "Put a record into a Static View",
				Text: "Answers 200 with its one result, also when the record is refused. " + visible + " Asking to add a contact does not make it visible.",
				Data: membersDataSchema(ofAdded...), Metadata: endpoint.BatchMetadataSchema, Codes: ofStatic,
			}},
		{Method: "POST", Path: "/workspace/views/:id/records/add/batch", Operation: "add_view_records_batch",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: endpoint.MaxBatch, Heap: 512},
			Endpoint: endpoint.TakesBatch("inputs", recordToAdd, s.addViewRecords),
			Doc: endpoint.Doc{
				Tag: tagViews, Summary: "Put several records into a Static View", Text: visible,
				Data: membersDataSchema(endpoint.BatchCodes(ofAdded...)...), Codes: ofStatic,
			}},
		{Method: "DELETE", Path: "/workspace/views/:id/records/:recordId", Operation: "remove_view_record",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.removeViewRecord),
			Doc: endpoint.Doc{
				Tag: tagViews, Summary: "Take a record out of a Static View",
				Text: "One that is not in it is fine.",
				Data: membersDataSchema(), Metadata: endpoint.BatchMetadataSchema, Codes: ofStatic,
			}},
		{Method: "POST", Path: "/workspace/views/:id/records/delete/batch", Operation: "remove_view_records_batch",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.TakesBatch("ids", rule.UUID[uuid.UUID](), s.removeViewRecords),
			Doc: endpoint.Doc{
				Tag: tagViews, Summary: "Take several records out of a Static View",
				Data: membersDataSchema(endpoint.BatchCodes()...), Codes: ofStatic,
			}},
		{Method: "POST", Path: "/workspace/views/:id/records/search", Operation: "search_view_records",
			Scope: read, Throttling: endpoint.Metered, Budget: endpoint.Budget{Places: endpoint.PlacesSearch, Rows: rowsMerged, Heap: 512},
			Endpoint: endpoint.Endpoint{Body: viewBodies, BodyOptional: true, Handle: s.searchViewRecords},
			Doc: endpoint.Doc{
				Tag: tagViews, Summary: "Search the records of a View",
				Text:    "The request is one of the View's dataset; its conditions narrow the View for this call. One on a value of the book restricts the result to the book. The presentation's sorting is not used. " + visible,
				Depends: "the View's dataset",
				Examples: []endpoint.Example{
					{Name: "all", Summary: "All records", Body: []byte(`{}`)},
					{
						Name:    "accounts",
						Summary: "Of a View of accounts, those of a tier",
						Body:    []byte(`{"filters":{"icp_tier":{"value":"tier_1"}},"sort":{"field":"created_at","order":"desc"}}`),
					},
					{
						Name:    "projects",
						Summary: "Of a View of projects, the large ones",
						Body:    []byte(`{"filters":{"sqft":{"value":[10000,null]}},"limit":100}`),
					},
				},
				Data:     schema.Named("ViewRecords", schema.OneOfObjects("dataset", answers...)),
				Metadata: endpoint.PageMetadataSchema, DryRun: dryRunAnswer, Codes: []fault.Code{fault.ViewNotFound},
			}},
	}
}

// membersData is the answer of a change of a View's records.
type membersData struct {
	ViewID  views.ID         `json:"view_id"`
	Results []map[string]any `json:"results"`
}

func membersDataSchema(codes ...fault.Code) *schema.Schema {
	return schema.Object(
		schema.Required("view_id", schema.UUID()),
		schema.Required("results", endpoint.BatchResults(recordIDKey, nil, codes...)),
	)
}

// recordIDKey names a record in the results of a change.
const recordIDKey = "record_id"

// membersReply is BatchReply with the View's id. A change of one record answers like a batch
// of one.
func membersReply(c *endpoint.Call, results []endpoint.BatchResult) (endpoint.Reply, error) {
	items, m, err := c.ItemResults(recordIDKey, results)
	return endpoint.Reply{Data: membersData{views.ID(c.PathID("id")), items}, Metadata: m}, err
}

var recordToAdd = rule.Only(recordIDKey, rule.Pointer(rule.UUID[uuid.UUID]())).Named("ViewRecordToAdd")

func (s viewRecordHandlers) addViewRecord(c *endpoint.Call, record *uuid.UUID) (endpoint.Reply, error) {
	return s.addViewRecords(c, []endpoint.BatchItem[*uuid.UUID]{{In: record}})
}

func (s viewRecordHandlers) addViewRecords(c *endpoint.Call, items []endpoint.BatchItem[*uuid.UUID]) (endpoint.Reply, error) {
	results := make([]endpoint.BatchResult, len(items))
	for i, item := range items {
		results[i].Err = item.Err
		if item.In != nil {
			results[i].ID = item.In.String()
		}
	}
	positions, records := endpoint.ValidItems(items)
	ids := make([]uuid.UUID, len(records))
	for i, record := range records {
		ids[i] = *record
	}
	outcomes, err := s.Views.Memberships.Add(c.Context(), c.Workspace(), views.ID(c.PathID("id")), ids)
	if err != nil {
		return endpoint.Reply{}, err
	}
	for i, outcome := range outcomes {
		results[positions[i]].Err = outcome
	}
	return membersReply(c, results)
}

func (s viewRecordHandlers) removeViewRecord(c *endpoint.Call) (endpoint.Reply, error) {
	return s.removeViewRecords(c, []endpoint.BatchItem[uuid.UUID]{{In: c.PathID("recordId")}})
}

func (s viewRecordHandlers) removeViewRecords(c *endpoint.Call, items []endpoint.BatchItem[uuid.UUID]) (endpoint.Reply, error) {
	_, ids := endpoint.ValidItems(items)
	if err := s.Views.Memberships.Remove(c.Context(), c.Workspace(), views.ID(c.PathID("id")), ids); err != nil {
		return endpoint.Reply{}, err
	}
	return membersReply(c, endpoint.ResultsOf(items))
}

// rowsData is the answer of a View-record search.
type rowsData struct {
	Dataset string           `json:"dataset"`
	Records []jsontext.Value `json:"records"`
}

func (s viewRecordHandlers) searchViewRecords(c *endpoint.Call) (endpoint.Reply, error) {
	body, err := c.Body()
	if err != nil {
		return endpoint.Reply{}, endpoint.JoinIssues(c.PathIssues, err)
	}
	if len(c.PathIssues) > 0 {
		return endpoint.Reply{}, endpoint.JoinIssues(c.PathIssues, ofAnyDataset(searchOfView(body)))
	}
	search, _, err := s.viewSearch(c, views.ID(c.PathID("id")), nil, func(d catalog.Dataset) (query.Query, error) {
		return query.Parse(body, d, query.Base{Kind: catalog.View})
	}, body)
	if err != nil {
		return endpoint.Reply{}, err
	}
	return s.search(c, search)
}

// viewSearch is a search of a View, whose body parse parses. found caches Views that were
// read, unless it is nil.
func (s viewRecordHandlers) viewSearch(
	c *endpoint.Call, id views.ID, found map[views.ID]views.View, parse func(catalog.Dataset) (query.Query, error),
	body input.Value,
) (searching, views.View, error) {
	base := query.Base{Kind: catalog.View, Workspace: c.Workspace().String(), View: id.String()}
	if err := s.checkCursor(body, base); err != nil {
		return searching{}, views.View{}, err
	}
	v, known := found[id]
	if !known {
		var err error
		if v, err = s.Views.toSearch(c, id, func(d catalog.Dataset) error { _, err := parse(d); return err }); err != nil {
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

// rowsOf returns the rows of a page, an empty array for none.
func rowsOf(p query.Page) []jsontext.Value {
	if p.Rows == nil {
		return []jsontext.Value{}
	}
	return p.Rows
}

// checkCursor refuses a cursor that no search of a View could have returned, whatever the
// View's dataset is.
func (s viewRecordHandlers) checkCursor(body input.Value, base query.Base) (refused error) {
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

// toSearch returns a View. If there is none, issues of the body that any View has come
// first; parse parses the body.
func (s Views) toSearch(c *endpoint.Call, id views.ID, parse func(catalog.Dataset) error) (views.View, error) {
	v, err := s.Views.ToSearch(c.Context(), c.Workspace(), id)
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

// ofAnyDataset returns the issues that a body has for every dataset of its View, nil for
// none. parse parses the body.
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
