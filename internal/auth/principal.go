package auth

import (
	"slices"

	"atlas/internal/fault"
	"atlas/workspace"
)

// Principal is a caller acting in one workspace that serves them.
type Principal struct {
	Kind Kind
	// Workspace is as of at most 4 s ago.
	Workspace workspace.Workspace
	// Key is set for ByKey, User for ByUser.
	Key  workspace.KeyID
	User workspace.UserID
	// Email and Name are those of a user's token, "" when it has none.
	Email, Name string
	// Role is a user's, "" for a key.
	Role workspace.Role
	// Scopes are a key's; a user has all.
	Scopes []workspace.Scope
}

// RequireUser refuses an API key where a person is meant:
// fault.UserIdentityRequired.
func (p Principal) RequireUser() error { return requireUser(p.Kind) }

// RequireScope is fault.Forbidden without the scope.
func (p Principal) RequireScope(s workspace.Scope) error {
	if slices.Contains(p.Scopes, s) {
		return nil
	}
	return fault.New(fault.Forbidden, "this API key lacks the scope %s", s)
}

// RequireAdmin is fault.Forbidden for a plain member. A key counts as an admin.
func (p Principal) RequireAdmin() error {
	if p.Kind == ByKey || p.Role.Administers() {
		return nil
	}
	return fault.New(fault.Forbidden, "only an owner or admin of the workspace may do this")
}

// RoleOrNil is the role as GET /workspace shows it: null for a key.
func (p Principal) RoleOrNil() *workspace.Role {
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
