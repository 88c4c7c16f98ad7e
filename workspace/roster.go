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
	// Rank is what one who is no person counts as. A person's role is read anew
	// in the transaction of the change: what a request began with may be some
	// seconds old.
	Rank Role
}

// Actors who are no persons.
var (
	KeyActor      = Actor{Rank: Admin}
	OperatorActor = Actor{Rank: Owner}
)

// Seats is what judging a change of one member needs, as locked for it.
type Seats struct {
	// Actor is the role of who asks, "" when they are no member.
	Actor Role
	// Target is the role of the member to change, "" when they are none.
	Target Role
	// Owners is how many owners the workspace has.
	Owners int
}

// Judge says whether a change goes ahead.
type Judge func(Seats) error

// RosterStore keeps the members of workspaces, for Roster. Between the call of
// judge and the change nothing that judge was told can change.
type RosterStore interface {
	// Members lists a page by role, highest first, then address, then id.
	Members(ctx context.Context, in ID, limit, offset int) ([]Member, error)
	// ChangeRole gives the member the role unless judge objects. judge is told
	// of a user who is no member too, and must object to that.
	ChangeRole(ctx context.Context, in ID, by Actor, user UserID, role Role, judge Judge) (Member, error)
	// RemoveMember ends the membership unless judge objects, and reports whether
	// there was one.
	RemoveMember(ctx context.Context, in ID, by Actor, user UserID, judge Judge) (removed bool, err error)
}

// Roster is the members of workspaces and the rules of changing them
// (docs/api.md, "Members").
type Roster struct {
	store  RosterStore
	forget func(in ID, user UserID)
}

// NewRoster returns a Roster on a store. forget, when not nil, is told of every
// member who was changed, for those who remember roles.
func NewRoster(store RosterStore, forget func(in ID, user UserID)) *Roster {
	if forget == nil {
		forget = func(ID, UserID) {}
	}
	return &Roster{store: store, forget: forget}
}

// List is a page of the members by role, highest first, then address. The limit
// is 1..100, the offset not negative; callers check.
func (r *Roster) List(ctx context.Context, in ID, limit, offset int) ([]Member, error) {
	return r.store.Members(ctx, in, limit, offset)
}

// SetRole changes a member's role. fault.Forbidden when the actor does not
// administer the workspace, or grants or takes ownership without being an owner;
// fault.NotFound when the user is no member; fault.LastOwner when nobody would
// be left to own the workspace.
func (r *Roster) SetRole(ctx context.Context, in ID, by Actor, user UserID, role Role) (Member, error) {
	if !role.Valid() {
		return Member{}, fault.Validation(issue(fault.InvalidUnion, "role", "must be one of: owner, admin, member"))
	}
	m, err := r.store.ChangeRole(ctx, in, by, user, role, func(s Seats) error { return judgeRole(s, role) })
	if err == nil {
		r.forget(in, user)
	}
	return m, err
}

func judgeRole(s Seats, role Role) error {
	switch {
	case !s.Actor.Administers():
		return mustAdminister()
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
func (r *Roster) Remove(ctx context.Context, in ID, by Actor, user UserID) (removed bool, err error) {
	self := !by.User.IsZero() && by.User == user
	removed, err = r.store.RemoveMember(ctx, in, by, user, func(s Seats) error { return judgeRemoval(s, self) })
	if err == nil {
		r.forget(in, user)
	}
	return removed, err
}

func judgeRemoval(s Seats, self bool) error {
	switch {
	case !s.Actor.Administers():
		return mustAdminister()
	case self:
		return fault.New(fault.CannotSelfRemove, "nobody can remove themself; another owner or admin can")
	case s.Target == Owner && s.Owners <= 1:
		return lastOwner()
	}
	return nil
}

func mustAdminister() error {
	return fault.New(fault.Forbidden, "only an owner or admin of the workspace may do this")
}

func lastOwner() error {
	return fault.New(fault.LastOwner, "a workspace needs an owner, and this is its only one")
}

// formatTime is how a timestamp that may be missing is answered.
func formatTime(t *time.Time) *string {
	if t == nil {
		return nil
	}
	s := t.UTC().Format(TimeFormat)
	return &s
}
