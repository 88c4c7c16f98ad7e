// Package undo lists what an API key wrote in a workspace, and takes back what can be
// (docs/api.md, "What a key did").
//
// It reads what triggers in Postgres wrote of each change (workspace/audit), and changes
// objects as everybody else does, by the parts of the workspace that have them. It keeps no
// values: what was overwritten or deleted stays so.
package undo

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/workspace/audit"
	"atlas/workspace/people"
)

// Done is what a key did to an object.
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
	// NotKept: what the object was before is stored nowhere.
	NotKept State = "not_kept"
	// NotOffered: objects of the kind are not deleted.
	NotOffered State = "not_offered"
	Undone     State = "undone"
	// Refused: a rule of the workspace forbids it.
	Refused State = "refused"
)

// States returns the states of listed actions, Outcomes those of actions after Undo.
func States() []State { return []State{Possible, NothingLeft, ChangedSince, NotKept, NotOffered} }

// Outcomes are States of actions after Undo.
func Outcomes() []State {
	return []State{Undone, NothingLeft, ChangedSince, NotKept, NotOffered, Refused}
}

// Change is a change that a key made, and what became of its object.
type Change struct {
	audit.Subject
	// Seq is its place in the order of changes.
	Seq int64
	At  time.Time
	Op  audit.Op
	// Fields are those with other values, not nil.
	Fields []string
	// Request is the id of the request, zero if it is not known.
	Request uuid.UUID
	// Before is the Op of the change before of the object, "" if none is kept.
	Before audit.Op
	// Since is when the object that is there began, zero if it is not there.
	Since time.Time
	// Others says that others changed the object later; LastBySystem that its last change was
	// made by Atlas itself or an operator.
	Others, LastBySystem bool
	// HasView says that the View of a membership is there.
	HasView bool
	// Role is that of a member now, RoleBefore the one that the change replaced, as the audit
	// log has it; "" if there is none.
	Role, RoleBefore people.Role
}

// beginSlack is how much earlier than the change that tells of it an object may begin: the
// time of one is that of the server, before the transaction, of the other that of Postgres.
const beginSlack = 5 * time.Minute

// Done says what the change was. A change of an object is a creation if there was none before
// and the object that is there did not begin earlier: of an older one the changes before may
// be forgotten.
func (c Change) Done() Done {
	switch {
	case c.Op == audit.Delete:
		return Removed
	case c.Kind == audit.Setting:
		return Changed // a workspace has begun before its keys
	case c.Kind == audit.Membership:
		return Created
	case c.Before != audit.Upsert && (c.Since.IsZero() || c.Since.After(c.At.Add(-beginSlack))):
		return Created
	}
	return Changed
}

// State says whether the object can be what it was before the change.
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
		return NotKept
	case wantThere == isThere && c.LastBySystem:
		return ChangedSince // a merge or an erasure, which others depend on
	case wantThere == isThere:
		return NothingLeft
	case wantThere && !c.HasView:
		return NotKept
	}
	switch {
	case c.Others:
		return ChangedSince
	case done == Created && slices.Contains([]audit.Kind{audit.Skill, audit.Member}, c.Kind):
		return NotOffered
	}
	return Possible
}
