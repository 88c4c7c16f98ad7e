// Package search runs a query.Query on Elasticsearch and passes the records of
// the page on as the bytes they were stored as. It owns how a query is spelled
// in Elasticsearch's DSL, cursors, the capped total, and the rule that a page
// is whole or an error (docs/architecture.md, "Search").
//
// It knows no workspace's rules and no HTTP: which records a caller may see
// has been put into the Query before it comes here.
package search
