package query

import (
	"strings"

	"atlas/internal/rule"
	"atlas/search/catalog"
)

// typosAuto is the value of `typos` that sets Query.Typos (docs/api.md, "Typos").
const typosAuto = "auto"

// wordsExact is the value of `words` that sets Query.Exact (docs/api.md, "Words").
const wordsExact = "exact"

var wordsRule = rule.Enum("forms", wordsExact).Default("forms").
	Described("`forms`: words of `query` also match in other forms and as synonyms, and `\"…\"`, `OR`, `-` and `*` are operators. `exact`: each term must occur as typed, and there are no operators.")

var typosRule = rule.Enum("off", typosAuto).Default("off").
	Described("`auto`: terms of `query` of 4 or more characters also match terms of the record within one edit, of 8 or more within two. An edit inserts, deletes or replaces a character, or swaps two neighbours. Such a `query` has at most 100 characters.")

// MaxTyposQuery is the maximum length of a text with typos, in characters.
const MaxTyposQuery = 100

// ReadsPrivate reports whether the search reads Private fields: by a condition at any
// depth, or by a text over a dataset that has Private fields.
func (q Query) ReadsPrivate() bool {
	if OnPrivate(q.Where) {
		return true
	}
	if !catalog.HasPrivate(q.Dataset) {
		return false
	}
	for n := range Walk(q.Where) {
		switch n := n.(type) {
		case MatchRecord:
			return true
		case MatchWords:
			if HasAddress(n.Text) {
				return true
			}
		}
	}
	return q.Text != "" && !q.WithoutPrivate && (q.Exact || HasAddress(q.Text))
}

// HasAddress reports whether a text read in all forms may have an e-mail address.
func HasAddress(text string) bool { return strings.Contains(catalog.Fold(text), "@") }

// OnPrivate reports whether a condition of the tree is on a Private field.
func OnPrivate(root Node) bool {
	for n := range Walk(root) {
		if f, _ := n.parts(); f != nil && f.Private {
			return true
		}
	}
	return false
}
