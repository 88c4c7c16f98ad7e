// Package api is the HTTP side of Atlas. docs/api.md states the contract.
//
// A resource has a file: its rows of the route table with their documentation, its
// schemas, and its handlers, which call one method and render (members.go is a
// short one). What all routes have in common is below: call.go (identity, credits,
// order of checks), endpoint.go and batch.go (bodies), operation.go and document.go
// (OpenAPI), errors.go (codes and statuses), shed.go (limits).
//
// It is the only package that knows HTTP statuses, and it holds no rule of the
// domain, no SQL and no Elasticsearch query.
package api
