// Package document turns a record and its related records into the document
// that Elasticsearch indexes. It is the only place that does, so a document is
// the same whether a full load, a delta or a workspace's projection wrote it.
//
// A document is the public record (docs/api.md, "Records"), whose bytes are
// what a client gets, and under `ix` what only searching needs: folded text
// and the related records, nested. The package talks to no backend.
package document
