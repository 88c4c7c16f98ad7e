package api

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/workspace"
)

// Views is the Views of workspaces, their records and the Favorites of users.
type Views struct {
	Views       *workspace.Views
	Memberships *workspace.Memberships
	Favorites   *workspace.Favorites
}

func (s *Server) viewRoutes() []Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []Route{
		{"GET", "/workspace/views", "list_views", read, Free, true, UsersForFavorites, s.listViews, aboutListViews()},
		{"GET", "/workspace/views/:id", "get_view", read, Free, false, Anyone, s.getView, aboutGetView()},
		{"POST", "/workspace/views/upsert", "upsert_view", write, Free, false, Anyone, s.upsertView, aboutUpsertView()},
		{"POST", "/workspace/views/upsert/batch", "upsert_views_batch", write, Free, false, Anyone, s.upsertViews, aboutUpsertViews()},
		{"DELETE", "/workspace/views/:id", "delete_view", write, Free, false, Anyone, s.deleteView, aboutDeleteView()},
		{"POST", "/workspace/views/delete/batch", "delete_views_batch", write, Free, false, Anyone, s.deleteViews, aboutDeleteViews()},
		{"POST", "/workspace/views/:id/records/add", "add_view_record", write, Free, false, Anyone, s.addViewRecord, aboutAddViewRecord()},
		{"POST", "/workspace/views/:id/records/add/batch", "add_view_records_batch", write, Free, false, Anyone, s.addViewRecords, aboutAddViewRecords()},
		{"DELETE", "/workspace/views/:id/records/:recordId", "remove_view_record", write, Free, false, Anyone, s.removeViewRecord, aboutRemoveViewRecord()},
		{"POST", "/workspace/views/:id/records/delete/batch", "remove_view_records_batch", write, Free, false, Anyone, s.removeViewRecords, aboutRemoveViewRecords()},
		{"POST", "/workspace/views/:id/records/search", "search_view_records", read, Metered, false, Anyone, s.searchViewRecords, aboutSearchViewRecords()},
		{"GET", "/workspace/favorite-views", "list_favorite_views", read, Free, true, Users, s.listFavorites, aboutListFavorites()},
		{"POST", "/workspace/favorite-views/upsert", "upsert_favorite_view", write, Free, false, Users, s.upsertFavorite, aboutUpsertFavorite()},
		{"POST", "/workspace/favorite-views/upsert/batch", "upsert_favorite_views_batch", write, Free, false, Users, s.upsertFavorites, aboutUpsertFavorites()},
		{"DELETE", "/workspace/favorite-views/:viewId", "delete_favorite_view", write, Free, false, Users, s.deleteFavorite, aboutDeleteFavorite()},
		{"POST", "/workspace/favorite-views/delete/batch", "delete_favorite_views_batch", write, Free, false, Users, s.deleteFavorites, aboutDeleteFavorites()},
	}
}

// defaultViews is the page of Views and of Favorites.
const defaultViews = 25

// viewIDKey names a View in the results of a batch.
const viewIDKey = "view_id"

// maxNamePart bounds the text that names of Views are searched by.
const maxNamePart = 500

func (s *Server) listViews(c *call) (reply, error) {
	var issues input.Issues
	f, err := c.viewFilter(&issues)
	if err != nil {
		return reply{}, err
	}
	m, err := c.page(defaultViews)
	if err := beside(issues, err); err != nil {
		return reply{}, err
	}
	f.Viewer, f.Limit, f.Offset = c.principal.User, m.Limit, m.Offset
	views, err := s.Views.Views.List(c.Context(), c.principal.Workspace.ID, f)
	return list("views", views, m), err
}

// viewFilter reads the query parameters of a list of Views.
func (c *call) viewFilter(issues *input.Issues) (f workspace.ViewFilter, err error) {
	oneOf := func(name string, allowed []string) string {
		text, given, e := c.param(name)
		if e != nil {
			err = e
		} else if given && !slices.Contains(allowed, text) {
			issues.OutsideVocabulary([]string{name}, allowed)
		}
		return text
	}
	f.Dataset = workspace.DatasetOfView(oneOf("dataset", workspace.ViewDatasets()))
	f.Type = workspace.ViewType(oneOf("view_type", workspace.ViewTypes()))
	f.Favorites = oneOf("favorite_only", []string{"true", "false"}) == "true"
	id, given, e := c.param("id")
	if e != nil {
		return f, e
	}
	if given {
		if text, ok := issues.UUID(input.Value{Kind: input.String, Text: id}, "id"); ok {
			parsed, _ := workspace.ParseViewID(text)
			f.ID = &parsed
		}
	}
	text, given, e := c.param("query")
	if e != nil {
		return f, e
	}
	if given {
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
	View workspace.View `json:"view"`
}

func (s *Server) getView(c *call) (reply, error) {
	id, err := c.pathID("id")
	if err != nil {
		return reply{}, err
	}
	v, err := s.Views.Views.Get(c.Context(), c.principal.Workspace.ID, workspace.ViewID(id), c.principal.User)
	return reply{viewData{v}, creditsOnly{}}, err
}

func (s *Server) upsertView(c *call) (reply, error) {
	body, err := c.body()
	if err != nil {
		return reply{}, err
	}
	change, err := workspace.ParseViewChange(body)
	if err != nil {
		return reply{}, err
	}
	v, err := s.Views.Views.Upsert(c.Context(), c.principal.Workspace.ID, c.principal.User, change)
	return reply{viewData{v}, creditsOnly{}}, err
}

func (s *Server) upsertViews(c *call) (reply, error) {
	items, err := c.batchItems("inputs")
	if err != nil {
		return reply{}, err
	}
	results, changes := make([]batchResult, len(items)), make([]workspace.ViewChange, len(items))
	for i, item := range items {
		results[i].id, _ = input.ParseUUID(item.value.Get("id").Text)
		if results[i].err = item.issues.Err(); results[i].err == nil {
			changes[i], results[i].err = workspace.ParseViewChange(item.value)
		}
	}
	oneByOne(results, func(i int) batchResult {
		v, err := s.Views.Views.Upsert(c.Context(), c.principal.Workspace.ID, c.principal.User, changes[i])
		if err != nil {
			return batchResult{id: results[i].id, err: err}
		}
		return batchResult{id: v.ID.String(), data: viewData{v}}
	})
	return c.batchReply(viewIDKey, results)
}

func (s *Server) deleteView(c *call) (reply, error) {
	id, err := c.pathID("id")
	if err != nil {
		return reply{}, err
	}
	err = s.Views.Views.Delete(c.Context(), c.principal.Workspace.ID, workspace.ViewID(id))
	return reply{deleted{true}, creditsOnly{}}, err
}

func (s *Server) deleteViews(c *call) (reply, error) {
	ids, errs, err := c.batchIDs()
	if err != nil {
		return reply{}, err
	}
	results := make([]batchResult, len(ids))
	for i, id := range ids {
		results[i] = batchResult{id: id, err: errs[i]}
	}
	oneByOne(results, func(i int) batchResult {
		err := s.Views.Views.Delete(c.Context(), c.principal.Workspace.ID, workspace.ViewID(uuid.MustParse(ids[i])))
		return batchResult{id: ids[i], err: err}
	})
	return c.batchReply(viewIDKey, results)
}
