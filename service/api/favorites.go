package api

import (
	"atlas/internal/fault"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/api/openapi"
	"atlas/workspace"
	"atlas/workspace/views"
)

const tagFavorites = "Favorites"

func (s *Server) favoriteRoutes() []Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []Route{
		{Method: "GET", Path: "/workspace/favorite-views", Operation: "list_favorite_views",
			Scope: read, WorkspaceRequired: true, Caller: Users, Budget: Budget{placesRecords, 0, 128},
			endpoint: lists("views", defaultViews, s.listFavorites),
			doc: operationDoc{
				tag: tagFavorites, summary: "List one's Favorites, in their order",
				params: pageParams(defaultViews), data: listOf("views", viewSchema), metadata: listMetadataSchema,
			}},
		{Method: "POST", Path: "/workspace/favorite-views/upsert", Operation: "upsert_favorite_view",
			Scope: write, Caller: Users, Budget: Budget{placesRecords, 0, 64},
			endpoint: takes(favoriteChange, s.upsertFavorite),
			doc: operationDoc{
				tag: tagFavorites, summary: "Make a View a Favorite, or move it",
				examples: []example{
					{"first", "At the first place", []byte(`{"view_id":"` + schema.SampleID + `","position":0}`)},
					{"append", "Where it is, or at the end", []byte(`{"view_id":"` + schema.SampleID + `"}`)},
				},
				data: viewDataSchema, codes: []fault.Code{fault.ViewNotFound},
				links: schema.Map[openapi.Link]{linkByID("delete_favorite_view", "viewId", "/data/view/id")},
			}},
		{Method: "POST", Path: "/workspace/favorite-views/upsert/batch", Operation: "upsert_favorite_views_batch",
			Scope: write, Caller: Users, Budget: Budget{placesRecords, 0, 128},
			endpoint: takesBatch("inputs", favoriteChange, s.upsertFavorites),
			doc: operationDoc{
				tag: tagFavorites, summary: "Reorder Favorites",
				text: "Of several inputs for one View the last valid one counts; those with positions are placed together, lowest first.",
				data: resultsData(batchResults(viewIDKey, viewDataSchema, batchCodes(fault.ViewNotFound)...)),
			}},
		{Method: "DELETE", Path: "/workspace/favorite-views/:viewId", Operation: "delete_favorite_view",
			Scope: write, Caller: Users, Budget: Budget{placesRecords, 0, 32},
			endpoint: noBody(s.deleteFavorite),
			doc: operationDoc{
				tag: tagFavorites, summary: "Make a View no Favorite",
				text: "Also fine when it was none. The View itself stays.", data: deletedSchema,
			}},
		{Method: "POST", Path: "/workspace/favorite-views/delete/batch", Operation: "delete_favorite_views_batch",
			Scope: write, Caller: Users, Budget: Budget{placesRecords, 0, 64},
			endpoint: takesBatch("ids", rule.UUID[views.ID](), s.deleteFavorites),
			doc: operationDoc{
				tag: tagFavorites, summary: "Make several Views no Favorites",
				data: resultsData(batchResults(viewIDKey, nil, batchCodes()...)),
			}},
	}
}

func (s *Server) listFavorites(c *call, m listMetadata) ([]views.View, error) {
	return s.Views.Favorites.List(c.Context(), c.workspace(), c.principal.User, m.Limit, m.Offset)
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

func (s *Server) upsertFavorite(c *call, change views.FavoriteChange) (reply, error) {
	v, err := s.Views.Favorites.Upsert(c.Context(), c.workspace(), c.principal.User, change)
	return free(viewData{v}), err
}

func (s *Server) upsertFavorites(c *call, items []batchItem[views.FavoriteChange]) (reply, error) {
	results := make([]batchResult, len(items))
	for i, item := range items {
		results[i].err = item.err
		if item.in.View != (views.ID{}) {
			results[i].id = item.in.View.String()
		}
	}
	positions, changes := validItems(items)
	if len(changes) > 0 {
		views, err := s.Views.Favorites.UpsertAll(c.Context(), c.workspace(), c.principal.User, changes)
		if err != nil {
			return reply{}, err
		}
		for i, v := range views {
			if v == nil {
				results[positions[i]].err = fault.New(fault.ViewNotFound, "the workspace has no View with this id")
				continue
			}
			results[positions[i]].data = viewData{*v}
		}
	}
	return c.batchReply(viewIDKey, results)
}

func (s *Server) deleteFavorite(c *call) (reply, error) {
	err := s.Views.Favorites.Delete(c.Context(), c.workspace(), c.principal.User, views.ID(c.pathID("viewId")))
	return free(deleted{true}), err
}

func (s *Server) deleteFavorites(c *call, items []batchItem[views.ID]) (reply, error) {
	if _, views := validItems(items); len(views) > 0 {
		if err := s.Views.Favorites.Delete(c.Context(), c.workspace(), c.principal.User, views...); err != nil {
			return reply{}, err
		}
	}
	return c.batchReply(viewIDKey, resultsOf(items))
}
