// Package delivery sends events to webhooks: a Dispatcher creates the deliveries, a Sender
// sends them. docs/architecture.md, "Jobs and webhooks".
package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"golang.org/x/sync/singleflight"

	"atlas/internal/egress"
	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/webhooks"
)

const (
	// timeout bounds one attempt.
	timeout = 15 * time.Second
	// maxRead is how many bytes of a response are read and discarded, so that its connection can
	// be reused.
	maxRead = 16 << 10
	// maxAfter is the maximum Retry-After.
	maxAfter = time.Hour
	// slots is the maximum number of concurrent requests of a server, laneSlots that to one
	// webhook.
	slots, laneSlots = 256, 32
)

// Targets stores webhooks for a Sender. *postgres.System implements it.
type Targets interface {
	// WebhookTarget returns fault.NotFound for a deleted webhook.
	WebhookTarget(ctx context.Context, in workspace.ID, id webhooks.ID) (webhooks.Target, error)
	// WebhookFailing counts a failed attempt, and returns the number since the last success. Like
	// the following methods it changes nothing if the webhook has another URL than the one that
	// was tried.
	WebhookFailing(ctx context.Context, in workspace.ID, id webhooks.ID, url string, at time.Time) (webhooks.Failures, error)
	// WebhookWorks clears FailingSince.
	WebhookWorks(ctx context.Context, in workspace.ID, id webhooks.ID, url string) error
	// DisableWebhook disables a webhook, and adds a job of the kind webhooks.DisabledKind for
	// each of its owners and admins. It changes nothing if the webhook is already disabled.
	DisableWebhook(ctx context.Context, in workspace.ID, id webhooks.ID, url string, why webhooks.Disabled, now time.Time) error
}

// Sender sends the deliveries of webhooks.
type Sender struct {
	targets Targets
	sealer  webhooks.Sealer
	client  *http.Client
	now     func() time.Time
	log     *slog.Logger
	reading singleflight.Group
}

// NewSender returns a Sender; now is the clock, time.Now when nil.
func NewSender(targets Targets, sealer webhooks.Sealer, guard *egress.Guard, now func() time.Time, log *slog.Logger) *Sender {
	if now == nil {
		now = time.Now
	}
	return &Sender{targets: targets, sealer: sealer, client: guard.Client(), now: now, log: log}
}

// Handler runs the jobs of deliveries.
func (s *Sender) Handler() jobs.Handler {
	return jobs.Handler{Kind: webhooks.Kind, Run: s.Send, Timeout: timeout + 10*time.Second, Slots: slots, LaneSlots: laneSlots}
}

// Close closes the idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

var (
	errGone     = errors.New("the webhook is gone")
	errDisabled = errors.New("the webhook is disabled")
)

// Send makes one attempt to deliver.
func (s *Sender) Send(ctx context.Context, j jobs.Job) jobs.Result {
	id := webhooks.ID(j.Lane)
	var p webhooks.Payload
	if err := json.Unmarshal(j.Payload, &p); err != nil {
		return jobs.Result{Err: errors.New("the payload is malformed"), Final: true}
	}
	target, err := s.target(ctx, j.Workspace, id)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return jobs.Result{Err: errGone, Final: true}
	case err != nil:
		return jobs.Result{Err: errors.New("the webhook could not be read")}
	case !target.Enabled && p.Event != webhooks.TestEvent:
		return jobs.Result{Err: errDisabled, Final: true}
	}
	result := s.post(ctx, j, p, target)
	if p.Event != webhooks.TestEvent {
		s.judge(ctx, j, target, result)
	}
	return result
}

// seen is a webhook, and when its read began.
type seen struct {
	at     time.Time
	target webhooks.Target
}

// target returns a webhook as it is now, so that a delivery after a rotation is signed with
// the new secret. Deliveries that begin together share a read.
func (s *Sender) target(ctx context.Context, in workspace.ID, id webhooks.ID) (webhooks.Target, error) {
	for began := time.Now(); ; {
		read, err, _ := s.reading.Do(in.String()+id.String(), func() (any, error) {
			at := time.Now()
			target, err := s.targets.WebhookTarget(ctx, in, id)
			return seen{at, target}, err
		})
		if err != nil {
			return webhooks.Target{}, err
		}
		if is := read.(seen); !is.at.Before(began) { // otherwise the read was already in progress
			return is.target, nil
		}
	}
}

// message is the body of a delivery: the same in each attempt.
type message struct {
	Type      webhooks.Event  `json:"type"`
	Timestamp *string         `json:"timestamp"`
	Data      json.RawMessage `json:"data"`
}

// post sends one request.
func (s *Sender) post(ctx context.Context, j jobs.Job, p webhooks.Payload, target webhooks.Target) jobs.Result {
	body, err := json.Marshal(message{p.Event, workspace.FormatTime(&j.CreatedAt), p.Data})
	if err != nil {
		return jobs.Result{Err: errors.New("the payload is malformed"), Final: true}
	}
	now := s.now()
	signature, err := s.sign(target, j.ID.String(), now, body)
	if err != nil {
		s.log.Error(
			"the secret of a webhook cannot be opened: rotate it, or bring back the key of the servers",
			"webhook",
			j.Lane.String(),
			"workspace",
			j.Workspace.String(),
		)
		return jobs.Result{Err: errors.New("the secret cannot be opened")}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.URL, bytes.NewReader(body))
	if err != nil {
		return jobs.Result{Err: errors.New("the URL is malformed"), Final: true}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "Atlas-Webhooks")
	request.Header.Set(standardwebhooks.HeaderWebhookID, j.ID.String())
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	response, err := s.client.Do(request)
	if err != nil {
		return jobs.Result{Err: errors.New(egress.Reason(err))}
	}
	if response.StatusCode != http.StatusSwitchingProtocols { // the body is then a connection, which ctx does not end
		_, _ = io.CopyN(io.Discard, response.Body, maxRead)
	}
	_ = response.Body.Close()
	result := jobs.Result{Status: response.StatusCode}
	switch {
	case response.StatusCode/100 == 2:
	case response.StatusCode == http.StatusGone:
		result.Err, result.Final = errors.New("the receiver is gone (410)"), true
	default:
		result.Err, result.After = fmt.Errorf("status %d", response.StatusCode), retryAfter(response)
	}
	return result
}

// retryAfter is the pause that a busy receiver asks for.
func retryAfter(r *http.Response) time.Duration {
	if r.StatusCode != http.StatusTooManyRequests && r.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(min(seconds, int(maxAfter/time.Second)))*time.Second, maxAfter)
}

// sign returns the signatures with the secret and, after a rotation, with the former one.
func (s *Sender) sign(target webhooks.Target, id string, at time.Time, body []byte) (string, error) {
	sealed := [][]byte{target.Secret}
	if target.OldSecret != nil && at.Before(target.OldUntil) {
		sealed = append(sealed, target.OldSecret)
	}
	var signatures string
	for i, box := range sealed {
		secret, _, err := s.sealer.Open(box)
		if err != nil && i > 0 {
			continue // the key of the former secret is gone
		}
		if err != nil {
			return "", err
		}
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return "", err
		}
		signature, err := signer.Sign(id, at, body)
		if err != nil {
			return "", err
		}
		if i > 0 {
			signatures += " "
		}
		signatures += signature
	}
	return signatures, nil
}

// judge records since when a webhook has failed, and finally disables it.
func (s *Sender) judge(ctx context.Context, j jobs.Job, target webhooks.Target, r jobs.Result) {
	id := webhooks.ID(j.Lane)
	var err error
	switch now := workspace.StoredTime(s.now()); {
	case r.Err == nil && target.FailingSince == nil:
		return
	case r.Err == nil:
		err = s.targets.WebhookWorks(ctx, j.Workspace, id, target.URL)
	case r.Status == http.StatusGone:
		err = s.targets.DisableWebhook(ctx, j.Workspace, id, target.URL, webhooks.GoneReceiver, now)
	default:
		var failed webhooks.Failures
		failed, err = s.targets.WebhookFailing(ctx, j.Workspace, id, target.URL, now)
		if err == nil && failed.Dead(now) {
			err = s.targets.DisableWebhook(ctx, j.Workspace, id, target.URL, webhooks.FailedReceiver, now)
		}
	}
	if err != nil {
		s.log.Warn("the state of a webhook was not kept", "webhook", id.String(), "workspace", j.Workspace.String(), "error", err)
	}
}
