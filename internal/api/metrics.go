package api

import (
	"net/http"
	"time"
)

// Meter is told of every request. *telemetry.Metrics counts them.
type Meter interface {
	// Request is told of an answer, by the operation's name.
	Request(operation string, status int, took time.Duration)
	// InFlight is told of requests that begin (1) and end (-1).
	InFlight(change int)
	// RequestShed is told of a request that found no place.
	RequestShed()
	CreditMeter
}

// CreditMeter is told of credits.
type CreditMeter interface {
	CreditsReserved(operation string, amount int64)
	CreditsCharged(operation string, amount int64)
	// CreditsRefused is told why an operation got none: "used_up" or
	// "unavailable".
	CreditsRefused(operation, reason string)
}

// unmetered is the Meter of a server without one.
type unmetered struct{}

func (unmetered) Request(string, int, time.Duration) {}
func (unmetered) InFlight(int)                       {}
func (unmetered) RequestShed()                       {}
func (unmetered) CreditsReserved(string, int64)      {}
func (unmetered) CreditsCharged(string, int64)       {}
func (unmetered) CreditsRefused(string, string)      {}

// Operations of what is not in the route table: those of the OpenAPI document,
// and the page that shows it.
const (
	opLive  = "get_liveness"
	opReady = "get_readiness"
	opNone  = "none" // no route, or not for this method
)

// outside is what GET of a path outside the route table is.
var outside = map[string]string{
	livePath: opLive, readyPath: opReady,
	Version + documentPath: "get_openapi", docsPath: "docs", docsPath + "/*file": "docs",
}

// operation is what the request is counted and logged as.
func (c *call) operation() string {
	if c.route.Operation != "" {
		return c.route.Operation
	}
	method := c.gin.Request.Method
	if name, known := outside[c.gin.FullPath()]; known && (method == http.MethodGet || method == http.MethodHead && (name == opLive || name == opReady)) {
		return name
	}
	return opNone
}
