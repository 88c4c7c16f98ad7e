package api

import (
	"atlas/search/query"
	"atlas/workspace"
)

// Version is the part of every path that names the contract's version.
const Version = "/api/v1"

// Route is one line of the route table: everything a route has of its own.
type Route struct {
	Method string
	// Path below Version, in gin's spelling.
	Path string
	// Operation is the route's name in usage, logs and the OpenAPI document.
	Operation string
	// Scope is what the principal must have.
	Scope workspace.Scope
	// Throttling says how the credit ceiling bears on the route.
	Throttling Throttling
	// WorkspaceRequired: a user must give the query parameter workspace_id.
	WorkspaceRequired bool
	// Caller says who may call it, beyond having the scope.
	Caller Caller

	handle handler
	// about is the rest of what the OpenAPI document says of it.
	about about
}

// Throttling is how the credit ceiling bears on a route.
type Throttling uint8

// The kinds of throttling.
const (
	// Free routes cost nothing and stop with the others when the ceiling is
	// used up; they go on when Redis is away.
	Free Throttling = iota
	// Metered routes charge what they deliver.
	Metered
	// Never throttled: they tell about the credits themselves, or about fields.
	Never
)

// Caller is who may call a route.
type Caller uint8

// The callers.
const (
	// Anyone who acts in the workspace: an API key, or a member of any role.
	Anyone Caller = iota
	// Admins are owners, admins and API keys.
	Admins
	// Users are members only: an API key is nobody's.
	Users
	// UsersForFavorites is Anyone, and Users where favorite_only=true.
	UsersForFavorites
	// Newcomers are users who act in no workspace, and need belong to none. The
	// call's principal stays empty.
	Newcomers
)

// handler binds, validates, calls one method and returns what to render.
type handler func(c *call) (reply, error)

// Routes is the route table.
func (s *Server) Routes() []Route {
	routes := []Route{
		{"GET", "/workspace", "get_workspace", workspace.WorkspaceRead, Never, false, Anyone, s.getWorkspace, aboutGetWorkspace()},
		{"GET", "/workspace/credits", "get_credits", workspace.WorkspaceRead, Never, false, Anyone, s.getCredits, aboutGetCredits()},
		{"POST", "/data/fields/search", "search_fields", workspace.DataRead, Never, true, Anyone, s.searchFields, aboutSearchFields()},
		{"GET", "/data/fields/:dataset/:key", "get_field", workspace.DataRead, Never, true, Anyone, s.getField, aboutGetField()},
		{"GET", "/data/usage", "get_usage", workspace.DataRead, Never, true, Anyone, s.getUsage, aboutGetUsage()},
	}
	for _, d := range []query.Dataset{query.Accounts, query.Contacts, query.Projects, query.Signals} {
		routes = append(routes,
			Route{"POST", "/data/" + string(d) + "/search", "search_" + string(d), workspace.DataRead, Metered, true, Anyone, s.searchData(d), aboutSearch(d)},
			Route{"GET", "/data/" + string(d) + "/:id", "get_" + d.Singular(), workspace.DataRead, Metered, true, Anyone, s.getData(d), aboutGet(d)},
		)
	}
	routes = append(routes, s.bookRoutes()...)
	routes = append(routes, s.viewRoutes()...)
	return append(routes, s.peopleRoutes()...)
}
