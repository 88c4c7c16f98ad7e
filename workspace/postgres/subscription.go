package postgres

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/workspace"
	"atlas/workspace/subscriptions"
)

var _ subscriptions.Store = (*Store)(nil)

const subscriptionColumns = `id, signal_type, channels, frequency, queue_started_at, created_at, updated_at`

func collectSubscription(row pgx.CollectableRow) (s subscriptions.Subscription, err error) {
	err = row.Scan((*uuid.UUID)(&s.ID), &s.SignalType, &s.Channels, &s.Frequency, &s.QueueStartedAt, &s.CreatedAt, &s.UpdatedAt)
	return s, err
}

// Subscriptions implements subscriptions.Store.
func (s *Store) Subscriptions(ctx context.Context, in workspace.ID, limit, offset int) ([]subscriptions.Subscription, error) {
	return queryAll(ctx, s, in, collectSubscription, `
		SELECT `+subscriptionColumns+` FROM signal_subscriptions WHERE workspace_id = $1
		ORDER BY signal_type LIMIT $2 OFFSET $3`, arg(in), limit, offset)
}

// UpsertSubscription implements subscriptions.Store. The queue begins at the last visible
// arrival, or now if the feed of changes does not know it yet. It is one statement: of two
// concurrent calls for one signal type, the second updates the first's row.
func (s *Store) UpsertSubscription(
	ctx context.Context,
	in workspace.ID,
	sub subscriptions.Subscription,
	change subscriptions.Change,
) (subscriptions.Subscription, error) {
	var frequency *subscriptions.Frequency
	if change.Frequency != "" {
		frequency = &change.Frequency
	}
	return changeOne(ctx, s, in, collectSubscription, `
		INSERT INTO signal_subscriptions AS s (workspace_id, id, signal_type, channels, frequency, queue_started_at, created_at, updated_at, arrived_after)
		VALUES ($1, $2, $3, $4, $5, $6, $6, $6, (SELECT arrived FROM data_feed WHERE generation <> ''))
		ON CONFLICT ON CONSTRAINT signal_subscriptions_type DO UPDATE SET
			channels = coalesce($7, s.channels),
			frequency = coalesce($8, s.frequency),
			updated_at = CASE WHEN (coalesce($7, s.channels), coalesce($8, s.frequency)) IS DISTINCT FROM (s.channels, s.frequency)
			                  THEN $6 ELSE s.updated_at END
		RETURNING `+subscriptionColumns,
		arg(in), arg(sub.ID), sub.SignalType, sub.Channels, sub.Frequency, sub.QueueStartedAt, change.Channels, frequency)
}

// DeleteSubscription implements subscriptions.Store. It also deletes the dismissals of the
// type.
func (s *Store) DeleteSubscription(ctx context.Context, in workspace.ID, id subscriptions.ID) error {
	// Two statements, so that the second one sees dismissals from while the first one
	// waited for the row.
	return s.inWorkspace(ctx, in, func(tx pgx.Tx) error {
		var of string
		err := tx.QueryRow(ctx, `DELETE FROM signal_subscriptions WHERE workspace_id = $1 AND id = $2 RETURNING signal_type`, arg(in), arg(id)).
			Scan(&of)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM dismissed_signals WHERE workspace_id = $1 AND signal_type = $2`, arg(in), of)
		return err
	})
}
