// Package api is the HTTP side of Atlas: the route table, what every route has
// in common (identity, credits, bodies, errors, the log line), and handlers
// that bind, validate, call one method and render. docs/api.md states the
// contract.
//
// It is the only package that knows HTTP statuses, and it holds no rule of the
// domain, no SQL and no Elasticsearch query.
package api
