// Package api is the HTTP API of Atlas. docs/api.md states the contract.
//
// Each resource has a file with its rows of the route table and their documentation, its
// schemas, and its handlers, which call one method and render (members.go is a short example).
// routes.go has the table. What every request passes is in package endpoint.
//
// It has no domain rules, no SQL and no Elasticsearch queries.
package api
