package webhooks

import (
	"time"

	"atlas/workspace"
	"atlas/workspace/jobs"
)

// Target is what sending needs to know of a webhook. Secrets are encrypted.
type Target struct {
	URL     string
	Enabled bool
	Secret  []byte
	// OldSecret, if not nil, also signs until OldUntil.
	OldSecret []byte
	OldUntil  time.Time
	// FailingSince is the time of the first failed attempt since the last success, nil after a
	// success.
	FailingSince *time.Time
}

// Failures is the number of failed attempts since the last success.
type Failures struct {
	Since time.Time
	Count int
}

// Dead reports whether these failures disable a webhook at a time.
func (f Failures) Dead(at time.Time) bool {
	return f.Count >= FailingAttempts && at.Sub(f.Since) >= FailingFor
}

// Disabled is why a webhook was disabled.
type Disabled string

// The reasons.
const (
	// GoneReceiver answered 410.
	GoneReceiver Disabled = "gone"
	// FailedReceiver failed for FailingFor.
	FailedReceiver Disabled = "failed"
)

// DisabledKind is the kind of the jobs that mail an owner or admin that a webhook was
// disabled. Their lane is the workspace.
const DisabledKind jobs.Kind = "webhook_disabled"

// DisabledNotice is the payload of a job of DisabledKind.
type DisabledNotice struct {
	Webhook ID               `json:"webhook_id"`
	User    workspace.UserID `json:"user_id"`
	Why     Disabled         `json:"why"`
}

// Letter is the content of a notice.
type Letter struct{ WorkspaceName, Email, URL string }

// Dispatched is the result of one step of creating deliveries.
type Dispatched struct {
	Deliveries int64
	// More says that there is more to do.
	More bool
	// StartedOver means that the feed has lost changes since the last step, and dispatching
	// continues at its end.
	StartedOver bool
}

// SignalWebhook is a webhook for arrived signals.
type SignalWebhook struct {
	Workspace workspace.ID
	ID        ID
	// After is the arrival up to which it got signals, nil before the first time.
	After *time.Time
}
