package api

import (
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/views"
)

// Views is the Views of workspaces, their records, and the Favorites and alerts of users.
type Views struct {
	Views       *views.Views
	Memberships *views.Memberships
	Favorites   *views.Favorites
	Alerts      *alerts.Alerts
}

const tagViews = "Views"

type viewHandlers struct{ Views *views.Views }

func (s viewHandlers) routes() []endpoint.Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	upsertCodes := []fault.Code{
		fault.ViewNotFound, fault.ViewImmutableField, fault.InvalidViewDefinition, fault.RevisionConflict,
		fault.ViewNameConflict, fault.LimitReached,
	}
	return []endpoint.Route{
		{Method: "GET", Path: "/workspace/views", Operation: "list_views",
			Scope: read, WorkspaceRequired: true, Caller: endpoint.UsersForFavorites,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 128},
			Endpoint: endpoint.NoBody(s.listViews),
			Doc: endpoint.Doc{
				Tag: tagViews, Summary: "List Views, by name",
				Params: append(
					viewFilterParams(),
					endpoint.PageParams(
						defaultViews,
					)...), Data: endpoint.ListOf("views", viewSchema), Metadata: endpoint.ListMetadataSchema,
			}},
		{Method: "GET", Path: "/workspace/views/:id", Operation: "get_view",
			Scope: read, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.NoBody(s.getView),
			Doc: endpoint.Doc{
				Tag: tagViews, Summary: "Get one View",
				Data: viewDataSchema, Codes: []fault.Code{fault.ViewNotFound},
			}},
		{Method: "POST", Path: "/workspace/views/upsert", Operation: "upsert_view",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.Endpoint{Body: viewUpsert, Handle: s.upsertView},
			Doc: endpoint.Doc{
				Tag: tagViews, Summary: "Create or change a View",
				Text: "Without `id` it creates; with `id` it changes what is given.",
				Examples: []endpoint.Example{
					{
						Name:    "dynamic",
						Summary: "A Dynamic View",
						Body: []byte(
							`{"dataset":"project","view_type":"dynamic","name":"Towers in Calgary","definition":{"version":1,"q":"tower","fields":{"city":["Calgary"],"stories":{"min":"10"},"detected":{"after":"2026-01-31"}}}}`,
						),
					},
					{
						Name:    "static",
						Summary: "A Static View",
						Body:    []byte(`{"dataset":"account","view_type":"static","name":"To visit"}`),
					},
					{
						Name: "rename", Summary: "Another name, if nobody changed it meanwhile",
						Body: []byte(`{"id":"` + schema.SampleID + `","name":"To visit in spring","revision":1}`),
					},
				},
				Data: viewDataSchema, Codes: upsertCodes,
				Links: schema.Map[openapi.Link]{
					endpoint.LinkByID("get_view", "id", "/data/view/id"), endpoint.LinkByID("search_view_records", "id", "/data/view/id"),
					endpoint.LinkByID("delete_view", "id", "/data/view/id"),
					endpoint.LinkByBody("upsert_favorite_view", viewIDKey, "/data/view/id"),
				},
			}},
		{Method: "POST", Path: "/workspace/views/upsert/batch", Operation: "upsert_views_batch",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 512},
			Endpoint: endpoint.Endpoint{
				Body:   endpoint.BatchBody("inputs", viewUpsert),
				Item:   viewUpsert,
				Items:  "inputs",
				Handle: s.upsertViews,
			},
			Doc: endpoint.Doc{
				Tag: tagViews, Summary: "Create or change several Views",
				Data: endpoint.ResultsData(endpoint.BatchResults(viewIDKey, viewDataSchema, endpoint.BatchCodes(upsertCodes...)...)),
			}},
		{Method: "DELETE", Path: "/workspace/views/:id", Operation: "delete_view",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.deleteView),
			Doc: endpoint.Doc{
				Tag: tagViews, Summary: "Delete a View, for everybody",
				Text: "Its memberships and Favorites go with it.",
				Data: deletedSchema, Codes: []fault.Code{fault.ViewNotFound},
			}},
		{Method: "POST", Path: "/workspace/views/delete/batch", Operation: "delete_views_batch",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.TakesBatch("ids", rule.UUID[views.ID](), s.deleteViews),
			Doc: endpoint.Doc{
				Tag: tagViews, Summary: "Delete several Views",
				Data: endpoint.ResultsData(endpoint.BatchResults(viewIDKey, nil, endpoint.BatchCodes(fault.ViewNotFound)...)),
			}},
	}
}

// defaultViews is the default page size of Views and of Favorites.
const defaultViews = 25

// viewIDKey names a View in the results of a batch.
const viewIDKey = "view_id"

// maxNamePart is the maximum length of a text that names of Views are searched for,
// in characters.
const maxNamePart = 500

func (s viewHandlers) listViews(c *endpoint.Call) (endpoint.Reply, error) {
	var issues input.Issues
	f, err := viewFilter(c, &issues)
	if err != nil {
		return endpoint.Reply{}, err
	}
	m, err := c.Page(defaultViews)
	if err := endpoint.JoinIssues(issues, err); err != nil {
		return endpoint.Reply{}, err
	}
	f.Viewer, f.Limit, f.Offset = c.Principal.User, m.Limit, m.Offset
	views, err := s.Views.List(c.Context(), c.Workspace(), f)
	return endpoint.List("views", views, m), err
}

// viewFilterParams describe the query parameters that viewFilter reads.
func viewFilterParams() []openapi.Parameter {
	name := schema.Free(maxNamePart)
	name.MinLength = 1
	return []openapi.Parameter{
		{Name: "id", In: "query", Schema: schema.AnyUUID(), Description: "Only this one; an unknown id lists nothing."},
		{Name: "query", In: "query", Schema: name, Description: "A part of the name, case and accents apart.", Example: "tower"},
		{Name: "dataset", In: "query", Schema: views.DatasetRule.Schema},
		{Name: "view_type", In: "query", Schema: views.TypeRule.Schema},
		{Name: "record_id", In: "query", Schema: schema.AnyUUID(), Description: "Only Static Views that this record is in."},
		{Name: "favorite_only", In: "query", Schema: schema.Boolean(), Description: "Only the caller's Favorites."},
	}
}

// viewFilter reads the query parameters of a list of Views.
func viewFilter(c *endpoint.Call, issues *input.Issues) (f views.Filter, err error) {
	given := input.Value{Kind: input.Object}
	for _, name := range []string{"dataset", "view_type", "record_id", "favorite_only", "id"} {
		switch text, isGiven, e := c.Param(name); {
		case e != nil:
			err = e
			if name == "id" {
				return f, err
			}
		case isGiven:
			given.Members = append(given.Members, input.Member{Name: name, Value: input.Value{Kind: input.String, Text: text}})
		}
	}
	r := issues.Object(given)
	f.Dataset = views.DatasetRule.Member(issues, r, "dataset", false)
	f.Type = views.TypeRule.Member(issues, r, "view_type", false)
	f.Record = rule.Pointer(rule.UUID[uuid.UUID]()).Member(issues, r, "record_id", false)
	f.Favorites = rule.Enum("true", "false").Member(issues, r, "favorite_only", false) == "true"
	f.ID = rule.Pointer(rule.UUID[views.ID]()).Member(issues, r, "id", false)
	text, isGiven, e := c.Param("query")
	if e != nil {
		return f, e
	}
	if isGiven {
		switch n := utf8.RuneCountInString(text); {
		case n == 0:
			issues.Add(fault.TooSmall, []string{"query"}, "must have at least 1 character")
		case n > maxNamePart:
			issues.Add(fault.TooBig, []string{"query"}, "must have at most %d characters", maxNamePart)
		case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
			issues.Add(fault.InvalidFormat, []string{"query"}, "must be valid UTF-8 without NUL")
		}
		f.Name = text
	}
	return f, err
}

// viewData is the answer about one View.
type viewData struct {
	View views.View `json:"view"`
}

var viewDataSchema = schema.Named("ViewData", schema.Object(schema.Required("view", viewSchema)))

func (s viewHandlers) getView(c *endpoint.Call) (endpoint.Reply, error) {
	v, err := s.Views.Get(c.Context(), c.Workspace(), views.ID(c.PathID("id")), c.Principal.User)
	return endpoint.FreeReply(viewData{v}), err
}

func (s viewHandlers) upsertView(c *endpoint.Call) (endpoint.Reply, error) {
	body, err := c.Body()
	if err != nil {
		return endpoint.Reply{}, err
	}
	change, err := views.ParseChange(body)
	if err != nil {
		return endpoint.Reply{}, err
	}
	v, err := s.Views.Upsert(c.Context(), c.Workspace(), c.Principal.User, change)
	return endpoint.FreeReply(viewData{v}), err
}

func (s viewHandlers) upsertViews(c *endpoint.Call) (endpoint.Reply, error) {
	items, err := c.BatchItems("inputs", endpoint.MaxBatch, nil)
	if err != nil {
		return endpoint.Reply{}, err
	}
	results, changes := make([]endpoint.BatchResult, len(items)), make([]views.Change, len(items))
	for i, item := range items {
		results[i].ID, _ = input.ParseUUID(item.Value.Get("id").Text)
		if results[i].Err = item.Issues.Err(); results[i].Err == nil {
			changes[i], results[i].Err = views.ParseChange(endpoint.WithoutNulls(item.Value, c.Route.Item))
		}
	}
	err = c.OneByOne(results, func(i int) endpoint.BatchResult {
		v, err := s.Views.Upsert(c.Context(), c.Workspace(), c.Principal.User, changes[i])
		if err != nil {
			return endpoint.BatchResult{ID: results[i].ID, Err: err}
		}
		return endpoint.BatchResult{ID: v.ID.String(), Data: viewData{v}}
	})
	if err != nil {
		return endpoint.Reply{}, err
	}
	return c.BatchReply(viewIDKey, results)
}

func (s viewHandlers) deleteView(c *endpoint.Call) (endpoint.Reply, error) {
	err := s.Views.Delete(c.Context(), c.Workspace(), views.ID(c.PathID("id")))
	return endpoint.FreeReply(deleted{true}), err
}

func (s viewHandlers) deleteViews(c *endpoint.Call, items []endpoint.BatchItem[views.ID]) (endpoint.Reply, error) {
	results := endpoint.ResultsOf(items)
	err := c.OneByOne(results, func(i int) endpoint.BatchResult {
		return endpoint.BatchResult{ID: results[i].ID, Err: s.Views.Delete(c.Context(), c.Workspace(), items[i].In)}
	})
	if err != nil {
		return endpoint.Reply{}, err
	}
	return c.BatchReply(viewIDKey, results)
}
