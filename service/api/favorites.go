package api

import (
	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/views"
)

const tagFavorites = "Favorites"

type favoriteHandlers struct{ Favorites *views.Favorites }

func (s favoriteHandlers) routes() []endpoint.Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []endpoint.Route{
		{Method: "GET", Path: "/workspace/favorite-views", Operation: "list_favorite_views",
			Scope: read, WorkspaceRequired: true, Caller: endpoint.Users,
			Budget:   endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 128},
			Endpoint: endpoint.Lists("views", defaultViews, s.listFavorites),
			Doc: endpoint.Doc{
				Tag: tagFavorites, Summary: "List one's Favorites, in their order",
				Params: endpoint.PageParams(
					defaultViews,
				), Data: endpoint.ListOf("views", viewSchema), Metadata: endpoint.ListMetadataSchema,
			}},
		{Method: "POST", Path: "/workspace/favorite-views/upsert", Operation: "upsert_favorite_view",
			Scope: write, Caller: endpoint.Users, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.Takes(favoriteChange, s.upsertFavorite),
			Doc: endpoint.Doc{
				Tag: tagFavorites, Summary: "Make a View a Favorite, or move it",
				Examples: []endpoint.Example{
					{Name: "first", Summary: "At the first place", Body: []byte(`{"view_id":"` + schema.SampleID + `","position":0}`)},
					{Name: "append", Summary: "Where it is, or at the end", Body: []byte(`{"view_id":"` + schema.SampleID + `"}`)},
				},
				Data: viewDataSchema, Codes: []fault.Code{fault.ViewNotFound},
				Links: schema.Map[openapi.Link]{endpoint.LinkByID("delete_favorite_view", "viewId", "/data/view/id")},
			}},
		{Method: "POST", Path: "/workspace/favorite-views/upsert/batch", Operation: "upsert_favorite_views_batch",
			Scope: write, Caller: endpoint.Users, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 128},
			Endpoint: endpoint.TakesBatch("inputs", favoriteChange, s.upsertFavorites),
			Doc: endpoint.Doc{
				Tag: tagFavorites, Summary: "Reorder Favorites",
				Text: "Of several inputs for one View the last valid one counts; those with positions are placed together, lowest first.",
				Data: endpoint.ResultsData(endpoint.BatchResults(viewIDKey, viewDataSchema, endpoint.BatchCodes(fault.ViewNotFound)...)),
			}},
		{Method: "DELETE", Path: "/workspace/favorite-views/:viewId", Operation: "delete_favorite_view",
			Scope: write, Caller: endpoint.Users, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.deleteFavorite),
			Doc: endpoint.Doc{
				Tag: tagFavorites, Summary: "Make a View no Favorite",
				Text: "Also fine when it was none. The View itself stays.", Data: deletedSchema,
			}},
		{Method: "POST", Path: "/workspace/favorite-views/delete/batch", Operation: "delete_favorite_views_batch",
			Scope: write, Caller: endpoint.Users, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.TakesBatch("ids", rule.UUID[views.ID](), s.deleteFavorites),
			Doc: endpoint.Doc{
				Tag: tagFavorites, Summary: "Make several Views no Favorites",
				Data: endpoint.ResultsData(endpoint.BatchResults(viewIDKey, nil, endpoint.BatchCodes()...)),
			}},
	}
}

func (s favoriteHandlers) listFavorites(c *endpoint.Call, m endpoint.ListMetadata) ([]views.View, error) {
	return s.Favorites.List(c.Context(), c.Workspace(), c.Principal.User, m.Limit, m.Offset)
}

// maxPosition is the largest integer that every client can represent. A position
// past the end means the end.
const maxPosition = 1<<53 - 1

var favoriteChange = rule.Object(
	rule.Required(viewIDKey, rule.UUID[views.ID](), func(c *views.FavoriteChange) *views.ID { return &c.View }),
	rule.Optional(
		"position",
		rule.Pointer(rule.Integer(0, maxPosition)).Described("Inserts there; past the end is the end. Left out: kept, or appended."),
		func(c *views.FavoriteChange) **int { return &c.Position },
	),
).Named("FavoriteViewUpsert")

func (s favoriteHandlers) upsertFavorite(c *endpoint.Call, change views.FavoriteChange) (endpoint.Reply, error) {
	v, err := s.Favorites.Upsert(c.Context(), c.Workspace(), c.Principal.User, change)
	return endpoint.FreeReply(viewData{v}), err
}

func (s favoriteHandlers) upsertFavorites(c *endpoint.Call, items []endpoint.BatchItem[views.FavoriteChange]) (endpoint.Reply, error) {
	results := make([]endpoint.BatchResult, len(items))
	for i, item := range items {
		results[i].Err = item.Err
		if item.In.View != (views.ID{}) {
			results[i].ID = item.In.View.String()
		}
	}
	positions, changes := endpoint.ValidItems(items)
	if len(changes) > 0 {
		views, err := s.Favorites.UpsertAll(c.Context(), c.Workspace(), c.Principal.User, changes)
		if err != nil {
			return endpoint.Reply{}, err
		}
		for i, v := range views {
			if v == nil {
				results[positions[i]].Err = fault.New(fault.ViewNotFound, "the workspace has no View with this id")
				continue
			}
			results[positions[i]].Data = viewData{*v}
		}
	}
	return c.BatchReply(viewIDKey, results)
}

func (s favoriteHandlers) deleteFavorite(c *endpoint.Call) (endpoint.Reply, error) {
	err := s.Favorites.Delete(c.Context(), c.Workspace(), c.Principal.User, views.ID(c.PathID("viewId")))
	return endpoint.FreeReply(deleted{true}), err
}

func (s favoriteHandlers) deleteFavorites(c *endpoint.Call, items []endpoint.BatchItem[views.ID]) (endpoint.Reply, error) {
	if _, views := endpoint.ValidItems(items); len(views) > 0 {
		if err := s.Favorites.Delete(c.Context(), c.Workspace(), c.Principal.User, views...); err != nil {
			return endpoint.Reply{}, err
		}
	}
	return c.BatchReply(viewIDKey, endpoint.ResultsOf(items))
}
