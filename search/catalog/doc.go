// Package catalog says what records have: the datasets, their fields and relations, the
// vocabularies of enums, the forms in which values are compared, and the descriptors that
// clients read (docs/api.md, "Fields"). Parsing, Elasticsearch queries, mappings and the
// rows of workspaces derive from it.
package catalog
