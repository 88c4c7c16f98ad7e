package webhooks

import (
	"time"

	"atlas/workspace"
	"atlas/workspace/jobs"
)

// Target is what sending has to know of a webhook. Secrets are sealed.
type Target struct {
	URL     string
	Enabled bool
	Secret  []byte
	// OldSecret, if not nil, signs too until OldUntil.
	OldSecret []byte
	OldUntil  time.Time
	// FailingSince is when the first of the attempts failed that all failed since, nil
	// after a success.
	FailingSince *time.Time
}

// Failures are the attempts that failed since the last one that did not.
type Failures struct {
	Since time.Time
	Count int
}

// Dead reports whether a webhook is disabled for them at a time.
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

// Letter is what a notice needs to be written.
type Letter struct{ WorkspaceName, Email, URL string }

// Dispatched is what one step of making deliveries did.
type Dispatched struct {
	Deliveries int64
	// More says that there is more to do.
	More bool
	// StartedOver says that the feed of changes does not have everything since the last
	// step: dispatching goes on from its end.
	StartedOver bool
}

// SignalWebhook is a webhook that is told of arrived signals.
type SignalWebhook struct {
	Workspace workspace.ID
	ID        ID
	// After is the arrival up to which it was told, nil before the first time.
	After *time.Time
}
