package api

import (
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/api/openapi"
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

func (s *Server) viewRoutes() []Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	upsertCodes := []fault.Code{
		fault.ViewNotFound, fault.ViewImmutableField, fault.InvalidViewDefinition, fault.RevisionConflict,
		fault.ViewNameConflict, fault.LimitReached,
	}
	return []Route{
		{Method: "GET", Path: "/workspace/views", Operation: "list_views",
			Scope: read, WorkspaceRequired: true, Caller: UsersForFavorites, Budget: Budget{placesRecords, 0, 128},
			endpoint: noBody(s.listViews),
			doc: operationDoc{
				tag: tagViews, summary: "List Views, by name",
				params: append(viewFilterParams(), pageParams(defaultViews)...), data: listOf("views", viewSchema), metadata: listMetadataSchema,
			}},
		{Method: "GET", Path: "/workspace/views/:id", Operation: "get_view",
			Scope: read, Budget: Budget{placesRecords, 0, 64},
			endpoint: noBody(s.getView),
			doc: operationDoc{
				tag: tagViews, summary: "Get one View",
				data: viewDataSchema, codes: []fault.Code{fault.ViewNotFound},
			}},
		{Method: "POST", Path: "/workspace/views/upsert", Operation: "upsert_view",
			Scope: write, Budget: Budget{placesRecords, 0, 64},
			endpoint: endpoint{body: viewUpsert, handle: s.upsertView},
			doc: operationDoc{
				tag: tagViews, summary: "Create or change a View",
				text: "Without `id` it creates; with `id` it changes what is given.",
				examples: []example{
					{"dynamic", "A Dynamic View", []byte(`{"dataset":"project","view_type":"dynamic","name":"Towers in Calgary","definition":{"version":1,"q":"tower","fields":{"city":["Calgary"],"stories":{"min":"10"},"detected":{"after":"2026-01-31"}}}}`)},
					{"static", "A Static View", []byte(`{"dataset":"account","view_type":"static","name":"To visit"}`)},
					{
						"rename", "Another name, if nobody changed it meanwhile",
						[]byte(`{"id":"` + schema.SampleID + `","name":"To visit in spring","revision":1}`),
					},
				},
				data: viewDataSchema, codes: upsertCodes,
				links: schema.Map[openapi.Link]{
					linkByID("get_view", "id", "/data/view/id"), linkByID("search_view_records", "id", "/data/view/id"),
					linkByID("delete_view", "id", "/data/view/id"),
					linkByBody("upsert_favorite_view", viewIDKey, "/data/view/id"),
				},
			}},
		{Method: "POST", Path: "/workspace/views/upsert/batch", Operation: "upsert_views_batch",
			Scope: write, Budget: Budget{placesRecords, 0, 512},
			endpoint: endpoint{body: batchBody("inputs", viewUpsert), item: viewUpsert, items: "inputs", handle: s.upsertViews},
			doc: operationDoc{
				tag: tagViews, summary: "Create or change several Views",
				data: resultsData(batchResults(viewIDKey, viewDataSchema, batchCodes(upsertCodes...)...)),
			}},
		{Method: "DELETE", Path: "/workspace/views/:id", Operation: "delete_view",
			Scope: write, Budget: Budget{placesRecords, 0, 32},
			endpoint: noBody(s.deleteView),
			doc: operationDoc{
				tag: tagViews, summary: "Delete a View, for everybody",
				text: "Its memberships and Favorites go with it.",
				data: deletedSchema, codes: []fault.Code{fault.ViewNotFound},
			}},
		{Method: "POST", Path: "/workspace/views/delete/batch", Operation: "delete_views_batch",
			Scope: write, Budget: Budget{placesRecords, 0, 64},
			endpoint: takesBatch("ids", rule.UUID[views.ID](), s.deleteViews),
			doc: operationDoc{
				tag: tagViews, summary: "Delete several Views",
				data: resultsData(batchResults(viewIDKey, nil, batchCodes(fault.ViewNotFound)...)),
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

func (s *Server) listViews(c *call) (reply, error) {
	var issues input.Issues
	f, err := c.viewFilter(&issues)
	if err != nil {
		return reply{}, err
	}
	m, err := c.page(defaultViews)
	if err := joinIssues(issues, err); err != nil {
		return reply{}, err
	}
	f.Viewer, f.Limit, f.Offset = c.principal.User, m.Limit, m.Offset
	views, err := s.Views.Views.List(c.Context(), c.workspace(), f)
	return list("views", views, m), err
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
func (c *call) viewFilter(issues *input.Issues) (f views.Filter, err error) {
	given := input.Value{Kind: input.Object}
	for _, name := range []string{"dataset", "view_type", "record_id", "favorite_only", "id"} {
		switch text, isGiven, e := c.param(name); {
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
	text, isGiven, e := c.param("query")
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

func (s *Server) getView(c *call) (reply, error) {
	v, err := s.Views.Views.Get(c.Context(), c.workspace(), views.ID(c.pathID("id")), c.principal.User)
	return free(viewData{v}), err
}

func (s *Server) upsertView(c *call) (reply, error) {
	body, err := c.body()
	if err != nil {
		return reply{}, err
	}
	change, err := views.ParseChange(body)
	if err != nil {
		return reply{}, err
	}
	v, err := s.Views.Views.Upsert(c.Context(), c.workspace(), c.principal.User, change)
	return free(viewData{v}), err
}

func (s *Server) upsertViews(c *call) (reply, error) {
	items, err := c.batchItems("inputs", maxBatch, nil)
	if err != nil {
		return reply{}, err
	}
	results, changes := make([]batchResult, len(items)), make([]views.Change, len(items))
	for i, item := range items {
		results[i].id, _ = input.ParseUUID(item.value.Get("id").Text)
		if results[i].err = item.issues.Err(); results[i].err == nil {
			changes[i], results[i].err = views.ParseChange(withoutNulls(item.value, c.route.item))
		}
	}
	err = c.oneByOne(results, func(i int) batchResult {
		v, err := s.Views.Views.Upsert(c.Context(), c.workspace(), c.principal.User, changes[i])
		if err != nil {
			return batchResult{id: results[i].id, err: err}
		}
		return batchResult{id: v.ID.String(), data: viewData{v}}
	})
	if err != nil {
		return reply{}, err
	}
	return c.batchReply(viewIDKey, results)
}

func (s *Server) deleteView(c *call) (reply, error) {
	err := s.Views.Views.Delete(c.Context(), c.workspace(), views.ID(c.pathID("id")))
	return free(deleted{true}), err
}

func (s *Server) deleteViews(c *call, items []batchItem[views.ID]) (reply, error) {
	results := resultsOf(items)
	err := c.oneByOne(results, func(i int) batchResult {
		return batchResult{id: results[i].id, err: s.Views.Views.Delete(c.Context(), c.workspace(), items[i].in)}
	})
	if err != nil {
		return reply{}, err
	}
	return c.batchReply(viewIDKey, results)
}
