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

	handle handler
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

// handler binds, validates, calls one method and returns what to render.
type handler func(c *call) (reply, error)

// Routes is the route table.
func (s *Server) Routes() []Route {
	routes := []Route{
		{"GET", "/workspace", "get_workspace", workspace.WorkspaceRead, Never, false, s.getWorkspace},
		{"GET", "/workspace/credits", "get_credits", workspace.WorkspaceRead, Never, false, s.getCredits},
		{"POST", "/data/fields/search", "search_fields", workspace.DataRead, Never, true, s.searchFields},
		{"GET", "/data/fields/:dataset/:key", "get_field", workspace.DataRead, Never, true, s.getField},
		{"GET", "/data/usage", "get_usage", workspace.DataRead, Never, true, s.getUsage},
	}
	for _, d := range []query.Dataset{query.Accounts, query.Contacts, query.Projects, query.Signals} {
		routes = append(routes,
			Route{"POST", "/data/" + string(d) + "/search", "search_" + string(d), workspace.DataRead, Metered, true, s.searchData(d)},
			Route{"GET", "/data/" + string(d) + "/:id", "get_" + d.Singular(), workspace.DataRead, Metered, true, s.getData(d)},
		)
	}
	return routes
}
