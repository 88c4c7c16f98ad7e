package search

import "atlas/search/query"

// FieldPrefix is where the fields of a record are in a document. The paths in
// this file are those of the mappings and of what package document builds
// (docs/architecture.md, "Documents").
type FieldPrefix struct {
	Values string // before the name of a value that is indexed as it is
	Folded string // before the groups `exact` and `text` of folded copies
}

// Root is the prefix of the fields of the document's own record.
var Root = FieldPrefix{Values: "", Folded: "ix."}

// overlayPrefix is the prefix of the values of a workspace's own, in documents of
// held records.
var overlayPrefix = FieldPrefix{Values: "held.", Folded: "held."}

// NestedPath is the path of the nested objects of related records.
func NestedPath(child query.Dataset) string { return "ix." + string(child) }

// NestedPrefix is the prefix of the fields of related records.
func NestedPrefix(child query.Dataset) FieldPrefix {
	p := NestedPath(child) + "."
	return FieldPrefix{Values: p, Folded: p}
}

// ExactPath is the path by which the whole value of a field is compared and
// sorted.
func (p FieldPrefix) ExactPath(f *query.Field) string {
	if f.Overlay {
		p = overlayPrefix
	}
	if f.Folded() {
		return p.Folded + "exact." + f.Name
	}
	return p.Values + f.Name
}

// TextPath is the path by which the terms of a full-text field are matched.
func (p FieldPrefix) TextPath(f *query.Field) string {
	if f.Overlay {
		p = overlayPrefix
	}
	return p.Folded + "text." + f.Name
}

const (
	// QueryPath has the folded text of all fields that `query` searches.
	QueryPath = "ix.query"
	// RankPath has the query.Rank of the name, in datasets that are sorted by it.
	RankPath = "ix.rank"
	// DomainsPath has the domains of a global record as query.Domain makes them.
	// Documents of held records do not have it, because nothing searches there.
	DomainsPath = "ix.domains"

	workspacePath = "held.workspace_id"
	inBookPath    = "held.in_book"
	viewsPath     = "held.view_ids"
)

// TiebreakPaths have the two halves of a record's id, as numbers in the order of
// ids. Every sort ends in them. Elasticsearch would look up the text of a keyword
// for each match that is better than all before it: in the worst order, for each
// match.
var TiebreakPaths = [2]string{"ix.id_high", "ix.id_low"}
