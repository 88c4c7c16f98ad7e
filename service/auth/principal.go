package auth

import (
	"slices"
	"strings"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/identity"
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
	// Secret is the secret that a key was proved by, which a rotation may have replaced.
	Secret workspace.SecretHash
	// Own is the workspace provider by which the user signed in, zero for none.
	Own identity.Own
	// Began is when the user's session began, zero without one.
	Began time.Time
	// Email and Name are from a user's token, "" when it has none.
	Email, Name string
	// Role is the user's role, "" for a key.
	Role people.Role
	// Scopes are the scopes of a key or a user's token; a session has all.
	Scopes []workspace.Scope
}

// RequireUser returns fault.UserIdentityRequired for an API key.
func (p Principal) RequireUser() error { return requireUser(p.Kind) }

// RequireScope returns fault.Forbidden without the scope.
func (p Principal) RequireScope(s workspace.Scope) error { return requireScope(p.Kind, p.Scopes, s) }

func requireScope(k Kind, has []workspace.Scope, s workspace.Scope) error {
	if slices.Contains(has, s) {
		return nil
	}
	token := "API key"
	if k == ByUser {
		token = "access token"
	}
	if len(has) == 0 {
		return fault.New(fault.Forbidden, "this %s lacks the scope %s; it has none of this API", token, s)
	}
	names := make([]string, len(has))
	for i, scope := range has {
		names[i] = string(scope)
	}
	return fault.New(fault.Forbidden, "this %s lacks the scope %s; it has %s", token, s, strings.Join(names, ", "))
}

// RequireAdmin returns fault.Forbidden for the role member. A key passes: people.Actor
// decides what it may change of members and invitations.
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
	return fault.New(fault.UserIdentityRequired, "this needs a user's access token: an API key belongs to no user")
}
