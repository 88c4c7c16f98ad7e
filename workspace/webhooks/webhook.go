// Package webhooks has the types and rules of webhooks (docs/api.md, "Webhooks"): their
// events, their secrets, the log of their deliveries and its replay. A delivery is a job
// (workspace/jobs); package service/delivery sends it.
package webhooks

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/internal/seal"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/jobs"
	"atlas/workspace/views"
)

type webhookKind struct{}

// ID identifies a webhook.
type ID = workspace.TypedID[webhookKind]

// Kind is the kind of the jobs that deliver webhooks. Their lane is the webhook's id.
const Kind jobs.Kind = "webhook"

// Event is a kind of event that a webhook can get.
type Event string

// The events. TestEvent is sent on request, without a subscription.
const (
	SignalArrived    Event = "signal.arrived"
	RecordChanged    Event = "record.changed"
	RecordDeleted    Event = "record.deleted"
	RecordMerged     Event = "record.merged"
	CreditsThreshold Event = "credits.threshold" // #nosec G101 -- the name of an event
	LoadSwitched     Event = "load.switched"
	AuditEvent       Event = "audit.event"
	ViewMatched      Event = "view.matched"
	TestEvent        Event = "webhook.test"
)

// Events returns every Event that a webhook can choose.
func Events() []Event {
	return []Event{SignalArrived, RecordChanged, RecordDeleted, RecordMerged, CreditsThreshold, LoadSwitched, AuditEvent, ViewMatched}
}

const (
	// MaxURL is the maximum length of a URL, in characters.
	MaxURL = 2000
	// OldSecretFor is how long the former secret also signs after a rotation.
	OldSecretFor = 24 * time.Hour
	// FailingFor is how long every attempt may fail until a webhook is disabled.
	FailingFor = 24 * time.Hour
	// FailingAttempts is how many attempts must have failed in that time: for a rarely used
	// receiver, two failures a day apart say nothing about the time between.
	FailingAttempts = 3
	// Retention is how long deliveries are stored.
	Retention = 30 * 24 * time.Hour
	// MaxNotices is how many e-mails about disabled webhooks of a workspace a user gets in 24
	// hours, however often somebody enables webhooks.
	MaxNotices = 20
	// MaxViews is how many Views a webhook can name for ViewMatched.
	MaxViews = 20
	// MaxReplay is how many deliveries one call replays.
	MaxReplay = 10_000
)

// Webhook is an address that receives events.
type Webhook struct {
	ID ID
	// URL is in the form of Guard.Check; WithoutPath reduces it to its host.
	URL string
	// URLDigest is the Digest of the whole URL after WithoutPath, else "".
	URLDigest string
	// Events are distinct values of Events(), in their order, at least one.
	Events []Event
	// Views are the Views of ViewMatched, in the given order.
	Views []views.ID
	// Named are the states of Views.
	Named []NamedView
	// Enabled becomes false when the receiver is gone or failed too long.
	Enabled   bool
	CreatedAt time.Time
	// Secret is "whsec_" and base64, and "" except in the answer to creation and rotation.
	Secret string
}

// NamedView is a View that a webhook names.
type NamedView struct {
	View views.ID `json:"view_id"`
	// Name is nil for a View that is deleted.
	Name  *string    `json:"name"`
	State NamedState `json:"state"`
	// Rest is nil unless the View rests.
	Rest *alerts.Rest `json:"rest"`
}

// NamedState says whether a webhook gets events of a View: an alerts.State, or one of these.
type NamedState string

// The states of Views whose events a webhook does not get.
const (
	// Off: the webhook is disabled, or did not choose ViewMatched.
	Off NamedState = "off"
	// Deleted: there is no such View anymore.
	Deleted NamedState = "deleted"
)

// NamedStates lists all states.
func NamedStates() (all []NamedState) {
	for _, s := range alerts.States() {
		all = append(all, NamedState(s))
	}
	return append(all, Off, Deleted)
}

// MarshalJSON encodes the webhook as in docs/api.md, "Webhooks".
func (w Webhook) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID        ID          `json:"id"`
		URL       string      `json:"url"`
		URLDigest string      `json:"url_digest"`
		Events    []Event     `json:"events"`
		Views     []views.ID  `json:"view_ids"`
		Named     []NamedView `json:"views"`
		Enabled   bool        `json:"enabled"`
		CreatedAt *string     `json:"created_at"`
		Secret    string      `json:"secret,omitempty"`
	}{w.ID, w.URL, cmp.Or(w.URLDigest, Digest(w.URL)), w.Events, append([]views.ID{}, w.Views...), append([]NamedView{}, w.Named...),
		w.Enabled, workspace.FormatTime(&w.CreatedAt), w.Secret})
}

// Digest returns the SHA-256 of a URL, in hexadecimal.
func Digest(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:])
}

// WithoutPath returns the webhook for callers who may not manage it: its URL has only scheme
// and host. Many receivers use the rest as a password.
func (w Webhook) WithoutPath() Webhook {
	w.URLDigest = Digest(w.URL)
	if u, err := url.Parse(w.URL); err == nil {
		w.URL = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}).String()
	} else {
		w.URL = ""
	}
	return w
}

// Status is the status of a delivery.
type Status string

// The statuses of a delivery.
const (
	Pending   Status = "pending"
	Delivered Status = "delivered"
	Failed    Status = "failed"
)

// Statuses returns every Status.
func Statuses() []Status { return []Status{Pending, Delivered, Failed} }

// Delivery is one event for one webhook.
type Delivery struct {
	// ID is the webhook-id of each attempt.
	ID     jobs.ID
	Event  Event
	Status Status
	// Attempts is how many attempts have ended since it was created or replayed.
	Attempts int
	// NextAttemptAt is nil unless it is pending.
	NextAttemptAt *time.Time
	// ResponseStatus is that of the last attempt, 0 if there was no response.
	ResponseStatus int
	CreatedAt      time.Time
}

// DeliveryOf returns the delivery that a job is.
func DeliveryOf(j jobs.Job) Delivery {
	var p Payload
	_ = json.Unmarshal(j.Payload, &p) // NewDelivery wrote it
	d := Delivery{
		ID: j.ID, Event: p.Event, Status: map[jobs.State]Status{jobs.Pending: Pending, jobs.Done: Delivered, jobs.Failed: Failed}[j.State],
		Attempts: j.Attempts, ResponseStatus: j.Status, CreatedAt: j.CreatedAt,
	}
	if j.State == jobs.Pending {
		d.NextAttemptAt = &j.RunAt
	}
	return d
}

// MarshalJSON encodes the delivery as in docs/api.md, "Webhooks".
func (d Delivery) MarshalJSON() ([]byte, error) {
	var status *int
	if d.ResponseStatus != 0 {
		status = &d.ResponseStatus
	}
	return json.Marshal(struct {
		ID             jobs.ID `json:"id"`
		Event          Event   `json:"event"`
		Status         Status  `json:"status"`
		Attempts       int     `json:"attempts"`
		NextAttemptAt  *string `json:"next_attempt_at"`
		ResponseStatus *int    `json:"response_status"`
		CreatedAt      *string `json:"created_at"`
	}{d.ID, d.Event, d.Status, d.Attempts, workspace.FormatTime(d.NextAttemptAt), status, workspace.FormatTime(&d.CreatedAt)})
}

// Payload is the payload of a delivery's job.
type Payload struct {
	Event Event           `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// NewDelivery returns the job that sends an event to a webhook. Its id is jobs.IDFor(webhook,
// place). Deliveries with the same order, if not "", stay in order. data has ids and small
// values, and is encoded as JSON.
func NewDelivery(in workspace.ID, webhook ID, e Event, place, order string, data any, now time.Time) (jobs.New, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return jobs.New{}, err
	}
	payload, err := json.Marshal(Payload{e, text})
	lane := uuid.UUID(webhook)
	return jobs.New{ID: jobs.IDFor(lane, place), Workspace: in, Kind: Kind, Lane: lane, Order: order, Payload: payload, RunAt: now}, err
}

// Sealer encrypts the secrets of webhooks.
type Sealer struct {
	// Keys are those of the servers: the first encrypts, all decrypt.
	Keys [][]byte
}

// purpose separates secrets from other uses of the keys.
const purpose = "secrets of webhooks"

// Seal encrypts a secret.
func (s Sealer) Seal(secret string) ([]byte, error) { return seal.Seal(s.Keys[0], purpose, secret) }

// Open decrypts a secret. current is false if a key other than the first encrypted it.
func (s Sealer) Open(sealed []byte) (secret string, current bool, err error) {
	for i, key := range s.Keys {
		if err = seal.Open(key, purpose, sealed, &secret); err == nil {
			return secret, i == 0, nil
		}
	}
	return "", false, err
}

// newSecret returns a secret of 32 random bytes, in the form of Standard Webhooks.
func newSecret() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(secret)
}

// sorted returns the distinct events in the order of Events.
func sorted(events []Event) []Event {
	events = slices.Clone(events)
	slices.SortFunc(events, func(a, b Event) int { return slices.Index(Events(), a) - slices.Index(Events(), b) })
	return slices.Compact(events)
}
