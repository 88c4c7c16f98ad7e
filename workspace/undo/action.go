// Package undo lists what an API key wrote in a workspace, and reverts what it can
// (docs/api.md, "What a key did").
//
// It reads the history of changes (workspace/audit), and changes objects by the same methods as
// other callers. The history has no former values, so what was overwritten or deleted cannot be
// restored.
package undo

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/workspace/audit"
	"atlas/workspace/people"
)

// Done is the effect of a key on an object.
type Done string

// The actions. A record that leaves a book or a Static View is Removed too.
const (
	Created Done = "created"
	Changed Done = "changed"
	Removed Done = "removed"
)

// State says whether an action can be undone, or was.
type State string

// The states. Undone and Refused are outcomes of Undo only.
const (
	Possible State = "possible"
	// NothingLeft: the object is as it was before the action.
	NothingLeft State = "nothing_left"
	// ChangedSince: somebody else changed the object after the action.
	ChangedSince State = "changed_since"
	// NotStored: the former state of the object is not stored.
	NotStored State = "not_stored"
	// NotOffered: objects of the kind are not deleted.
	NotOffered State = "not_offered"
	Undone     State = "undone"
	// Refused: a rule of the workspace forbids it.
	Refused State = "refused"
)

// States returns the states of listed actions, Outcomes those of actions after Undo.
func States() []State { return []State{Possible, NothingLeft, ChangedSince, NotStored, NotOffered} }

// Outcomes are States of actions after Undo.
func Outcomes() []State {
	return []State{Undone, NothingLeft, ChangedSince, NotStored, NotOffered, Refused}
}

// Change is a change by a key, and the current state of its object.
type Change struct {
	audit.Subject
	// Seq is its place in the order of changes.
	Seq int64
	At  time.Time
	Op  audit.Op
	// Fields are those whose values changed, not nil.
	Fields []string
	// Request is the id of the request, zero if it is not known.
	Request uuid.UUID
	// Before is the Op of the object's previous change, "" if none is stored.
	Before audit.Op
	// Since is when the existing object was created, zero if there is none.
	Since time.Time
	// Others means that others changed the object later, LastBySystem that Atlas itself or an
	// operator changed it last.
	Others, LastBySystem bool
	// HasView means that the View of a membership exists.
	HasView bool
	// Role is a member's current role. RoleBefore is the role that the change replaced, from
	// the audit log, "" for none.
	Role, RoleBefore people.Role
}

// beginSlack is how much earlier than its change an object may be created: the server's clock
// gives one time before the transaction, Postgres gives the other.
const beginSlack = 5 * time.Minute

// Done returns the effect of the change. It is a creation if no earlier change is known and the
// object is not older than the change: the history may have lost earlier ones.
func (c Change) Done() Done {
	switch {
	case c.Op == audit.Delete:
		return Removed
	case c.Kind == audit.Setting:
		return Changed // a workspace exists before its keys
	case c.Kind == audit.Membership:
		return Created
	case c.Before != audit.Upsert && (c.Since.IsZero() || c.Since.After(c.At.Add(-beginSlack))):
		return Created
	}
	return Changed
}

// State says whether the object can be restored to its state before the change.
func (c Change) State() State {
	done := c.Done()
	wantThere, isThere := done != Created, !c.Since.IsZero()
	restores := done == Created || done == Removed && c.Kind == audit.Membership
	switch {
	case done == Changed && c.Kind == audit.Member && c.RoleBefore != "" && isThere:
		if c.Role == c.RoleBefore {
			return NothingLeft
		}
	case !restores:
		return NotStored
	case wantThere == isThere && c.LastBySystem:
		return ChangedSince // a merge or an erasure, on which others depend
	case wantThere == isThere:
		return NothingLeft
	case wantThere && !c.HasView:
		return NotStored
	}
	switch {
	case c.Others:
		return ChangedSince
	case done == Created && slices.Contains([]audit.Kind{audit.Skill, audit.Member}, c.Kind):
		return NotOffered
	}
	return Possible
}
