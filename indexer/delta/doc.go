// Package delta applies single changes of global records to the served generation: new and
// changed records, deletions, and what follows for related records (docs/data.md, "Deltas"). It
// writes the same documents that package indexer would write, in place, and notifies a listener
// of the changed records.
//
// It does not search, creates no indices, and knows nothing of workspaces.
package delta
