package query

import (
	"fmt"

	"atlas/search/catalog"
)

// Node is a condition on a record: a node of the tree of a Query. The kinds are the types
// below. Do not change a Node after creating it: trees share parts. A tree cannot name a
// workspace; the search's is in Query.Base.
//
// Switch on the kind with a Visitor, not with a type switch: a Visitor without a method for
// one of the kinds does not compile.
type Node interface {
	// String is the node as an s-expression, for test failures and logs.
	fmt.Stringer
	// Accept calls the method of v for the node's kind.
	Accept(v Visitor)

	// parts returns the field of the condition itself, or nil, and the child nodes.
	parts() (on *catalog.Field, nodes []Node)
	// texts are those of the condition itself, without child nodes, that an index has
	// folded.
	texts() []string
	simplify() Node
}

type (
	// All matches when every child does; an empty one always matches.
	All []Node
	// Any matches when one child does; an empty one never matches.
	Any []Node
	// Not matches when its child does not.
	Not struct{ Node Node }
	// Terms matches when the field has one of the values, whole. Values of a Folded field
	// are results of FoldCase.
	Terms struct {
		Field  *catalog.Field
		Values []string
	}
	// Match matches when the text field has every term of Text, a result of FoldCase. A
	// Text without a term matches nothing.
	Match struct {
		Field *catalog.Field
		Text  string
	}
	// MatchRecord matches when every term of Text, a result of FoldCase, is in one of the
	// fields that `query` searches. A Text without a term matches nothing.
	MatchRecord struct{ Text string }
	// MatchWords matches when Text, a result of FoldCase, matches in all forms
	// (docs/api.md, "Words"), without operators. A Text without a word matches nothing.
	MatchWords struct{ Text string }
	// Range matches when the field has a value from From to To, both inclusive;
	// one of them may be open. An unknown value is in no Range.
	Range struct {
		Field    *catalog.Field
		From, To Bound
	}
	// Near matches when the point is in the Circle, or on its border.
	Near struct {
		Field *catalog.Field
		Circle
	}
	// InBox matches when the point is in the Box, or on its border. Box.West is not
	// greater than Box.East.
	InBox struct {
		Field *catalog.Field
		Box   Box
	}
	// InPolygon matches when the point is in the Polygon, or on an edge.
	InPolygon struct {
		Field   *catalog.Field
		Polygon *Polygon
	}
	// Exists matches when the field has a value.
	Exists struct{ Field *catalog.Field }
	// Nested matches when one related record meets the child node, whose fields are those
	// of Relation.Child. Only All, Any, Not and conditions on fields can be in it.
	Nested struct {
		Relation catalog.Relation
		Node     Node
	}
	// InBook matches a record that is in the book of the search's workspace.
	InBook struct{}
	// InView matches a record that is in one of these Static Views (UUIDs) of the
	// search's workspace.
	InView struct{ IDs []string }
	// InAnyView matches a record that is in a Static View of the search's
	// workspace.
	InAnyView struct{}
)

// Visitor has a method for each kind of Node.
type Visitor interface {
	VisitAll(n All)
	VisitAny(n Any)
	VisitNot(n Not)
	VisitTerms(n Terms)
	VisitMatch(n Match)
	VisitMatchRecord(n MatchRecord)
	VisitMatchWords(n MatchWords)
	VisitRange(n Range)
	VisitNear(n Near)
	VisitInBox(n InBox)
	VisitInPolygon(n InPolygon)
	VisitExists(n Exists)
	VisitNested(n Nested)
	VisitInBook(n InBook)
	VisitInView(n InView)
	VisitInAnyView(n InAnyView)
}

func (n All) Accept(v Visitor)         { v.VisitAll(n) }
func (n Any) Accept(v Visitor)         { v.VisitAny(n) }
func (n Not) Accept(v Visitor)         { v.VisitNot(n) }
func (n Terms) Accept(v Visitor)       { v.VisitTerms(n) }
func (n Match) Accept(v Visitor)       { v.VisitMatch(n) }
func (n MatchRecord) Accept(v Visitor) { v.VisitMatchRecord(n) }
func (n MatchWords) Accept(v Visitor)  { v.VisitMatchWords(n) }
func (n Range) Accept(v Visitor)       { v.VisitRange(n) }
func (n Near) Accept(v Visitor)        { v.VisitNear(n) }
func (n InBox) Accept(v Visitor)       { v.VisitInBox(n) }
func (n InPolygon) Accept(v Visitor)   { v.VisitInPolygon(n) }
func (n Exists) Accept(v Visitor)      { v.VisitExists(n) }
func (n Nested) Accept(v Visitor)      { v.VisitNested(n) }
func (n InBook) Accept(v Visitor)      { v.VisitInBook(n) }
func (n InView) Accept(v Visitor)      { v.VisitInView(n) }
func (n InAnyView) Accept(v Visitor)   { v.VisitInAnyView(n) }
