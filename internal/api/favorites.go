package api

import (
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/workspace"
)

func (s *Server) listFavorites(c *call) (reply, error) {
	m, err := c.page(defaultViews)
	if err != nil {
		return reply{}, err
	}
	views, err := s.Views.Favorites.List(c.Context(), c.principal.Workspace.ID, c.principal.User, m.Limit, m.Offset)
	return list("views", views, m), err
}

// maxPosition is the largest position that is read: past the end is the end, so
// it is the largest integer that every client can write.
const maxPosition = 1<<53 - 1

// favoriteChange reads { view_id, position? }.
func favoriteChange(issues *input.Issues, v input.Value) workspace.FavoriteChange {
	var c workspace.FavoriteChange
	r := issues.Object(v)
	if !r.Ok() {
		return c
	}
	if id, ok := issues.UUID(r.Take(viewIDKey), viewIDKey); ok {
		c.View = workspace.ViewID(uuid.MustParse(id))
	}
	position := r.Int("position", 0, maxPosition, 0)
	if v.Get("position").Kind != input.Absent {
		c.Position = &position
	}
	r.Done()
	return c
}

func (s *Server) upsertFavorite(c *call) (reply, error) {
	body, err := c.body()
	if err != nil {
		return reply{}, err
	}
	var issues input.Issues
	change := favoriteChange(&issues, body)
	if err := issues.Err(); err != nil {
		return reply{}, err
	}
	v, err := s.Views.Favorites.Upsert(c.Context(), c.principal.Workspace.ID, c.principal.User, change)
	return reply{viewData{v}, creditsOnly{}}, err
}

func (s *Server) upsertFavorites(c *call) (reply, error) {
	items, err := c.batchItems("inputs")
	if err != nil {
		return reply{}, err
	}
	results := make([]batchResult, len(items))
	var changes []workspace.FavoriteChange
	var positions []int
	for i, item := range items {
		issues := item.issues
		change := favoriteChange(&issues, item.value)
		results[i].err = issues.Err()
		if change.View != (workspace.ViewID{}) {
			results[i].id = change.View.String()
		}
		if results[i].err == nil {
			changes, positions = append(changes, change), append(positions, i)
		}
	}
	if len(changes) > 0 {
		views, err := s.Views.Favorites.UpsertAll(c.Context(), c.principal.Workspace.ID, c.principal.User, changes)
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
	id, err := c.pathID("viewId")
	if err != nil {
		return reply{}, err
	}
	err = s.Views.Favorites.Delete(c.Context(), c.principal.Workspace.ID, c.principal.User, workspace.ViewID(id))
	return reply{deleted{true}, creditsOnly{}}, err
}

func (s *Server) deleteFavorites(c *call) (reply, error) {
	ids, errs, err := c.batchIDs()
	if err != nil {
		return reply{}, err
	}
	results := make([]batchResult, len(ids))
	var views []workspace.ViewID
	for i, id := range ids {
		results[i] = batchResult{id: id, err: errs[i]}
		if errs[i] == nil {
			views = append(views, workspace.ViewID(uuid.MustParse(id)))
		}
	}
	if len(views) > 0 {
		if err := s.Views.Favorites.Delete(c.Context(), c.principal.Workspace.ID, c.principal.User, views...); err != nil {
			return reply{}, err
		}
	}
	return c.batchReply(viewIDKey, results)
}
