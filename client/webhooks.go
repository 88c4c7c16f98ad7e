package client

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Webhook is an address that receives events.
type Webhook struct {
	ID string `json:"id"`
	// URL has neither path nor query for a key without workspace:write. URLDigest is the SHA-256
	// of the whole URL in hexadecimal.
	URL       string  `json:"url"`
	URLDigest string  `json:"url_digest"`
	Events    []Event `json:"events"`
	// ViewIDs are the Views whose EventViewMatched the webhook gets.
	ViewIDs []string `json:"view_ids"`
	// Views are the states of ViewIDs, in the same order.
	Views     []WebhookView `json:"views"`
	Enabled   bool          `json:"enabled"`
	CreatedAt time.Time     `json:"created_at"`
	// Secret is returned only by Upsert for a new webhook and by Rotate.
	Secret string `json:"secret"`
}

// WebhookView is a View that a webhook names.
type WebhookView struct {
	ViewID string `json:"view_id"`
	// Name is "" for a deleted View.
	Name string `json:"name"`
	// State is that of an Alert, "off" if the webhook gets no events of Views, or "deleted".
	State string `json:"state"`
	// Rest is nil unless State is "resting".
	Rest *AlertRest `json:"rest"`
}

// WebhookDelivery is the delivery of an event to a webhook, done or due.
type WebhookDelivery struct {
	ID             string         `json:"id"` // the webhook-id of each attempt
	Event          Event          `json:"event"`
	Status         DeliveryStatus `json:"status"`
	Attempts       int            `json:"attempts"`
	NextAttemptAt  *time.Time     `json:"next_attempt_at"`
	ResponseStatus *int           `json:"response_status"`
	CreatedAt      time.Time      `json:"created_at"`
}

// Webhooks are the webhooks of the workspace, for owners, admins and API keys.
type Webhooks struct{ conn *conn }

const webhooksPath = "/workspace/webhooks"

// List iterates over the webhooks, the oldest first.
func (w *Webhooks) List(ctx context.Context) iter.Seq2[Webhook, error] {
	return list[Webhook](ctx, w.conn, webhooksPath, "webhooks", nil)
}

// Upsert creates a webhook if id is "", or changes and enables one.
func (w *Webhooks) Upsert(ctx context.Context, id, url string, events ...Event) (Webhook, error) {
	return w.UpsertOfViews(ctx, id, url, nil, events...)
}

// UpsertOfViews is Upsert with the Views of EventViewMatched; nil leaves them as they are:
// ErrViewNotFound.
func (w *Webhooks) UpsertOfViews(ctx context.Context, id, url string, views []string, events ...Event) (Webhook, error) {
	body := struct {
		ID      string   `json:"id,omitzero"`
		URL     string   `json:"url"`
		Events  []Event  `json:"events"`
		ViewIDs []string `json:"view_ids,omitzero"`
	}{id, url, events, views}
	got, err := post[struct{ Webhook Webhook }](ctx, w.conn, webhooksPath+"/upsert", body)
	return got.Webhook, err
}

// Delete deletes a webhook: ErrNotFound.
func (w *Webhooks) Delete(ctx context.Context, id string) error {
	return remove(ctx, w.conn, webhooksPath+segment(id))
}

// Rotate gives a webhook a new secret. For 24 hours deliveries are also signed with the
// former one.
func (w *Webhooks) Rotate(ctx context.Context, id string) (Webhook, error) {
	got, err := post[struct{ Webhook Webhook }](ctx, w.conn, webhooksPath+segment(id)+"/rotate", nil)
	return got.Webhook, err
}

// Test sends the event webhook.test.
func (w *Webhooks) Test(ctx context.Context, id string) (WebhookDelivery, error) {
	got, err := post[struct{ Delivery WebhookDelivery }](ctx, w.conn, webhooksPath+segment(id)+"/test", nil)
	return got.Delivery, err
}

// Deliveries iterates over the log of a webhook, the newest first.
func (w *Webhooks) Deliveries(ctx context.Context, id string) iter.Seq2[WebhookDelivery, error] {
	return list[WebhookDelivery](ctx, w.conn, webhooksPath+segment(id)+"/deliveries", "deliveries", nil)
}

// Replay sends a delivery again, with the same webhook-id.
func (w *Webhooks) Replay(ctx context.Context, id, delivery string) (WebhookDelivery, error) {
	got, err := post[struct{ Delivery WebhookDelivery }](ctx, w.conn, webhooksPath+segment(id)+"/deliveries"+segment(delivery)+"/replay", nil)
	return got.Delivery, err
}

// ReplayBetween replays the deliveries created from one time until before another, and
// returns their number.
func (w *Webhooks) ReplayBetween(ctx context.Context, id string, from, to time.Time) (replayed int, err error) {
	for {
		body := struct {
			From time.Time `json:"from"`
			To   time.Time `json:"to"`
		}{from.UTC(), to.UTC()}
		got, err := post[struct {
			Replayed int
			Next     *time.Time
		}](ctx, w.conn, webhooksPath+segment(id)+"/replay", body)
		replayed += got.Replayed
		if err != nil || got.Next == nil {
			return replayed, err
		}
		from = *got.Next
	}
}

// WebhookEvent is the body of a delivery. Data has the ids of the affected objects; read the
// objects from the API.
type WebhookEvent struct {
	// ID is the webhook-id: the same in each attempt and replay of an event.
	ID        string          `json:"-"`
	Type      Event           `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Data      json.RawMessage `json:"data"`
}

// webhookTolerance is the maximum age of a delivery, against replayed requests.
const webhookTolerance = 5 * time.Minute

// ErrWebhookSignature is the error of a request that Atlas did not sign.
var ErrWebhookSignature = errors.New("the signature of the webhook is not valid")

// ReadWebhook checks the signature of a request to a webhook and reads its body. Respond with
// a status of 2xx once the event is stored: otherwise it is delivered again.
func ReadWebhook(secret string, header http.Header, body []byte) (WebhookEvent, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return WebhookEvent{}, fmt.Errorf("the secret of the webhook: %w", err)
	}
	id, at := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if age := time.Since(time.Unix(seconds, 0)); err != nil || id == "" || age > webhookTolerance || age < -webhookTolerance {
		return WebhookEvent{}, ErrWebhookSignature
	}
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	want := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, signature := range strings.Fields(header.Get("Webhook-Signature")) {
		if hmac.Equal([]byte(signature), want) {
			event := WebhookEvent{ID: id}
			err := json.Unmarshal(body, &event)
			return event, err
		}
	}
	return WebhookEvent{}, ErrWebhookSignature
}
