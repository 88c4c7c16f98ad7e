// Package subscriptions has the types and rules of signal subscriptions (docs/api.md,
// "Signal subscriptions").
package subscriptions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
)

type subscriptionKind struct{}

// ID identifies a signal subscription.
type ID = workspace.TypedID[subscriptionKind]

// Channel is how an alert is delivered.
type Channel string

// Frequency is how often alerts are delivered.
type Frequency string

// The channels, and the frequencies.
const (
	InApp Channel = "in_app"
	Email Channel = "email"

	Instant Frequency = "instant"
	Daily   Frequency = "daily"
	Weekly  Frequency = "weekly"
)

// Channels returns every Channel.
func Channels() []Channel { return []Channel{InApp, Email} }

// Frequencies returns every Frequency.
func Frequencies() []Frequency { return []Frequency{Instant, Daily, Weekly} }

// Subscription means that a workspace tracks one type of signal; it also says how its
// alerts are delivered.
type Subscription struct {
	ID         ID
	SignalType string
	// Channels are 1..2 distinct channels.
	Channels  []Channel
	Frequency Frequency
	// QueueStartedAt is when it began. The queue has the signals that became visible later
	// (docs/decisions/027). It never changes. A subscription that is deleted and re-created
	// has a new one.
	QueueStartedAt       time.Time
	CreatedAt, UpdatedAt time.Time
}

// MarshalJSON encodes the subscription as in docs/api.md, "Signal subscriptions".
func (s Subscription) MarshalJSON() ([]byte, error) {
	type delivery struct {
		Channels  []Channel `json:"channels"`
		Frequency Frequency `json:"frequency"`
	}
	return json.Marshal(struct {
		ID             ID       `json:"id"`
		SignalType     string   `json:"signal_type"`
		Delivery       delivery `json:"delivery"`
		QueueStartedAt *string  `json:"queue_started_at"`
		CreatedAt      *string  `json:"created_at"`
		UpdatedAt      *string  `json:"updated_at"`
	}{
		s.ID, s.SignalType, delivery{s.Channels, s.Frequency},
		workspace.FormatTime(&s.QueueStartedAt), workspace.FormatTime(&s.CreatedAt), workspace.FormatTime(&s.UpdatedAt),
	})
}

// Change is the input of Upsert. An omitted field is not changed; a
// new subscription gets the default: in_app, instant.
type Change struct {
	SignalType string
	// Channels is nil when omitted.
	Channels []Channel
	// Frequency is "" when omitted.
	Frequency Frequency
}

func (c Change) validate() error {
	var issues []fault.Issue
	if !catalog.SignalTypes.Has(c.SignalType) {
		issues = append(issues, workspace.NewIssue(fault.InvalidUnion, "signal_type", "must be a type of signal"))
	}
	for _, channel := range c.Channels {
		if !slices.Contains(Channels(), channel) {
			issues = append(issues, workspace.NewIssue(fault.InvalidUnion, "channels", fmt.Sprintf("%q is none", channel)))
		}
	}
	if c.Frequency != "" && !slices.Contains(Frequencies(), c.Frequency) {
		issues = append(issues, workspace.NewIssue(fault.InvalidUnion, "frequency", fmt.Sprintf("%q is none", c.Frequency)))
	}
	return workspace.ValidationError(issues)
}

// Store stores the signal subscriptions of workspaces.
type Store interface {
	// Subscriptions lists a page by signal type.
	Subscriptions(ctx context.Context, in workspace.ID, limit, offset int) ([]Subscription, error)
	// UpsertSubscription inserts s, or applies change to the subscription of its
	// type. updated_at changes only when another field does.
	UpsertSubscription(ctx context.Context, in workspace.ID, s Subscription, change Change) (Subscription, error)
	// DeleteSubscription succeeds for a subscription that does not exist.
	DeleteSubscription(ctx context.Context, in workspace.ID, id ID) error
}

// Subscriptions lists and changes the signal subscriptions of workspaces.
type Subscriptions struct {
	store Store
	now   func() time.Time
}

// NewSubscriptions returns Subscriptions on a store; now is the clock, time.Now
// when nil.
func NewSubscriptions(store Store, now func() time.Time) *Subscriptions {
	return &Subscriptions{store: store, now: workspace.Clock(now)}
}

// List returns a page of the subscriptions by signal type. The caller checks that
// limit is 1..100 and offset is not negative.
func (s *Subscriptions) List(ctx context.Context, in workspace.ID, limit, offset int) ([]Subscription, error) {
	return s.store.Subscriptions(ctx, in, limit, offset)
}

// Upsert creates or changes the subscription of a signal type:
// fault.InvalidInput.
func (s *Subscriptions) Upsert(ctx context.Context, in workspace.ID, c Change) (Subscription, error) {
	if err := c.validate(); err != nil {
		return Subscription{}, err
	}
	// Sorted without duplicates, so that equal settings compare equal.
	slices.SortFunc(c.Channels, func(a, b Channel) int {
		return slices.Index(Channels(), a) - slices.Index(Channels(), b)
	})
	c.Channels = slices.Compact(c.Channels)
	now := s.now()
	fresh := Subscription{
		ID: ID(workspace.NewUUID()), SignalType: c.SignalType, Channels: []Channel{InApp}, Frequency: Instant,
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

// Delete deletes a subscription. It succeeds for one that does not exist.
func (s *Subscriptions) Delete(ctx context.Context, in workspace.ID, id ID) error {
	return s.store.DeleteSubscription(ctx, in, id)
}
