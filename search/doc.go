// Package search runs a query.Query on Elasticsearch and returns the records of the page as
// stored, byte for byte. Only this package translates queries to Elasticsearch's DSL:
// paths, tiebreaks, ranks. It implements cursors, the capped total, and the rule that a
// page is complete or an error (docs/architecture.md, "Search").
//
// It does not know HTTP or the rules of workspaces: the Query already says which records
// the caller may see.
package search
