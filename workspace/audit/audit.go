// Package audit reads what changed in a workspace, and who changed it (docs/api.md,
// "Changes of the workspace").
//
// Triggers in Postgres write it, in the transaction of each change.
package audit

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/workspace"
)

// Kind is the kind of object that changed.
type Kind string

// The kinds. ID is that of the record, of the View, and so on; for a Setting the
// workspace's.
const (
	Overlay      Kind = "overlay"    // the workspace's data on a record of its book
	Membership   Kind = "membership" // a record in a Static View
	View         Kind = "view"
	Board        Kind = "board"
	Member       Kind = "member"
	Invitation   Kind = "invitation"
	Subscription Kind = "subscription"
	Webhook      Kind = "webhook"
	Skill        Kind = "skill" // the workspace's; a personal one belongs only to its owner
	Setting      Kind = "setting"
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{Overlay, Membership, View, Board, Member, Invitation, Subscription, Webhook, Skill, Setting}
}

// Op is the kind of the change.
type Op string

// The operations.
const (
	Upsert Op = "upsert"
	Delete Op = "delete"
)

// Subject is the changed object.
type Subject struct {
	Kind Kind
	ID   uuid.UUID
	// Dataset is that of an Overlay, a Membership or a View, else "".
	Dataset catalog.Dataset
	// View is that of a Membership, else zero.
	View uuid.UUID
}

// Change is a change in a workspace.
type Change struct {
	Subject
	Op Op
	At time.Time
	By workspace.Author
	// Fields are the names of the changed fields, not nil. A deletion has none.
	Fields []string
}

// MarshalJSON encodes the change as in docs/api.md, "Changes of the workspace".
func (c Change) MarshalJSON() ([]byte, error) {
	type by struct {
		User     workspace.UserID `json:"user_id,omitzero"`
		Key      workspace.KeyID  `json:"key_id,omitzero"`
		Operator bool             `json:"operator,omitzero"`
	}
	return json.Marshal(struct {
		Op      Op              `json:"op"`
		Kind    Kind            `json:"kind"`
		ID      uuid.UUID       `json:"id"`
		Dataset catalog.Dataset `json:"dataset,omitzero"`
		View    uuid.UUID       `json:"view_id,omitzero"`
		At      string          `json:"at"`
		By      by              `json:"by"`
		Changed []string        `json:"changed"`
	}{
		c.Op, c.Kind, c.ID, c.Dataset, c.View, c.At.UTC().Format(workspace.TimeFormat),
		by{c.By.User, c.By.Key, c.By == workspace.Author{}}, c.Fields,
	})
}

// Position is a position between two changes of a workspace: after the change that it names. It
// becomes invalid once a later change was deleted too, or when Postgres is restored to an
// earlier time. The zero value is the beginning of the workspace.
type Position struct {
	Transaction uint64
	Seq         int64
	// At is the time of the change.
	At time.Time
}

// Page is a part of the changes of a workspace, in their order. It has each Subject once.
type Page struct {
	Changes []Change
	Next    Position
	// CaughtUp means that nothing after the page has been published yet.
	CaughtUp bool
}
