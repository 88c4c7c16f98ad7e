package client

import (
	"context"
	"iter"
	"time"
)

// Subscription is a tracked type of signals and the delivery of its alerts.
type Subscription struct {
	ID             string     `json:"id"`
	SignalType     SignalType `json:"signal_type"`
	Delivery       Delivery   `json:"delivery"`
	QueueStartedAt time.Time  `json:"queue_started_at"`
	CreatedAt      time.Time  `json:"created_at"`
	UpdatedAt      time.Time  `json:"updated_at"`
}

// Delivery of alerts. In an upsert, empty fields do not change.
type Delivery struct {
	Channels  []Channel `json:"channels,omitzero"`
	Frequency Frequency `json:"frequency,omitzero"`
}

// Subscriptions are the workspace's signal subscriptions, one for each type.
type Subscriptions struct{ conn *conn }

// List iterates over the subscriptions by type.
func (s *Subscriptions) List(ctx context.Context) iter.Seq2[Subscription, error] {
	return list[Subscription](ctx, s.conn, "/workspace/signal-subscriptions", "subscriptions", nil)
}

// Upsert subscribes to a type of signals, or changes the delivery.
func (s *Subscriptions) Upsert(ctx context.Context, signalType SignalType, d Delivery) (Subscription, error) {
	body := struct {
		SignalType SignalType `json:"signal_type"`
		Delivery   Delivery   `json:"delivery"`
	}{signalType, d}
	got, err := post[struct{ Subscription Subscription }](ctx, s.conn, "/workspace/signal-subscriptions/upsert", body)
	return got.Subscription, err
}

// Delete ends a subscription. It succeeds when there is none.
func (s *Subscriptions) Delete(ctx context.Context, id string) error {
	return remove(ctx, s.conn, "/workspace/signal-subscriptions"+segment(id))
}
