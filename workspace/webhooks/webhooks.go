package webhooks

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/views"
)

// Store stores webhooks and their deliveries. Each method but Webhooks returns fault.NotFound
// for a webhook that the workspace does not have.
type Store interface {
	// Webhooks lists a page, the oldest first.
	Webhooks(ctx context.Context, in workspace.ID, limit, offset int) ([]Webhook, error)
	// InsertWebhook adds a webhook with an encrypted secret: fault.LimitReached if the workspace
	// already has most; fault.ViewNotFound, and fault.BadRequest for a View that cannot be
	// watched.
	InsertWebhook(ctx context.Context, in workspace.ID, w Webhook, secret []byte, most int) (Webhook, error)
	// UpdateWebhook changes URL, events and, unless they are nil, Views, and enables the
	// webhook. Errors as InsertWebhook.
	UpdateWebhook(ctx context.Context, in workspace.ID, w Webhook) (Webhook, error)
	// RotateWebhook sets an encrypted secret. The former one also signs until a time.
	RotateWebhook(ctx context.Context, in workspace.ID, id ID, secret []byte, oldUntil time.Time) (Webhook, error)
	DeleteWebhook(ctx context.Context, in workspace.ID, id ID) error
	// AddDelivery adds a delivery to the queue and returns it.
	AddDelivery(ctx context.Context, in workspace.ID, id ID, j jobs.New, now time.Time) (Delivery, error)
	// Deliveries lists a page, the newest first.
	Deliveries(ctx context.Context, in workspace.ID, id ID, limit, offset int) ([]Delivery, error)
	// ReplayDelivery makes a delivery due, from its first attempt on. Errors: fault.NotFound,
	// also without such a delivery, and fault.WebhookDisabled.
	ReplayDelivery(ctx context.Context, in workspace.ID, id ID, delivery jobs.ID, now time.Time) (Delivery, error)
	// ReplayDeliveries makes due at most some of the deliveries that were created in a span and
	// are not pending, the oldest first: fault.WebhookDisabled.
	ReplayDeliveries(ctx context.Context, in workspace.ID, id ID, s Span, now time.Time, most int) (Replay, error)
}

// Span is the time from From, to before To.
type Span struct{ From, To time.Time }

// Replay is the outcome of replaying a span.
type Replay struct {
	// Replayed is the number of deliveries that are due again.
	Replayed int64
	// Next is the creation time of the first delivery that is left for another call, nil if there
	// is none.
	Next *time.Time
}

// Guard decides which addresses webhooks may have. *egress.Guard implements it.
type Guard interface {
	// Check returns why an address is refused, in words for the client.
	Check(url string) error
}

// Webhooks lists and changes the webhooks of workspaces.
type Webhooks struct {
	Store  Store
	Guard  Guard
	Sealer Sealer
	Limits workspace.Limits
	// Queued, when not nil, is called when a delivery is due.
	Queued func()
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Change is the input of Upsert.
type Change struct {
	// ID is zero for a new webhook.
	ID     ID
	URL    string
	Events []Event
	// Views are the Views of ViewMatched; nil leaves them as they are.
	Views []views.ID
}

func (w *Webhooks) now() time.Time { return workspace.Clock(w.Now)() }

func (w *Webhooks) queued() {
	if w.Queued != nil {
		w.Queued()
	}
}

// List returns a page of the webhooks, the oldest first. The caller checks that limit is
// 1..100 and offset is not negative.
func (w *Webhooks) List(ctx context.Context, in workspace.ID, limit, offset int) ([]Webhook, error) {
	return w.Store.Webhooks(ctx, in, limit, offset)
}

// Upsert creates a webhook, and returns it with its secret, or changes one and enables
// it: fault.InvalidInput, fault.NotFound, fault.LimitReached.
func (w *Webhooks) Upsert(ctx context.Context, in workspace.ID, c Change) (Webhook, error) {
	if err := w.Guard.Check(c.URL); err != nil {
		return Webhook{}, workspace.ValidationError([]fault.Issue{workspace.NewIssue(fault.Custom, "url", err.Error())})
	}
	hook := Webhook{ID: c.ID, URL: c.URL, Events: sorted(c.Events), Views: distinct(c.Views), Enabled: true}
	if !c.ID.IsZero() {
		return w.Store.UpdateWebhook(ctx, in, hook)
	}
	hook.ID, hook.CreatedAt, hook.Secret = ID(workspace.NewUUID()), w.now(), newSecret()
	sealed, err := w.Sealer.Seal(hook.Secret)
	if err != nil {
		return Webhook{}, err
	}
	made, err := w.Store.InsertWebhook(ctx, in, hook, sealed, w.Limits.WithDefaults().Webhooks)
	made.Secret = hook.Secret
	return made, err
}

// Rotate gives a webhook a new secret and returns it. The former one also signs for
// OldSecretFor: fault.NotFound.
func (w *Webhooks) Rotate(ctx context.Context, in workspace.ID, id ID) (Webhook, error) {
	secret := newSecret()
	sealed, err := w.Sealer.Seal(secret)
	if err != nil {
		return Webhook{}, err
	}
	hook, err := w.Store.RotateWebhook(ctx, in, id, sealed, w.now().Add(OldSecretFor))
	hook.Secret = secret
	return hook, err
}

// Delete deletes a webhook. Pending deliveries are not sent: fault.NotFound.
func (w *Webhooks) Delete(ctx context.Context, in workspace.ID, id ID) error {
	return w.Store.DeleteWebhook(ctx, in, id)
}

// Test sends a TestEvent, also to a disabled webhook: fault.NotFound.
func (w *Webhooks) Test(ctx context.Context, in workspace.ID, id ID) (Delivery, error) {
	now := w.now()
	j, err := NewDelivery(in, id, TestEvent, uuid.NewString(), "", struct {
		WorkspaceID workspace.ID `json:"workspace_id"`
		WebhookID   ID           `json:"webhook_id"`
	}{in, id}, now)
	if err != nil {
		return Delivery{}, err
	}
	d, err := w.Store.AddDelivery(ctx, in, id, j, now)
	w.queued()
	return d, err
}

// Deliveries returns a page of the log, the newest first: fault.NotFound.
func (w *Webhooks) Deliveries(ctx context.Context, in workspace.ID, id ID, limit, offset int) ([]Delivery, error) {
	return w.Store.Deliveries(ctx, in, id, limit, offset)
}

// Replay sends a delivery again, with the same id: fault.NotFound, fault.WebhookDisabled.
func (w *Webhooks) Replay(ctx context.Context, in workspace.ID, id ID, delivery jobs.ID) (Delivery, error) {
	d, err := w.Store.ReplayDelivery(ctx, in, id, delivery, w.now())
	w.queued()
	return d, err
}

// ReplaySpan replays the deliveries that were created in a span, at most MaxReplay:
// fault.InvalidInput, fault.NotFound, fault.WebhookDisabled.
func (w *Webhooks) ReplaySpan(ctx context.Context, in workspace.ID, id ID, s Span) (Replay, error) {
	if !s.From.Before(s.To) {
		return Replay{}, workspace.ValidationError([]fault.Issue{workspace.NewIssue(fault.Custom, "to", "must be after from")})
	}
	r, err := w.Store.ReplayDeliveries(ctx, in, id, s, w.now(), MaxReplay)
	w.queued()
	return r, err
}

// distinct returns Views without duplicates, nil for nil.
func distinct(all []views.ID) []views.ID {
	var once []views.ID
	if all != nil {
		once = []views.ID{}
	}
	for _, v := range all {
		if !slices.Contains(once, v) {
			once = append(once, v)
		}
	}
	return once
}
