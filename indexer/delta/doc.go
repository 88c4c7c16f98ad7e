// Package delta brings single changes of global records into the generation
// that is served: records that are new or changed, records that are gone, and
// what follows from them for the related records above (docs/data.md,
// "Deltas"). It writes in place what package indexer writes anew, with the same
// documents as a result, and tells who keeps copies which records changed.
//
// It is not for searching, makes no indices, and knows nothing of workspaces.
package delta
