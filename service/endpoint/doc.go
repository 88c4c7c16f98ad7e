// Package endpoint handles every request, whatever its resource: router and paths, the caller
// and their access (call.go), limits and places (shed.go, strangers.go), credits
// (metering.go), repetitions (idempotency.go, once.go), bodies (body.go, batch.go), errors
// (errors.go), answers (reply.go, metadata.go, etag.go), the log, and what the OpenAPI
// document says of a route (operation.go, describe.go).
//
// A Core serves a Table of Routes, whose handlers get a Call and return a Reply. docs/api.md
// states the order of checks. The package knows no resource.
package endpoint
