package query

import (
	"errors"

	"atlas/internal/fault"
	"atlas/internal/input"
)

// Bounds of a search request.
const (
	MaxLimit     = 100
	DefaultLimit = 25
	MaxOffset    = 10_000
	MaxQuery     = 500 // characters of `query` and of a full-text filter
	MaxValues    = 100 // elements of a filter's array
	// MaxTerms bounds the full-text terms of one request, over all its
	// filters: each becomes a clause, and Elasticsearch refuses a query whose
	// clauses would not fit its heap (16,384 at 1 GB).
	MaxTerms = 2_048
)

// BaseKind says what is searched.
type BaseKind string

// The bases.
const (
	Data BaseKind = "data" // the global dataset
	Book BaseKind = "book" // the records a workspace annotated
	View BaseKind = "view" // what a View of a workspace shows
)

// Base is what a search runs on and what a cursor is bound to.
type Base struct {
	Kind      BaseKind
	Workspace string // UUID; empty for Data
	View      string // UUID; only for View
}

// Query is one search, ready to be run on a dataset: the tree says which
// records, Sort in which order, the rest which page of them.
type Query struct {
	Dataset Dataset
	Base    Base
	// Held: the search runs on the records that Base.Workspace holds, and finds
	// nothing else; overlay fields are known there only.
	Held bool
	// Generation is the one of the held records that the search runs on, where its
	// caller knows what is in that one; "": the one that serves. The error of a
	// search whose generation is gone is ErrIndexGone.
	Generation string
	// Text is what the user typed, trimmed; every term of it must match
	// somewhere in the fields that `query` searches. Empty: no condition.
	Text string
	// Where holds conditions that must all be met.
	Where []Node
	Sort  Sort
	Limit int
	// Offset is 0 when After is set.
	Offset int
	// After is the cursor, as the client sent it; empty for the first page.
	After string
}

// ErrIndexGone is in the chain of the error of a search that finds no index where
// it was to run.
var ErrIndexGone = errors.New("the index is gone")

// Sort is an order of the results; ties are broken by id.
type Sort struct {
	Field Field // the zero Field means relevance
	Desc  bool
}

// RelevanceSort names the order by how well a record matches `query`.
const RelevanceSort = "relevance"

// ByRelevance orders by how well records match, the best first.
func ByRelevance() Sort { return Sort{Desc: true} }

// Relevance tells whether this is ByRelevance.
func (s Sort) Relevance() bool { return s.Field.Name == "" }

// String names the sort as a cursor is bound to it.
func (s Sort) String() string {
	name := s.Field.Name
	switch {
	case s.Relevance():
		name = RelevanceSort
	case s.Field.Overlay:
		name = "held." + name
	}
	if s.Desc {
		return name + " desc"
	}
	return name + " asc"
}

// Node is a condition on a record. The concrete types are the ones below.
type Node interface{ node() }

type (
	// All is met when every condition in it is; an empty one always is.
	All []Node
	// Any is met when one of the conditions in it is; an empty one never is.
	Any []Node
	// Not is met when the condition is not.
	Not struct{ Node Node }
	// Terms is met when the field at Path has one of the values, whole.
	Terms struct {
		Path   string
		Values []string
	}
	// Words is met when the text at Path has every term of Text (folded). A
	// text without a term matches nothing.
	Words struct{ Path, Text string }
	// Span is met when the value at Path lies between From and To, both
	// inclusive and JSON literals; an empty end is open, both open means any
	// value. An unknown value never lies in a span.
	Span struct{ Path, From, To string }
	// Child is met when one related record at Path meets the condition.
	Child struct {
		Path string
		Node Node
	}
)

func (All) node()   {}
func (Any) node()   {}
func (Not) node()   {}
func (Terms) node() {}
func (Words) node() {}
func (Span) node()  {}
func (Child) node() {}

// Parse reads a search request's body (docs/api.md, "Search requests"). It
// returns every problem it finds as one validation error. The cursor is not
// looked into: only who runs the search can.
func Parse(body input.Value, d Dataset, base Base) (Query, error) {
	var issues input.Issues
	p := parser{issues: &issues, dataset: d, base: base.Kind}
	r := issues.Object(body)
	q := Query{Dataset: d, Base: base, Sort: DefaultSort(d)}
	q.Text, _ = r.String("query", input.Text{Min: 1, Max: MaxQuery})
	p.terms += countTerms(q.Text)
	if v := r.Take("filters"); v.Kind != input.Absent {
		q.Where = append(q.Where, p.filters(v, FilterFields(d, base.Kind), Root, "filters")...)
	}
	if v := r.Take("relations"); v.Kind != input.Absent {
		q.Where = append(q.Where, p.relations(v)...)
	}
	if q.Text != "" && base.Kind == Data {
		q.Sort = ByRelevance()
	}
	if v := r.Take("sort"); v.Kind != input.Absent {
		q.Sort = p.sort(v, body.Get("query").Kind != input.Absent)
	}
	q.Limit = r.Int("limit", 1, MaxLimit, DefaultLimit)
	q.Offset = r.Int("offset", 0, MaxOffset, 0)
	switch v := r.Take("search_after"); v.Kind {
	case input.Absent, input.Null:
	case input.String:
		q.After = v.Text
		if q.After == "" {
			q.After = invalidCursor
		}
		q.Offset = 0
	default:
		issues.WrongType([]string{"search_after"}, "a cursor or null", v)
	}
	if p.terms > MaxTerms {
		p.issues.Add(fault.TooBig, nil, "the texts of the request have more than %d terms in all", MaxTerms)
	}
	r.Done()
	return q, issues.Err()
}

// invalidCursor stands for an empty cursor, which is no cursor and must be
// refused as one instead of starting over.
const invalidCursor = "-"
