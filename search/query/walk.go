package query

import (
	"iter"
	"slices"

	"atlas/search/catalog"
)

// Walk yields all nodes of a tree, each before its children.
func Walk(root Node) iter.Seq[Node] {
	return func(yield func(Node) bool) { walk(root, yield) }
}

func walk(n Node, yield func(Node) bool) bool {
	if !yield(n) {
		return false
	}
	_, nodes := n.parts()
	for _, child := range nodes {
		if !walk(child, yield) {
			return false
		}
	}
	return true
}

// OnOverlay reports whether a condition of the tree is on a value of an overlay.
func OnOverlay(root Node) bool {
	for n := range Walk(root) {
		if OfOverlay(n) {
			return true
		}
	}
	return false
}

// OfOverlay reports whether the node itself is a condition on a value of an overlay. It
// then matches no record outside the book.
func OfOverlay(n Node) bool {
	f, _ := n.parts()
	return f != nil && f.Overlay
}

// VariesIn reports whether the versions fold a text of the tree differently.
func VariesIn(root Node) bool {
	for n := range Walk(root) {
		if slices.ContainsFunc(n.texts(), catalog.Varies) {
			return true
		}
	}
	return false
}

func (n All) parts() (*catalog.Field, []Node)         { return nil, n }
func (n Any) parts() (*catalog.Field, []Node)         { return nil, n }
func (n Not) parts() (*catalog.Field, []Node)         { return nil, []Node{n.Node} }
func (n Terms) parts() (*catalog.Field, []Node)       { return n.Field, nil }
func (n Match) parts() (*catalog.Field, []Node)       { return n.Field, nil }
func (n MatchRecord) parts() (*catalog.Field, []Node) { return nil, nil }
func (n MatchWords) parts() (*catalog.Field, []Node)  { return nil, nil }
func (n Range) parts() (*catalog.Field, []Node)       { return n.Field, nil }
func (n Near) parts() (*catalog.Field, []Node)        { return n.Field, nil }
func (n InBox) parts() (*catalog.Field, []Node)       { return n.Field, nil }
func (n InPolygon) parts() (*catalog.Field, []Node)   { return n.Field, nil }
func (n Exists) parts() (*catalog.Field, []Node)      { return n.Field, nil }
func (n Nested) parts() (*catalog.Field, []Node)      { return nil, []Node{n.Node} }
func (n InBook) parts() (*catalog.Field, []Node)      { return nil, nil }
func (n InView) parts() (*catalog.Field, []Node)      { return nil, nil }
func (n InAnyView) parts() (*catalog.Field, []Node)   { return nil, nil }

func (n Terms) texts() []string {
	if n.Field.Folded() {
		return n.Values
	}
	return nil
}
func (n Match) texts() []string       { return []string{n.Text} }
func (n MatchRecord) texts() []string { return []string{n.Text} }
func (n MatchWords) texts() []string  { return []string{n.Text} }
func (n All) texts() []string         { return nil }
func (n Any) texts() []string         { return nil }
func (n Not) texts() []string         { return nil }
func (n Range) texts() []string       { return nil }
func (n Near) texts() []string        { return nil }
func (n InBox) texts() []string       { return nil }
func (n InPolygon) texts() []string   { return nil }
func (n Exists) texts() []string      { return nil }
func (n Nested) texts() []string      { return nil }
func (n InBook) texts() []string      { return nil }
func (n InView) texts() []string      { return nil }
func (n InAnyView) texts() []string   { return nil }
