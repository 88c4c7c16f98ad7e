package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/query"
)

// SubscriptionID names a signal subscription.
type SubscriptionID uuid.UUID

// String is the 36-character lower-case form.
func (id SubscriptionID) String() string { return uuid.UUID(id).String() }

// MarshalText is String, for JSON.
func (id SubscriptionID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// Channel is a way an alert takes.
type Channel string

// Frequency is how alerts are gathered.
type Frequency string

// Channels and Frequencies list what there is.
func Channels() []Channel      { return []Channel{"in_app", "email"} }
func Frequencies() []Frequency { return []Frequency{"instant", "daily", "weekly"} }

// Subscription says that a workspace tracks one type of signal, and how its
// alerts are delivered. It is configuration: no alert is sent by this service.
type Subscription struct {
	ID         SubscriptionID
	SignalType string
	// Channels are 1..2 different ones.
	Channels  []Channel
	Frequency Frequency
	// QueueStartedAt is the watermark: signals from here on are in the queue. It
	// stays while the subscription does, and is new when one is made again.
	QueueStartedAt       time.Time
	CreatedAt, UpdatedAt time.Time
}

// MarshalJSON is the subscription as docs/api.md, "Signal subscriptions", shows
// it.
func (s Subscription) MarshalJSON() ([]byte, error) {
	type delivery struct {
		Channels  []Channel `json:"channels"`
		Frequency Frequency `json:"frequency"`
	}
	return json.Marshal(struct {
		ID             SubscriptionID `json:"id"`
		SignalType     string         `json:"signal_type"`
		Delivery       delivery       `json:"delivery"`
		QueueStartedAt *string        `json:"queue_started_at"`
		CreatedAt      *string        `json:"created_at"`
		UpdatedAt      *string        `json:"updated_at"`
	}{
		s.ID, s.SignalType, delivery{s.Channels, s.Frequency},
		formatTime(&s.QueueStartedAt), formatTime(&s.CreatedAt), formatTime(&s.UpdatedAt),
	})
}

// SubscriptionChange is what an upsert says. What it leaves out stays as it is,
// or is the default of a new subscription: in_app, instant.
type SubscriptionChange struct {
	SignalType string
	// Channels is nil when left out.
	Channels []Channel
	// Frequency is "" when left out.
	Frequency Frequency
}

func (c SubscriptionChange) validate() error {
	var issues []fault.Issue
	if !query.SignalTypes.Has(c.SignalType) {
		issues = append(issues, issue(fault.InvalidUnion, "signal_type", "must be a type of signal"))
	}
	for _, channel := range c.Channels {
		if !slices.Contains(Channels(), channel) {
			issues = append(issues, issue(fault.InvalidUnion, "channels", fmt.Sprintf("%q is none", channel)))
		}
	}
	if c.Frequency != "" && !slices.Contains(Frequencies(), c.Frequency) {
		issues = append(issues, issue(fault.InvalidUnion, "frequency", fmt.Sprintf("%q is none", c.Frequency)))
	}
	return asError(issues)
}

// SubscriptionStore keeps the signal subscriptions of workspaces.
type SubscriptionStore interface {
	// Subscriptions lists a page by signal type.
	Subscriptions(ctx context.Context, in ID, limit, offset int) ([]Subscription, error)
	// UpsertSubscription adds s, or changes the one of its type as change says;
	// updated_at moves only when something changed.
	UpsertSubscription(ctx context.Context, in ID, s Subscription, change SubscriptionChange) (Subscription, error)
	// DeleteSubscription is fine with one that is not there.
	DeleteSubscription(ctx context.Context, in ID, id SubscriptionID) error
}

// Subscriptions is the signal subscriptions of workspaces.
type Subscriptions struct {
	store SubscriptionStore
	now   func() time.Time
}

// NewSubscriptions returns them on a store; now is the clock, time.Now when nil.
func NewSubscriptions(store SubscriptionStore, now func() time.Time) *Subscriptions {
	if now == nil {
		now = time.Now
	}
	return &Subscriptions{store: store, now: now}
}

// List is a page of the subscriptions by signal type. The limit is 1..100, the
// offset not negative; callers check.
func (s *Subscriptions) List(ctx context.Context, in ID, limit, offset int) ([]Subscription, error) {
	return s.store.Subscriptions(ctx, in, limit, offset)
}

// Upsert makes the subscription of a signal type be as the change says:
// fault.InvalidInput.
func (s *Subscriptions) Upsert(ctx context.Context, in ID, c SubscriptionChange) (Subscription, error) {
	if err := c.validate(); err != nil {
		return Subscription{}, err
	}
	// Each channel once, in one order, so that equal settings are equal.
	slices.SortFunc(c.Channels, func(a, b Channel) int {
		return slices.Index(Channels(), a) - slices.Index(Channels(), b)
	})
	c.Channels = slices.Compact(c.Channels)
	now := stamp(s.now())
	fresh := Subscription{
		ID: SubscriptionID(newUUID()), SignalType: c.SignalType, Channels: []Channel{"in_app"}, Frequency: "instant",
		QueueStartedAt: now, CreatedAt: now, UpdatedAt: now,
	}
	if c.Channels != nil {
		fresh.Channels = c.Channels
	}
	if c.Frequency != "" {
		fresh.Frequency = c.Frequency
	}
	return s.store.UpsertSubscription(ctx, in, fresh, c)
}

// Delete ends a subscription; one that is not there is fine.
func (s *Subscriptions) Delete(ctx context.Context, in ID, id SubscriptionID) error {
	return s.store.DeleteSubscription(ctx, in, id)
}
