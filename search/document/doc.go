// Package document builds the Elasticsearch document of a record and its related
// records. All documents are built here, so a full load, a delta and the projection of
// a workspace write the same document.
//
// A document is the public record (docs/api.md, "Records"), whose bytes clients
// receive. Under `ix` it has what only searches need: folded text and the nested
// related records. The package does not access a backend.
package document
