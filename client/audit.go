package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// AuditEvent is a change of access, or of data that left the service.
type AuditEvent struct {
	ID int64 `json:"id"`
	// At is accurate to a microsecond.
	At time.Time `json:"at"`
	// Action is the kind of the object and of the change, such as "api_key.created".
	Action    string         `json:"action"`
	Principal AuditPrincipal `json:"principal"`
	// Network is a /24 or a /48 of the client, nil if it is not known.
	Network   *netip.Prefix `json:"network"`
	RequestID *string       `json:"request_id"`
	Object    AuditObject   `json:"object"`
	// Fields are the names of the changed fields.
	Fields []string `json:"fields"`
	// Details is a JSON object. Its texts that begin with "sha256:" replace values of
	// persons; Values has those that were not erased.
	Details json.RawMessage   `json:"details"`
	Values  map[string]string `json:"values"`
	// Transaction is equal for changes that were made together.
	Transaction string `json:"transaction"`
	// Number, Previous and Digest are the position in the chain, nil for some seconds.
	Number   *int64  `json:"number"`
	Previous *string `json:"previous"`
	Digest   *string `json:"digest"`
}

// AuditPrincipal is who acted. ID is nil for the operator and the service itself.
type AuditPrincipal struct {
	Kind PrincipalKind `json:"kind"`
	ID   *string       `json:"id"`
}

// AuditObject is what an event is about.
type AuditObject struct {
	Kind string  `json:"kind"`
	ID   *string `json:"id"`
}

// AuditQuery selects events. The zero value selects all, the newest first.
type AuditQuery struct {
	// Action is an action, such as "api_key.created", or the kind of an object, such as
	// "api_key".
	Action string
	// PrincipalID is who acted, ObjectID what the events are about.
	PrincipalID, ObjectID string
	// Since and Until bound the time, Until exclusively.
	Since, Until time.Time
	// Oldest selects the order of the chain, without unchained events.
	Oldest bool
}

// RecordsDelivered is how many records a principal got by an operation in an hour.
type RecordsDelivered struct {
	Hour      time.Time      `json:"hour"`
	Principal AuditPrincipal `json:"principal"`
	Operation string         `json:"operation"`
	Records   int64          `json:"records"`
	Requests  int64          `json:"requests"`
}

// Audit is the audit log of the workspace, for owners, admins and keys with
// ScopeWorkspaceAdmin.
type Audit struct{ conn *conn }

const auditPath = "/workspace/audit"

// Events iterates over the existing events.
func (a *Audit) Events(ctx context.Context, q AuditQuery) iter.Seq2[AuditEvent, error] {
	params := url.Values{"limit": {strconv.Itoa(2 * MaxPage)}}
	set := func(name, value string) {
		if value != "" {
			params.Set(name, value)
		}
	}
	set("action", q.Action)
	set("principal_id", q.PrincipalID)
	set("object_id", q.ObjectID)
	setTimes(params, q.Since, q.Until)
	if q.Oldest {
		params.Set("order", "oldest")
	}
	return cursored[AuditEvent](ctx, a.conn, auditPath, "events", params)
}

func setTimes(params url.Values, since, until time.Time) {
	for name, at := range map[string]time.Time{"since": since, "until": until} {
		if !at.IsZero() {
			params.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
}

// Delivered iterates over the records delivered to a principal, or to all if it is "", by
// operation and hour, the latest first. Since and until bound the hours; zero: no bound.
func (a *Audit) Delivered(ctx context.Context, principalID string, since, until time.Time) iter.Seq2[RecordsDelivered, error] {
	params := url.Values{}
	if principalID != "" {
		params.Set("principal_id", principalID)
	}
	setTimes(params, since, until)
	return list[RecordsDelivered](ctx, a.conn, auditPath+"/records", "delivered", params)
}
