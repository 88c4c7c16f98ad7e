// Package query says what can be asked of Atlas: the field catalog, the
// grammar of a search request, and the Query that a request, a book or a View
// becomes (docs/api.md, "Search requests").
//
// It is a leaf. It does not know how Elasticsearch spells a query (package
// search does), who may ask, or what a View is.
package query
