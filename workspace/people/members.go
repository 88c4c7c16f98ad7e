// Package people has the types and rules of who belongs to a workspace: users,
// members and their roles, invitations and their e-mails, and Directory, with which
// operators create workspaces, keys and members (docs/api.md, "Members",
// "Invitations").
//
// It does not authenticate (service/auth), send e-mail (internal/mail) or store
// (workspace/postgres).
package people

import (
	"context"

	"atlas/internal/fault"
	"atlas/workspace"
)

// Actor is who changes something in a workspace. The zero value may change
// nothing.
type Actor struct {
	// User is zero for an API key and for the operator.
	User workspace.UserID
	// Role is the role of an actor without a User. A user's role is read in the transaction
	// of the change, because the role that the request was authorized with may be some
	// seconds old.
	Role Role
	// MembersOnly limits the actor to people of the role member and their invitations.
	MembersOnly bool
}

// The actors without a user.
var (
	// KeyActor is a key with the scopes workspace:write and workspace:admin.
	KeyActor = Actor{Role: Admin}
	// PlainKeyActor is a key without workspace:admin. Otherwise an admin added with a
	// stolen key would remain after the key is revoked.
	PlainKeyActor = Actor{Role: Admin, MembersOnly: true}
	OperatorActor = Actor{Role: Owner}
)

// reach returns fault.Forbidden if the actor may not change people of one of the roles. ""
// is nobody.
func (a Actor) reach(roles ...Role) error {
	for _, role := range roles {
		if a.MembersOnly && role != "" && role != MemberRole {
			return fault.New(
				fault.Forbidden,
				"this API key lacks the scope workspace:admin: it changes people of the role member and their invitations, no owners and admins",
			)
		}
	}
	return nil
}

// LockedMembers is the input of a Guard. The rows it was read from stay locked until the
// end of the transaction.
type LockedMembers struct {
	// Actor is the actor's role, "" when they are not a member.
	Actor Role
	// Target is the role of the member to change, or of the invitation to close, ""
	// when there is none.
	Target Role
	// Owners is the number of owners of the workspace.
	Owners int
}

// Guard permits a change, or returns the error that rejects it. A store calls it
// inside the transaction, before it changes anything.
type Guard func(LockedMembers) error

// MemberStore stores the members of workspaces, for Members.
type MemberStore interface {
	// Members lists a page by role, highest first, then address, then id.
	Members(ctx context.Context, in workspace.ID, limit, offset int) ([]Member, error)
	// ChangeRole sets the member's role if guard permits it. guard must reject a
	// target that is not a member.
	ChangeRole(ctx context.Context, in workspace.ID, by Actor, user workspace.UserID, role Role, guard Guard) (Member, error)
	// RemoveMember deletes the membership if guard permits it, and reports whether
	// there was one.
	RemoveMember(ctx context.Context, in workspace.ID, by Actor, user workspace.UserID, guard Guard) (removed bool, err error)
	// SignOutMember ends the sessions of a member in the workspace if guard permits it, which
	// must reject a target that is not a member.
	SignOutMember(ctx context.Context, in workspace.ID, by Actor, user workspace.UserID, guard Guard) error
}

// Members lists and changes the members of workspaces (docs/api.md, "Members").
type Members struct {
	store   MemberStore
	changed func(in workspace.ID, user workspace.UserID)
}

// NewMembers returns Members on a store. It calls changed, when not nil, after
// each change of a member, so that caches of roles can drop the entry.
func NewMembers(store MemberStore, changed func(in workspace.ID, user workspace.UserID)) *Members {
	if changed == nil {
		changed = func(workspace.ID, workspace.UserID) {}
	}
	return &Members{store: store, changed: changed}
}

// List returns a page of the members by role, highest first, then address. The
// caller checks that limit is 1..100 and offset is not negative.
func (r *Members) List(ctx context.Context, in workspace.ID, limit, offset int) ([]Member, error) {
	return r.store.Members(ctx, in, limit, offset)
}

// SetRole changes a member's role. Errors: fault.Forbidden when the actor is neither owner
// nor admin, may not change the role, or grants or removes ownership without being an
// owner; fault.NotFound when the user is not a member; fault.LastOwner when the workspace
// would have no owner.
func (r *Members) SetRole(ctx context.Context, in workspace.ID, by Actor, user workspace.UserID, role Role) (Member, error) {
	if !role.Valid() {
		return Member{}, fault.Validation(workspace.NewIssue(fault.InvalidUnion, "role", "must be one of: owner, admin, member"))
	}
	m, err := r.store.ChangeRole(ctx, in, by, user, role, func(l LockedMembers) error { return checkRoleChange(by, l, role) })
	if err == nil {
		r.changed(in, user)
	}
	return m, err
}

func checkRoleChange(by Actor, l LockedMembers, role Role) error {
	if err := by.administers(l); err != nil {
		return err
	}
	switch {
	case role == Owner && l.Actor != Owner:
		return fault.New(fault.Forbidden, "only an owner may make somebody an owner")
	case l.Target == "":
		return fault.New(fault.NotFound, "this user is not a member of the workspace")
	}
	if err := by.reach(role); err != nil {
		return err
	}
	switch {
	case l.Target != Owner || role == Owner:
		return nil
	case l.Actor != Owner:
		return fault.New(fault.Forbidden, "only an owner may take ownership from somebody")
	case l.Owners <= 1:
		return lastOwner()
	}
	return nil
}

// Remove deletes a membership and reports whether there was one. Errors: fault.Forbidden
// when the actor is neither owner nor admin, or may not change the member;
// fault.CannotSelfRemove; fault.LastOwner.
func (r *Members) Remove(ctx context.Context, in workspace.ID, by Actor, user workspace.UserID) (removed bool, err error) {
	self := !by.User.IsZero() && by.User == user
	removed, err = r.store.RemoveMember(ctx, in, by, user, func(l LockedMembers) error { return checkRemoval(by, l, self) })
	if err == nil {
		r.changed(in, user)
	}
	return removed, err
}

func checkRemoval(by Actor, l LockedMembers, self bool) error {
	if err := by.administers(l); err != nil {
		return err
	}
	switch {
	case self:
		return fault.New(fault.CannotSelfRemove, "you cannot remove yourself: another owner or admin can")
	case l.Target == Owner && l.Owners <= 1:
		return lastOwner()
	}
	return nil
}

// SignOut ends the present sessions of a member in the workspace. Errors: fault.Forbidden
// when the actor is neither owner nor admin, or may not change the member; fault.NotFound
// when the user is not a member.
func (r *Members) SignOut(ctx context.Context, in workspace.ID, by Actor, user workspace.UserID) error {
	err := r.store.SignOutMember(ctx, in, by, user, func(l LockedMembers) error {
		if err := by.administers(l); err != nil {
			return err
		}
		switch {
		case l.Target == "":
			return fault.New(fault.NotFound, "this user is not a member of the workspace")
		case l.Target == Owner && l.Actor != Owner:
			return fault.New(fault.Forbidden, "only an owner may sign an owner out")
		}
		return nil
	})
	if err == nil {
		r.changed(in, user)
	}
	return err
}

// administers returns fault.Forbidden unless the actor administers the workspace, and may
// change the target and grant the roles.
func (a Actor) administers(l LockedMembers, given ...Role) error {
	if !l.Actor.Administers() {
		return fault.New(fault.Forbidden, "only an owner or admin of the workspace may do this")
	}
	return a.reach(append(given, l.Target)...)
}

func lastOwner() error {
	return fault.New(fault.LastOwner, "a workspace needs an owner, and this is its only one")
}
