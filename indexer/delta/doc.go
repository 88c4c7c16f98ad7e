// Package delta applies single changes of global records to the served generation: new and
// changed records, deletions, and their consequences for related records above them
// (docs/data.md, "Deltas"). It writes in place the same documents that package indexer
// would write, and notifies a listener of the changed records.
//
// It does not search, creates no indices, and knows nothing of workspaces.
package delta
