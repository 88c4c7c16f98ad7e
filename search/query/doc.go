// Package query has the grammar of search requests, and the Query that represents a
// request, a book or a View (docs/api.md, "Search requests"). The conditions of a Query are
// a tree of Nodes on fields, relations and membership.
//
// It does not know Elasticsearch's query language (package search does), who may search, or
// what a View is.
package query
