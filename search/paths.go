package search

import (
	"atlas/search/catalog"
	"atlas/search/document"
)

// FieldPrefix is the path prefix of the fields of a record in a document. Package
// document has the names (docs/architecture.md, "Documents").
type FieldPrefix struct {
	Values string // before the name of a value that is indexed unchanged
	Folded string // before the groups `exact` and `text` of folded copies
}

// Root is the prefix of the fields of the document's own record.
var Root = FieldPrefix{Values: "", Folded: document.IX + "."}

// overlayPrefix is the prefix of overlay values in documents of held records.
var overlayPrefix = FieldPrefix{Values: document.HeldBlock + ".", Folded: document.HeldBlock + "."}

// NestedPath is the path of the nested objects of related records.
func NestedPath(child catalog.Dataset) string { return document.IX + "." + string(child) }

// NestedPrefix is the prefix of the fields of related records.
func NestedPrefix(child catalog.Dataset) FieldPrefix {
	p := NestedPath(child) + "."
	return FieldPrefix{Values: p, Folded: p}
}

// ExactPath is the path by which the whole value of a field is compared and
// sorted.
func (p FieldPrefix) ExactPath(f *catalog.Field) string {
	if f.Overlay {
		p = overlayPrefix
	}
	switch {
	case f.Internal:
		return p.Folded + f.Name
	case f.Folded():
		return p.Folded + document.ExactGroup + "." + f.Name
	case f.Kind == catalog.Geo:
		return p.Folded + f.Name
	}
	return p.Values + f.Name
}

// SpellingPath is the path by which facets count the values of a field in their original
// spelling.
func (p FieldPrefix) SpellingPath(f *catalog.Field) string {
	if f.Overlay {
		p = overlayPrefix
	}
	return p.Values + f.Name
}

// TextPath is the path by which the terms of a full-text field are matched.
func (p FieldPrefix) TextPath(f *catalog.Field) string {
	if f.Overlay {
		p = overlayPrefix
	}
	return p.Folded + document.TextGroup + "." + f.Name
}

// Paths that are not fields of the record.
const (
	QueryPath   = document.IX + "." + document.QueryText
	WordsPath   = document.IX + "." + document.Words
	DomainsPath = document.IX + "." + document.Domains
	phonePath   = document.IX + "." + document.Phone

	suggestTermsPath = document.IX + "." + document.SuggestTerms

	workspacePath = document.HeldBlock + "." + document.WorkspaceID
	inBookPath    = document.HeldBlock + "." + document.InBook
	heldWordsPath = document.HeldBlock + "." + document.Words
	viewsPath     = document.HeldBlock + "." + document.ViewIDs
)

// TiebreakPaths are the paths of the two halves of a record's id. Every sort ends in them.
// With a keyword, Elasticsearch would look up its text for each match that sorts before all
// earlier ones: in the worst order, for each match.
var TiebreakPaths = [2]string{document.IDHighField, document.IDLowField}
