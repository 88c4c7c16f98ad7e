// Package feed writes the feed of changes of global records (docs/api.md, "Changes"): what
// deltas change, and how two generations differ when searches are switched from one to
// the other.
//
// Changes are written before, or while, they are made, and published when searches see them.
// Elasticsearch keeps the id of the last publication, so that a restored Postgres, or a
// restored Elasticsearch, is noticed: the feed then starts over.
package feed
