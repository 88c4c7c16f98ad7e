// Package feed writes the feed of changes of global records (docs/api.md, "Changes"): the
// changes of deltas, and the differences between two generations when searches are switched
// from one to the other.
//
// Changes are written before, or while, they are made, and published when searches see
// them. Elasticsearch stores the id of the last publication. It shows whether Postgres or
// Elasticsearch was restored; the feed then starts over.
package feed
