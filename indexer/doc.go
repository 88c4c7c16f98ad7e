// Package indexer fills the global indices from files of records: it reads
// them, sorts and merges them on disk so that every record meets its related
// ones, builds the documents, writes them to new generations and switches the
// aliases (docs/data.md). It is the only writer of global records.
//
// It is not for searching, knows nothing of workspaces, and does not decide
// what a document looks like: search/document does.
package indexer
