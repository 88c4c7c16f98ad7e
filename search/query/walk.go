package query

import "iter"

// Walk goes through a tree: a node comes before the nodes in it.
func Walk(root Node) iter.Seq[Node] {
	return func(yield func(Node) bool) { walk(root, yield) }
}

func walk(n Node, yield func(Node) bool) bool {
	if !yield(n) {
		return false
	}
	for _, child := range n.children() {
		if !walk(child, yield) {
			return false
		}
	}
	return true
}

// OnOverlay tells whether a condition of the tree is on a value of the
// workspace's own.
func OnOverlay(root Node) bool {
	for n := range Walk(root) {
		if f := n.field(); f != nil && f.Overlay {
			return true
		}
	}
	return false
}

func (n All) children() []Node         { return n }
func (n Any) children() []Node         { return n }
func (n Not) children() []Node         { return []Node{n.Node} }
func (n Terms) children() []Node       { return nil }
func (n Match) children() []Node       { return nil }
func (n MatchRecord) children() []Node { return nil }
func (n Range) children() []Node       { return nil }
func (n Exists) children() []Node      { return nil }
func (n Nested) children() []Node      { return []Node{n.Node} }
func (n InBook) children() []Node      { return nil }
func (n InView) children() []Node      { return nil }
func (n InAnyView) children() []Node   { return nil }

func (n All) field() *Field         { return nil }
func (n Any) field() *Field         { return nil }
func (n Not) field() *Field         { return nil }
func (n Terms) field() *Field       { return n.Field }
func (n Match) field() *Field       { return n.Field }
func (n MatchRecord) field() *Field { return nil }
func (n Range) field() *Field       { return n.Field }
func (n Exists) field() *Field      { return n.Field }
func (n Nested) field() *Field      { return nil }
func (n InBook) field() *Field      { return nil }
func (n InView) field() *Field      { return nil }
func (n InAnyView) field() *Field   { return nil }
