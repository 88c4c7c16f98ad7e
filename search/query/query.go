package query

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/catalog"
	"atlas/search/words"
)

// Bounds of a search request.
const (
	MaxLimit = 100
	// Bounds of the bytes of the records of an answer.
	MinMaxBytes  = 1_000
	MaxMaxBytes  = 10_000_000
	DefaultLimit = 25
	MaxOffset    = 10_000
	MaxQuery     = 500 // characters of `query` and of a value of a full-text filter
	MaxValues    = 100 // elements of a filter's array
	// MaxTerms bounds the full-text terms of one request, of all its filters together. Each
	// is a clause, and Elasticsearch refuses a query with more clauses than its heap allows
	// (16,384 at 1 GB).
	MaxTerms = 2_048
)

// Base is what a search runs on. A cursor is bound to it.
type Base struct {
	Kind      catalog.BaseKind
	Workspace string // UUID; empty for Data
	View      string // UUID; only for View
}

// Query is one search of a dataset: Text and Where select the records, Sort orders
// them, and the rest selects the page.
type Query struct {
	Dataset catalog.Dataset
	Base    Base
	// Held means that the search finds only records that Base.Workspace holds. Only these
	// have overlay values.
	Held bool
	// Generation is the generation of held records that is searched; "" is the served one.
	// If it does not exist, the error is ErrIndexGone.
	Generation string
	// Text is what the user typed, trimmed. Each of its terms must be in one of the fields
	// that `query` searches. Empty: no condition.
	Text string
	// Exact means that Text is a list of terms, each of which must occur exactly. Otherwise
	// Text is read in all forms (docs/api.md, "Words").
	Exact bool
	// Typos means that the terms of Text also match those within MaxEdits of them.
	Typos bool
	// Folding is that of the index that is searched. Package search sets it.
	Folding catalog.Folding
	// Words are the tables for reading Text. Package search sets them.
	Words *words.Tables
	// WithoutPrivate means that Text is not searched in Private fields: at an offset beyond
	// the last row, a free page without rows would reveal whether an address exists. Without
	// Text, it applies to the texts in Where: alerts are free.
	WithoutPrivate bool
	// Terms are those of Text. Only a search with Typos in several fields has them.
	Terms []string
	// Where are conditions that must all match.
	Where All
	// Border has the records at the border of each Circle and Polygon of Where. Package
	// search sets it.
	Border map[Outline]Border
	Sort   Sort
	Limit  int
	// DryRun means that only the price of the page is wanted. All matches are counted.
	DryRun bool
	// CountOnly means that the search counts matches and returns no rows. It counts to at
	// least Offset+1, which shows whether the page has a row. Sort, Limit and After are
	// ignored.
	CountOnly bool
	// Offset is 0 when After is set.
	Offset int
	// After is the cursor, as the client sent it; empty for the first page.
	After string
	// Fields are the members of the rows that the caller shows. Searches of global records
	// return whole rows.
	Fields catalog.FieldSet
	// Hinted means that the page of a search that finds nothing has Named, for its hints.
	Hinted bool
	// Hints are for the caller.
	Hints Hints
	// MaxBytes limits the page that the caller shows (Page.Within); 0: no limit.
	MaxBytes int
	// Highlight means that the caller shows what in the rows matches Text.
	Highlight bool
	// Explain means that the caller shows how Text is read.
	Explain bool
}

// Among is the search of the same base for the records of ids, with the same members. It
// ignores the conditions and the page of q.
func (q Query) Among(ids []string) Query {
	id, _ := catalog.FieldNamed(q.Dataset, "id")
	sort := q.Sort
	if sort.Relevance() {
		sort = DefaultSort(q.Dataset)
	}
	return Query{Dataset: q.Dataset, Base: q.Base, Where: All{Terms{Field: &id, Values: ids}}, Sort: sort, Limit: len(ids), Fields: q.Fields}
}

// ByWords reports whether a text of the search is read in all forms.
func (q Query) ByWords() bool {
	if q.Text != "" && !q.Exact {
		return true
	}
	for n := range Walk(q.Where) {
		if _, is := n.(MatchWords); is {
			return true
		}
	}
	return false
}

// ErrIndexGone is in the error chain of a search whose index does not exist.
var ErrIndexGone = errors.New("the index is gone")

// Sort is an order of the results. Ties are broken by id.
type Sort struct {
	Field catalog.Field // the zero Field is relevance
	Desc  bool
}

// RelevanceSort is the sort field of requests that sort by how well a record
// matches `query`.
const RelevanceSort = "relevance"

// DefaultSort is the order of a dataset when a request names none.
func DefaultSort(d catalog.Dataset) Sort {
	f, order := catalog.DefaultOrder(d)
	return Sort{f, order == catalog.Descending}
}

// ByRelevance sorts by how well records match, the best first.
func ByRelevance() Sort { return Sort{Desc: true} }

// Relevance reports whether the sort is ByRelevance.
func (s Sort) Relevance() bool { return s.Field.Name == "" }

// String names the sort, for messages.
func (s Sort) String() string {
	name := s.Field.String()
	if s.Relevance() {
		name = RelevanceSort
	}
	if s.Desc {
		return name + " desc"
	}
	return name + " asc"
}

// Page is one page of the rows of a search.
type Page struct {
	// Rows are JSON objects, in the order of the sort.
	Rows []jsontext.Value
	// Total is the number of matches, at most 1,000. Capped means that there are
	// more.
	Total  int
	Capped bool
	// Next is the cursor of the next page, "" on the last one.
	Next string
	// After returns the cursor of the page after a row, an index into Rows.
	After func(row int) string
	NotFound
	// Named are for Hints.For.
	Named []Named
}

// NotFound suggests other requests where nothing is found (docs/api.md, "Nothing found").
// The zero value suggests nothing.
type NotFound struct {
	// DidYouMean is a text that finds records instead of the query's, "" if there is none.
	DidYouMean string `json:"did_you_mean,omitempty"`
	// Missing are the words and phrases of the query, folded, that occur in no record which
	// meets the other conditions of the search.
	Missing []string `json:"missing,omitempty"`
}

// Within is the page cut to so many bytes: whole rows, and at least one. Next continues
// where it ends. 0 returns the page unchanged.
func (p Page) Within(bytes int) Page {
	if bytes == 0 {
		return p
	}
	for i, row := range p.Rows {
		if bytes -= len(row); bytes < 0 && i > 0 {
			p.Next, p.Rows = p.After(i-1), p.Rows[:i]
			break
		}
	}
	return p
}
