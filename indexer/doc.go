// Package indexer fills the global indices from files of records: it reads
// them, sorts and merges them on disk so that every record is joined with its
// related records, builds the documents, writes them to a new generation and
// switches the aliases (docs/data.md). Only this package and indexer/delta write
// global records.
//
// It does not search and knows nothing of workspaces. search/document decides what
// a document looks like.
package indexer
