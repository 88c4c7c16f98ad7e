// Package generation manages the generations of an installation: which exist, which
// one searches use, and switching to another (docs/data.md). A generation is one
// index for each dataset, filled by one load.
//
// It does not fill indices and knows nothing of records.
package generation
