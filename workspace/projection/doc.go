// Package projection keeps the documents of held records in Elasticsearch equal
// to Postgres and the global dataset: what workspaces wrote, what global records
// became, generations of the held indices, and the score of accounts. The rules
// that make it hold are in docs/decisions/008-projection-versions.md.
//
// It is not for searching, and decides nothing about what a workspace may hold.
package projection
