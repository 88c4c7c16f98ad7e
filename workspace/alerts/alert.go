// Package alerts has alerts on Views (docs/api.md, "Alerts"): which records began to match a
// Dynamic View, who subscribed to it, and which entries they have seen.
//
// The feed of changes has no values, so the matches of a View are stored, once for all users
// with an alert on it. The Watcher compares them with the matches among the changed records.
// It compiles and searches nothing itself: workspace/records does.
package alerts

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/subscriptions"
	"atlas/workspace/views"
)

const (
	// MaxAlerts is how many alerts a person can have in a workspace.
	MaxAlerts = 100
	// MaxMatches is how many records may match a watched View. Beyond it the alert rests.
	MaxMatches = 100_000
	// MaxIDs is the maximum number of record ids in an entry.
	MaxIDs = 500
	// Retention is how long entries are stored.
	Retention = 30 * 24 * time.Hour
)

// State is the state of a watched View.
type State string

// The states.
const (
	// Waiting: the matches are not known yet.
	Waiting State = "waiting"
	// Watching: records that begin to match are reported.
	Watching State = "watching"
	// Resting: nothing is reported, for a Reason.
	Resting State = "resting"
)

// States lists them.
func States() []State { return []State{Waiting, Watching, Resting} }

// Reason says why a View rests.
type Reason string

// The reasons.
const (
	// TooManyMatches: more than MaxMatches records match.
	TooManyMatches Reason = "too_many_matches"
	// DefinitionRefused: the definition cannot be read or compared.
	DefinitionRefused Reason = "definition_refused"
)

// Reasons lists them.
func Reasons() []Reason { return []Reason{TooManyMatches, DefinitionRefused} }

// Rest says since when a View rests, and why.
type Rest struct {
	Since  time.Time
	Reason Reason
}

// MarshalJSON encodes the rest as in docs/api.md, "Alerts".
func (r Rest) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Since  *string `json:"since"`
		Reason Reason  `json:"reason"`
	}{workspace.FormatTime(&r.Since), r.Reason})
}

// Alert is a user's alert on a View.
type Alert struct {
	View    views.ID
	Name    string
	Dataset catalog.Dataset
	State   State
	// Rest is nil unless the View is Resting. RestSeen means that the user has seen it.
	Rest     *Rest
	RestSeen bool
	// New counts the records that were reported since the user last looked.
	New int
	// Latest is the number of the View's latest entry, 0 for none.
	Latest int64
	// Email is how often the user gets e-mails about new entries, "" for never.
	Email     subscriptions.Frequency
	CreatedAt time.Time
	SeenAt    *time.Time
}

// Change is the input of Upsert.
type Change struct {
	View views.ID
	// Email, when not nil, sets how often the user gets e-mails about new entries, "" for never.
	Email *subscriptions.Frequency
}

// MarshalJSON encodes the alert as in docs/api.md, "Alerts".
func (a Alert) MarshalJSON() ([]byte, error) {
	var email *string
	if a.Email != "" {
		email = (*string)(&a.Email)
	}
	return json.Marshal(struct {
		View      views.ID `json:"view_id"`
		Name      string   `json:"view_name"`
		Dataset   string   `json:"dataset"`
		State     State    `json:"state"`
		Rest      *Rest    `json:"rest"`
		RestSeen  bool     `json:"rest_seen"`
		New       int      `json:"new_count"`
		Latest    int64    `json:"latest"`
		Email     *string  `json:"email"`
		CreatedAt *string  `json:"created_at"`
		SeenAt    *string  `json:"seen_at"`
	}{
		a.View, a.Name, a.Dataset.Singular(), a.State, a.Rest, a.RestSeen, a.New, a.Latest, email,
		workspace.FormatTime(&a.CreatedAt), workspace.FormatTime(a.SeenAt),
	})
}

// Entry reports records that began to match a View.
type Entry struct {
	View views.ID
	// Number counts the entries of the View, from 1.
	Number int64
	At     time.Time
	// Count is the number of its records. Records are the first MaxIDs of them by id.
	Count   int
	Records []uuid.UUID
	// Seen means that the user has seen it.
	Seen bool
}

// MarshalJSON encodes the entry as in docs/api.md, "Alerts".
func (e Entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		View    views.ID    `json:"view_id"`
		Number  int64       `json:"number"`
		At      *string     `json:"at"`
		Count   int         `json:"count"`
		Records []uuid.UUID `json:"record_ids"`
		Seen    bool        `json:"seen"`
	}{e.View, e.Number, workspace.FormatTime(&e.At), e.Count, e.Records, e.Seen})
}

// Store stores the alerts of users.
type Store interface {
	// Alerts lists a user's alerts by the names of the Views, then id.
	Alerts(ctx context.Context, in workspace.ID, user workspace.UserID, limit, offset int) ([]Alert, error)
	// UpsertAlert adds or changes an alert. Entries older than the alert count as seen, entries
	// older than its e-mails as mailed. Errors: fault.ViewNotFound, fault.LimitReached beyond
	// MaxAlerts, fault.Forbidden for a user who is not a member, the error of may.
	UpsertAlert(
		ctx context.Context, in workspace.ID, user workspace.UserID, c Change, at time.Time, may func(views.View) error,
	) (Alert, error)
	// DeleteAlert deletes an alert. There may be none.
	DeleteAlert(ctx context.Context, in workspace.ID, user workspace.UserID, view views.ID) error
	// Entries lists the entries since the user added their alerts, the latest first, of one
	// View or of all.
	Entries(ctx context.Context, in workspace.ID, user workspace.UserID, view *views.ID, limit, offset int) ([]Entry, error)
	// SeeView marks entries up to a number as seen, nil for all: fault.NotFound without an alert.
	SeeView(ctx context.Context, in workspace.ID, user workspace.UserID, view views.ID, through *int64, at time.Time) (Alert, error)
}

// Alerts are the alerts of users.
type Alerts struct {
	Store Store
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// List returns a page of a user's alerts.
func (a *Alerts) List(ctx context.Context, in workspace.ID, user workspace.UserID, limit, offset int) ([]Alert, error) {
	return a.Store.Alerts(ctx, in, user, limit, offset)
}

// Upsert switches on an alert, or changes its e-mails. Errors: fault.ViewNotFound,
// fault.BadRequest for a View that cannot be watched, fault.LimitReached.
func (a *Alerts) Upsert(ctx context.Context, in workspace.ID, user workspace.UserID, c Change) (Alert, error) {
	return a.Store.UpsertAlert(ctx, in, user, c, workspace.Clock(a.Now)(), CanWatch)
}

// CanWatch returns why a View cannot be watched, nil if it can.
func CanWatch(v views.View) error {
	if v.Type != views.Dynamic {
		return fault.New(fault.BadRequest, "view_id is a Static View: alerts are on Dynamic Views, whose records begin to match by themselves")
	}
	return nil
}

// Held reports whether a View searches held records, as workspace/join plans it: a View of
// contacts, or one with a condition on values that the workspace writes or Atlas computes for
// it.
func Held(v views.View) bool {
	return v.Dataset == catalog.Contacts || slices.ContainsFunc(v.Definition.Fields, func(c views.Condition) bool { return c.Field.Overlay })
}

// HeldKeys are the keys of such conditions.
func HeldKeys() (keys []string) {
	for _, d := range catalog.Held {
		for _, k := range views.DefinitionKeys(d) {
			if k.Field.Overlay {
				keys = append(keys, k.Key)
			}
		}
	}
	return keys
}

// reportsShown reports whether a View also reports records that the workspace put into its book
// itself. A View with a condition on written values does: setting a tier, for example, also
// puts the record into the book. For other Views such records become known without an entry.
func reportsShown(v views.View) bool {
	return slices.ContainsFunc(v.Definition.Fields, func(c views.Condition) bool { return c.Field.Overlay && c.Field.Written })
}

// Delete switches an alert off. There may be none.
func (a *Alerts) Delete(ctx context.Context, in workspace.ID, user workspace.UserID, view views.ID) error {
	return a.Store.DeleteAlert(ctx, in, user, view)
}

// Entries returns a page of the entries of the user's alerts, of one View or of all.
func (a *Alerts) Entries(
	ctx context.Context, in workspace.ID, user workspace.UserID, view *views.ID, limit, offset int,
) ([]Entry, error) {
	return a.Store.Entries(ctx, in, user, view, limit, offset)
}

// See marks a View's entries up to a number as seen, nil for all. It never goes back.
func (a *Alerts) See(ctx context.Context, in workspace.ID, user workspace.UserID, view views.ID, through *int64) (Alert, error) {
	return a.Store.SeeView(ctx, in, user, view, through, workspace.Clock(a.Now)())
}
