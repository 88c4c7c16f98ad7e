// Package schema builds JSON Schemas (2020-12): a Schema as a Go value that marshals in the
// order in which it was written, constructors for the common ones, and references to named
// ones.
//
// It knows no field of Atlas, and it validates nothing: package input reads requests by
// rules that have a Schema, package openapi writes documents.
package schema
