package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// Alerts are the alerts of the calling user on Dynamic Views: they report which records began
// to match. An API key has none: ErrUserIdentityRequired.
type Alerts struct{ conn *conn }

const alertsPath = "/workspace/alerts"

// Alert is a user's alert on a View.
type Alert struct {
	ViewID   string `json:"view_id"`
	ViewName string `json:"view_name"`
	// Dataset is singular, as in a View.
	Dataset ViewDataset `json:"dataset"`
	// State is "waiting", "watching" or "resting".
	State string `json:"state"`
	// Rest is nil unless State is "resting". RestSeen is false until the user has looked at it.
	Rest     *AlertRest `json:"rest"`
	RestSeen bool       `json:"rest_seen"`
	// NewCount counts the records that were reported since the user last looked.
	NewCount int `json:"new_count"`
	// Latest is the number of the View's latest entry, 0 for none.
	Latest int64 `json:"latest"`
	// Email is how often the user gets e-mails about new entries: "instant", "daily", "weekly",
	// or "" for never.
	Email     string     `json:"email"`
	CreatedAt time.Time  `json:"created_at"`
	SeenAt    *time.Time `json:"seen_at"`
}

// AlertRest says since when an alert reports nothing, and why: "too_many_matches" or
// "definition_refused".
type AlertRest struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// AlertEntry reports the records that began to match a View at one time.
type AlertEntry struct {
	ViewID string `json:"view_id"`
	// Number counts the entries of the View, from 1.
	Number int64     `json:"number"`
	At     time.Time `json:"at"`
	Count  int       `json:"count"`
	// RecordIDs are the first 500.
	RecordIDs []string `json:"record_ids"`
	Seen      bool     `json:"seen"`
}

type oneAlert struct{ Alert Alert }

// List iterates over the alerts, sorted by the names of the Views.
func (a *Alerts) List(ctx context.Context) iter.Seq2[Alert, error] {
	return list[Alert](ctx, a.conn, alertsPath, "alerts", nil)
}

// Entries iterates over the entries of one View or, with "", of all, the latest first.
func (a *Alerts) Entries(ctx context.Context, view string) iter.Seq2[AlertEntry, error] {
	params := url.Values{}
	if view != "" {
		params.Set("view_id", view)
	}
	return list[AlertEntry](ctx, a.conn, alertsPath+"/entries", "entries", params)
}

// Upsert switches on an alert on a View. Records that match now are not reported.
func (a *Alerts) Upsert(ctx context.Context, view string) (Alert, error) {
	body := struct {
		ViewID string `json:"view_id"`
	}{view}
	got, err := post[oneAlert](ctx, a.conn, alertsPath+"/upsert", body)
	return got.Alert, err
}

// Mail sets how often the user gets e-mails about new entries: "instant", "daily", "weekly",
// or "" for never. It switches the alert on.
func (a *Alerts) Mail(ctx context.Context, view, frequency string) (Alert, error) {
	body := struct {
		ViewID string  `json:"view_id"`
		Email  *string `json:"email"`
	}{ViewID: view}
	if frequency != "" {
		body.Email = &frequency
	}
	got, err := post[oneAlert](ctx, a.conn, alertsPath+"/upsert", body)
	return got.Alert, err
}

// Delete switches an alert off. It succeeds when there is none.
func (a *Alerts) Delete(ctx context.Context, view string) error {
	return remove(ctx, a.conn, alertsPath+segment(view))
}

// See marks the entries of a View up to a number as seen, or all of them for nil.
func (a *Alerts) See(ctx context.Context, view string, through *int64) (Alert, error) {
	body := struct {
		Through *int64 `json:"through,omitempty"`
	}{through}
	got, err := post[oneAlert](ctx, a.conn, "/workspace/views"+segment(view)+"/seen", body)
	return got.Alert, err
}
