package auth

import (
	"slices"
	"strings"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

// Principal is a caller who is authorized in one workspace.
type Principal struct {
	Kind Kind
	// Workspace is at most 4 s old.
	Workspace workspace.Workspace
	// Key and Budget are set for ByKey, User for ByUser. The budget is at most 4 s old.
	Key    workspace.KeyID
	Budget workspace.KeyBudget
	User   workspace.UserID
	// Email and Name are from a user's token, "" when it has none.
	Email, Name string
	// Role is the user's role, "" for a key.
	Role people.Role
	// Scopes are the scopes of a key; a user has all.
	Scopes []workspace.Scope
}

// RequireUser returns fault.UserIdentityRequired for an API key.
func (p Principal) RequireUser() error { return requireUser(p.Kind) }

// RequireScope returns fault.Forbidden without the scope.
func (p Principal) RequireScope(s workspace.Scope) error {
	if slices.Contains(p.Scopes, s) {
		return nil
	}
	has := make([]string, len(p.Scopes))
	for i, scope := range p.Scopes {
		has[i] = string(scope)
	}
	return fault.New(fault.Forbidden, "this API key lacks the scope %s; it has %s", s, strings.Join(has, ", "))
}

// RequireAdmin returns fault.Forbidden for the role member. A key counts as an admin.
func (p Principal) RequireAdmin() error {
	if p.Kind == ByKey || p.Role.Administers() {
		return nil
	}
	return fault.New(fault.Forbidden, "only an owner or admin of the workspace may do this")
}

// RoleOrNil returns the role for GET /workspace, nil for a key.
func (p Principal) RoleOrNil() *people.Role {
	if p.Kind == ByKey {
		return nil
	}
	return &p.Role
}

func requireUser(k Kind) error {
	if k == ByUser {
		return nil
	}
	return fault.New(fault.UserIdentityRequired, "this needs a user's access token; an API key is nobody's")
}
