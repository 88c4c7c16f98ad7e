package endpoint

import "time"

// Meter counts requests. *telemetry.Metrics implements it.
type Meter interface {
	// Request counts an answered request by its operation.
	Request(operation string, status int, took time.Duration)
	// InFlight adds change to the requests in progress: 1 at the start, -1 at the end.
	InFlight(change int)
	// RequestShed counts a request that was refused because the server is full.
	RequestShed()
	// Idempotency counts a request with an Idempotency-Key. The outcome is "first",
	// "replayed", "in_progress", "conflict" or "failed".
	Idempotency(outcome string)
	CreditMeter
}

// CreditMeter counts credits.
type CreditMeter interface {
	CreditsReserved(operation string, amount int64)
	CreditsCharged(operation string, amount int64)
	// CreditsRefused counts a refusal of credits by operation. The reason is "used_up",
	// "key_budget" or "unavailable".
	CreditsRefused(operation, reason string)
}

// unmetered is a Meter that counts nothing.
type unmetered struct{}

func (unmetered) Request(string, int, time.Duration) {}
func (unmetered) InFlight(int)                       {}
func (unmetered) RequestShed()                       {}
func (unmetered) Idempotency(string)                 {}
func (unmetered) CreditsReserved(string, int64)      {}
func (unmetered) CreditsCharged(string, int64)       {}
func (unmetered) CreditsRefused(string, string)      {}

// Operations that are not in the route table: the OpenAPI document, the
// documentation, and requests without a route.
const (
	opLive  = "get_liveness"
	opReady = "get_readiness"
	opOpen  = "get_openapi"
	opLLMs  = "llms"
	opAgent = "mcp_metadata"
	opNone  = "none" // no such route or method
)
