package workspace

import (
	"context"
	"time"

	"atlas/internal/fault"
)

// Actor is who changes something in a workspace. The zero value may change
// nothing.
type Actor struct {
	// User is the person; zero for an API key and for the operator.
	User UserID
	// Role is what one who is no person counts as. A person's role is read anew
	// in the transaction of the change: what a request began with may be some
	// seconds old.
	Role Role
}

// Actors who are no persons.
var (
	KeyActor      = Actor{Role: Admin}
	OperatorActor = Actor{Role: Owner}
)

// LockedMembers is what judging a change of one member needs, as locked for it.
type LockedMembers struct {
	// Actor is the role of who asks, "" when they are no member.
	Actor Role
	// Target is the role of the member to change, "" when they are none.
	Target Role
	// Owners is how many owners the workspace has.
	Owners int
}

// Guard says whether a change goes ahead.
type Guard func(LockedMembers) error

// MemberStore keeps the members of workspaces, for Roster. Between the call of
// judge and the change nothing that judge was told can change.
type MemberStore interface {
	// Members lists a page by role, highest first, then address, then id.
	Members(ctx context.Context, in ID, limit, offset int) ([]Member, error)
	// ChangeRole gives the member the role unless judge objects. judge is told
	// of a user who is no member too, and must object to that.
	ChangeRole(ctx context.Context, in ID, by Actor, user UserID, role Role, judge Guard) (Member, error)
	// RemoveMember ends the membership unless judge objects, and reports whether
	// there was one.
	RemoveMember(ctx context.Context, in ID, by Actor, user UserID, judge Guard) (removed bool, err error)
}

// Members is the members of workspaces and the rules of changing them
// (docs/api.md, "Members").
type Members struct {
	store   MemberStore
	changed func(in ID, user UserID)
}

// NewMembers returns a Roster on a store. forget, when not nil, is told of every
// member who was changed, for those who remember roles.
func NewMembers(store MemberStore, forget func(in ID, user UserID)) *Members {
	if forget == nil {
		forget = func(ID, UserID) {}
	}
	return &Members{store: store, changed: forget}
}

// List is a page of the members by role, highest first, then address. The limit
// is 1..100, the offset not negative; callers check.
func (r *Members) List(ctx context.Context, in ID, limit, offset int) ([]Member, error) {
	return r.store.Members(ctx, in, limit, offset)
}

// SetRole changes a member's role. fault.Forbidden when the actor does not
// administer the workspace, or grants or takes ownership without being an owner;
// fault.NotFound when the user is no member; fault.LastOwner when nobody would
// be left to own the workspace.
func (r *Members) SetRole(ctx context.Context, in ID, by Actor, user UserID, role Role) (Member, error) {
	if !role.Valid() {
		return Member{}, fault.Validation(NewIssue(fault.InvalidUnion, "role", "must be one of: owner, admin, member"))
	}
	m, err := r.store.ChangeRole(ctx, in, by, user, role, func(s LockedMembers) error { return checkRoleChange(s, role) })
	if err == nil {
		r.changed(in, user)
	}
	return m, err
}

func checkRoleChange(s LockedMembers, role Role) error {
	switch {
	case !s.Actor.Administers():
		return notAdministrator()
	case role == Owner && s.Actor != Owner:
		return fault.New(fault.Forbidden, "only an owner may make somebody an owner")
	case s.Target == "":
		return fault.New(fault.NotFound, "this user is not a member of the workspace")
	case s.Target != Owner || role == Owner:
		return nil
	case s.Actor != Owner:
		return fault.New(fault.Forbidden, "only an owner may take ownership from somebody")
	case s.Owners <= 1:
		return lastOwner()
	}
	return nil
}

// Remove ends a membership and reports whether there was one.
// fault.Forbidden when the actor does not administer the workspace;
// fault.CannotSelfRemove; fault.LastOwner.
func (r *Members) Remove(ctx context.Context, in ID, by Actor, user UserID) (removed bool, err error) {
	self := !by.User.IsZero() && by.User == user
	removed, err = r.store.RemoveMember(ctx, in, by, user, func(s LockedMembers) error { return checkRemoval(s, self) })
	if err == nil {
		r.changed(in, user)
	}
	return removed, err
}

func checkRemoval(s LockedMembers, self bool) error {
	switch {
	case !s.Actor.Administers():
		return notAdministrator()
	case self:
		return fault.New(fault.CannotSelfRemove, "nobody can remove themself; another owner or admin can")
	case s.Target == Owner && s.Owners <= 1:
		return lastOwner()
	}
	return nil
}

func notAdministrator() error {
	return fault.New(fault.Forbidden, "only an owner or admin of the workspace may do this")
}

func lastOwner() error {
	return fault.New(fault.LastOwner, "a workspace needs an owner, and this is its only one")
}

// FormatTime is how a timestamp that may be missing is answered.
func FormatTime(t *time.Time) *string {
	if t == nil {
		return nil
	}
	s := t.UTC().Format(TimeFormat)
	return &s
}
