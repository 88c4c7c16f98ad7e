// Package source has the description of a source of building permits: which file it is,
// what its columns mean, what becomes a record (docs/sources.md). A description is one YAML
// file. It can name columns, texts and bounded patterns; it runs no code and opens no file.
//
// The package reads and checks descriptions, has those that ship with Atlas, and makes
// their JSON Schema. Package indexer/source/permit applies them to rows.
package source
