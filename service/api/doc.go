// Package api is the HTTP API of Atlas. docs/api.md states the contract.
//
// Each resource has a file with its rows of the route table and their
// documentation, its schemas, and its handlers, which call one method and render
// (members.go is a short example). All routes share these files: call.go (identity,
// credits, order of checks), endpoint.go and batch.go (bodies), operation.go and
// document.go (OpenAPI), errors.go (codes and statuses), shed.go (limits).
//
// It is the only package that knows HTTP statuses, and it has no domain rules, no
// SQL and no Elasticsearch queries.
package api
