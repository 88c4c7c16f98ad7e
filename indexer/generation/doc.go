// Package generation knows the generations of an installation: which there are,
// which one searches go to, and how searches are switched to another
// (docs/data.md). A generation is one index for each dataset, filled by one load.
//
// It does not fill indices and knows nothing of records.
package generation
